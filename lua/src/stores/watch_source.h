/*
 * watch_source.h: what the library tells of a path, for all watches of that
 * path, and the walk over the difference of two values.
 *
 * The library keeps the state that it has told of. Pumping a store gives a
 * source the values before and after: one pair for a path, and one for each key
 * where everything is watched. Each watch walks the difference of a pair while
 * kv.pump() calls its function. A store is pumped again when everything is told,
 * so that nothing piles up: until then the library has the changes.
 */
#ifndef KVCODABLE_WATCH_SOURCE_H
#define KVCODABLE_WATCH_SOURCE_H

#include "../values/conversion.h"

/* In place of a kv_scope: the events of the store. */
enum { KVL_SCOPE_EVENTS = -1 };

/* The value before a change, and the one after it. */
enum { KVL_OLD = 0, KVL_NEW = 1 };

typedef struct kvl_value {
  kv_tree *tree; /* NULL for none */
  kv_view view;  /* of it; without a node for none */
} kvl_value;

/* A value before and after, or an event. */
typedef struct kvl_change {
  size_t users;
  kv_event event; /* 0 for values */
  kvl_value values[2];
  int has_key;   /* whether the text is a key below the source's path */
  size_t length; /* of the text: of the key, or the event's message */
  char text[];
} kvl_change;

typedef struct kvl_source kvl_source;

/* A watch, as its source sees it. */
typedef struct kvl_reader kvl_reader;
struct kvl_reader {
  kvl_state *state;
  kvl_source *source;   /* NULL when it is cancelled */
  kvl_reader *next;     /* of the same source */
  const kv_step *steps; /* the watched path */
  size_t depth;         /* the number of its steps */
  size_t root;          /* those of the handle, which are not told */
  size_t levels;        /* those below it that are told: 0 for its value, 1 for
                           its keys */
  size_t begun;         /* the changes of the source that are told, but for the
                         walk in the last one */
  kvl_buffer walk;      /* the dictionaries that are being compared: Level */
};

struct kvl_source {
  kvl_source *next;
  kv_watch *watch;
  kvl_state *state;
  const kv_store *store; /* its handle outlives the watches */
  int descriptor;        /* the store's */
  int scope;
  kv_step *steps; /* the path */
  size_t count;
  kvl_buffer changes; /* those that are not told to each reader: kvl_change * */
  kvl_reader *readers;
};

/* A place at which two values differ. */
typedef struct kvl_difference {
  kvl_change *change; /* has the values, and is used by this */
  kv_view values[2];  /* without a node for none */
  kvl_path path;      /* whole; borrows of the watch and the change */
} kvl_difference;

/* Has the reader told of what comes from now on, by the scope that its levels
 * ask for, or of events. What the other readers of the path were not told yet
 * they are told later. On KV_LIMIT_EXCEEDED `error` may stay NULL. */
kv_status kvl_join_source(kv_store *store, int is_event, kvl_reader *reader,
                          kv_error **error);

/* Ends that, where it was begun. */
void kvl_leave_source(kvl_reader *reader);

/* Whether the reader has values as they are stored: paths name stored keys,
 * which the types of a schema do not show. Of the keys of the whole store the
 * library tells by itself. */
static inline int kvl_reads_stored(const kvl_reader *reader) {
  return reader->levels > (reader->depth == 0);
}

/* Whether something was not told yet to a watch of the state. */
int kvl_has_untold(const kvl_state *state);

/* Frees the changes that all their readers were told. */
void kvl_forget_told(const kvl_state *state);

/* Finds the next difference that the reader was not told; 0 for none. Allocates
 * nothing of Lua's. */
int kvl_next_difference(kvl_reader *reader, kvl_difference *found);

/* A kvl_free, of a use of a change. */
void kvl_leave_change(void *change);

#endif
