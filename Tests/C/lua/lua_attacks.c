/* lua_attacks.c: what one call of a script under KV_LUA_SANDBOX, with the
 * default limits, can make its host use. The attacks are in lua_attacks.lua;
 * each runs in a process of its own, whose peak of memory and time of the
 * processor are taken around the one call.
 *
 * A pump calls functions of the script, which the host's hook ends: its time is
 * that of one of these calls.
 *
 *   lua_attacks            the quick ones; memory is asserted
 *   lua_attacks --full     all; the time is asserted, too
 *   --print                a table instead of TAP
 *   --only TEXT            those with the text in their names */
/* proves: G98 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "cost.h"
#include "lua_support.h"

#include <malloc.h>

#define MOST_MEGABYTES 400
#define MOST_SECONDS 2
#define PATIENCE 100 /* seconds until an attack is given up */

/* ---- A state whose memory is counted */

static size_t lua_used, lua_peak;

static void *allocate(void *context, void *block, size_t old, size_t size) {
  (void)context;
  if (!block) old = 0;
  if (size == 0) {
    free(block);
    lua_used -= old;
    return NULL;
  }
  block = realloc(block, size);
  if (!block) return NULL;
  lua_used = lua_used - old + size;
  if (lua_used > lua_peak) lua_peak = lua_used;
  return block;
}

/* open_store(engine): a new store of the host's, rooted at everything. Nothing
 * is written but by sync: what a set makes the library's thread do later is
 * that's. */
static int push_store(lua_State *L) {
  static const char *const names[] = {"memory", "file", "sqlite", NULL};
  static const kv_engine engines[] = {KV_ENGINE_MEMORY, KV_ENGINE_PROPERTY_LIST,
                                      KV_ENGINE_SQLITE};
  int which = luaL_checkoption(L, 1, "memory", names);
  kv_store_options options = store_options(engines[which]);
  options.durability = KV_MANUAL;
  kv_store *store = NULL;
  kv_error *error = NULL;
  kv_status status = kv_store_open_file(kv_string(in_folder(names[which])),
                                        &options, &store, &error);
  if (status != KV_OK) return luaL_error(L, "%s", kv_error_message(error).data);
  status = kv_lua_push_store(L, store, NULL, 0, 0, &error);
  kv_store_free(store);
  if (status != KV_OK) return luaL_error(L, "%s", kv_error_message(error).data);
  return 1;
}

/* Opens a state with the table of attacks on top. */
static lua_State *open_state(void) {
  kv_lua_options options = {.size = sizeof options, .policy = KV_LUA_SANDBOX};
  lua_State *L = lua_newstate(allocate, NULL);
  luaL_openlibs(L);
  if (kv_lua_open(L, &options, NULL) != KV_OK) return NULL;
  int module = lua_gettop(L);
  if (luaL_loadfile(L, "Tests/C/lua/lua_attacks.lua") == LUA_OK) {
    lua_pushvalue(L, module);
    lua_pushcfunction(L, push_store);
    if (lua_pcall(L, 2, 1, 0) == LUA_OK) return L;
  }
  printf("# %s\n", lua_tostring(L, -1));
  return NULL;
}

/* ---- One attack */

typedef struct Outcome {
  int is_measured;
  size_t memory, lua_memory; /* bytes */
  double seconds;            /* of the processor */
  char text[100];
} Outcome;

/* What the call gave: two values from `first` on, or an error. */
static void note(lua_State *L, int first, char *text, size_t size) {
  int shown = lua_isnil(L, first) ? first + 1 : first;
  snprintf(text, size, "%s", luaL_tolstring(L, shown, NULL));
  for (char *byte = text; *byte; byte++)
    if (*byte == '\n') *byte = ' ';
}

static Outcome attack(lua_State *L, int index) {
  Outcome outcome = {0, 0, 0, 0, ""};
  lua_rawgeti(L, -1, index);
  lua_getfield(L, -1, "is_pump");
  int is_pump = lua_toboolean(L, -1);
  lua_pop(L, 1);
  lua_getfield(L, -1, "prepare");
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
    note(L, -1, outcome.text, sizeof outcome.text);
    return outcome;
  }
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  malloc_trim(0);
  int first = lua_gettop(L);
  size_t before = reset_peak(), lua_before = lua_peak = lua_used;
  double start = used_seconds();
  lua_pcall(L, 0, 2, 0);
  outcome.seconds = used_seconds() - start;
  if (is_pump && lua_tointeger(L, first) > 1)
    outcome.seconds /= (double)lua_tointeger(L, first);
  size_t peak = memory("VmHWM");
  outcome.memory = peak > before ? peak - before : 0;
  outcome.lua_memory = lua_peak - lua_before;
  outcome.is_measured = 1;
  note(L, first, outcome.text, sizeof outcome.text);
  return outcome;
}

/* The values of an attack are not there for the next. */
static int empty_folder(void) {
  return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 &&
         mkdir(folder, 0700) == 0;
}

static Outcome attack_apart(int index) {
  Outcome outcome = {0, 0, 0, 0, "no answer"};
  int channel[2];
  if (!empty_folder()) return outcome;
  fflush(stdout);
  if (pipe(channel) != 0) return outcome;
  pid_t child = fork();
  if (child == 0) {
    alarm(PATIENCE);
    warm_up();
    lua_State *L = open_state();
    if (L) outcome = attack(L, index);
    _exit(write(channel[1], &outcome, sizeof outcome) != sizeof outcome);
  }
  close(channel[1]);
  if (read(channel[0], &outcome, sizeof outcome) != sizeof outcome)
    outcome.is_measured = 0;
  close(channel[0]);
  waitpid(child, NULL, 0);
  return outcome;
}

/* ---- All */

typedef struct Options {
  int is_full, prints;
  const char *only;
} Options;

static Options read_options(int count, char **words) {
  Options options = {0, 0, NULL};
  for (int i = 1; i < count; i++) {
    if (strcmp(words[i], "--full") == 0) options.is_full = 1;
    if (strcmp(words[i], "--print") == 0) options.prints = 1;
    if (strcmp(words[i], "--only") == 0 && i + 1 < count)
      options.only = words[++i];
  }
  return options;
}

static void judge(const char *name, const Outcome *outcome, Options options) {
  size_t megabytes = outcome->memory >> 20;
  if (options.prints) {
    printf("%6zu %6zu %7.2f  %-50s %s\n", megabytes, outcome->lua_memory >> 20,
           outcome->seconds, name, outcome->text);
    return;
  }
  printf("# %zu MB, %.2f s: %s\n", megabytes, outcome->seconds, outcome->text);
  CHECK_NAMED(outcome->is_measured && megabytes <= MOST_MEGABYTES &&
                  (!options.is_full || outcome->seconds <= MOST_SECONDS),
              name);
}

static int is_wanted(lua_State *L, const char *name, Options options) {
  lua_getfield(L, -1, "is_long");
  int is_long = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return options.only ? strstr(name, options.only) != NULL
                      : options.is_full || !is_long;
}

int main(int count, char **words) {
  Options options = read_options(count, words);
  if (is_checked()) return finish_checks(); /* a checker has its own memory */
  make_folder();
  lua_State *L = open_state();
  if (!L) return 1;
  if (options.prints)
    printf("    MB Lua MB seconds  attack, and what the call gave\n");
  for (int i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; i++) {
    lua_getfield(L, -1, "name");
    const char *name = lua_tostring(L, -1);
    lua_pop(L, 1); /* the table keeps it */
    if (is_wanted(L, name, options)) {
      Outcome outcome = attack_apart(i);
      judge(name, &outcome, options);
    }
    lua_pop(L, 1);
  }
  lua_close(L);
  remove_folder();
  return finish_checks();
}
