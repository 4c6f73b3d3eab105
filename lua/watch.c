/* watch.c: watches. The library's handlers only queue, in C memory; kv.pump()
 * calls the Lua functions afterwards, so that no Lua error crosses Swift. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "module.h"

#define WATCH_NAME "kvcodable.watch"
#define NOTE_NAME "kvcodable.note"

/* Something to tell: a change, or an event where `event` is not 0. */
typedef struct Note {
  kv_event event;
  size_t steps;
  kv_str *keys;     /* of each step; NULL data for an index */
  int64_t *indexes; /* of each step */
  char *text;       /* the keys' bytes, or the event's message */
  size_t length;    /* of the message */
  kv_tree *old_value;
  kv_tree *new_value;
} Note;

/* User value 1 is the function, 2 the store's handle. */
typedef struct Watch {
  kv_watch *watch;
  kvl_buffer notes; /* Note */
  int lost; /* there was no memory to note something: told by an error */
} Watch;

static const char watches_key; /* of the registry: the set of live watches */

/* ---- Noting, with Swift on the stack: nothing of Lua may be called */

static void free_note(Note *note) {
  free(note->keys);
  free(note->indexes);
  free(note->text);
  kv_tree_free(note->old_value);
  kv_tree_free(note->new_value);
}

static kv_tree *copy_tree(const kv_tree *tree) {
  kv_tree *copy = NULL;
  kv_cursor root = kv_tree_root(tree);
  if (tree) kv_cursor_copy(&root, &copy);
  return copy;
}

static int copy_path(Note *note, const kv_step *path, size_t steps) {
  size_t length = 0, used = 0;
  for (size_t i = 0; i < steps; i++) length += path[i].key.length;
  note->steps = steps;
  note->keys = calloc(steps + 1, sizeof *note->keys);
  note->indexes = calloc(steps + 1, sizeof *note->indexes);
  note->text = malloc(length + 1);
  if (!note->keys || !note->indexes || !note->text) return 0;
  for (size_t i = 0; i < steps; i++) {
    note->indexes[i] = path[i].index;
    if (!path[i].key.data) continue;
    memcpy(note->text + used, path[i].key.data, path[i].key.length);
    note->keys[i].data = note->text + used;
    note->keys[i].length = path[i].key.length;
    used += path[i].key.length;
  }
  return 1;
}

static Note *new_note(Watch *watch) {
  kvl_buffer *notes = &watch->notes;
  if (notes->count == notes->capacity && !kvl_grow(notes, 1, sizeof(Note))) {
    watch->lost = 1;
    return NULL;
  }
  Note *note = (Note *)notes->data + notes->count++;
  memset(note, 0, sizeof *note);
  return note;
}

static void note_change(void *context, const kv_step *path, size_t steps,
                        const kv_tree *old_value, const kv_tree *new_value) {
  Watch *watch = context;
  Note *note = new_note(watch);
  if (!note) return;
  if (!copy_path(note, path, steps)) {
    watch->lost = 1;
    free_note(note);
    watch->notes.count--;
    return;
  }
  note->old_value = copy_tree(old_value);
  note->new_value = copy_tree(new_value);
}

static void note_event(void *context, kv_event event, kv_str message) {
  Note *note = new_note(context);
  if (!note) return;
  note->event = event;
  note->text = malloc(message.length + 1);
  if (!note->text) return; /* the event is told without its message */
  memcpy(note->text, message.data, message.length);
  note->length = message.length;
}

/* ---- Watches */

static Watch *new_watch(lua_State *L) {
  Watch *watch = lua_newuserdatauv(L, sizeof *watch, 2);
  memset(watch, 0, sizeof *watch);
  luaL_setmetatable(L, WATCH_NAME);
  return watch;
}

static void push_watches(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &watches_key);
}

/* watch:cancel() */
static int watch_cancel(lua_State *L) {
  Watch *watch = luaL_checkudata(L, 1, WATCH_NAME);
  kv_watch_cancel(watch->watch);
  watch->watch = NULL;
  push_watches(L);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  lua_rawset(L, -3);
  return 0;
}

static int watch_gc(lua_State *L) {
  Watch *watch = luaL_checkudata(L, 1, WATCH_NAME);
  kv_watch_cancel(watch->watch);
  for (size_t i = 0; i < watch->notes.count; i++)
    free_note((Note *)watch->notes.data + i);
  free(watch->notes.data);
  memset(watch, 0, sizeof *watch);
  return 0;
}

/* Adds a store's descriptor to the one that kv.fd() gave, if it did. */
static void join_descriptor(kvl_state *state, kv_store *store) {
  int descriptor;
  struct epoll_event event;
  if (state->epoll <= 0) return;
  if (kv_store_watch_descriptor(store, &descriptor, NULL) != KV_OK) return;
  memset(&event, 0, sizeof event);
  event.events = EPOLLIN;
  /* A store that has joined already is fine. */
  epoll_ctl(state->epoll, EPOLL_CTL_ADD, descriptor, &event);
}

/* The watch is on top: keeps it, its function and its store. */
static int finish_watch(lua_State *L, kvl_state *state, kv_store *store,
                        int function) {
  lua_pushvalue(L, function);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 2);
  push_watches(L);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  join_descriptor(state, store);
  return 1;
}

/* store:watch(path, function(key, new, old) end, options?) */
static int store_watch(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kvl_path path;
  kv_scope scope = KV_SCOPE_VALUE;
  kv_store *store = kvl_check_store(L, state);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_settop(L, 4);
  if (!lua_isnil(L, 4)) {
    luaL_checktype(L, 4, LUA_TTABLE);
    lua_getfield(L, 4, "subtree");
    if (lua_toboolean(L, -1)) scope = KV_SCOPE_SUBTREE;
    lua_pop(L, 1);
  }
  kvl_full_path(L, 2, &path);
  if (path.count == 0) scope = KV_SCOPE_SUBTREE;
  Watch *watch = new_watch(L);
  kv_status status = kv_store_watch(store, path.steps, path.count, scope,
                                    note_change, watch, &watch->watch, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return finish_watch(L, state, store, 3);
}

/* store:events(function(kind, message) end) */
static int store_events(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_store *store = kvl_check_store(L, state);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  Watch *watch = new_watch(L);
  kv_status status =
      kv_store_watch_events(store, note_event, watch, &watch->watch, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return finish_watch(L, state, store, 2);
}

/* ---- Telling */

static void push_place(lua_State *L, const Note *note) {
  if (note->steps == 1 && note->keys[0].data) {
    lua_pushlstring(L, note->keys[0].data, note->keys[0].length);
    return;
  }
  lua_createtable(L, (int)note->steps, 0);
  for (size_t i = 0; i < note->steps; i++) {
    if (note->keys[i].data)
      lua_pushlstring(L, note->keys[i].data, note->keys[i].length);
    else
      lua_pushinteger(L, (lua_Integer)note->indexes[i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_tree(lua_State *L, kvl_state *state, kv_tree **tree) {
  kv_tree *taken = *tree;
  *tree = NULL;
  if (taken)
    kvl_build(L, state, taken);
  else
    lua_pushnil(L);
}

static const char *event_name(kv_event event) {
  switch (event) {
    case KV_EVENT_FLUSH_FAILED:
      return "flush_failed";
    case KV_EVENT_RECOVERED:
      return "recovered";
    case KV_EVENT_UNRECOVERABLE:
      return "unrecoverable";
    case KV_EVENT_OUTGROWN:
      return "outgrown";
    case KV_EVENT_LOCK_WAITED:
      return "lock_waited";
    case KV_EVENT_GROUP_WRITABLE:
      return "group_writable";
    case KV_EVENT_CONFLICT:
      return "conflict";
  }
  return "unknown";
}

static int box_gc(lua_State *L) {
  Note *note = luaL_checkudata(L, 1, NOTE_NAME);
  free_note(note);
  memset(note, 0, sizeof *note);
  return 0;
}

/* Takes the watch's first note into a userdata on top, which owns it: the
 * function that is told may pump, and change the queue. */
static Note *box_first(lua_State *L, Watch *watch) {
  Note *box = lua_newuserdatauv(L, sizeof *box, 0);
  memset(box, 0, sizeof *box);
  luaL_setmetatable(L, NOTE_NAME);
  if (watch->notes.count == 0) return NULL;
  Note *notes = watch->notes.data;
  *box = notes[0];
  watch->notes.count--;
  memmove(notes, notes + 1, watch->notes.count * sizeof(Note));
  return box;
}

/* tell(watch): calls the function with the watch's first note */
static int tell(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  Note *note = box_first(L, lua_touserdata(L, 1));
  if (!note) return 0;
  lua_getiuservalue(L, 1, 1);
  if (note->event) {
    lua_pushstring(L, event_name(note->event));
    lua_pushlstring(L, note->text ? note->text : "", note->length);
    lua_call(L, 2, 0);
  } else {
    push_place(L, note);
    push_tree(L, state, &note->new_value);
    push_tree(L, state, &note->old_value);
    lua_call(L, 3, 0);
  }
  return 0;
}

/* Tells everything that the watch at `index` has noted; an error of its
 * function goes to `error`, if it is the first. Gives how many calls it made. */
static lua_Integer tell_all(lua_State *L, int index, int error) {
  Watch *watch = lua_touserdata(L, index);
  lua_Integer calls = 0;
  for (size_t left = watch->notes.count;
       left > 0 && watch->watch && watch->notes.count > 0; left--) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, tell, 1);
    lua_pushvalue(L, index);
    calls++;
    if (lua_pcall(L, 1, 0, 0) == LUA_OK) continue;
    if (lua_isnil(L, error))
      lua_replace(L, error);
    else
      lua_pop(L, 1);
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

/* kv.pump(): calls the functions of watches; how many calls that were */
static int pump(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  lua_Integer calls = 0;
  lua_settop(L, 0);
  lua_pushnil(L); /* 1: the first error */
  lua_Integer count = list_watches(L);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    lua_getiuservalue(L, 3, 2);
    kv_store *store = kvl_store_at(L, 4);
    kv_status status = store ? kv_store_pump(store, NULL, &error) : KV_OK;
    if (status < 0) return kvl_raise(L, state, status, error);
    lua_settop(L, 2);
  }
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    calls += tell_all(L, 3, 1);
    Watch *watch = lua_touserdata(L, 3);
    if (watch->lost) {
      watch->lost = 0;
      return luaL_error(L, "not enough memory for a change that was watched");
    }
    lua_settop(L, 2);
  }
  if (!lua_isnil(L, 1)) {
    lua_pushvalue(L, 1);
    return lua_error(L);
  }
  lua_pushinteger(L, calls);
  return 1;
}

/* kv.fd(): a descriptor that is readable when pumping may have something to
 * tell, for poll and its kin */
static int fd(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  if (state->epoll <= 0) {
    state->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (state->epoll < 0) return luaL_error(L, "epoll_create1 failed");
    lua_Integer count = list_watches(L);
    for (lua_Integer i = 1; i <= count; i++) {
      lua_rawgeti(L, -1, i);
      lua_getiuservalue(L, -1, 2);
      kv_store *store = kvl_store_at(L, lua_gettop(L));
      if (store) join_descriptor(state, store);
      lua_pop(L, 2);
    }
  }
  lua_pushinteger(L, state->epoll);
  return 1;
}

void kvl_open_watch(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"cancel", watch_cancel}, {"__gc", watch_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"pump", pump}, {"fd", fd}, {NULL, NULL}};
  static const luaL_Reg store_functions[] = {
      {"watch", store_watch}, {"events", store_events}, {NULL, NULL}};
  luaL_newmetatable(L, WATCH_NAME);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_newmetatable(L, NOTE_NAME);
  lua_pushcfunction(L, box_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &watches_key);
  kvl_set_functions(L, functions);
  lua_getfield(L, -1, "store_methods");
  kvl_set_functions(L, store_functions);
  lua_pop(L, 1);
}
