/* watch_queue.c: the notes of watches until kv.pump(). */
#include "watch_queue.h"

#include <stdlib.h>
#include <string.h>

#define NOTE_NAME "kvcodable.note"

static void free_note(kvl_note *note) {
  free(note->steps);
  free(note->text);
  kv_tree_free(note->old_value);
  kv_tree_free(note->new_value);
}

/* ---- Noting, with Swift on the stack: nothing of Lua may be called */

static kv_tree *copy_tree(const kv_tree *tree) {
  kv_tree *copy = NULL;
  kv_cursor root = kv_tree_root(tree);
  if (tree) kv_cursor_copy(&root, &copy);
  return copy;
}

static int copy_path(kvl_note *note, const kv_step *path, size_t steps) {
  size_t length = 0, used = 0;
  for (size_t i = 0; i < steps; i++) length += path[i].key.length;
  note->count = steps;
  note->steps = calloc(steps + 1, sizeof *note->steps);
  note->text = malloc(length + 1);
  if (!note->steps || !note->text) return 0;
  for (size_t i = 0; i < steps; i++) {
    note->steps[i] = path[i];
    if (!path[i].key.data) continue;
    memcpy(note->text + used, path[i].key.data, path[i].key.length);
    note->steps[i].key.data = note->text + used;
    used += path[i].key.length;
  }
  return 1;
}

static kvl_note *new_note(kvl_watch_queue *queue) {
  kvl_buffer *notes = &queue->notes;
  if (notes->count == notes->capacity &&
      !kvl_grow(notes, 1, sizeof(kvl_note))) {
    queue->lost = 1;
    return NULL;
  }
  kvl_note *note = (kvl_note *)notes->data + notes->count++;
  memset(note, 0, sizeof *note);
  return note;
}

void kvl_note_change(void *context, const kv_step *path, size_t steps,
                     const kv_tree *old_value, const kv_tree *new_value) {
  kvl_watch_queue *queue = context;
  kvl_note *note = new_note(queue);
  if (!note) return;
  if (!copy_path(note, path, steps)) {
    queue->lost = 1;
    free_note(note);
    queue->notes.count--;
    return;
  }
  note->old_value = copy_tree(old_value);
  note->new_value = copy_tree(new_value);
}

void kvl_note_event(void *context, kv_event event, kv_str message) {
  kvl_note *note = new_note(context);
  if (!note) return;
  note->event = event;
  note->text = malloc(message.length + 1);
  if (!note->text) return; /* the event is told without its message */
  memcpy(note->text, message.data, message.length);
  note->length = message.length;
}

/* ---- Telling */

static int note_gc(lua_State *L) {
  kvl_note *note = luaL_checkudata(L, 1, NOTE_NAME);
  free_note(note);
  memset(note, 0, sizeof *note);
  return 0;
}

kvl_note *kvl_take_note(lua_State *L, kvl_watch_queue *queue) {
  kvl_note *taken = lua_newuserdatauv(L, sizeof *taken, 0);
  memset(taken, 0, sizeof *taken);
  luaL_setmetatable(L, NOTE_NAME);
  kvl_hold(L);
  if (queue->notes.count == 0) return NULL;
  kvl_note *notes = queue->notes.data;
  *taken = notes[0];
  queue->notes.count--;
  memmove(notes, notes + 1, queue->notes.count * sizeof *notes);
  return taken;
}

void kvl_free_queue(kvl_watch_queue *queue) {
  for (size_t i = 0; i < queue->notes.count; i++)
    free_note((kvl_note *)queue->notes.data + i);
  free(queue->notes.data);
  memset(queue, 0, sizeof *queue);
}

void kvl_open_watch_queue(lua_State *L) {
  static const luaL_Reg methods[] = {{"__gc", note_gc}, {NULL, NULL}};
  kvl_new_class(L, NOTE_NAME, methods);
  lua_pop(L, 1);
}
