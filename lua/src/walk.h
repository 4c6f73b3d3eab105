/*
 * walk.h: what walk.c writes a document with: where the walk is, the buffers
 * that it fills, and how it fails. Only for walk.c, of which it is a part.
 */
#ifndef KVCODABLE_WALK_H
#define KVCODABLE_WALK_H

#include <string.h>

#include "session.h"

/* A table on the way to the value being written; they live on the C stack. */
typedef struct Frame {
  const struct Frame *outer;
  int table;       /* stack index */
  const char *key; /* of a dictionary, or NULL */
  size_t key_length;
  const kvl_shape *shape; /* whose keys the walk goes through, or NULL */
  lua_Integer index;      /* of an array, or of the shape's keys as written */
  uintptr_t signature;    /* of a dictionary: the sum of its keys' addresses */
  int depth;
} Frame;

/* What went wrong, filled in where it is noticed. */
typedef struct Walk {
  lua_State *L;
  kvl_state *state;
  int takes_records; /* whether a record may be left without its keys */
  kv_status status;
  const char *message;
  const char *found;
} Walk;

__attribute__((cold, noinline)) static int fail(Walk *walk, const Frame *place,
                                                kv_status status,
                                                const char *message,
                                                const char *found);

static int no_memory(Walk *walk, const Frame *place) {
  return fail(walk, place, KV_LIMIT_EXCEEDED, "not enough memory", NULL);
}

/* ---- Buffers */

static inline int reserve(kvl_buffer *buffer, size_t extra, size_t size) {
  if (buffer->capacity - buffer->count >= extra) return 1;
  return kvl_grow(buffer, extra, size);
}

static inline int append_node(kvl_buffer *buffer, uint32_t head, uint32_t count,
                              uint64_t payload) {
  if (!reserve(buffer, 1, sizeof(kv_node))) return 0;
  kv_node *node = (kv_node *)buffer->data + buffer->count++;
  node->head = head;
  node->count = count;
  node->payload = payload;
  return 1;
}

/* Most strings are short: two moves that may overlap save the call. */
static inline void copy_bytes(char *target, const char *source, size_t length) {
  if (length > 16) {
    memcpy(target, source, length);
  } else if (length >= 8) {
    uint64_t first, last;
    memcpy(&first, source, 8);
    memcpy(&last, source + length - 8, 8);
    memcpy(target, &first, 8);
    memcpy(target + length - 8, &last, 8);
  } else if (length >= 4) {
    uint32_t first, last;
    memcpy(&first, source, 4);
    memcpy(&last, source + length - 4, 4);
    memcpy(target, &first, 4);
    memcpy(target + length - 4, &last, 4);
  } else {
    for (size_t i = 0; i < length; i++) target[i] = source[i];
  }
}

/* Copies the bytes and appends a node that refers to them. */
__attribute__((always_inline)) static inline int append_bytes(
    Walk *walk, kvl_buffer *nodes, uint32_t head, const char *bytes,
    size_t length, const Frame *frame) {
  kvl_buffer *text = &walk->state->bytes;
  size_t offset = text->count;
  if (length > UINT32_MAX)
    return fail(walk, frame, KV_LIMIT_EXCEEDED, "a string is too long", NULL);
  if (!reserve(text, length, 1) ||
      !append_node(nodes, head, (uint32_t)length, offset))
    return no_memory(walk, frame);
  copy_bytes((char *)text->data + offset, bytes, length);
  text->count = offset + length;
  return 1;
}

static inline int scalar(Walk *walk, uint32_t kind, uint64_t payload,
                         const Frame *frame) {
  if (append_node(&walk->state->nodes, kind, 0, payload)) return 1;
  return no_memory(walk, frame);
}

/* Notes what is wrong and where; the frames live only until the walk unwinds.
 * The keys are borrowed from the table's own strings. */
static int fail(Walk *walk, const Frame *place, kv_status status,
                const char *message, const char *found) {
  kvl_buffer *steps = &walk->state->steps;
  walk->status = status;
  walk->message = message;
  walk->found = found;
  size_t depth = place ? (size_t)place->depth : 0;
  steps->count = 0;
  if (!reserve(steps, depth, sizeof(kv_step))) return 0;
  steps->count = depth;
  for (; place; place = place->outer) {
    kv_step *step = (kv_step *)steps->data + --depth;
    const kvl_shape *shape = place->shape;
    size_t at = shape ? shape->places[place->index] : 0;
    step->key.data = shape ? shape->texts[at] : place->key;
    step->key.length = shape ? shape->lengths[at] : place->key_length;
    step->index = place->index - 1;
  }
  return 0;
}

#endif
