/* watch_source.c: the watches of the library's, each of which all watches of one
 * path share: else each of them would have its values and calls. */
#include "watch_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* ---- Changes, taken with Swift on the stack: nothing of Lua may be called */

void kvl_leave_change(void *object) {
  kvl_change *change = object;
  if (--change->users > 0) return;
  kv_tree_free(change->values[KVL_OLD].tree);
  kv_tree_free(change->values[KVL_NEW].tree);
  free(change);
}

/* Adds a change with a text; NULL for lack of memory. */
static kvl_change *add_change(kvl_source *source, kv_str text) {
  kvl_change *change = malloc(sizeof *change + text.length);
  if (!change || !kvl_reserve(&source->changes, 1, sizeof change)) {
    free(change);
    source->state->lost = 1;
    return NULL;
  }
  memset(change, 0, sizeof *change);
  change->users = 1;
  change->length = text.length;
  if (text.length > 0) memcpy(change->text, text.data, text.length);
  ((kvl_change **)source->changes.data)[source->changes.count++] = change;
  return change;
}

/* Copies a value, which is borrowed; NULL for none. */
static void take_value(kvl_value *value, const kv_tree *tree) {
  kv_cursor root = kv_tree_root(tree);
  if (tree && kv_cursor_copy(&root, &value->tree) == KV_OK)
    kv_tree_view(value->tree, &value->view);
}

static void take_change(void *context, const kv_step *path, size_t steps,
                        const kv_tree *old_value, const kv_tree *new_value) {
  kvl_source *source = context;
  int has_key = steps > source->count;
  kvl_change *change =
      add_change(source, has_key ? path[source->count].key : (kv_str){NULL, 0});
  if (!change) return;
  change->has_key = has_key;
  take_value(&change->values[KVL_OLD], old_value);
  take_value(&change->values[KVL_NEW], new_value);
}

static void take_event(void *context, kv_event event, kv_str message) {
  kvl_change *change = add_change(context, message);
  if (change) change->event = event;
}

/* ---- What was told */

static int is_told(const kvl_source *source) {
  const kvl_reader *reader = source->readers;
  while (reader && reader->walk.count == 0 &&
         reader->begun == source->changes.count)
    reader = reader->next;
  return !reader;
}

int kvl_has_untold(const kvl_state *state) {
  const kvl_source *source = state->sources;
  while (source && is_told(source)) source = source->next;
  return source != NULL;
}

static void free_buffer(kvl_buffer *buffer) {
  free(buffer->data);
  memset(buffer, 0, sizeof *buffer);
}

static void drop_changes(kvl_source *source) {
  for (size_t i = 0; i < source->changes.count; i++)
    kvl_leave_change(((kvl_change **)source->changes.data)[i]);
  free_buffer(&source->changes);
  for (kvl_reader *reader = source->readers; reader; reader = reader->next)
    reader->begun = 0;
}

void kvl_forget_told(const kvl_state *state) {
  for (kvl_source *source = state->sources; source; source = source->next)
    if (source->changes.count > 0 && is_told(source)) drop_changes(source);
}

/* ---- Sources */

static int is_same(const kv_step *one, const kv_step *other) {
  if (!one->key.data || !other->key.data)
    return !one->key.data && !other->key.data && one->index == other->index;
  return one->key.length == other->key.length &&
         memcmp(one->key.data, other->key.data, one->key.length) == 0;
}

static int is_of(const kvl_source *source, const kv_store *store,
                 const kvl_reader *reader, int scope) {
  if (source->store != store || source->count != reader->depth ||
      source->scope != scope)
    return 0;
  for (size_t i = 0; i < source->count; i++)
    if (!is_same(&source->steps[i], &reader->steps[i])) return 0;
  return 1;
}

/* The source of a reader's path, to which all changes until now were given: the
 * reader must not be told of them. NULL where there is none. */
static kvl_source *find(kv_store *store, const kvl_reader *reader, int scope) {
  kvl_source *source = reader->state->sources;
  kv_error *error = NULL;
  while (source && !is_of(source, store, reader, scope)) source = source->next;
  if (!source || kv_store_pump(store, NULL, &error) == KV_OK) return source;
  kv_error_free(error);
  return NULL;
}

static void free_source(kvl_source *source) {
  kv_watch_cancel(source->watch);
  drop_changes(source);
  free(source->steps);
  free(source);
}

static kvl_source *new_source(kv_store *store, const kvl_reader *reader,
                              int scope, kv_status *status, kv_error **error) {
  kvl_source *source = calloc(1, sizeof *source);
  *status = KV_LIMIT_EXCEEDED;
  if (!source) return NULL;
  source->store = store;
  source->scope = scope;
  source->state = reader->state;
  source->count = reader->depth;
  source->steps = kvl_copy_steps(reader->steps, reader->depth);
  if (source->steps && scope == KVL_SCOPE_EVENTS)
    *status =
        kv_store_watch_events(store, take_event, source, &source->watch, error);
  else if (source->steps)
    *status =
        kv_store_watch(store, source->steps, source->count, (kv_scope)scope,
                       take_change, source, &source->watch, error);
  if (*status == KV_OK)
    *status = kv_store_watch_descriptor(store, &source->descriptor, error);
  if (*status == KV_OK) return source;
  free_source(source);
  return NULL;
}

kv_status kvl_join_source(kv_store *store, int is_event, kvl_reader *reader,
                          kv_error **error) {
  kvl_state *state = reader->state;
  kv_status status = KV_OK;
  int scope = is_event                   ? KVL_SCOPE_EVENTS
              : kvl_reads_stored(reader) ? (int)KV_SCOPE_STORED
              : reader->depth == 0       ? (int)KV_SCOPE_SUBTREE
                                         : (int)KV_SCOPE_VALUE;
  kvl_source *source = find(store, reader, scope);
  if (!source) {
    source = new_source(store, reader, scope, &status, error);
    if (!source) return status;
    source->next = state->sources;
    state->sources = source;
  }
  /* Behind the others: they are told in the order of the watches. */
  kvl_reader **last = &source->readers;
  while (*last) last = &(*last)->next;
  *last = reader;
  reader->source = source;
  reader->begun = source->changes.count;
  return KV_OK;
}

/* Takes the descriptor of a store out of kv.fd()'s where nothing watches the
 * store any more: nothing pumps it then. */
static void leave_descriptor(const kvl_state *state, int descriptor) {
  const kvl_source *source = state->sources;
  while (source && source->descriptor != descriptor) source = source->next;
  if (!source && state->epoll > 0)
    epoll_ctl(state->epoll, EPOLL_CTL_DEL, descriptor, NULL);
}

void kvl_leave_source(kvl_reader *reader) {
  kvl_source *source = reader->source;
  if (!source) return;
  kvl_reader **link = &source->readers;
  while (*link != reader) link = &(*link)->next;
  *link = reader->next;
  reader->source = NULL;
  free_buffer(&reader->walk);
  if (source->readers) return;
  kvl_source **place = &reader->state->sources;
  while (*place != source) place = &(*place)->next;
  *place = source->next;
  leave_descriptor(reader->state, source->descriptor);
  free_source(source);
}

/* ---- The walk */

/* Two dictionaries that are being compared, whose keys are in order. */
typedef struct Level {
  const kv_node *dictionaries[2];
  uint32_t next[2]; /* the keys of each that are not compared yet */
  kv_str key;       /* of the values that are being compared */
} Level;

/* The next key of one of the dictionaries, or NULL. */
static const kv_node *next_key(const Level *level, int side) {
  const kv_node *dictionary = level->dictionaries[side];
  size_t left = dictionary->count - level->next[side];
  return left > 0 ? dictionary + dictionary->payload - left : NULL;
}

/* Goes on to the next key of either dictionary, and finds its values; 0 when
 * there is none. */
static int next_entry(Level *level, kv_view values[2]) {
  const kv_node *keys[2] = {next_key(level, KVL_OLD), next_key(level, KVL_NEW)};
  if (!keys[KVL_OLD] && !keys[KVL_NEW]) return 0;
  int order = !keys[KVL_OLD] ? 1
              : !keys[KVL_NEW]
                  ? -1
                  : kvl_compare_keys(&values[KVL_OLD], keys[KVL_OLD],
                                     &values[KVL_NEW], keys[KVL_NEW]);
  for (int side = KVL_OLD; side <= KVL_NEW; side++) {
    const kv_node *key = keys[side];
    values[side].node = NULL;
    if (side == KVL_OLD ? order > 0 : order < 0) continue;
    level->key = (kv_str){values[side].bytes + key->payload, key->count};
    values[side].node = level->dictionaries[side] + (key->head & ~KV_NODE_KEY);
    level->next[side]++;
  }
  return 1;
}

/* Begins to compare two dictionaries; 0 where the values are to be told as they
 * are, as they are where there is no memory. */
static int go_down(kvl_reader *reader, const kvl_change *change,
                   const kv_view values[2]) {
  const kv_node *old = values[KVL_OLD].node, *new = values[KVL_NEW].node;
  if (reader->walk.count + (size_t)change->has_key >= reader->levels || !old ||
      !new || old->head != KV_NODE_DICTIONARY ||
      new->head != KV_NODE_DICTIONARY ||
      !kvl_reserve(&reader->walk, 1, sizeof(Level)))
    return 0;
  ((Level *)reader->walk.data)[reader->walk.count++] =
      (Level){{old, new}, {0, 0}, {NULL, 0}};
  return 1;
}

static int differ(const kv_view values[2]) {
  return !values[KVL_OLD].node || !values[KVL_NEW].node ||
         !kvl_are_equal(&values[KVL_OLD], &values[KVL_NEW]);
}

/* Goes on to the next change, or to the next key in it, at which the values are
 * not to be compared; 0 when there is none. */
static int go_on(kvl_reader *reader, kvl_difference *found) {
  kvl_change **changes = reader->source->changes.data;
  for (;;) {
    size_t depth = reader->walk.count;
    if (depth == 0) {
      if (reader->begun == reader->source->changes.count) return 0;
      reader->begun++;
    }
    found->change = changes[reader->begun - 1];
    for (int side = KVL_OLD; side <= KVL_NEW; side++)
      found->values[side] = found->change->values[side].view;
    if (depth > 0 &&
        !next_entry((Level *)reader->walk.data + depth - 1, found->values))
      reader->walk.count--;
    else if (!go_down(reader, found->change, found->values) &&
             (depth == 0 || differ(found->values)))
      return 1;
  }
}

int kvl_next_difference(kvl_reader *reader, kvl_difference *found) {
  kvl_path *path = &found->path;
  if (!reader->source || !go_on(reader, found)) {
    free_buffer(&reader->walk);
    return 0;
  }
  found->change->users++;
  kvl_clear_path(path);
  path->root = reader->root;
  for (; path->count < reader->depth; path->count++)
    path->steps[path->count] = reader->steps[path->count];
  if (found->change->has_key)
    path->steps[path->count++] =
        (kv_step){{found->change->text, found->change->length}, 0};
  const Level *level = reader->walk.data;
  for (size_t left = reader->walk.count; left > 0; left--, level++)
    path->steps[path->count++] = (kv_step){level->key, 0};
  return 1;
}
