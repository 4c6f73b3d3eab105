/* lua_hidden.c: no error that a script meets through a handle which its host
 * pushed says where the store is kept. Each is provoked through a handle of the
 * script's own as well, which does say so: the silence means something. */
/* proves: G96 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "folders.h"
#include "lua_support.h"

/* The faults that a store is made to fail by. */
typedef struct Fault {
  const char *name;
  const char *file;   /* in a folder of its own */
  const char *script; /* with `s`, the handle, and `whole` */
  uint32_t flags;
  void (*begin)(void);
  void (*end)(void);
  int is_manual; /* durability: else what is set is written at once */
} Fault;

static char directory[300], path[400];
static int lock = -1;

/* ---- Faults */

static void damage(void) { write_file(path, "no property list {"); }

static void take_lock(void) {
  char name[400];
  snprintf(name, sizeof name, "%s/.secret.plist.lock", directory);
  lock = open(name, O_RDWR | O_CREAT, 0600);
  CHECK(lock >= 0 && flock(lock, LOCK_EX) == 0);
}

static void release_lock(void) { close(lock); }

static void limit_files(rlim_t size) {
  struct rlimit limit;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = size;
  setrlimit(RLIMIT_FSIZE, &limit);
}

static void fill_disk(void) {
  fflush(stdout);
  limit_files(16);
}

static void empty_disk(void) { limit_files(RLIM_INFINITY); }

static void lose_folders(void) { loses_folders = 1; }

static void keep_folders(void) { loses_folders = 0; }

static void remove_directory(void) {
  CHECK(nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

static void put_folder(void) {
  CHECK(remove(path) == 0 && mkdir(path, 0700) == 0);
}

/* Takes every descriptor, and at each later call frees one. */
static int taken[256];
static size_t taken_count;

static void take_descriptors(void) {
  if (taken_count > 0) {
    close(taken[--taken_count]);
    return;
  }
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = sizeof taken / sizeof *taken;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (int one; (one = open("/dev/null", O_RDONLY)) >= 0;)
    taken[taken_count++] = one;
}

static void give_descriptors(void) {
  while (taken_count > 0) close(taken[--taken_count]);
}

static const Fault faults[] = {
    {"values and paths", "secret.plist",
     "hidden.tells = true; hidden.changing(s, whole)", 0, NULL, NULL, 0},
    {"a database's values and paths", "secret.sqlite",
     "hidden.changing(s, whole)", 0, NULL, NULL, 0},
    {"a handle to read", "secret.plist", "hidden.reading(s, whole)",
     KV_LUA_READ_ONLY, NULL, NULL, 0},
    {"a database to read", "secret.sqlite", "hidden.reading(s, whole)",
     KV_LUA_READ_ONLY, NULL, NULL, 0},
    {"a full disk", "secret.plist", "hidden.failing(s, 'no_space', true)", 0,
     fill_disk, empty_disk, 0},
    {"a full disk at a sync", "secret.plist",
     "hidden.flushing(s, 'no_space', whole)", 0, fill_disk, empty_disk, 1},
    {"a full disk under a database", "secret.sqlite",
     "hidden.failing(s, 'io', true)", 0, fill_disk, empty_disk, 0},
    {"a folder that cannot be written to the disk", "secret.plist",
     "hidden.failing(s, 'outcome_unknown', true)", 0, lose_folders,
     keep_folders, 0},
    {"a folder that is gone", "secret.plist", "hidden.failing(s, 'io', true)",
     0, remove_directory, NULL, 0},
    {"somebody's lock", "secret.plist", "hidden.broken(s, 'timed_out')", 0,
     take_lock, release_lock, 0},
    {"a damaged file", "secret.plist", "hidden.broken(s, 'timed_out')", 0,
     damage, NULL, 0},
    {"a folder in the file's place", "secret.plist", "hidden.broken(s, 'io')",
     0, put_folder, NULL, 0},
    {"a copy without a descriptor", "secret.sqlite",
     "if whole then hidden.copying(s) else hidden.changing(s, whole) end", 0,
     take_descriptors, give_descriptors, 0},
    {"a closed handle", "secret.plist",
     "(whole_store or s):close(); hidden.closed(s)", 0, NULL, NULL, 0},
};

/* ---- Running */

static kv_store *open_hidden(const Fault *fault, int turn) {
  static const char json[] =
      "{\"title\": \"x\", \"list\": [1],"
      " \"ui\": {\"title\": \"x\", \"list\": [1]}}";
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_store *store = NULL;
  options.durability = fault->is_manual ? KV_MANUAL : KV_IMMEDIATE;
  options.timeout = 0.02;
  options.managed_file = kv_string(in_folder("managed.plist"));
  snprintf(directory, sizeof directory, "%s/turn%d", folder, turn);
  snprintf(path, sizeof path, "%s/%s", directory, fault->file);
  CHECK(mkdir(directory, 0700) == 0);
  CHECK(kv_store_open_file(kv_string(path), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_import(store, kv_string(json), NULL, NULL) == KV_OK);
  return store;
}

static const Fault *current;

/* spoil(): the fault begins */
static int spoil(lua_State *L) {
  (void)L;
  current->begin();
  return 0;
}

/* A state with what hidden.lua wants, and the handle as `s`. */
static lua_State *prepare(const Fault *fault, const kv_store *store, int is_own,
                          int is_whole) {
  static const char opening[] =
      "s = assert(kv.open_file(path, { durability = durability,\n"
      "  timeout = 0.02, read_only = reads, managed_file = managed }))\n"
      "if not whole then whole_store, s = s, s:at 'ui' end\n";
  lua_State *L = new_state(0);
  kv_step root = kv_key("ui");
  lua_createtable(L, 3, 0);
  lua_pushstring(L, folder + strlen("/tmp"));
  lua_rawseti(L, -2, 1);
  lua_pushstring(L, "secret.");
  lua_rawseti(L, -2, 2);
  lua_pushliteral(L, "/tmp");
  lua_rawseti(L, -2, 3);
  lua_setglobal(L, "needles");
  current = fault;
  lua_register(L, "spoil", spoil);
  lua_pushboolean(L, is_own);
  lua_setglobal(L, "is_own");
  lua_pushboolean(L, is_whole);
  lua_setglobal(L, "whole");
  lua_pushboolean(L, fault->flags != 0);
  lua_setglobal(L, "reads");
  lua_pushstring(L, fault->is_manual ? "manual" : "immediate");
  lua_setglobal(L, "durability");
  lua_pushstring(L, path);
  lua_setglobal(L, "path");
  lua_pushstring(L, in_folder("managed.plist"));
  lua_setglobal(L, "managed");
  if (is_own) {
    CHECK(run_script(L, opening, 0));
  } else {
    CHECK(kv_lua_push_store(L, store, &root, is_whole ? 0 : 1, fault->flags,
                            NULL) == KV_OK);
    lua_setglobal(L, "s");
  }
  CHECK(run_script(L, "other = kv.open_file('x', { engine = 'memory' })", 0));
  CHECK(luaL_loadfile(L, "Tests/C/lua/hidden.lua") == LUA_OK &&
        lua_pcall(L, 0, 1, 0) == LUA_OK);
  lua_setglobal(L, "hidden");
  return L;
}

static void run(const Fault *fault, int is_own, int is_whole) {
  static int turn = 0;
  static const char finding[] =
      "hidden.look('the handle', s)\n"
      "hidden.look('its metatable', getmetatable(s))\n"
      "local told = next(hidden.told) ~= nil\n"
      "return told and #hidden.problems == 0,\n"
      "  table.concat(hidden.problems, '\\n# ')\n";
  char name[200];
  kv_store *store = open_hidden(fault, ++turn);
  lua_State *L = prepare(fault, store, is_own, is_whole);
  int good = run_script(L, "hidden.other = other", 0) &&
             run_script(L, fault->script, 0);
  if (fault->end) fault->end();
  good = good && run_script(L, finding, 2);
  if (good && !lua_toboolean(L, -2)) {
    printf("# %s\n", lua_tostring(L, -1));
    good = 0;
  }
  snprintf(name, sizeof name, "%s through %s of %s", fault->name,
           is_whole ? "a handle" : "a part",
           is_own ? "the script's own" : "the host's");
  CHECK_NAMED(good, name);
  lua_close(L);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  write_file(in_folder("managed.plist"), "{\"locked\": 1}");
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    for (int is_whole = 0; is_whole < 2; is_whole++) {
      run(&faults[i], 1, is_whole);
      run(&faults[i], 0, is_whole);
    }
  remove_folder();
  return finish_checks();
}
