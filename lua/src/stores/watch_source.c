/* watch_source.c: the watch of the library's that all watches of one path
 * share: else each of them would have its values and calls. */
#include <stdlib.h>
#include <string.h>

#include "watch_queue.h"

struct kvl_source {
  kvl_source *next;
  kv_watch *watch;
  const kv_store *store; /* its handle outlives the watches */
  kv_scope scope;
  kvl_watch_queue *queues;
  size_t count;
  kv_step steps[]; /* the path, and behind it its keys */
};

static void note_change(void *context, const kv_step *path, size_t steps,
                        const kv_tree *old_value, const kv_tree *new_value) {
  const kvl_source *source = context;
  kvl_change change = {path, steps, old_value, new_value, NULL, 0};
  for (kvl_watch_queue *queue = source->queues; queue; queue = queue->next)
    kvl_note_change(queue, &change);
  kvl_leave_pair(change.pair);
}

static int is_same(const kv_step *one, const kv_step *other) {
  if (!one->key.data || !other->key.data)
    return !one->key.data && !other->key.data && one->index == other->index;
  return one->key.length == other->key.length &&
         memcmp(one->key.data, other->key.data, one->key.length) == 0;
}

static int is_of(const kvl_source *source, const kv_store *store,
                 const kvl_path *path, kv_scope scope) {
  if (source->store != store || source->count != path->count ||
      source->scope != scope)
    return 0;
  for (size_t i = 0; i < path->count; i++)
    if (!is_same(&source->steps[i], &path->steps[i])) return 0;
  return 1;
}

/* The source of the path, with its watches told of all changes: a new one must
 * not be told of those before it. NULL where there is none. */
static kvl_source *find(kvl_state *state, kv_store *store, const kvl_path *path,
                        kv_scope scope) {
  kvl_source *source = state->sources;
  kv_error *error = NULL;
  while (source && !is_of(source, store, path, scope)) source = source->next;
  if (!source || kv_store_pump(store, NULL, &error) == KV_OK) return source;
  kv_error_free(error);
  return NULL;
}

static kvl_source *new_source(const kv_store *store, const kvl_path *path) {
  size_t size = sizeof(kvl_source) + path->count * sizeof(kv_step);
  kvl_source *source = malloc(size + path->bytes);
  if (!source) return NULL;
  memset(source, 0, sizeof *source);
  source->store = store;
  source->count = path->count;
  char *text = (char *)source + size;
  for (size_t i = 0; i < path->count; i++) {
    source->steps[i] = path->steps[i];
    if (!path->steps[i].key.data) continue;
    memcpy(text, path->steps[i].key.data, path->steps[i].key.length);
    source->steps[i].key.data = text;
    text += path->steps[i].key.length;
  }
  return source;
}

/* Puts the queue behind the others: they are told in the order of the
 * watches. */
static void append(kvl_source *source, kvl_watch_queue *queue) {
  kvl_watch_queue **last = &source->queues;
  while (*last) last = &(*last)->next;
  *last = queue;
  queue->next = NULL;
  queue->source = source;
}

kv_status kvl_join_source(kvl_state *state, kv_store *store,
                          const kvl_path *path, kvl_watch_queue *queue,
                          kv_error **error) {
  kv_scope scope = kvl_tells_stored(queue) ? KV_SCOPE_STORED
                   : path->count == 0      ? KV_SCOPE_SUBTREE
                                           : KV_SCOPE_VALUE;
  kvl_source *source = find(state, store, path, scope);
  if (!source) {
    source = new_source(store, path);
    if (!source) return KV_LIMIT_EXCEEDED;
    source->scope = scope;
    kv_status status =
        kv_store_watch(store, path->steps, path->count, scope, note_change,
                       source, &source->watch, error);
    if (status != KV_OK) {
      free(source);
      return status;
    }
    source->next = state->sources;
    state->sources = source;
  }
  append(source, queue);
  return KV_OK;
}

int kvl_shares_source(const kvl_watch_queue *queue) {
  return queue->source->queues != queue;
}

void kvl_leave_source(kvl_watch_queue *queue) {
  kvl_source *source = queue->source;
  if (!source) return;
  kvl_watch_queue **watching = &source->queues;
  while (*watching != queue) watching = &(*watching)->next;
  *watching = queue->next;
  queue->source = NULL;
  if (source->queues) return;
  kvl_source **link = &queue->state->sources;
  while (*link != source) link = &(*link)->next;
  *link = source->next;
  kv_watch_cancel(source->watch);
  free(source);
}
