/* watch_queue.c: the notes of watches until kv.pump(). */
#include "watch_queue.h"

#include <stdlib.h>
#include <string.h>

/* ---- Pairs and notes */

kvl_pair *kvl_use_pair(kvl_pair *pair) {
  if (pair) pair->users++;
  return pair;
}

void kvl_leave_pair(void *object) {
  kvl_pair *pair = object;
  if (!pair || --pair->users > 0) return;
  kv_tree_free(pair->old_value);
  kv_tree_free(pair->new_value);
  free(pair);
}

void kvl_clear_note(kvl_note *note) {
  free(note->steps);
  free(note->text);
  kvl_leave_pair(note->pair);
  memset(note, 0, sizeof *note);
}

/* Gives back the size of a note that is taken or dropped. */
static void discount(kvl_watch_queue *queue, const kvl_note *note) {
  if (note->size.nodes > 0) queue->state->noted--;
  queue->state->noted_nodes -= note->size.nodes;
  queue->state->noted_bytes -= note->size.bytes;
}

/* Drops the notes from the one at `first` on. */
static void drop_notes(kvl_watch_queue *queue, size_t first) {
  while (queue->notes.count > first) {
    kvl_note *note = (kvl_note *)queue->notes.data + --queue->notes.count;
    discount(queue, note);
    kvl_clear_note(note);
  }
}

void kvl_free_notes(kvl_watch_queue *queue) {
  drop_notes(queue, queue->first);
  free(queue->notes.data);
  memset(&queue->notes, 0, sizeof queue->notes);
  queue->first = 0;
}

/* ---- Noting, with Swift on the stack: nothing of Lua may be called */

static kv_tree *copy_tree(const kv_tree *tree) {
  kv_tree *copy = NULL;
  kv_cursor root = kv_tree_root(tree);
  if (tree) kv_cursor_copy(&root, &copy);
  return copy;
}

static kvl_pair *new_pair(const kv_tree *old_value, const kv_tree *new_value) {
  kvl_pair *pair = malloc(sizeof *pair);
  if (!pair) return NULL;
  pair->users = 1;
  pair->old_value = copy_tree(old_value);
  pair->new_value = copy_tree(new_value);
  return pair;
}

static kvl_note *new_note(kvl_watch_queue *queue) {
  kvl_buffer *notes = &queue->notes;
  if (!kvl_reserve(notes, 1, sizeof(kvl_note))) return NULL;
  kvl_note *note = (kvl_note *)notes->data + notes->count++;
  memset(note, 0, sizeof *note);
  return note;
}

/* The change that is being noted, and the path in it. */
typedef struct Noting {
  kvl_watch_queue *queue;
  kvl_pair *pair;
  kv_view old_value;
  kv_view new_value;
  int is_measuring; /* the paths are counted, in `all`, and not noted yet */
  kvl_size all;
  int is_over; /* no more can be noted */
  size_t count;
  size_t bytes; /* of the keys of the steps */
  kv_step steps[KVL_STEPS];
} Noting;

/* Notes the values at the present path. */
static int append_note(Noting *noting, const kv_node *old_value,
                       const kv_node *new_value) {
  kvl_note *note = new_note(noting->queue);
  if (!note) return 0;
  note->count = noting->count;
  note->steps = kvl_copy_steps(noting->steps, noting->count);
  note->pair = kvl_use_pair(noting->pair);
  note->old_value = (kv_view){old_value, noting->old_value.bytes};
  note->new_value = (kv_view){new_value, noting->new_value.bytes};
  return note->steps != NULL;
}

/* Whether this much more keeps within the limits of the state. */
static int fits(const kvl_state *state, kvl_size size) {
  return state->noted_nodes + size.nodes <= state->max_nodes &&
         state->noted_bytes + size.bytes <= state->max_bytes;
}

static kvl_note *last_note(const kvl_watch_queue *queue) {
  return (kvl_note *)queue->notes.data + queue->notes.count - 1;
}

/* Counts more with the note that came last. */
static void count_more(kvl_watch_queue *queue, kvl_size size) {
  kvl_note *note = last_note(queue);
  note->size.nodes += size.nodes;
  note->size.bytes += size.bytes;
  queue->state->noted_nodes += size.nodes;
  queue->state->noted_bytes += size.bytes;
}

/* Notes the values at the present path, and counts them. */
static int note_counted(Noting *noting, const kv_node *old_value,
                        const kv_node *new_value, kvl_size size) {
  kvl_state *state = noting->queue->state;
  if (!fits(state, size) || !append_note(noting, old_value, new_value))
    return 0;
  last_note(noting->queue)->size = size;
  state->noted++;
  state->noted_nodes += size.nodes;
  state->noted_bytes += size.bytes;
  return 1;
}

/* ---- The paths at which two values differ */

static void compare(Noting *noting, const kv_node *old_value,
                    const kv_node *new_value);

/* Compares the values of a key; one of them may be NULL. */
static void compare_entry(Noting *noting, const char *bytes, const kv_node *key,
                          const kv_node *old_value, const kv_node *new_value) {
  kv_step *step = &noting->steps[noting->count++];
  *step = (kv_step){{bytes + key->payload, key->count}, 0};
  noting->bytes += key->count;
  compare(noting, old_value, new_value);
  noting->bytes -= key->count;
  noting->count--;
}

/* The keys of a dictionary that are not compared yet. */
typedef struct Keys {
  const kv_node *dictionary;
  const kv_node *next;
  const kv_node *end;
} Keys;

static Keys keys_of(const kv_node *dictionary) {
  const kv_node *end = dictionary + dictionary->payload;
  return (Keys){dictionary, end - dictionary->count, end};
}

/* Takes the value of the next key. */
static const kv_node *take_value(Keys *keys) {
  return keys->dictionary + (keys->next++->head & ~KV_NODE_KEY);
}

/* Which dictionary has the next key: the old one where this is negative, the
 * new one where it is positive, both where it is 0. */
static int next_of(const Noting *noting, const Keys *old, const Keys *new) {
  if (old->next == old->end) return 1;
  if (new->next == new->end) return -1;
  return kvl_compare_keys(&noting->old_value, old->next, &noting->new_value,
                          new->next);
}

/* Compares two dictionaries, whose keys are in order. */
static void compare_entries(Noting *noting, const kv_node *old_value,
                            const kv_node *new_value) {
  Keys old = keys_of(old_value), new = keys_of(new_value);
  while (!noting->is_over && (old.next < old.end || new.next < new.end)) {
    int order = next_of(noting, &old, &new);
    const kv_view *view = order > 0 ? &noting->new_value : &noting->old_value;
    const kv_node *key = order > 0 ? new.next : old.next;
    const kv_node *old_entry = order <= 0 ? take_value(&old) : NULL;
    const kv_node *new_entry = order >= 0 ? take_value(&new) : NULL;
    compare_entry(noting, view->bytes, key, old_entry, new_entry);
  }
}

static void measure(Noting *noting, kvl_size size) {
  noting->all.nodes += size.nodes;
  noting->all.bytes += size.bytes;
  noting->is_over = !fits(noting->queue->state, noting->all);
}

/* A path with its values counts the steps, and 2. */
static void visit(Noting *noting, const kv_node *old_value,
                  const kv_node *new_value) {
  const kvl_size size = {noting->count + 2, noting->bytes};
  if (noting->is_measuring)
    measure(noting, size);
  else
    noting->is_over = !note_counted(noting, old_value, new_value, size);
}

/* Whether the values at the present path are told as they are, and not those in
 * them. */
static int is_deepest(const Noting *noting) {
  size_t levels = noting->queue->levels;
  return noting->count >= (levels < KVL_STEPS ? levels : KVL_STEPS);
}

/* Visits each path at which two values differ. Recursion is bounded by the
 * number of steps: a deeper value is told as a whole. */
static void compare(Noting *noting, const kv_node *old_value,
                    const kv_node *new_value) {
  if (old_value && new_value && !is_deepest(noting) &&
      old_value->head == KV_NODE_DICTIONARY &&
      new_value->head == KV_NODE_DICTIONARY)
    compare_entries(noting, old_value, new_value);
  else if (!old_value || !new_value ||
           !kvl_are_equal(&(kv_view){old_value, noting->old_value.bytes},
                          &(kv_view){new_value, noting->new_value.bytes}))
    visit(noting, old_value, new_value);
}

/* ---- Handlers */

/* Notes the watched value as a whole: there is one such note for each change,
 * which counts nothing. */
static void note_whole(Noting *noting) {
  noting->count = noting->bytes = 0;
  if (!append_note(noting, noting->old_value.node, noting->new_value.node))
    noting->queue->lost = 1;
}

static void compare_all(Noting *noting, int is_measuring) {
  noting->is_measuring = is_measuring;
  noting->count = noting->bytes = 0;
  compare(noting, noting->old_value.node, noting->new_value.node);
}

/* Measures first: a script may have many watches, none of which fits. */
static void note_subtree(Noting *noting, kvl_change *change) {
  size_t waiting = noting->queue->notes.count;
  if (!change->is_over) compare_all(noting, 1);
  noting->is_over |= change->is_over;
  change->is_over = noting->is_over;
  if (!noting->is_over) compare_all(noting, 0);
  if (!noting->is_over) return;
  drop_notes(noting->queue, waiting);
  note_whole(noting);
}

/* Replaces all notes of a watch of everything by one. */
static void note_everything(kvl_watch_queue *queue) {
  kvl_free_notes(queue);
  if (!new_note(queue)) queue->lost = 1;
}

/* Whether no more keys are noted: the two documents of a note take far more
 * memory than their values, and the library looks at all keys, too, where so
 * many have changed. */
static int has_many(const kvl_state *state) {
  return state->is_bounded && state->noted >= 65536;
}

/* Values of keys are copies, which count. */
static kvl_size size_of_change(const kvl_change *change) {
  kvl_size size = {1, change->path->key.length};
  kv_view view;
  if (kv_tree_view(change->old_value, &view) == KV_OK)
    kvl_add_size(&size, view.node);
  if (kv_tree_view(change->new_value, &view) == KV_OK)
    kvl_add_size(&size, view.node);
  return size;
}

static int is_everything(const kvl_note *note) {
  return !note->pair && !note->event;
}

static void begin(Noting *noting, kvl_watch_queue *queue, kvl_change *change) {
  noting->queue = queue;
  noting->is_measuring = noting->is_over = 0;
  noting->all = (kvl_size){0, 0};
  noting->count = noting->bytes = 0;
  noting->old_value = noting->new_value = (kv_view){NULL, NULL};
  if (!change->pair)
    change->pair = new_pair(change->old_value, change->new_value);
  noting->pair = change->pair;
  if (!noting->pair) return;
  kv_tree_view(noting->pair->old_value, &noting->old_value);
  kv_tree_view(noting->pair->new_value, &noting->new_value);
}

/* Notes the paths below a key at which its values differ, beside these, which
 * are `size`. */
static void note_paths(Noting *noting, kvl_size size) {
  kvl_watch_queue *queue = noting->queue;
  size_t waiting = queue->notes.count;
  noting->is_measuring = 1;
  noting->all = size;
  compare(noting, noting->old_value.node, noting->new_value.node);
  noting->is_measuring = 0;
  if (!noting->is_over)
    compare(noting, noting->old_value.node, noting->new_value.node);
  if (noting->is_over)
    note_everything(queue);
  else if (queue->notes.count > waiting)
    count_more(queue, size);
}

static void note_key(kvl_watch_queue *queue, kvl_change *change) {
  Noting noting;
  if (kvl_waiting(queue) > 0 && is_everything(last_note(queue))) return;
  kvl_size size = size_of_change(change);
  if (!fits(queue->state, size) || has_many(queue->state)) {
    note_everything(queue);
    return;
  }
  begin(&noting, queue, change);
  if (!noting.pair) {
    queue->lost = 1;
    return;
  }
  noting.steps[noting.count++] = *change->path;
  noting.bytes = change->path->key.length;
  if (queue->levels > 1)
    note_paths(&noting, size);
  else if (!note_counted(&noting, noting.old_value.node, noting.new_value.node,
                         size))
    queue->lost = 1;
}

static void note_value(kvl_watch_queue *queue, kvl_change *change) {
  Noting noting;
  begin(&noting, queue, change);
  if (!noting.pair)
    queue->lost = 1;
  else if (queue->levels > 0)
    note_subtree(&noting, change);
  else
    note_whole(&noting);
}

void kvl_note_change(kvl_watch_queue *queue, kvl_change *change) {
  if (queue->depth == 0 && change->steps == 1)
    note_key(queue, change);
  else
    note_value(queue, change);
}

void kvl_note_event(void *context, kv_event event, kv_str message) {
  kvl_watch_queue *queue = context;
  kvl_note *note = new_note(queue);
  if (!note) {
    queue->lost = 1;
    return;
  }
  note->event = event;
  note->text = malloc(message.length + 1);
  if (!note->text) return; /* the event is told without its message */
  memcpy(note->text, message.data, message.length);
  note->length = message.length;
}

/* ---- Telling */

int kvl_take_note(kvl_watch_queue *queue, kvl_note *note) {
  if (kvl_waiting(queue) == 0) return 0;
  *note = ((kvl_note *)queue->notes.data)[queue->first++];
  discount(queue, note);
  if (kvl_waiting(queue) == 0) kvl_free_notes(queue);
  return 1;
}
