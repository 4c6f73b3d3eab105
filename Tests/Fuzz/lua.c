/*
 * lua.c: fuzzes the Lua module. Each seed makes a program (programs.lua), which
 * runs in a state of its own, in one of the ways that hosts have: sandboxed or
 * not, with a collector that runs at every allocation, an allocator that moves
 * blocks and fails, a hook that raises, a check that calls the script.
 *
 *   lua SECONDS FOLDER [SEED]   from the seed on; what is found is kept in FOLDER
 *   lua seed SEED               one seed again
 *   lua program SEED            prints its program
 *
 * Found is what the sanitizers find, a leak, a program that hangs, and one call
 * that takes more than 300 MB or 2 seconds; eight times as much where the script
 * is its host's own.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <kvcodable_lua.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <sanitizer/allocator_interface.h>
#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  BATCH = 50,       /* programs in one process, which then looks for leaks */
  CALL_SECONDS = 2, /* of processor time in one call */
  COLLECTING_FACTOR = 40, /* where the collector runs all the time */
  OWN_FACTOR = 8,
  HANG_SECONDS = 600,    /* of processor time in one program */
  WAITING_SECONDS = 120, /* without a second of processor time */
  LEFT = 77,             /* the program closed the state from within */
  LEAKED = 78
};
static const size_t script_memory = (size_t)64 << 20;

const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "detect_leaks=1:leak_check_at_exit=0:handle_abort=1:"
         "allocator_may_return_null=1:quarantine_size_mb=64:exitcode=99";
}

/* ---- Chance */

static uint64_t chance_state;

static uint64_t chance(uint64_t below) {
  chance_state += 0x9E3779B97F4A7C15u;
  uint64_t z = chance_state;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (z ^ z >> 31) % below;
}

/* ---- What one call takes */

static size_t call_memory;
static int call_seconds;
static atomic_size_t live, base;
static atomic_int counts;

static void complain(const char *text) {
  if (write(2, text, strlen(text)) < 0) return;
}

static void allocated(const volatile void *block, size_t size) {
  (void)block;
  size_t now = atomic_fetch_add(&live, size) + size;
  if (!atomic_load(&counts) || now < atomic_load(&base) + call_memory) return;
  atomic_store(&counts, 0);
  complain("BUDGET: too many bytes in one call\n");
  abort();
}

static void freed(const volatile void *block) {
  size_t size = block ? __sanitizer_get_allocated_size(block) : 0;
  atomic_fetch_sub(&live, size);
}

static void start_call(void) {
  struct itimerval time = {{0, 0}, {call_seconds, 0}};
  atomic_store(&base, atomic_load(&live));
  setitimer(ITIMER_PROF, &time, NULL);
}

static void out_of_time(int signal) {
  (void)signal;
  complain("BUDGET: too many seconds in one call\n");
  abort();
}

/* ---- The state */

typedef struct Way {
  int is_sandboxed;
  int collects; /* 1 at every allocation, 2 by generations */
  long failing; /* allocation that fails; 0 for none */
  int fails_once;
  int is_closing;
  int hook_count;  /* instructions between two hooks */
  long raising;    /* hook that raises; 0 for none */
  long most_hooks; /* after which each one raises */
  long hooks, calls;
  size_t used;
} Way;

static Way way;
static lua_State *main_state;

static void *allocate(void *context, void *block, size_t old, size_t size) {
  (void)context;
  if (!block) old = 0;
  if (size > old) {
    long call = ++way.calls;
    if (way.failing &&
        (way.fails_once ? call == way.failing : call >= way.failing))
      return NULL;
    if (!way.is_closing && way.used + size - old > script_memory) return NULL;
  }
  void *moved = NULL;
  if (size > 0) {
    moved = malloc(size);
    if (!moved) return NULL;
    if (block) memcpy(moved, block, old < size ? old : size);
  }
  free(block);
  way.used += size - old;
  return moved;
}

/* Between two hooks there is at most one call that takes long. */
static void hook(lua_State *L, lua_Debug *event) {
  (void)event;
  start_call();
  way.hooks++;
  if (way.hooks == way.raising || way.hooks > way.most_hooks)
    luaL_error(L, "the hook raises");
}

static int host_pump(lua_State *L) {
  size_t calls = 0;
  kv_error *error = NULL;
  kv_lua_pump(L, &calls, &error);
  kv_error_free(error);
  lua_pushinteger(L, (lua_Integer)calls);
  return 1;
}

static int host_to_tree(lua_State *L) {
  kv_tree *tree = NULL;
  kv_error *error = NULL;
  luaL_checkany(L, 1);
  int good = kv_lua_to_tree(L, 1, &tree, &error) == KV_OK;
  kv_error_free(error);
  good = good && kv_lua_push_tree(L, tree, NULL) == KV_OK;
  kv_tree_free(tree);
  return good;
}

static int host_to_store(lua_State *L) {
  kv_store *store = NULL;
  kv_step step = kv_key("a");
  luaL_checkany(L, 1);
  if (kv_lua_to_store(L, 1, &store, NULL) != KV_OK) return 0;
  int good = kv_lua_push_store(L, store, &step, chance(2),
                               chance(4) ? 0 : KV_LUA_READ_ONLY, NULL) == KV_OK;
  kv_store_free(store);
  return good;
}

static int host_root(lua_State *L) {
  kv_step step;
  luaL_checkany(L, 1);
  if (kv_lua_store_root(L, 1, 0, &step) != KV_OK) return 0;
  lua_pushlstring(L, step.key.data, step.key.data ? step.key.length : 0);
  return 1;
}

static kv_store *pushed_store;

static int host_push(lua_State *L) {
  kv_step steps[] = {kv_key("records"), kv_index(0)};
  return kv_lua_push_store(L, pushed_store, steps, chance(3),
                           chance(5) ? 0 : KV_LUA_READ_ONLY, NULL) == KV_OK;
}

/* What os.exit(true, true) does. */
static int host_leave(lua_State *L) {
  (void)L;
  lua_close(main_state);
  _exit(LEFT);
}

/* damaged(bytes, at): with one byte changed */
static int damaged(lua_State *L) {
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  size_t at = (size_t)luaL_checkinteger(L, 2);
  if (length == 0) return 0;
  at %= length;
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  luaL_addlstring(&buffer, bytes, at);
  luaL_addchar(&buffer, (char)(bytes[at] ^ 1 << length % 8));
  luaL_addlstring(&buffer, bytes + at + 1, length - at - 1);
  luaL_pushresult(&buffer);
  return 1;
}

static int call_check(lua_State *L) {
  if (lua_getglobal(L, "check") != LUA_TFUNCTION) return 0;
  lua_pushnil(L);
  lua_setglobal(L, "check");
  lua_call(L, 0, 0);
  return 0;
}

/* The check of the pushed store: asks the script, which does what it likes. The
 * name of a global may take memory, too: all of it is protected. */
static int ask_script(void *context, const kv_step *path, size_t steps,
                      const kv_tree *value) {
  (void)context, (void)path, (void)steps, (void)value;
  lua_State *L = main_state;
  if (!L || !lua_checkstack(L, 8)) return 0;
  lua_pushcfunction(L, call_check);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);
  return 0;
}

static kv_store *new_store(void) {
  static const char contents[] =
      "{\"a\": {\"a\": 1, \"b\": [1, 2, 3]}, \"key\": \"text\", \"c\": 2.5,"
      " \"list\": [1, \"two\", [3]], \"records\": [{\"a\": 1, \"b\": \"x\","
      " \"c\": 1.5}, {\"a\": 2, \"b\": \"y\", \"c\": 2.5}]}";
  kv_store_options options;
  kv_store *store = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.engine = KV_ENGINE_MEMORY;
  options.check = ask_script;
  if (kv_store_open(kv_string("org.example.fuzz"), &options, &store, NULL) !=
      KV_OK)
    abort();
  if (kv_store_import(store, kv_string(contents), NULL, NULL) != KV_OK) abort();
  return store;
}

static kv_registry *new_registry(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_registry_declare(registry,
                      kv_string("struct Host { a: Int = 1; b: [Host]?; "
                                "c: String = \"x\" }"),
                      kv_string(""), NULL, NULL);
  return registry;
}

/* ---- Programs */

static char folder[] = "/tmp/kvcodable-fuzz-XXXXXX";

static int open_state(lua_State *L) {
  static const luaL_Reg functions[] = {{"pump", host_pump},
                                       {"to_tree", host_to_tree},
                                       {"to_store", host_to_store},
                                       {"root", host_root},
                                       {"push", host_push},
                                       {"leave", host_leave},
                                       {NULL, NULL}};
  static const char *const taken[] = {"io",       "os",      "package",
                                      "debug",    "load",    "dofile",
                                      "loadfile", "require", NULL};
  kv_lua_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.policy = way.is_sandboxed ? KV_LUA_SANDBOX : 0;
  if (chance(10) == 0) options.policy |= KV_LUA_READ_ONLY;
  if (chance(4) == 0) options.max_nodes = 1 + chance(2000);
  if (chance(4) == 0) options.max_bytes = 1 + chance(1 << 20);
  options.registry = new_registry();
  luaL_openlibs(L);
  kv_status status = kv_lua_open(L, &options, NULL);
  kv_registry_free(options.registry);
  if (status != KV_OK) return luaL_error(L, "not opened");
  lua_setglobal(L, "kv");
  for (int i = 0; taken[i]; i++) {
    lua_pushnil(L);
    lua_setglobal(L, taken[i]);
  }
  luaL_newlib(L, functions);
  lua_setglobal(L, "host");
  lua_pushcfunction(L, damaged);
  lua_setglobal(L, "damaged");
  lua_pushstring(L, folder);
  lua_setglobal(L, "folder");
  lua_newtable(L);
  for (int i = 1; i <= 3; i++) {
    lua_pushcfunction(L, host_push);
    lua_call(L, 0, 1);
    lua_rawseti(L, -2, i);
  }
  lua_setglobal(L, "pushed");
  return 0;
}

static int run_program(lua_State *L) {
  const char *program = lua_touserdata(L, 1);
  lua_settop(L, 0);
  if (way.collects == 1) lua_gc(L, LUA_GCINC, 1, 1000, 100);
  if (way.collects == 2) lua_gc(L, LUA_GCGEN, 0, 0);
  lua_sethook(L, hook, LUA_MASKCOUNT, way.hook_count);
  if (luaL_loadstring(L, program) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

static void choose_way(uint64_t seed) {
  memset(&way, 0, sizeof way);
  chance_state = seed * 0x2545F4914F6CDD1Du;
  way.is_sandboxed = chance(3) != 0;
  way.collects = chance(2) ? 1 : (int)chance(3);
  way.fails_once = (int)chance(2);
  if (chance(4) == 0) way.failing = 2000 + (long)chance(20000);
  way.hook_count = chance(2) ? 1000 : 1 + (int)chance(300);
  if (chance(4) == 0) way.raising = 1 + (long)chance(200);
  way.most_hooks = (way.collects == 1 ? 100000 : 1000000) / way.hook_count;
  call_memory = ((size_t)300 << 20) * (way.is_sandboxed ? 1 : OWN_FACTOR);
  call_seconds = CALL_SECONDS * (way.is_sandboxed ? 1 : OWN_FACTOR) *
                 (way.collects == 1 ? COLLECTING_FACTOR : 1);
}

static char *generator; /* programs.lua; work() goes to another folder */

static void load_generator(void) {
  FILE *file = fopen("Tests/Fuzz/programs.lua", "r");
  generator = calloc(1, 1 << 20);
  if (!file || !generator || fread(generator, 1, (1 << 20) - 1, file) == 0) {
    fprintf(stderr, "run in the project's folder\n");
    exit(2);
  }
  fclose(file);
}

/* The program's text, made in a state of its own; to be freed. */
static char *make_program(uint64_t seed) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  choose_way(seed);
  if (luaL_loadbuffer(L, generator, strlen(generator), "=programs") != LUA_OK)
    goto wrong;
  lua_pushinteger(L, (lua_Integer)seed);
  lua_pushboolean(L, way.is_sandboxed);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) goto wrong;
  char *program = strdup(lua_tostring(L, -1));
  lua_close(L);
  return program;
wrong:
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  exit(1);
}

static void ignore(void *context, const char *text, int continues) {
  (void)context, (void)text, (void)continues;
}

static void run_seed(uint64_t seed) {
  char *program = make_program(seed);
  pushed_store = new_store();
  lua_State *L = lua_newstate(allocate, NULL);
  if (!L) abort();
  long failing = way.failing;
  way.failing = 0; /* opening at every point of failure is lua_memory.c's */
  lua_setwarnf(L, ignore, NULL);
  main_state = L;
  start_call();
  atomic_store(&counts, 1);
  lua_pushcfunction(L, open_state);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) abort();
  if (failing) way.failing = way.calls + failing;
  lua_pushcfunction(L, run_program);
  lua_pushlightuserdata(L, program);
  int outcome = lua_pcall(L, 1, 0, 0);
  if (getenv("FUZZ_VERBOSE") && outcome != LUA_OK)
    printf("seed %llu: %s\n", (unsigned long long)seed,
           lua_tostring(L, -1) ? lua_tostring(L, -1) : "?");
  if (chance(2)) {
    kv_store_free(pushed_store);
    pushed_store = NULL;
  }
  start_call();
  main_state = NULL;
  /* Where memory is refused for good while a state is closed, Lua itself leaves
   * finalizers out. */
  if (!way.fails_once) way.failing = 0;
  way.is_closing = 1;
  lua_close(L);
  kv_store_free(pushed_store);
  atomic_store(&counts, 0);
  free(program);
}

/* ---- Processes */

typedef struct Shared {
  atomic_ullong seed;
} Shared;
static Shared *shared;

static void clean_folder(void) {
  char command[80];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) complain("the folder stays\n");
}

/* Runs the seeds; ends the process. */
static void work(uint64_t first, uint64_t count) {
  signal(SIGPROF, out_of_time);
  if (chdir(folder) != 0) exit(1);
  __sanitizer_install_malloc_and_free_hooks(allocated, freed);
  for (uint64_t seed = first; seed < first + count; seed++) {
    atomic_store(&shared->seed, seed);
    run_seed(seed);
  }
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &never, NULL);
  int leaks = __lsan_do_recoverable_leak_check();
  fflush(NULL);
  _exit(leaks ? LEAKED : 0);
}

/* The processor time of a process, in seconds. */
static time_t processor_seconds(pid_t process) {
  clockid_t clock;
  struct timespec used = {0, 0};
  if (clock_getcpuclockid(process, &clock) == 0) clock_gettime(clock, &used);
  return used.tv_sec;
}

/* Runs the seeds in a process; gives how it ended: 0 where nothing was found. */
static int run_batch(uint64_t first, uint64_t count, const char *log) {
  int status = 0;
  uint64_t last = first;
  time_t since = time(NULL), begun = 0, used = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) exit(1);
  if (child == 0) {
    int file = log ? open(log, O_CREAT | O_TRUNC | O_WRONLY, 0644) : -1;
    if (file >= 0) dup2(file, 2);
    work(first, count);
  }
  while (waitpid(child, &status, WNOHANG) == 0) {
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    time_t now = processor_seconds(child);
    if (last != atomic_load(&shared->seed)) {
      last = atomic_load(&shared->seed);
      begun = now;
      since = time(NULL);
    }
    if (now != used) {
      used = now;
      since = time(NULL);
    }
    if (used - begun > HANG_SECONDS || time(NULL) - since > WAITING_SECONDS)
      kill(child, SIGABRT);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == LEFT) return 0;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return 128 + WTERMSIG(status);
}

static void keep(uint64_t seed, const char *log, const char *findings) {
  char path[4096];
  char *program = make_program(seed);
  snprintf(path, sizeof path, "%s/%llu.lua", findings,
           (unsigned long long)seed);
  FILE *file = fopen(path, "w");
  if (file) {
    fputs(program, file);
    fclose(file);
  }
  free(program);
  snprintf(path, sizeof path, "%s/%llu.log", findings,
           (unsigned long long)seed);
  if (rename(log, path) != 0) complain("no log\n");
  printf("found: seed %llu (again: %s seed %llu)\n", (unsigned long long)seed,
         "build/fuzz/lua/fuzz", (unsigned long long)seed);
  fflush(stdout);
}

static int fuzz(long seconds, const char *findings, uint64_t seed) {
  char log[4096];
  time_t end = time(NULL) + seconds;
  unsigned long long run = 0, found = 0;
  snprintf(log, sizeof log, "%s/../current.log", findings);
  printf("first seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  while (time(NULL) < end) {
    atomic_store(&shared->seed, seed);
    int outcome = run_batch(seed, BATCH, log);
    uint64_t last = atomic_load(&shared->seed);
    run += last - seed + 1;
    if (outcome == LEAKED) {
      for (uint64_t one = seed; one < seed + BATCH; one++)
        if (run_batch(one, 1, log) != 0) keep(one, log, findings), found++;
    } else if (outcome != 0) {
      keep(last, log, findings);
      found++;
    }
    seed = last + 1;
  }
  printf("stat::number_of_executed_units: %llu\n", run);
  printf("SUMMARY: %llu found, seeds up to %llu\n", found,
         (unsigned long long)seed);
  return found > 0;
}

int main(int count, char **arguments) {
  /* The order of Lua's tables goes by addresses: the same ones each time. */
  if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) &&
      personality(ADDR_NO_RANDOMIZE) >= 0)
    execv("/proc/self/exe", arguments);
  if (count < 3) {
    fprintf(stderr, "usage: lua SECONDS FOLDER [SEED] | lua seed SEED\n");
    return 2;
  }
  load_generator();
  uint64_t seed = strtoull(arguments[2], NULL, 10);
  if (strcmp(arguments[1], "program") == 0) {
    char *program = make_program(seed);
    fputs(program, stdout);
    free(program);
    return 0;
  }
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || !mkdtemp(folder)) return 1;
  setenv("XDG_CONFIG_HOME", folder, 1);
  setenv("HOME", folder, 1);
  int outcome;
  if (strcmp(arguments[1], "seed") == 0)
    outcome = run_batch(seed, 1, NULL);
  else
    outcome = fuzz(strtol(arguments[1], NULL, 10), arguments[2],
                   count > 3 ? strtoull(arguments[3], NULL, 10)
                             : (uint64_t)time(NULL) * 1000);
  clean_folder();
  return outcome;
}
