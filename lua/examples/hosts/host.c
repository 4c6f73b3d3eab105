/* A program in C that runs a script which it does not trust: the script may
 * read one part of the program's settings, change another, and reach nothing
 * else. The program has its settings in a struct, and takes up in its loop what
 * others change: the script, another program, a person with an editor.
 *
 *   host SCRIPT.lua FOLDER [SECONDS]
 */
#include "script_limits.h"

#include <kvcodable_fields.h>
#include <kvcodable_lua.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What the program reads of its store, with its defaults. */
struct settings {
  uint8_t volume;
  char theme[16];
  bool quit;
};

static const struct settings defaults = {7, "light", false};

static const kv_field fields[] = {
    KV_FIELD(struct settings, volume, KV_FIELD_UINT8, "volume"),
    KV_FIELD(struct settings, theme, KV_FIELD_TEXT, "ui", "theme"),
    KV_FIELD(struct settings, quit, KV_FIELD_BOOL, "quit"),
};
enum { field_count = sizeof fields / sizeof *fields };

/* Says what went wrong and frees the error; whether all is well. Takes the
 * error's address: C may read an argument before it makes the call that is
 * another one, and the error is not there yet. */
static int check(kv_status status, kv_error **error) {
  if (status >= 0) return 1;
  fprintf(stderr, "%s\n", kv_error_message(*error).data);
  kv_error_free(*error);
  *error = NULL;
  return 0;
}

static int set_text(kv_store *store, const kv_step *path, size_t steps,
                    const char *text) {
  kv_error *error = NULL;
  return check(kv_store_set_string(store, path, steps, kv_string(text), &error),
               &error);
}

/* Gives the script libraries, the module and two parts of the store. */
static int give(lua_State *L, const kv_store *store) {
  kv_lua_options options = {0};
  kv_error *error = NULL;
  kv_step ui = kv_key("ui");
  kv_step mine[] = {kv_key("plugins"), kv_key("demo")};
  lua_pushcfunction(L, script_open_libraries);
  if (lua_pcall(L, 0, 0, 0) != 0) return 0;
  options.size = sizeof options;
  options.policy = KV_LUA_SANDBOX;
  options.max_nodes = 100000; /* of one value */
  options.max_bytes = 4 << 20;
  options.max_watches = 8;
  options.quota = 1 << 20; /* of the file, for the script's part */
  if (!check(kv_lua_open(L, &options, &error), &error)) return 0;
  lua_setglobal(L, "kv");
  if (!check(kv_lua_push_store(L, store, &ui, 1, KV_LUA_READ_ONLY, &error),
             &error))
    return 0;
  lua_setglobal(L, "ui");
  if (!check(kv_lua_push_store(L, store, mine, 2, 0, &error), &error)) return 0;
  lua_setglobal(L, "mine");
  return 1;
}

/* Loads and runs the script, which returns a number and a list; says what is in
 * the list, and gives whether it is empty. */
static int run_script(lua_State *L) {
  int escapes = 0;
  lua_pushstring(L, lua_touserdata(L, 2));
  lua_setglobal(L, "home");
  if (script_load(L, lua_touserdata(L, 1)) != 0) return lua_error(L);
  lua_call(L, 0, 2);
  for (;; escapes++) {
    lua_rawgeti(L, -1, escapes + 1);
    if (lua_isnil(L, -1)) break;
    printf("a way out: %s\n", lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  printf("%d tries, %d ways out\n", (int)lua_tointeger(L, -3), escapes);
  lua_pushboolean(L, escapes == 0);
  return 1;
}

/* All of it in one protected call: whatever a script leaves behind, such as no
 * memory, is an error here and no end of the program. */
static int run(lua_State *L, char *script, char *home) {
  lua_pushcfunction(L, run_script);
  lua_pushlightuserdata(L, script);
  lua_pushlightuserdata(L, home);
  if (lua_pcall(L, 2, 1, 0) == 0) return lua_toboolean(L, -1);
  fprintf(stderr, "%s\n", script_error_text(L));
  return 0;
}

static void note_change(void *is_changed, const kv_step *path, size_t steps,
                        const kv_tree *old, const kv_tree *now) {
  (void)path, (void)steps, (void)old, (void)now;
  *(bool *)is_changed = true;
}

/* Reads the settings again: a value that is gone is its default, and one of a
 * wrong type leaves all as they were. */
static void read_settings(const kv_store *store, struct settings *settings) {
  struct settings found = defaults;
  kv_error *error = NULL;
  if (check(kv_read_fields(store, fields, field_count, &found, &error), &error))
    *settings = found;
  printf("the volume is %d\n", settings->volume);
  fflush(stdout);
}

/* The program's loop: sleeps until there may be something to tell. */
static int follow(kv_store *store, struct settings *settings, double seconds) {
  kv_watch *watch = NULL;
  kv_error *error = NULL;
  bool is_changed = false;
  struct pollfd poller = {-1, POLLIN, 0};
  time_t end = time(NULL) + (time_t)seconds;
  int good =
      check(kv_store_watch(store, NULL, 0, KV_SCOPE_SUBTREE, note_change,
                           &is_changed, &watch, &error),
            &error) &&
      check(kv_store_watch_descriptor(store, &poller.fd, &error), &error);
  while (good && !settings->quit && time(NULL) < end) {
    poll(&poller, 1, 500);
    good = check(kv_store_pump(store, NULL, &error), &error);
    if (is_changed) read_settings(store, settings);
    is_changed = false;
  }
  kv_watch_cancel(watch);
  return good;
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  kv_error *error = NULL;
  kv_store *store = NULL;
  kv_step secret = kv_key("secret"), theme[] = {kv_key("ui"), kv_key("theme")};
  char path[4096];
  snprintf(path, sizeof path, "%s/host.plist", arguments[2]);
  if (!check(kv_store_open_file(kv_string(path), NULL, &store, &error), &error))
    return 1;
  int good = set_text(store, &secret, 1, "keep out") &&
             set_text(store, theme, 2, "light");

  script_limits limits = {.memory = 64 << 20, .steps = 100000000, .seconds = 3};
  lua_State *L = script_open(&limits);
  if (!L) return 1;
  good = good && give(L, store) && run(L, arguments[1], arguments[2]);
  lua_close(L);

  struct settings settings = defaults;
  if (good) read_settings(store, &settings);
  good = good && follow(store, &settings, count > 3 ? atof(arguments[3]) : 0);

  /* The script closed its handles; the program's is open, and unchanged. */
  kv_bytes text = {NULL, 0};
  good = good &&
         check(kv_store_get_string(store, theme, 2, &text, &error), &error) &&
         text.data != NULL;
  printf("the theme is still %s\n", good ? text.data : "unknown");
  kv_bytes_free(&text);
  kv_store_free(store);
  return good ? 0 : 1;
}
