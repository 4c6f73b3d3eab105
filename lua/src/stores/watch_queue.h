/*
 * watch_queue.h: the notes that the library's handlers take for kv.pump().
 *
 * A watch of a subtree is one of its value for the library: its queue compares
 * the old value with the new one, since the paths that differ may take far
 * more memory than both values. A watch of everything is told of each key.
 *
 * The notes of all queues of a state have its limits of a value together. A
 * change beyond them is one note of the watch's own path, with whole values.
 */
#ifndef KVCODABLE_WATCH_QUEUE_H
#define KVCODABLE_WATCH_QUEUE_H

#include "../values/conversion.h"

/* The values that notes look into. */
typedef struct kvl_pair {
  size_t users;
  kv_tree *old_value;
  kv_tree *new_value;
} kvl_pair;

/* A note of a change, or of an event where `event` is not 0. */
typedef struct kvl_note {
  kv_event event;
  size_t count;   /* of steps */
  kv_step *steps; /* the path below the watch's own, and behind it its keys */
  char *text;     /* the event's message */
  size_t length;  /* of the message */
  kvl_pair *pair; /* NULL for everything as it is when the note is told */
  kv_view old_value; /* without a node for none */
  kv_view new_value;
  kvl_size size; /* what the note counts in the state's limits */
} kvl_note;

typedef struct kvl_source kvl_source;

/* Notes that wait, the oldest first. */
typedef struct kvl_watch_queue kvl_watch_queue;
struct kvl_watch_queue {
  kvl_buffer notes; /* kvl_note */
  size_t first;     /* the oldest: those before it were taken */
  kvl_state *state;
  size_t depth;  /* of the watch's own path */
  size_t levels; /* below it that are told: 0 for its value, 1 for its keys */
  int lost;      /* there was no memory for a note: kv.pump() raises that */
  kvl_source *source;    /* that notes changes here; NULL for none */
  kvl_watch_queue *next; /* of the same source */
};

/* Whether the queue's notes have values as they are stored: paths name stored
 * keys, which the types of a schema do not show. Of the keys of the whole store
 * the library tells by itself. */
static inline int kvl_tells_stored(const kvl_watch_queue *queue) {
  return queue->levels > (queue->depth == 0);
}

static inline size_t kvl_waiting(const kvl_watch_queue *queue) {
  return queue->notes.count - queue->first;
}

/* Has the changes at the path noted in the queue. Those that the watches of the
 * same path were not told yet are noted in theirs. On KV_LIMIT_EXCEEDED `error`
 * may stay NULL. */
kv_status kvl_join_source(kvl_state *state, kv_store *store,
                          const kvl_path *path, kvl_watch_queue *queue,
                          kv_error **error);

/* Whether another queue, which may have been told, has the same source. */
int kvl_shares_source(const kvl_watch_queue *queue);

/* Ends that, where it was begun. */
void kvl_leave_source(kvl_watch_queue *queue);

/* A change that the queues of a source note, one after the other. */
typedef struct kvl_change {
  const kv_step *path;
  size_t steps;
  const kv_tree *old_value;
  const kv_tree *new_value;
  kvl_pair *pair; /* copies, which the notes share; NULL before the first */
  int is_over; /* there was no room for its paths: nor is there for the next */
} kvl_change;

/* Notes a change, with Swift on the stack: nothing of Lua is called. */
void kvl_note_change(kvl_watch_queue *queue, kvl_change *change);

/* The handler for kv_store_watch_events; the context is a kvl_watch_queue. */
void kvl_note_event(void *context, kv_event event, kv_str message);

/* Takes the oldest note out of the queue, which a watch's function may change;
 * 0 where there is none. */
int kvl_take_note(kvl_watch_queue *queue, kvl_note *note);

/* Frees the parts of the note. */
void kvl_clear_note(kvl_note *note);

/* A user of the pair more; one less, a kvl_free. */
kvl_pair *kvl_use_pair(kvl_pair *pair);
void kvl_leave_pair(void *pair);

/* Frees all notes. */
void kvl_free_notes(kvl_watch_queue *queue);

#endif
