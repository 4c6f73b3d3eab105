/*
 * watch_queue.h: the notes that the library's handlers take for kv.pump().
 */
#ifndef KVCODABLE_WATCH_QUEUE_H
#define KVCODABLE_WATCH_QUEUE_H

#include "module.h"

/* A note of a change, or of an event where `event` is not 0. */
typedef struct kvl_note {
  kv_event event;
  size_t count;   /* of steps */
  kv_step *steps; /* the path; the keys are in `text` */
  char *text;     /* the keys' bytes, or the event's message */
  size_t length;  /* of the message */
  kv_tree *old_value;
  kv_tree *new_value;
} kvl_note;

/* Notes that wait, the oldest first. */
typedef struct kvl_watch_queue {
  kvl_buffer notes; /* kvl_note */
  int lost;         /* there was no memory for a note: kv.pump() raises that */
} kvl_watch_queue;

/* Handlers for kv_store_watch and kv_store_watch_events; the context is a
 * kvl_watch_queue. Swift is on the stack: they call nothing of Lua. */
void kvl_note_change(void *context, const kv_step *path, size_t steps,
                     const kv_tree *old_value, const kv_tree *new_value);
void kvl_note_event(void *context, kv_event event, kv_str message);

/* Takes the oldest note into a userdata on top, which owns it: the watch's
 * function may pump, and change the queue. NULL where there is none. */
kvl_note *kvl_take_note(lua_State *L, kvl_watch_queue *queue);

/* Frees all notes. */
void kvl_free_queue(kvl_watch_queue *queue);

#endif
