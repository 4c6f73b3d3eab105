// A program in C++ that does what host.c does: it runs a script which it does
// not trust, has its settings in a struct, and takes up in its loop what others
// change.
//
//   host SCRIPT.lua FOLDER [SECONDS]
#include <kvcodable.hpp>
#include <kvcodable_lua.h>
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

extern "C" {
#include "script_limits.h"
}

namespace {

// What the program reads of its store, with its defaults.
struct settings {
  std::uint8_t volume = 7;
  char theme[16] = "light";
  bool quit = false;
};

const kv_field fields[] = {
    KV_FIELD(settings, volume, KV_FIELD_UINT8, "volume"),
    KV_FIELD(settings, theme, KV_FIELD_TEXT, "ui", "theme"),
    KV_FIELD(settings, quit, KV_FIELD_BOOL, "quit"),
};

// Throws the error of a C function.
void check(kv_status status, kv_error *problem) {
  if (status < 0) throw kvcodable::error(status, problem);
}

// A Lua state for one script: what reaches nothing outside it, within bounds.
class script {
 public:
  script(std::size_t memory, long long steps, double seconds)
      : limits_{memory, steps, seconds, 0, 0}, lua_(script_open(&limits_)) {
    if (!lua_) throw std::bad_alloc();
    lua_pushcfunction(lua_.get(), script_open_libraries);
    call(0);
    kv_error *problem = nullptr;
    kv_lua_options options = {};
    options.size = sizeof options;
    options.policy = KV_LUA_SANDBOX;
    options.max_nodes = 100000;  // of one value
    options.max_bytes = 4 << 20;
    options.max_watches = 8;
    options.quota = 1 << 20;  // of the file, for the script's part
    check(kv_lua_open(lua_.get(), &options, &problem), problem);
    lua_setglobal(lua_.get(), "kv");
  }

  // Gives the script a part of a store as a global.
  void give(const kvcodable::store &store, const kvcodable::path &at,
            const char *name, std::uint32_t flags = 0) {
    kv_error *problem = nullptr;
    kv_status status = kv_lua_push_store(lua_.get(), store.handle(), at.data(),
                                         at.size(), flags, &problem);
    check(status, problem);
    lua_setglobal(lua_.get(), name);
  }

  // Runs a script that returns a number of tries and a list of ways out; gives
  // whether there is none.
  bool run(std::string file, std::string home) {
    lua_pushcfunction(lua_.get(), run_file);
    lua_pushlightuserdata(lua_.get(), file.data());
    lua_pushlightuserdata(lua_.get(), home.data());
    call(2);
    return lua_toboolean(lua_.get(), -1) != 0;
  }

 private:
  struct close {
    void operator()(lua_State *L) const { lua_close(L); }
  };

  // Whatever a script leaves behind, such as no memory, is an error here and no
  // end of the program.
  void call(int arguments) {
    if (lua_pcall(lua_.get(), arguments, 1, 0) != 0)
      throw kvcodable::error(KV_MISUSE, script_error_text(lua_.get()));
  }

  // Called by Lua, whose errors are jumps: no object with a destructor here.
  static int run_file(lua_State *L) {
    lua_pushstring(L, static_cast<const char *>(lua_touserdata(L, 2)));
    lua_setglobal(L, "home");
    auto *file = static_cast<const char *>(lua_touserdata(L, 1));
    int escapes = 0;
    if (script_load(L, file) != 0) return lua_error(L);
    lua_call(L, 0, 2);
    for (;; escapes++) {
      lua_rawgeti(L, -1, escapes + 1);
      if (lua_isnil(L, -1)) break;
      std::printf("a way out: %s\n", lua_tostring(L, -1));
      lua_pop(L, 1);
    }
    std::printf("%d tries, %d ways out\n",
                static_cast<int>(lua_tointeger(L, -3)), escapes);
    lua_pushboolean(L, escapes == 0);
    return 1;
  }

  script_limits limits_;
  std::unique_ptr<lua_State, close> lua_;
};

// A value that is gone is its default, and one of a wrong type leaves all as
// they were.
void read_settings(const kvcodable::store &store, settings &values) {
  try {
    settings found;
    store.read(fields, found);
    values = found;
  } catch (const kvcodable::error &problem) {
    std::cerr << problem.what() << std::endl;
  }
  std::cout << "the volume is " << int(values.volume) << std::endl;
}

// The program's loop: sleeps until there may be something to tell.
void follow(kvcodable::store &store, settings &values, double seconds) {
  auto watch = store.watch(
      {},
      [&](const kvcodable::path &, const kv_tree *, const kv_tree *) {
        read_settings(store, values);
      },
      KV_SCOPE_SUBTREE);
  pollfd poller = {store.descriptor(), POLLIN, 0};
  auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!values.quit && std::chrono::steady_clock::now() < end) {
    poll(&poller, 1, 500);
    store.pump();
  }
}

}  // namespace

int main(int count, char **arguments) try {
  if (count < 3) return 2;
  std::string folder = arguments[2];
  auto store = kvcodable::store::open_file(folder + "/host.plist");
  store.set("secret", "keep out");
  store.set({"ui", "theme"}, "light");
  bool is_tight;
  {
    script one(64 << 20, 100000000, 3);
    one.give(store, {"ui"}, "ui", KV_LUA_READ_ONLY);
    one.give(store, {"plugins", "demo"}, "mine");
    is_tight = one.run(arguments[1], folder);
  }
  settings values;
  read_settings(store, values);
  follow(store, values, count > 3 ? std::atof(arguments[3]) : 0);
  // The script closed its handles; the program's is open, and unchanged.
  std::cout << "the theme is still " << store.get_or({"ui", "theme"}, "unknown")
            << std::endl;
  return is_tight ? 0 : 1;
} catch (const std::exception &problem) {
  std::cerr << problem.what() << std::endl;
  return 1;
}
