/* watch.c: watches. The library's handlers only take notes; kv.pump() calls the
 * Lua functions afterwards, so that no Lua error crosses Swift. */
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
#include "watch_queue.h"

#define WATCH_NAME "kvcodable.watch"

/* User values: the function, the store's handle, and a table of the steps of
 * the watch's path below the handle. */
enum { FUNCTION = 1, STORE = 2, STEPS = 3 };

typedef struct Watch {
  kvl_owned *owned; /* of the watch itself, while it is open */
  int is_open;
  int is_subtree;   /* whether paths are told, as tables */
  int was_called;   /* whether its function failed last */
  kv_watch *events; /* of a watch on events; NULL for one on values */
  kvl_watch_queue queue;
} Watch;

static const char watches_key; /* of the registry: the set of live watches */

/* ---- Watches */

/* Pushes a watch that is to be opened, for the function at `function`. */
static Watch *new_watch(lua_State *L, kvl_state *state, int function) {
  Watch *watch = lua_newuserdatauv(L, sizeof *watch, 3);
  memset(watch, 0, sizeof *watch);
  watch->queue.state = state;
  luaL_setmetatable(L, WATCH_NAME);
  watch->owned = kvl_own(L, state);
  lua_pushvalue(L, function);
  lua_setiuservalue(L, -2, FUNCTION);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, STORE);
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

/* Whether one of the live watches, which are listed in the set on top, is on the
 * store. */
static int is_watched(lua_State *L, const kv_store *store) {
  int found = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    lua_getiuservalue(L, -2, STORE);
    found |= kvl_store_at(L, lua_gettop(L)) == store;
    lua_pop(L, 1);
  }
  return found;
}

/* Takes the descriptor of the store at `index` out of kv.fd()'s, where nothing
 * watches it any more: nothing pumps it then. The set of watches is on top. */
static void leave_descriptor(lua_State *L, const kvl_state *state, int index) {
  int descriptor;
  kv_store *store = kvl_store_at(L, index);
  if (state->epoll <= 0 || !store || is_watched(L, store)) return;
  if (kv_store_watch_descriptor(store, &descriptor, NULL) == KV_OK)
    epoll_ctl(state->epoll, EPOLL_CTL_DEL, descriptor, NULL);
}

static void close_watch(void *object) {
  Watch *watch = object;
  watch->queue.state->watches--;
  watch->is_open = 0;
  kvl_leave_source(&watch->queue);
  kv_watch_cancel(watch->events);
  watch->events = NULL;
  kvl_free_notes(&watch->queue);
}

/* Nothing more is told; the notes that wait are dropped. */
static void end_watch(Watch *watch) {
  kvl_release(watch->queue.state, &watch->owned);
}

/* watch:cancel() */
static int watch_cancel(lua_State *L) {
  Watch *watch = luaL_checkudata(L, 1, WATCH_NAME);
  end_watch(watch);
  lua_getiuservalue(L, 1, STORE);
  int store = lua_gettop(L);
  list_watch(L, 1, 0);
  push_watches(L);
  leave_descriptor(L, watch->queue.state, store);
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
                  watch->is_open ? "open" : "cancelled", (const void *)watch);
  return 1;
}

/* Adds a store's descriptor to that of kv.fd(), where a script has asked for
 * it. */
static void join_descriptor(kvl_state *state, kv_store *store) {
  int descriptor;
  struct epoll_event event = {.events = EPOLLIN};
  if (state->epoll <= 0) return;
  if (kv_store_watch_descriptor(store, &descriptor, NULL) != KV_OK) return;
  /* A store that has joined already is fine. */
  epoll_ctl(state->epoll, EPOLL_CTL_ADD, descriptor, &event);
}

/* Makes the descriptor of kv.fd() readable while notes wait: pumping has emptied
 * those of the stores. */
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

/* Opens the watch on top, which is in the set of watches, unless it could not be
 * joined to the store: then raises the error. */
static int finish_watch(lua_State *L, kv_store *store, kv_status status,
                        kv_error *error) {
  Watch *watch = lua_touserdata(L, -1);
  kvl_state *state = watch->queue.state;
  if (status == KV_OK) {
    watch->owned->object = watch;
    watch->owned->free_object = close_watch;
    watch->is_open = 1;
    state->watches++;
    join_descriptor(state, store);
    return 1;
  }
  list_watch(L, lua_gettop(L), 0);
  if (!store) kvl_refuse_handle(L); /* a finalizer has closed it */
  if (!error) return luaL_error(L, "not enough memory");
  return kvl_raise(L, state, status, error);
}

/* Replaces the path at `index` by a table of its own steps, which no script
 * changes. Raises where it is none. */
static void own_path(lua_State *L, int index) {
  kvl_path path;
  kvl_full_path(L, index, &path);
  int is_table = lua_istable(L, index);
  size_t count = path.count - path.root;
  lua_createtable(L, (int)count, 0);
  for (lua_Integer i = 1; i <= (lua_Integer)count; i++) {
    if (is_table)
      lua_rawgeti(L, index, i);
    else
      lua_pushvalue(L, index);
    if (lua_type(L, -1) == LUA_TNUMBER) { /* may be 1.0 */
      lua_pushinteger(L, lua_tointeger(L, -1));
      lua_replace(L, -2);
    }
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, index);
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
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kvl_path path;
  kvl_check_store(L);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_settop(L, 4);
  int is_subtree = asks_for_subtree(L, 4);
  own_path(L, 2);
  Watch *watch = new_watch(L, state, 3);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, STEPS);
  kvl_full_path(L, 2, &path);
  check_number(L, state);
  watch->is_subtree = is_subtree;
  watch->queue.levels = is_subtree ? KVL_STEPS : path.count == path.root;
  watch->queue.depth = path.count;
  list_watch(L, lua_gettop(L), 1);
  kv_store *store = kvl_store_at(L, 1);
  kv_status status = KV_CLOSED;
  if (store)
    status = kvl_join_source(state, store, &path, &watch->queue, &error);
  if (status == KV_OK && kvl_shares_source(&watch->queue)) show_rest(state, 1);
  return finish_watch(L, store, status, error);
}

/* store:events(function(kind, message) end) */
static int store_events(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kvl_check_whole(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  Watch *watch = new_watch(L, state, 2);
  check_number(L, state);
  list_watch(L, lua_gettop(L), 1);
  kv_store *store = kvl_store_at(L, 1);
  kv_status status = KV_CLOSED;
  if (store)
    status = kv_store_watch_events(store, kvl_note_event, &watch->queue,
                                   &watch->events, &error);
  return finish_watch(L, store, status, error);
}

/* ---- Telling */

static void push_step_at(lua_State *L, const kvl_note *note, int own,
                         size_t count, size_t i) {
  if (i < count)
    lua_rawgeti(L, own, (lua_Integer)i + 1);
  else
    kvl_push_step(L, &note->steps[i - count]);
}

/* The path below the handle that the watch was made with, whose own steps are
 * in the table at `own`: a single key by itself, but for a watch of a
 * subtree. */
static void push_path(lua_State *L, const Watch *watch, const kvl_note *note,
                      int own) {
  size_t count = lua_rawlen(L, own), all = count + note->count;
  if (all == 1 && !watch->is_subtree) {
    push_step_at(L, note, own, count, 0);
    if (lua_type(L, -1) == LUA_TSTRING) return;
    lua_pop(L, 1);
  }
  lua_createtable(L, (int)all, 0);
  for (size_t i = 0; i < all; i++) {
    push_step_at(L, note, own, count, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void count_told(kvl_state *state, const kv_node *node) {
  kvl_size size = {0, 0};
  kvl_add_size(&size, node);
  state->told_nodes += size.nodes;
  state->told_bytes += size.bytes;
}

/* Whether a pump has told as much as a value may be: one that tells a large
 * value to many watches would take that many times as long. */
static int has_told_enough(const kvl_state *state) {
  return state->told_nodes >= state->max_nodes ||
         state->told_bytes >= state->max_bytes;
}

static void push_view(lua_State *L, kvl_state *state, const kv_view *view,
                      kvl_pair *pair) {
  if (view->node) {
    count_told(state, view->node);
    kvl_push_view(L, state, view, kvl_use_pair(pair), kvl_leave_pair);
  } else {
    lua_pushnil(L);
  }
}

/* The whole path of a note: the prefix of the handle at `store`, the watch's own
 * steps at `own`, and the note's. The strings stay where they are. */
static void whole_path(lua_State *L, const kvl_note *note, int store, int own,
                       kvl_path *path) {
  kvl_clear_path(path);
  if (((const kvl_handle *)lua_touserdata(L, store))->is_part) {
    lua_getiuservalue(L, store, KVL_PREFIX);
    kvl_add_path(L, lua_gettop(L), path);
    lua_pop(L, 1); /* the handle keeps the table */
  }
  kvl_add_path(L, own, path);
  for (size_t i = 0; i < note->count && path->count < KVL_STEPS; i++)
    path->steps[path->count++] = note->steps[i];
}

/* Gives the value at a view of the tree as the type shows it. Takes the type. */
static kv_status show(kv_type *type, const kv_tree *tree, const kv_view *view,
                      kv_tree **value, kv_error **error) {
  kv_cursor cursor = kv_tree_root(tree);
  kv_view root;
  kv_tree *stored = NULL;
  kv_status status = kv_tree_view(tree, &root);
  if (status == KV_OK) {
    cursor.position += (uint64_t)(view->node - root.node);
    status = kv_cursor_copy(&cursor, &stored);
  }
  if (status == KV_OK) status = kv_type_decode(type, stored, value, error);
  kv_tree_free(stored);
  kv_type_free(type);
  return status;
}

/* Pushes a stored value of the tree as the type of the store's schema shows it;
 * nil for an old one that is not of its type. 0 where there is no type, and
 * nothing was pushed. */
static int push_typed(lua_State *L, kvl_state *state, int store,
                      const kvl_path *path, const kv_tree *tree,
                      const kv_view *view, int is_old) {
  kv_error *error = NULL, *placed = NULL;
  kv_type *type = NULL;
  kv_tree *value = NULL;
  const kv_store *open = kvl_store_at(L, store);
  if (!open ||
      kv_store_type_at(open, path->steps, path->count, &type, NULL) != KV_OK)
    return 0;
  kv_status status = show(type, tree, view, &value, &error);
  if (status == KV_OK) {
    count_told(state, view->node);
    kvl_push_tree(L, state, value);
    return 1;
  }
  if (is_old) {
    kv_error_free(error);
    lua_pushnil(L);
    return 1;
  }
  placed = kv_error_placed(error, path->steps, path->count);
  kv_error_free(error);
  kvl_push_error_of(L, state, store, status, placed);
  return lua_error(L);
}

/* Pushes a value of a note, as get gives it. */
static void push_note_value(lua_State *L, kvl_state *state, kvl_note *note,
                            int store, const kv_tree *tree,
                            const kv_view *view) {
  const Watch *watch = lua_touserdata(L, 1);
  int converts = ((const kvl_handle *)lua_touserdata(L, store))->converts;
  int is_stored = kvl_tells_stored(&watch->queue) && view->node;
  kvl_path path;
  if (is_stored || converts) {
    lua_getiuservalue(L, 1, STEPS); /* the watch keeps the table */
    whole_path(L, note, store, lua_gettop(L), &path);
    lua_pop(L, 1);
  }
  if (!is_stored || !push_typed(L, state, store, &path, tree, view,
                                tree == note->pair->old_value))
    push_view(L, state, view, note->pair);
  if (converts) kvl_decode_by_schema(L, store, &path);
}

/* Pushes everything that is in the store of the handle at `handle`. */
static void push_everything(lua_State *L, kvl_state *state, int handle) {
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  const kv_store *store = kvl_store_at(L, handle);
  kv_status status = kv_store_get(store, NULL, 0, NULL, &tree, &error);
  if (status < 0) {
    kvl_push_error_of(L, state, handle, status, error);
    lua_error(L);
  }
  kv_view view;
  if (kv_tree_view(tree, &view) == KV_OK) count_told(state, view.node);
  kvl_push_tree(L, state, tree);
  if (((const kvl_handle *)lua_touserdata(L, handle))->converts) {
    kvl_path root;
    kvl_clear_path(&root);
    kvl_decode_by_schema(L, handle, &root);
  }
}

/* Pushes the arguments of a change: the path, the new value and the old one. */
static void push_change(lua_State *L, kvl_state *state, kvl_note *note,
                        int store) {
  lua_getiuservalue(L, 1, STEPS);
  push_path(L, lua_touserdata(L, 1), note, lua_gettop(L));
  lua_remove(L, -2);
  if (note->pair) {
    push_note_value(L, state, note, store, note->pair->new_value,
                    &note->new_value);
    push_note_value(L, state, note, store, note->pair->old_value,
                    &note->old_value);
  } else {
    push_everything(L, state, store);
  }
}

/* An event's name, and its message for a script that must not learn where the
 * store is kept. */
typedef struct Event {
  kv_event event;
  const char *name;
  const char *text;
} Event;

static const Event *find_event(kv_event event) {
  static const Event events[] = {
      {KV_EVENT_FLUSH_FAILED, "flush_failed", "The store was not written"},
      {KV_EVENT_RECOVERED, "recovered",
       "The store was damaged: a good copy took its place"},
      {KV_EVENT_UNRECOVERABLE, "unrecoverable", "The store is damaged"},
      {KV_EVENT_OUTGROWN, "outgrown", "The store is large for a file"},
      {KV_EVENT_LOCK_WAITED, "lock_waited", "The store was locked"},
      {KV_EVENT_GROUP_WRITABLE, "group_writable",
       "The group may write to the store's folder"},
      {KV_EVENT_CONFLICT, "conflict",
       "A change did not fit what somebody else wrote"},
      {KV_EVENT_UNREADABLE, "unreadable", "The store cannot be read"},
      {KV_EVENT_OVER_LIMIT, "over_limit", "The store is beyond its limits"},
      {KV_EVENT_REMOVED, "removed", "The store's file was removed"},
  };
  static const Event unknown = {KV_EVENT_FLUSH_FAILED, "unknown", ""};
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    if (events[i].event == event) return &events[i];
  return &unknown;
}

/* Pushes the name and message of an event of the store whose handle is at
 * `store`. */
static void push_event(lua_State *L, const kvl_note *note, int store) {
  const Event *event = find_event(note->event);
  lua_pushstring(L, event->name);
  if (kvl_is_hosts(L, store))
    lua_pushstring(L, event->text);
  else
    lua_pushlstring(L, note->text ? note->text : "", note->length);
}

/* tell(watch, note): calls the function with the note */
static int tell(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  Watch *watch = lua_touserdata(L, 1);
  kvl_note *note = lua_touserdata(L, 2);
  lua_getiuservalue(L, 1, STORE);
  int store = lua_gettop(L);
  lua_getiuservalue(L, 1, FUNCTION);
  int function = lua_gettop(L);
  watch->was_called = 0;
  if (note->event)
    push_event(L, note, store);
  else
    push_change(L, state, note, store);
  kvl_clear_note(note); /* the values may be large, and the function slow */
  watch->was_called = 1;
  lua_call(L, lua_gettop(L) - function, 0);
  return 0;
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
  const char *what = watch->events ? "The function of a watch of events failed"
                                   : "A watch's function failed";
  kvl_path path;
  kvl_clear_path(&path);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_getiuservalue(L, index, STEPS);
  int steps = lua_gettop(L);
  if (lua_istable(L, steps)) {
    kvl_add_path(L, steps, &path);
    if (path.count == 0) what = "The function of a watch of everything failed";
  }
  kvl_name_failure(L, steps - 1, &path, what);
  lua_remove(L, steps);
}

/* Tells all notes of the watch at `index`; an error of its function goes to the
 * stack index `error`, if it is the first, and sets `is_memory` where that is
 * no more than a lack of memory. Gives the number of calls. */
static lua_Integer tell_all(lua_State *L, int index, int error,
                            int *is_memory) {
  Watch *watch = lua_touserdata(L, index);
  lua_Integer calls = 0;
  for (size_t left = kvl_waiting(&watch->queue);
       left > 0 && watch->is_open && kvl_waiting(&watch->queue) > 0 &&
       !has_told_enough(watch->queue.state);
       left--) {
    kvl_note note;
    kvl_push_function(L, tell);
    lua_pushvalue(L, index);
    lua_pushlightuserdata(L, &note);
    if (!kvl_take_note(&watch->queue, &note)) { /* a finalizer has pumped */
      lua_pop(L, 3);
      break;
    }
    calls++;
    int outcome = lua_pcall(L, 2, 0, 0);
    kvl_clear_note(&note);
    if (outcome == LUA_OK) continue;
    if (outcome == LUA_ERRMEM && lua_isnil(L, error)) *is_memory = 1;
    if (lua_isnil(L, -1)) { /* an error all the same */
      lua_pop(L, 1);
      lua_pushliteral(L, "nil");
    }
    if (outcome != LUA_ERRMEM && watch->was_called) name_watch(L, index);
    keep_first(L, error);
  }
  return calls;
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

/* Has the store of the watch on top look for changes. */
static void look(lua_State *L, kvl_state *state, int first_error) {
  kv_error *error = NULL;
  lua_getiuservalue(L, -1, STORE);
  kv_store *store = kvl_store_at(L, lua_gettop(L));
  kv_status status = store ? kv_store_pump(store, NULL, &error) : KV_OK;
  if (status < 0) {
    kvl_push_error_of(L, state, lua_gettop(L), status, error);
    lua_remove(L, -2);
    keep_first(L, first_error);
  } else {
    lua_pop(L, 1);
  }
}

/* Raises a lack of memory as an error that has a code, which the text of Lua's
 * own has not once it was caught. */
static void raise_memory(lua_State *L, const char *message) {
  kvl_push_failure(L, KV_LIMIT_EXCEEDED, NULL, 0, message, NULL);
  lua_error(L);
}

/* Whether notes wait in one of the watches that are listed at `list`. */
static int has_rest(lua_State *L, int list, lua_Integer count) {
  int waits = 0;
  for (lua_Integer i = 1; i <= count && !waits; i++) {
    lua_rawgeti(L, list, i);
    waits = kvl_waiting(&((Watch *)lua_touserdata(L, -1))->queue) > 0;
    lua_pop(L, 1);
  }
  return waits;
}

/* Adds the descriptor that shows the notes which wait. */
static void add_rest(kvl_state *state, int waits) {
  struct epoll_event event = {.events = EPOLLIN};
  state->rest = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state->rest < 0) return;
  epoll_ctl(state->epoll, EPOLL_CTL_ADD, state->rest, &event);
  show_rest(state, waits);
}

/* Has the descriptor of kv.fd(), which is new, show the notes of the watches
 * that are listed at `list`. */
static void fill_descriptor(lua_State *L, kvl_state *state, int list,
                            lua_Integer count) {
  state->process = getpid();
  add_rest(state, has_rest(L, list, count));
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, list, i);
    lua_getiuservalue(L, -1, STORE);
    kv_store *store = kvl_store_at(L, lua_gettop(L));
    if (store) join_descriptor(state, store);
    lua_pop(L, 2);
  }
}

/* In a child process, the descriptor is the parent's, too: puts one of its own
 * under its number, once the stores have theirs. */
static void remake_descriptor(lua_State *L, kvl_state *state, int list,
                              lua_Integer count) {
  if (state->epoll <= 0 || state->process == getpid()) return;
  int fresh = epoll_create1(EPOLL_CLOEXEC);
  if (fresh < 0) return;
  dup3(fresh, state->epoll, O_CLOEXEC);
  close(fresh);
  if (state->rest > 0) close(state->rest);
  fill_descriptor(L, state, list, count);
}

/* pump_all(): the number of calls */
static int pump_all(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  lua_Integer calls = 0;
  int is_memory = 0;
  lua_settop(L, 0);
  lua_pushnil(L); /* 1: the first error */
  lua_Integer count = list_watches(L);
  show_rest(state, 0);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    look(L, state, 1);
    lua_settop(L, 2);
  }
  remake_descriptor(L, state, 2, count);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    calls += tell_all(L, 3, 1, &is_memory);
    Watch *watch = lua_touserdata(L, 3);
    if (watch->queue.lost) {
      watch->queue.lost = 0;
      raise_memory(L, "not enough memory for a change that was watched");
    }
    lua_settop(L, 2);
  }
  if (has_told_enough(state)) show_rest(state, has_rest(L, 2, count));
  if (is_memory) raise_memory(L, "not enough memory");
  if (!lua_isnil(L, 1)) {
    lua_pushvalue(L, 1);
    lua_error(L);
  }
  lua_pushinteger(L, calls);
  return 1;
}

/* Values that a watch's function pumps count with the others. */
lua_Integer kvl_pump(lua_State *L, kvl_state *state) {
  int is_inner = state->is_pumping;
  if (!is_inner) state->told_nodes = state->told_bytes = 0;
  state->is_pumping = 1;
  kvl_push_function(L, pump_all);
  int outcome = lua_pcall(L, 0, 1, 0);
  state->is_pumping = is_inner;
  if (outcome == LUA_ERRMEM) raise_memory(L, "not enough memory");
  if (outcome != LUA_OK) lua_error(L);
  lua_Integer calls = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return calls;
}

/* kv.pump(): calls the functions of watches; gives the number of calls. Notes
 * that are too much for one call wait for the next */
static int pump(lua_State *L) {
  lua_pushinteger(L, kvl_pump(L, kvl_state_of(L)));
  return 1;
}

/* Makes the descriptor of kv.fd(), where there is none. Raises. */
static void make_descriptor(lua_State *L, kvl_state *state) {
  if (state->epoll > 0) return;
  state->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (state->epoll < 0) luaL_error(L, "epoll_create1 failed");
  lua_Integer count = list_watches(L);
  fill_descriptor(L, state, lua_gettop(L), count);
  lua_pop(L, 1);
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
