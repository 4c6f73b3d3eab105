/* watch.c: watches. The library's handlers only take the values; kv.pump() walks
 * their differences afterwards, so that no Lua error crosses Swift. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "store.h"
#include "watch.h"
#include "watch_source.h"

#define WATCH_NAME "kvcodable.watch"

/* User values: the function, the store's handle, and the path below the handle,
 * which keeps the keys of the watch's steps. */
enum { FUNCTION = 1, STORE = 2, PATH = 3 };

typedef struct Watch {
  kvl_owned *owned; /* of the watch itself, while it is open */
  int is_event;
  int is_subtree; /* whether paths are told, as tables */
  kvl_reader reader;
  kv_step steps[]; /* the whole path */
} Watch;

static const char watches_key; /* of the registry: the set of live watches */

/* ---- Watches */

/* Pushes a watch that is to be opened, of a path below the handle at 1, for the
 * function at `function`. */
static Watch *new_watch(lua_State *L, const kvl_path *path, int function) {
  kvl_state *state = kvl_state_of(L);
  size_t size = path->count * sizeof(kv_step);
  Watch *watch = lua_newuserdatauv(L, sizeof *watch + size, 3);
  memset(watch, 0, sizeof *watch);
  if (size > 0) memcpy(watch->steps, path->steps, size);
  watch->reader.state = state;
  watch->reader.steps = watch->steps;
  watch->reader.depth = path->count;
  watch->reader.root = path->root;
  luaL_setmetatable(L, WATCH_NAME);
  watch->owned = kvl_own(L, state);
  lua_pushvalue(L, function);
  lua_setiuservalue(L, -2, FUNCTION);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, STORE);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, PATH);
  return watch;
}

static void push_watches(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &watches_key);
}

/* Puts the watch at `index` into the set of live watches, which keeps it, or
 * takes it out. */
static void list_watch(lua_State *L, int index, int is_live) {
  push_watches(L);
  lua_pushvalue(L, index);
  if (is_live)
    lua_pushboolean(L, 1);
  else
    lua_pushnil(L);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

static void close_watch(void *object) {
  Watch *watch = object;
  watch->reader.state->watches--;
  kvl_leave_source(&watch->reader);
}

/* Nothing more is told. */
static void end_watch(Watch *watch) {
  kvl_release(watch->reader.state, &watch->owned);
}

/* watch:cancel() */
static int watch_cancel(lua_State *L) {
  end_watch(luaL_checkudata(L, 1, WATCH_NAME));
  list_watch(L, 1, 0);
  return 0;
}

/* Assigning nil to an existing field is allowed while a table is traversed. */
void kvl_end_watches(lua_State *L) {
  luaL_checkstack(L, 6, NULL);
  push_watches(L);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    Watch *watch = lua_touserdata(L, -2);
    lua_getiuservalue(L, -2, STORE);
    int is_over = !kvl_store_at(L, lua_gettop(L));
    lua_pop(L, 1);
    if (!is_over) continue;
    end_watch(watch);
    lua_pushvalue(L, -2);
    lua_pushnil(L);
    lua_rawset(L, -5);
  }
  lua_pop(L, 1);
}

static int watch_gc(lua_State *L) {
  end_watch(luaL_checkudata(L, 1, WATCH_NAME));
  return 0;
}

static int watch_tostring(lua_State *L) {
  const Watch *watch = luaL_checkudata(L, 1, WATCH_NAME);
  lua_pushfstring(L, "kvcodable watch (%s): %p",
                  watch->reader.source ? "open" : "cancelled",
                  (const void *)watch);
  return 1;
}

/* Adds a store's descriptor to that of kv.fd(), where a script has asked for
 * it. One that has joined already is fine. */
static void join_descriptor(const kvl_state *state, const kvl_source *source) {
  struct epoll_event event = {.events = EPOLLIN};
  if (state->epoll > 0)
    epoll_ctl(state->epoll, EPOLL_CTL_ADD, source->descriptor, &event);
}

/* Makes the descriptor of kv.fd() readable while something is untold: pumping
 * has emptied those of the stores. */
static void show_rest(const kvl_state *state, int waits) {
  uint64_t number = 1;
  if (state->rest <= 0) return;
  if (waits)
    waits = write(state->rest, &number, sizeof number) > 0;
  else
    waits = read(state->rest, &number, sizeof number) > 0;
}

/* Raises where a state has as many watches as its host allows: the cost of
 * a change grows with their number. */
static void check_number(lua_State *L, const kvl_state *state) {
  if (state->max_watches == 0 || state->watches < state->max_watches) return;
  kvl_push_too_large(L, state->max_watches, "watches");
  lua_error(L);
}

/* Opens the watch on top, on the handle at 1. Raises. */
static int open_watch(lua_State *L, Watch *watch) {
  kvl_state *state = watch->reader.state;
  kv_error *error = NULL;
  kv_status status = KV_CLOSED;
  check_number(L, state);
  list_watch(L, lua_gettop(L), 1);
  kv_store *store = kvl_store_at(L, 1);
  if (store)
    status = kvl_join_source(store, watch->is_event, &watch->reader, &error);
  if (status == KV_OK) {
    watch->owned->object = watch;
    watch->owned->free_object = close_watch;
    state->watches++;
    join_descriptor(state, watch->reader.source);
    if (kvl_has_untold(state)) show_rest(state, 1);
    return 1;
  }
  list_watch(L, lua_gettop(L), 0);
  if (!store) kvl_refuse_handle(L); /* a finalizer has closed it */
  if (!error) return luaL_error(L, "not enough memory");
  return kvl_raise(L, state, status, error);
}

static int asks_for_subtree(lua_State *L, int options) {
  static const char *const names[] = {"subtree", NULL};
  if (lua_isnil(L, options)) return 0;
  kvl_check_options(L, options, names);
  lua_getfield(L, options, "subtree");
  int asks = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return asks;
}

/* store:watch(path, function(key, new, old) end, options?) */
static int store_watch(lua_State *L) {
  kvl_path path;
  kvl_check_store(L);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_settop(L, 4);
  int is_subtree = asks_for_subtree(L, 4);
  kvl_own_path(L, 2);
  kvl_full_path(L, 2, &path);
  Watch *watch = new_watch(L, &path, 3);
  watch->is_subtree = is_subtree;
  watch->reader.levels =
      is_subtree ? KVL_STEPS - path.count : path.count == path.root;
  return open_watch(L, watch);
}

/* store:events(function(kind, message) end) */
static int store_events(lua_State *L) {
  kvl_path path;
  kvl_check_whole(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  kvl_clear_path(&path);
  Watch *watch = new_watch(L, &path, 2);
  watch->is_event = 1;
  return open_watch(L, watch);
}

/* ---- Telling */

/* The path that the script knows of: a single key by itself, but for a watch of
 * a subtree. */
static void push_path(lua_State *L, const Watch *watch, const kvl_path *path) {
  const kv_step *steps = path->steps + path->root;
  size_t count = path->count - path->root;
  if (count == 1 && steps->key.data && !watch->is_subtree)
    kvl_push_step(L, steps);
  else
    kvl_push_steps(L, steps, count);
}

/* Pushes a value of a difference, which is stored, as the type of the store's
 * schema shows it; nil for an old one that is not of its type. 0 where there is
 * no type, and nothing was pushed. */
static int push_typed(lua_State *L, kvl_state *state, int store,
                      const kvl_difference *found, int side) {
  const kv_step *steps = found->path.steps;
  size_t count = found->path.count;
  const kvl_value *all = &found->change->values[side];
  kv_error *error = NULL, *placed = NULL;
  kv_type *type = NULL;
  kv_tree *stored = NULL, *value = NULL;
  const kv_store *open = kvl_store_at(L, store);
  if (!open || kv_store_type_at(open, steps, count, &type, NULL) != KV_OK)
    return 0;
  kv_cursor cursor = kv_tree_root(all->tree);
  cursor.position += (uint64_t)(found->values[side].node - all->view.node);
  kv_status status = kv_cursor_copy(&cursor, &stored);
  if (status == KV_OK) status = kv_type_decode(type, stored, &value, &error);
  kv_tree_free(stored);
  kv_type_free(type);
  if (status == KV_OK) {
    kvl_push_tree(L, state, value);
    return 1;
  }
  if (side == KVL_NEW) placed = kv_error_placed(error, steps, count);
  kv_error_free(error);
  lua_pushnil(L);
  if (side == KVL_OLD) return 1;
  kvl_push_error_of(L, state, store, status, placed);
  return lua_error(L);
}

/* Pushes a value of a difference, as get gives it; nil for none. */
static void push_value(lua_State *L, kvl_state *state, int store,
                       kvl_difference *found, int side) {
  const kv_view *view = &found->values[side];
  const kvl_reader *reader = &((const Watch *)lua_touserdata(L, 1))->reader;
  if (!view->node)
    lua_pushnil(L);
  else if (!kvl_reads_stored(reader) ||
           !push_typed(L, state, store, found, side))
    kvl_push_borrowed(L, state, view);
  if (((const kvl_handle *)lua_touserdata(L, store))->converts)
    kvl_decode_by_schema(L, store, &found->path);
}

/* Pushes the name and message of an event of the store whose handle is at
 * `store`: a script that must not learn where that is kept has another one. */
static void push_event(lua_State *L, const kvl_change *change, int store) {
  static const struct {
    const char *name, *text;
  } events[] = {
      [KV_EVENT_FLUSH_FAILED] = {"flush_failed", "The store was not written"},
      [KV_EVENT_RECOVERED] = {"recovered",
                              "The store was damaged: a good copy "
                              "took its place"},
      [KV_EVENT_UNRECOVERABLE] = {"unrecoverable", "The store is damaged"},
      [KV_EVENT_OUTGROWN] = {"outgrown", "The store is large for a file"},
      [KV_EVENT_LOCK_WAITED] = {"lock_waited", "The store was locked"},
      [KV_EVENT_GROUP_WRITABLE] = {"group_writable",
                                   "The group may write to "
                                   "the store's folder"},
      [KV_EVENT_CONFLICT] = {"conflict",
                             "A change did not fit what somebody "
                             "else wrote"},
      [KV_EVENT_UNREADABLE] = {"unreadable", "The store cannot be read"},
      [KV_EVENT_OVER_LIMIT] = {"over_limit", "The store is beyond its limits"},
      [KV_EVENT_REMOVED] = {"removed", "The store's file was removed"},
  };
  int is_known = change->event < sizeof events / sizeof *events;
  lua_pushstring(L, is_known ? events[change->event].name : "unknown");
  if (kvl_is_hosts(L, store))
    lua_pushstring(L, is_known ? events[change->event].text : "");
  else
    lua_pushlstring(L, change->text, change->length);
}

/* next_call(watch): the watch's function and the arguments for its next
 * difference; nothing where there is none */
static int next_call(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_difference found;
  lua_getiuservalue(L, 1, STORE);
  if (!kvl_next_difference(&((Watch *)lua_touserdata(L, 1))->reader, &found))
    return 0;
  kvl_keep(L, state, found.change, kvl_leave_change);
  lua_getiuservalue(L, 1, FUNCTION);
  if (found.change->event)
    push_event(L, found.change, 2);
  else {
    push_path(L, lua_touserdata(L, 1), &found.path);
    push_value(L, state, 2, &found, KVL_NEW);
    push_value(L, state, 2, &found, KVL_OLD);
  }
  kvl_drop(L, state, 3); /* it may be large, and the function slow */
  return lua_gettop(L) - 2;
}

/* Moves the error on top to the stack index `error`, if it is the first. */
static void keep_first(lua_State *L, int error) {
  if (lua_isnil(L, error))
    lua_replace(L, error);
  else
    lua_pop(L, 1);
}

/* Puts the name of the watch at `index` into the error on top, where that is a
 * text or one of this module; any other value is the script's own. */
static void name_watch(lua_State *L, int index) {
  const Watch *watch = lua_touserdata(L, index);
  size_t root = watch->reader.root, count = watch->reader.depth - root;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  kvl_name_failure(L, lua_gettop(L), watch->steps + root, count,
                   watch->is_event ? "The function of a watch of events failed"
                   : count == 0 ? "The function of a watch of everything failed"
                                : "A watch's function failed");
}

/* Calls a function of Lua outside of a protected call: a hook that has ended a
 * watch's function ends the pump there, too. */
static void let_hook_end(lua_State *L) {
  if (luaL_loadstring(L, "") == LUA_OK)
    lua_call(L, 0, 0);
  else
    lua_pop(L, 1);
}

/* Tells all differences to the watch at `index`; an error goes to the stack
 * index `error`, if it is the first, and is noted in the state where it is a lack of
 * memory. Gives the number of calls. */
static lua_Integer tell_all(lua_State *L, kvl_state *state, int index,
                            int error) {
  int base = lua_gettop(L);
  for (lua_Integer calls = 0;; calls++) {
    kvl_push_function(L, next_call);
    lua_pushvalue(L, index);
    int outcome = lua_pcall(L, 1, LUA_MULTRET, 0), is_called = 0;
    if (outcome == LUA_OK) {
      if (lua_gettop(L) == base) return calls;
      is_called = 1;
      outcome = lua_pcall(L, lua_gettop(L) - base - 1, 0, 0);
    }
    if (outcome == LUA_OK) continue;
    if (outcome == LUA_ERRMEM && lua_isnil(L, error)) state->lost = 1;
    if (lua_isnil(L, -1)) { /* an error all the same */
      lua_pop(L, 1);
      lua_pushliteral(L, "nil");
    }
    if (outcome != LUA_ERRMEM && is_called) name_watch(L, index);
    keep_first(L, error);
    let_hook_end(L);
  }
}

/* Leaves a list of the live watches on top: telling may change the set. */
static lua_Integer list_watches(lua_State *L) {
  lua_Integer count = 0;
  lua_newtable(L);
  push_watches(L);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, -5, ++count);
  }
  lua_pop(L, 1);
  return count;
}

/* Has the store of the watch at `index` look for changes; an error goes to the
 * stack index `error`, if it is the first. */
static void look(lua_State *L, kvl_state *state, int index, int first) {
  kv_error *error = NULL;
  lua_getiuservalue(L, index, STORE);
  kv_store *store = kvl_store_at(L, lua_gettop(L));
  kv_status status = store ? kv_store_pump(store, NULL, &error) : KV_OK;
  if (status >= 0) return;
  kvl_push_error_of(L, state, lua_gettop(L), status, error);
  keep_first(L, first);
}

/* Has the descriptor of kv.fd(), which is new, show what is untold. */
static void fill_descriptor(kvl_state *state) {
  struct epoll_event event = {.events = EPOLLIN};
  state->process = getpid();
  state->rest = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state->rest >= 0)
    epoll_ctl(state->epoll, EPOLL_CTL_ADD, state->rest, &event);
  show_rest(state, kvl_has_untold(state));
  for (const kvl_source *one = state->sources; one; one = one->next)
    join_descriptor(state, one);
}

/* In a child process, the descriptor is the parent's, too: puts one of its own
 * under its number, once the stores have theirs. */
static void remake_descriptor(kvl_state *state) {
  if (state->epoll <= 0 || state->process == getpid()) return;
  int fresh = epoll_create1(EPOLL_CLOEXEC);
  if (fresh < 0) return;
  dup3(fresh, state->epoll, O_CLOEXEC);
  close(fresh);
  if (state->rest > 0) close(state->rest);
  fill_descriptor(state);
}

/* Has the stores of all watches look for changes, or tells the watches what is
 * untold; see tell_all(). */
static lua_Integer for_each(lua_State *L, kvl_state *state, int looks) {
  lua_Integer count = list_watches(L), calls = 0;
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    if (looks)
      look(L, state, 3, 1);
    else
      calls += tell_all(L, state, 3, 1);
    lua_settop(L, 2);
  }
  lua_settop(L, 1);
  return calls;
}

static lua_Integer tell_each(lua_State *L, kvl_state *state) {
  if (!kvl_has_untold(state)) return 0;
  show_rest(state, 1); /* for what an error leaves untold */
  lua_Integer calls = for_each(L, state, 0);
  kvl_forget_told(state);
  show_rest(state, kvl_has_untold(state));
  return calls;
}

/* pump_all(): the number of calls. What a pump has left untold, or is telling,
 * comes first. */
static int pump_all(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  lua_settop(L, 0);
  lua_pushnil(L); /* 1: the first error */
  lua_Integer calls = tell_each(L, state);
  for_each(L, state, 1);
  remake_descriptor(state);
  calls += tell_each(L, state);
  if (!lua_isnil(L, 1)) {
    lua_pushvalue(L, 1);
    lua_error(L);
  }
  lua_pushinteger(L, calls);
  return 1;
}

lua_Integer kvl_pump(lua_State *L, kvl_state *state) {
  kvl_push_function(L, pump_all);
  int outcome = lua_pcall(L, 0, 1, 0);
  /* A lack of memory as an error that has a code, which the text of Lua's own
   * has not once it was caught. */
  if (outcome == LUA_ERRMEM || state->lost) {
    state->lost = 0;
    kvl_push_failure(L, KV_LIMIT_EXCEEDED, NULL, 0, "not enough memory", NULL);
    lua_error(L);
  }
  if (outcome != LUA_OK) lua_error(L);
  lua_Integer calls = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return calls;
}

/* kv.pump(): calls the functions of watches; gives the number of calls */
static int pump(lua_State *L) {
  lua_pushinteger(L, kvl_pump(L, kvl_state_of(L)));
  return 1;
}

/* Makes the descriptor of kv.fd(), where there is none. Raises. */
static void make_descriptor(lua_State *L, kvl_state *state) {
  if (state->epoll > 0) return;
  state->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (state->epoll < 0) luaL_error(L, "epoll_create1 failed");
  fill_descriptor(state);
}

/* kv.fd(): a descriptor that is readable when pumping may have something to
 * tell, for poll and its kin */
static int fd(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  make_descriptor(L, state);
  lua_pushinteger(L, state->epoll);
  return 1;
}

/* ---- Waiting */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Whether the descriptor became readable, or the time is over; not where a
 * signal came. */
static int wait_readable(int descriptor, double seconds) {
  struct pollfd entry = {descriptor, POLLIN, 0};
  if (seconds > 1e9) seconds = 1e9;
  struct timespec time = {(time_t)seconds, 0};
  time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
  return ppoll(&entry, 1, &time, NULL) >= 0;
}

/* The seconds to wait. A hook interrupts no call: a script under a policy could
 * keep its host waiting. Raises. */
static double check_seconds(lua_State *L, const kvl_state *state) {
  double seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0, 1, "expected seconds from 0");
  if (state->policy) {
    kvl_push_failure(L, KV_ACCESS_DENIED, NULL, 0,
                     "The host of this script allows no waiting", NULL);
    lua_error(L);
  }
  if (state->watches == 0 && seconds > 1e9)
    luaL_error(L, "nothing is watched: kv.wait would wait for ever");
  return seconds;
}

/* kv.wait(seconds): waits until there is something to tell, at most so long, and
 * pumps; gives the number of calls: 0 when the time is over, or a signal came */
static int wait_and_pump(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  double seconds = check_seconds(L, state), end = now() + seconds;
  lua_Integer calls = 0;
  make_descriptor(L, state);
  for (int waits = 1; calls == 0 && waits;) {
    calls = kvl_pump(L, state);
    double left = end - now();
    waits = calls == 0 && left > 0 && wait_readable(state->epoll, left);
  }
  lua_pushinteger(L, calls);
  return 1;
}

void kvl_open_watch(lua_State *L) {
  static const luaL_Reg methods[] = {{"cancel", watch_cancel},
                                     {"__close", watch_cancel},
                                     {"__gc", watch_gc},
                                     {"__tostring", watch_tostring},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"pump", pump}, {"fd", fd}, {"wait", wait_and_pump}, {NULL, NULL}};
  static const luaL_Reg store_functions[] = {
      {"watch", store_watch}, {"events", store_events}, {NULL, NULL}};
  kvl_new_class(L, WATCH_NAME, methods);
  kvl_name_methods(L, "a watch");
  lua_pop(L, 1);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &watches_key);
  kvl_set_functions(L, functions);
  kvl_add_store_methods(L, store_functions);
}
