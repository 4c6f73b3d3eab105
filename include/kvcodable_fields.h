/*
 * kvcodable_fields.h: a struct of a C or C++ program, read from a store and
 * written to it by a table of its members.
 *
 *   struct settings {
 *     int32_t width;
 *     char title[40];
 *     bool has_title;
 *     uint16_t ports[8];
 *     size_t port_count;
 *   };
 *
 *   static const kv_field fields[] = {
 *       KV_FIELD(struct settings, width, KV_FIELD_INT32, "window", "width"),
 *       KV_FIELD_OPTIONAL(struct settings, title, has_title, KV_FIELD_TEXT,
 *                         "window", "title"),
 *       KV_FIELD_ARRAY(struct settings, ports, port_count, KV_FIELD_UINT16,
 *                      "ports"),
 *   };
 *
 *   struct settings settings = {.width = 640}, old;
 *   kv_read_fields(store, KV_FIELDS(fields), &settings, &error);
 *   kv_copy_fields(KV_FIELDS(fields), &settings, &old);
 *   settings.width = 800;
 *   kv_write_fields(store, KV_FIELDS(fields), &old, &settings, &error);
 *
 * A field's path is one key for each dictionary on the way, KV_FIELD_STEPS at
 * most; none begins with that of another field of the table. A member whose
 * value is absent stays as it was: give it its default before reading. Values
 * are read as the type language reads them (a real with a whole value is an
 * integer, nothing else is converted), and an error names the path, the
 * expected value and the one that was found.
 *
 * This header is outside the stability promise of kvcodable.h until it has
 * proved itself: it has a version of its own, KV_FIELDS_VERSION. Its functions
 * are compiled into the program that includes it. They keep no state: threads
 * may use them at once, on structs of their own.
 */
#ifndef KVCODABLE_FIELDS_H
#define KVCODABLE_FIELDS_H

#include "kvcodable.h"
#include "kvcodable_nodes.h"

#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KV_FIELDS_VERSION 1

/* The most keys of a field's path, and of one with those of the tables that it
 * is in, where the index of an array's element counts as one. */
#define KV_FIELD_STEPS 8
#define KV_FIELD_DEPTH 64

/* The member's type in C. */
typedef enum kv_field_kind {
  KV_FIELD_BOOL = 1, /* bool, or an integer that is 0 or 1 */
  KV_FIELD_INT8 = 2,
  KV_FIELD_INT16 = 3,
  KV_FIELD_INT32 = 4,
  KV_FIELD_INT64 = 5,
  KV_FIELD_UINT8 = 6,
  KV_FIELD_UINT16 = 7,
  KV_FIELD_UINT32 = 8,
  KV_FIELD_UINT64 = 9,
  KV_FIELD_FLOAT = 10,
  KV_FIELD_DOUBLE = 11,
  KV_FIELD_TEXT = 12, /* char[n]: a string of less than n bytes, and a NUL */
  /* char *: NULL where there is none, else memory of malloc(), which belongs to
   * the struct: reading frees it before it puts another there. */
  KV_FIELD_STRING = 13,
  KV_FIELD_DATE = 14, /* double: seconds since 2001-01-01T00:00:00Z */
  KV_FIELD_TIME = 15, /* time_t, 4 or 8 bytes: whole seconds since 1970 */
  KV_FIELD_TABLE = 16 /* a struct with a table of its own */
} kv_field_kind;

/* A member of a struct, and the path of its value. Made by the macros below.
 *
 * Example:
 *
 *   struct point {
 *     double x, y;
 *   } centre = {0.5, 0.5};
 *   static const kv_field fields[] = {
 *       KV_FIELD(struct point, x, KV_FIELD_DOUBLE, "centre", "x"),
 *       KV_FIELD(struct point, y, KV_FIELD_DOUBLE, "centre", "y")};
 *   kv_error *error;
 *   if (kv_read_fields(store, KV_FIELDS(fields), &centre, &error) < 0) {
 *     fprintf(stderr, "%s\n", kv_error_message(error).data);
 *     kv_error_free(error);
 *   }
 */
typedef struct kv_field {
  kv_field_kind kind;
  size_t offset;    /* of the member in its struct */
  size_t size;      /* bytes of the member; of one element, of an array */
  size_t room;      /* elements that an array has room for; 0 for no array */
  size_t mark;      /* offset of the flag, or of an array's count */
  size_t mark_size; /* its bytes; 0 where the member has none */
  const struct kv_field *fields; /* the table of a KV_FIELD_TABLE */
  size_t field_count;
  const char *path[KV_FIELD_STEPS]; /* keys; the rest is NULL */
} kv_field;

/* A member, and one that is there only where its flag, a bool or an integer, is
 * not 0: reading sets the flag, and writing one that is 0 removes the value. */
#define KV_FIELD(type, member, kind, ...)                                     \
  {                                                                           \
    kind, offsetof(type, member), sizeof(((type *)0)->member), 0, 0, 0, NULL, \
        0, {                                                                  \
      __VA_ARGS__                                                             \
    }                                                                         \
  }
#define KV_FIELD_OPTIONAL(type, member, flag, kind, ...)            \
  {                                                                 \
    kind, offsetof(type, member), sizeof(((type *)0)->member), 0,   \
        offsetof(type, flag), sizeof(((type *)0)->flag), NULL, 0, { \
      __VA_ARGS__                                                   \
    }                                                               \
  }

/* A member that is an array, with its number of elements in the member `count`,
 * an integer. More elements than there is room for are an error. Writing
 * changes the elements that differ and leaves the others as they are stored.
 * Where the struct's array became longer or shorter, an element that is equal to
 * an old one stays as that one is stored. Where another program has made the
 * stored array longer or shorter, no index tells which is which: the struct's
 * takes its place, and an element that reads as a stored one stays as that. */
#define KV_FIELD_ARRAY(type, member, count, kind, ...)                \
  {                                                                   \
    kind, offsetof(type, member), sizeof(((type *)0)->member[0]),     \
        sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0]), \
        offsetof(type, count), sizeof(((type *)0)->count), NULL, 0, { \
      __VA_ARGS__                                                     \
    }                                                                 \
  }

/* A table, an array of fields, and their number: the two arguments that the
 * functions below take for it. */
#define KV_FIELDS(table) table, sizeof(table) / sizeof((table)[0])

/* Members that are structs: `table` is an array of their fields,
 * whose paths begin at the struct's dictionary. Elements of an array begin as
 * zeros when they are read; when they are written, each keeps the keys that its
 * table does not have and the members that do not differ, as far as it can be
 * told which it was: one that is equal to an old one, or stands where one
 * changed, in an array that no other program has made longer or shorter. */
#define KV_FIELD_NESTED(type, member, table, ...)                              \
  {                                                                            \
    KV_FIELD_TABLE, offsetof(type, member), sizeof(((type *)0)->member), 0, 0, \
        0, KV_FIELDS(table), {                                                 \
      __VA_ARGS__                                                              \
    }                                                                          \
  }
#define KV_FIELD_OPTIONAL_NESTED(type, member, flag, table, ...)             \
  {                                                                          \
    KV_FIELD_TABLE, offsetof(type, member), sizeof(((type *)0)->member), 0,  \
        offsetof(type, flag), sizeof(((type *)0)->flag), KV_FIELDS(table), { \
      __VA_ARGS__                                                            \
    }                                                                        \
  }
#define KV_FIELD_NESTED_ARRAY(type, member, count, table, ...)                 \
  {                                                                            \
    KV_FIELD_TABLE, offsetof(type, member), sizeof(((type *)0)->member[0]),    \
        sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0]),          \
        offsetof(type, count), sizeof(((type *)0)->count), KV_FIELDS(table), { \
      __VA_ARGS__                                                              \
    }                                                                          \
  }

/* Reads the members from the store, all at one moment; an absent value has the
 * default of the store's schema, where that has one. An error leaves the struct
 * unchanged. KV_TYPE_MISMATCH for a value that the schema refuses, one of
 * another type, a number that the member cannot hold, and a string or an array
 * that has no room in it; KV_INVALID_ARGUMENT for a table that does not fit its
 * struct. */
static inline kv_status kv_read_fields(const kv_store *store,
                                       const kv_field *fields, size_t count,
                                       void *values, kv_error **error);

/* The same from a tree, such as kv_read_file() gives, as it is stored. With a
 * type, which may be NULL, the tree is first checked as kv_type_decode() does:
 * ranges, enums and other rules that the table does not have. */
static inline kv_status kv_tree_read_fields(const kv_tree *tree,
                                            const kv_type *type,
                                            const kv_field *fields,
                                            size_t count, void *values,
                                            kv_error **error);

/* Writes the members that differ between `old`, the struct as it was read, and
 * `values`, in one transaction: other programs' changes of other members stay,
 * and so do the keys that no field names. Without a difference nothing is done.
 * `old` may be NULL: all members that are there are written. The errors, and
 * the state after one, are those of kv_transaction_commit(); a store's schema
 * checks each value then.
 * KV_INVALID_VALUE, with the path, for a string that is not UTF-8. */
static inline kv_status kv_write_fields(kv_store *store, const kv_field *fields,
                                        size_t count, const void *old,
                                        const void *values, kv_error **error);

/* A handler for kv_store_watch(), for programs that read all members again: its
 * context is a bool, which it sets. The program clears it when it reads. */
static inline void kv_note_change(void *changed, const kv_step *path,
                                  size_t steps, const kv_tree *old_value,
                                  const kv_tree *new_value) {
  (void)path, (void)steps, (void)old_value, (void)new_value;
  *(bool *)changed = true;
}

/* Copies the members from one struct to another, which counts as memory without
 * values: owned strings are copied, too. */
static inline void kv_copy_fields(const kv_field *fields, size_t count,
                                  const void *from, void *to);

/* Frees the owned strings, and sets them to NULL. */
static inline void kv_free_fields(const kv_field *fields, size_t count,
                                  void *values);

/* Gives the declaration of the table's struct in the type language, for
 * kv_registry_declare(): memory for free(). `defaults` is a struct with the
 * default of each member, or NULL: every field may then be absent. The structs
 * on the way and those of nested tables are declared with it, as NAME_KEY, with
 * a "_" behind it where another has that name. The length of a KV_FIELD_TEXT is
 * its bytes, and the type language counts characters: what the struct holds is
 * always of the type, but a text of others with characters of several bytes may
 * be of the type and too long to be read.
 *
 * Example:
 *
 *   struct sound {
 *     uint8_t volume;
 *   } defaults = {7};
 *   static const kv_field fields[] = {
 *       KV_FIELD(struct sound, volume, KV_FIELD_UINT8, "volume")};
 *   char *text = kv_fields_declaration("Sound", KV_FIELDS(fields), &defaults);
 *   kv_registry *registry = kv_registry_new(NULL, 0);
 *   kv_registry_declare(registry, kv_string(text), kv_string(""), NULL, NULL);
 *   free(text);
 *   kv_registry_free(registry);
 */
static inline char *kv_fields_declaration(const char *name,
                                          const kv_field *fields, size_t count,
                                          const void *defaults);

/* ------------------------------------------------------------------------
 * The rest of this header is for the functions above alone.
 */

/* The state of a walk over a table: the path from the root, the target of
 * writes (a transaction, or a tree at the first `start` steps of the path), and
 * the caller's pointer for an error. */
struct kv_fields_walk {
  kv_step path[KV_FIELD_DEPTH];
  size_t steps, start;
  kv_transaction *transaction;
  kv_type *any; /* by which the transaction has values as they are stored */
  kv_tree *tree;
  kv_error **error;
};

static inline struct kv_fields_walk kv_fields_begin(kv_error **error) {
  struct kv_fields_walk walk;
  memset(&walk, 0, sizeof walk);
  walk.error = error;
  if (error) *error = NULL;
  return walk;
}

static inline void *kv_fields_memory(void *old, size_t size) {
  void *memory = realloc(old, size ? size : 1);
  if (!memory) abort();
  return memory;
}

/* Reports an error: its message is the words, the path, and the value found. */
static inline kv_status kv_fields_fail_with(struct kv_fields_walk *walk,
                                            kv_status status, const char *words,
                                            const char *found) {
  kv_error *bare; /* has the path as text */
  kv_str path;
  char *text;
  size_t size;
  if (!walk->error) return status;
  bare = kv_error_new(status, kv_string(""), walk->path, walk->steps);
  path = kv_error_path(bare);
  size = strlen(words) + path.length + strlen(found) + 5;
  text = (char *)kv_fields_memory(NULL, size);
  snprintf(text, size, "%s%s%s%s", words, path.length ? " at " : "",
           path.length ? path.data : "", found);
  *walk->error = kv_error_new(status, kv_string(text), walk->path, walk->steps);
  free(text);
  kv_error_free(bare);
  return status;
}

static inline kv_status kv_fields_fail(struct kv_fields_walk *walk,
                                       kv_status status, const char *words) {
  return kv_fields_fail_with(walk, status, words, "");
}

/* Reports an error of a value at the path's first steps. Takes the error. */
static inline kv_status kv_fields_placed(struct kv_fields_walk *walk,
                                         size_t steps, kv_error *error) {
  kv_status status = kv_error_status(error);
  if (walk->error) *walk->error = kv_error_placed(error, walk->path, steps);
  kv_error_free(error);
  return status;
}

static inline kv_status kv_fields_push(struct kv_fields_walk *walk,
                                       kv_step step) {
  if (walk->steps == KV_FIELD_DEPTH)
    return kv_fields_fail(walk, KV_LIMIT_EXCEEDED,
                          "Expected tables of at most 64 levels");
  walk->path[walk->steps++] = step;
  return KV_OK;
}

static inline kv_status kv_fields_push_path(struct kv_fields_walk *walk,
                                            const kv_field *field) {
  kv_status status = KV_OK;
  for (int i = 0; i < KV_FIELD_STEPS && field->path[i] && !status; i++)
    status = kv_fields_push(walk, kv_key(field->path[i]));
  return status;
}

/* ---- Members */

static inline int kv_fields_is_signed(kv_field_kind kind) {
  return kind >= KV_FIELD_INT8 && kind <= KV_FIELD_INT64;
}

static inline int kv_fields_is_unsigned(kv_field_kind kind) {
  return kind >= KV_FIELD_UINT8 && kind <= KV_FIELD_UINT64;
}

static inline const char *kv_fields_word(kv_field_kind kind) {
  static const char *const words[] = {
      "",       "Bool",   "Int8",   "Int16",  "Int32",        "Int64",
      "UInt8",  "UInt16", "UInt32", "UInt64", "Float",        "Double",
      "String", "String", "Date",   "Date",   "[String: Any]"};
  return words[kind];
}

/* The bytes of a member of the kind; 0 where there may be several. */
static inline size_t kv_fields_size(kv_field_kind kind) {
  static const size_t sizes[] = {0,
                                 0,
                                 1,
                                 2,
                                 4,
                                 8,
                                 1,
                                 2,
                                 4,
                                 8,
                                 sizeof(float),
                                 sizeof(double),
                                 0,
                                 sizeof(char *),
                                 sizeof(double),
                                 0,
                                 0};
  return sizes[kind];
}

static inline int kv_fields_is_integer_size(size_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

static inline void kv_fields_put_bits(void *target, size_t size,
                                      uint64_t bits) {
  uint8_t one = (uint8_t)bits;
  uint16_t two = (uint16_t)bits;
  uint32_t four = (uint32_t)bits;
  if (size == 1) memcpy(target, &one, size);
  if (size == 2) memcpy(target, &two, size);
  if (size == 4) memcpy(target, &four, size);
  if (size == 8) memcpy(target, &bits, size);
}

/* The bits of an integer, with zeros before them. */
static inline uint64_t kv_fields_bits(const void *source, size_t size) {
  uint8_t one = 0;
  uint16_t two = 0;
  uint32_t four = 0;
  uint64_t eight = 0;
  if (size == 1) memcpy(&one, source, size);
  if (size == 2) memcpy(&two, source, size);
  if (size == 4) memcpy(&four, source, size);
  if (size == 8) memcpy(&eight, source, size);
  return one | two | four | eight;
}

static inline int64_t kv_fields_integer(const void *source, size_t size) {
  uint64_t bits = kv_fields_bits(source, size);
  uint64_t sign = (uint64_t)1 << (size * 8 - 1);
  int64_t result;
  if (bits & sign) bits |= ~(sign | (sign - 1));
  memcpy(&result, &bits, sizeof result);
  return result;
}

static inline double kv_fields_real(const kv_field *field, const char *source) {
  double real;
  float small;
  if (field->kind == KV_FIELD_TIME)
    return (double)kv_fields_integer(source, field->size) - 978307200;
  if (field->kind == KV_FIELD_FLOAT) {
    memcpy(&small, source, sizeof small);
    return small;
  }
  memcpy(&real, source, sizeof real);
  return real;
}

/* The text of a member; NULL for an owned string that is none. */
static inline kv_str kv_fields_text(const kv_field *field, const char *source) {
  kv_str text = {source, field->size};
  if (field->kind == KV_FIELD_STRING) {
    memcpy(&text.data, source, sizeof text.data);
    return kv_string(text.data);
  }
  const void *end = memchr(source, 0, field->size);
  if (end) text.length = (size_t)((const char *)end - source);
  return text;
}

static inline int kv_fields_is_optional(const kv_field *field) {
  return !field->room && field->mark_size;
}

static inline int kv_fields_is_there(const kv_field *field,
                                     const char *values) {
  if (kv_fields_is_optional(field))
    return kv_fields_bits(values + field->mark, field->mark_size) != 0;
  return field->room || field->kind != KV_FIELD_STRING ||
         kv_fields_text(field, values + field->offset).data;
}

/* The elements that the member has now: 1 for no array. */
static inline size_t kv_fields_elements(const kv_field *field,
                                        const char *values) {
  if (!field->room) return 1;
  uint64_t count = kv_fields_bits(values + field->mark, field->mark_size);
  return count < field->room ? (size_t)count : field->room;
}

/* Whether the path of one field begins with that of the other. */
static inline int kv_fields_overlap(const kv_field *left,
                                    const kv_field *right) {
  for (int i = 0; i < KV_FIELD_STEPS; i++) {
    if (!left->path[i] || !right->path[i]) return 1;
    if (strcmp(left->path[i], right->path[i])) return 0;
  }
  return 1;
}

static inline kv_status kv_fields_check(struct kv_fields_walk *walk,
                                        const kv_field *fields, size_t count) {
  kv_status status = KV_OK;
  if (!fields && count)
    return kv_fields_fail(walk, KV_INVALID_ARGUMENT, "fields is NULL");
  for (size_t i = 0; i < count && !status; i++) {
    const kv_field *field = &fields[i];
    size_t before = walk->steps;
    if (!field->path[0])
      return kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                            "a field of the table has no path");
    status = kv_fields_push_path(walk, field);
    if (status) return status;
    for (size_t j = 0; j < i; j++)
      if (kv_fields_overlap(field, &fields[j]))
        return kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                              "the path of one field begins with that of "
                              "another");
    if (field->kind < KV_FIELD_BOOL || field->kind > KV_FIELD_TABLE)
      return kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                            "the field's kind is none of kv_field_kind");
    size_t size = kv_fields_size(field->kind);
    int is_integer =
        field->kind == KV_FIELD_BOOL || field->kind == KV_FIELD_TIME;
    if ((size && size != field->size) || !field->size ||
        (is_integer && !kv_fields_is_integer_size(field->size)))
      return kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                            "the member's size is not that of the field's "
                            "kind");
    if (field->kind == KV_FIELD_TIME && field->size < 4)
      return kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                            "the member of a KV_FIELD_TIME has 4 or 8 bytes");
    if ((field->room && !field->mark_size) ||
        (field->mark_size && !kv_fields_is_integer_size(field->mark_size)))
      return kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                            "the field's flag or count is no integer");
    if (field->kind == KV_FIELD_TABLE)
      status = kv_fields_check(walk, field->fields, field->field_count);
    if (!status) walk->steps = before;
  }
  return status;
}

/* ---- Reading: each function with a NULL in place of the struct only checks */

/* Whether the member can hold the value without a conversion; puts it there. */
static inline int kv_fields_get(const kv_cursor *value, const kv_field *field,
                                char *target) {
  kv_field_kind kind = field->kind;
  double real;
  int64_t integer;
  uint64_t bits = 0;
  int boolean;
  kv_str text;
  int shift = field->size < 8 ? (int)field->size * 8 : 64;
  if (kind == KV_FIELD_BOOL) {
    if (kv_cursor_boolean(value, &boolean)) return 0;
    bits = boolean != 0;
  } else if (kv_fields_is_signed(kind)) {
    if (kv_cursor_integer(value, &integer)) return 0;
    if (shift < 64 && (integer < -((int64_t)1 << (shift - 1)) ||
                       integer >= (int64_t)1 << (shift - 1)))
      return 0;
    bits = (uint64_t)integer;
  } else if (kv_fields_is_unsigned(kind)) {
    if (kv_cursor_unsigned(value, &bits)) return 0;
    if (shift < 64 && bits >> shift) return 0;
  } else if (kind == KV_FIELD_TIME) {
    if (kv_cursor_date(value, &real)) return 0;
    double most = field->size == 4 ? 2147483647.0 : 9e18;
    real += 978307200;
    if (!(real >= -most && real <= most)) return 0;
    integer = (int64_t)real;
    bits = (uint64_t)(integer - (real < (double)integer));
  } else if (kind == KV_FIELD_TEXT || kind == KV_FIELD_STRING) {
    if (kv_cursor_string(value, &text)) return 0;
    if (text.length && memchr(text.data, 0, text.length)) return 0;
    if (kind == KV_FIELD_TEXT && text.length >= field->size) return 0;
    if (!target) return 1;
    char *memory = target;
    if (kind == KV_FIELD_STRING) {
      memcpy(&memory, target, sizeof memory);
      memory = (char *)kv_fields_memory(memory, text.length + 1);
      memcpy(target, &memory, sizeof memory);
    }
    if (text.length) memcpy(memory, text.data, text.length);
    memory[text.length] = 0;
    return 1;
  } else {
    if (kind == KV_FIELD_DATE ? kv_cursor_date(value, &real)
                              : kv_cursor_real(value, &real))
      return 0;
    if (kind == KV_FIELD_FLOAT) {
      if (real - real == 0 && (real > FLT_MAX || real < -FLT_MAX)) return 0;
      float small = (float)real;
      if (target) memcpy(target, &small, sizeof small);
    } else if (target) {
      memcpy(target, &real, sizeof real);
    }
    return 1;
  }
  if (target) kv_fields_put_bits(target, field->size, bits);
  return 1;
}

/* The value as a type of the type language has it, or that type's own error. */
static inline kv_status kv_fields_convert(struct kv_fields_walk *walk,
                                          const kv_cursor *value,
                                          const char *expression,
                                          kv_tree **result) {
  kv_type *type = NULL;
  kv_tree *stored = NULL;
  kv_error *error = NULL;
  kv_status status =
      kv_registry_type(NULL, kv_string(expression), &type, &error);
  if (!status) status = kv_cursor_copy(value, &stored);
  if (!status) status = kv_type_decode(type, stored, result, &error);
  kv_tree_free(stored);
  kv_type_free(type);
  return error ? kv_fields_placed(walk, walk->steps, error) : status;
}

/* Reports that a value is not of a type, in the type language's words. */
static inline kv_status kv_fields_mismatch(struct kv_fields_walk *walk,
                                           const kv_cursor *value,
                                           const char *expression) {
  kv_tree *converted = NULL;
  kv_status status = kv_fields_convert(walk, value, expression, &converted);
  kv_tree_free(converted);
  return status ? status
                : kv_fields_fail(walk, KV_TYPE_MISMATCH,
                                 "Expected a value that the member can hold");
}

static inline kv_status kv_fields_refuse_text(struct kv_fields_walk *walk,
                                              const kv_field *field,
                                              size_t found) {
  char expected[40], finding[40];
  if (field->kind == KV_FIELD_STRING || found < field->size)
    return kv_fields_fail(walk, KV_TYPE_MISMATCH,
                          "Expected a string without NUL");
  snprintf(expected, sizeof expected, "Expected ...%zu bytes", field->size - 1);
  snprintf(finding, sizeof finding, ", found %zu", found);
  return kv_fields_fail_with(walk, KV_TYPE_MISMATCH, expected, finding);
}

static inline kv_status kv_fields_read(struct kv_fields_walk *walk,
                                       const kv_cursor *root,
                                       const kv_field *fields, size_t count,
                                       char *values);

static inline kv_status kv_fields_read_value(struct kv_fields_walk *walk,
                                             const kv_cursor *value,
                                             const kv_field *field,
                                             char *target) {
  kv_tree *converted = NULL;
  if (field->kind == KV_FIELD_TABLE)
    return kv_fields_read(walk, value, field->fields, field->field_count,
                          target);
  if (kv_fields_get(value, field, target)) return KV_OK;
  kv_status status =
      kv_fields_convert(walk, value, kv_fields_word(field->kind), &converted);
  if (status) return status;
  kv_cursor root = kv_tree_root(converted);
  if (kv_fields_get(&root, field, target))
    status = KV_OK;
  else if (kv_cursor_kind(&root) == KV_STRING)
    status = kv_fields_refuse_text(walk, field, kv_cursor_count(&root));
  else
    status = kv_fields_fail(walk, KV_TYPE_MISMATCH,
                            "Expected a value that the member can hold");
  kv_tree_free(converted);
  return status;
}

static inline kv_status kv_fields_read_array(struct kv_fields_walk *walk,
                                             const kv_cursor *array,
                                             const kv_field *field,
                                             char *values) {
  char expression[40];
  kv_status status = KV_OK;
  kv_cursor element;
  uint64_t state = 0;
  size_t found = kv_cursor_count(array);
  snprintf(expression, sizeof expression, "[Any](...%zu)", field->room);
  if (kv_cursor_kind(array) != KV_ARRAY || found > field->room)
    return kv_fields_mismatch(walk, array, expression);
  for (size_t i = 0; i < found && !status; i++) {
    char *target = values ? values + field->offset + i * field->size : NULL;
    if (kv_cursor_next(array, &state, &element)) break;
    if (target && field->kind == KV_FIELD_TABLE) {
      kv_free_fields(field->fields, field->field_count, target);
      memset(target, 0, field->size);
    }
    status = kv_fields_push(walk, kv_index((int64_t)i));
    if (!status) status = kv_fields_read_value(walk, &element, field, target);
    if (!status) walk->steps--;
  }
  if (values && !status)
    kv_fields_put_bits(values + field->mark, field->mark_size, found);
  return status;
}

/* Goes down the field's path: KV_ABSENT where it ends before. */
static inline kv_status kv_fields_find(struct kv_fields_walk *walk,
                                       const kv_cursor *root,
                                       const kv_field *field,
                                       kv_cursor *value) {
  *value = *root;
  for (int i = 0; i < KV_FIELD_STEPS && field->path[i]; i++) {
    kv_cursor next;
    kv_step step = kv_key(field->path[i]);
    if (kv_cursor_kind(value) != KV_DICTIONARY)
      return kv_fields_mismatch(walk, value, "[String: Any]");
    if (kv_cursor_key(value, step.key, &next)) return KV_ABSENT;
    *value = next;
    kv_status status = kv_fields_push(walk, step);
    if (status) return status;
  }
  return KV_OK;
}

static inline kv_status kv_fields_read(struct kv_fields_walk *walk,
                                       const kv_cursor *root,
                                       const kv_field *fields, size_t count,
                                       char *values) {
  if (kv_cursor_kind(root) != KV_DICTIONARY)
    return kv_fields_mismatch(walk, root, "[String: Any]");
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    size_t before = walk->steps;
    kv_cursor value;
    kv_status status = kv_fields_find(walk, root, field, &value);
    int is_there = status == KV_OK;
    if (is_there)
      status = field->room ? kv_fields_read_array(walk, &value, field, values)
                           : kv_fields_read_value(
                                 walk, &value, field,
                                 values ? values + field->offset : NULL);
    if (status < 0) return status;
    walk->steps = before;
    if (values && kv_fields_is_optional(field))
      kv_fields_put_bits(values + field->mark, field->mark_size,
                         (uint64_t)is_there);
  }
  return KV_OK;
}

static inline kv_status kv_tree_read_fields(const kv_tree *tree,
                                            const kv_type *type,
                                            const kv_field *fields,
                                            size_t count, void *values,
                                            kv_error **error) {
  struct kv_fields_walk walk = kv_fields_begin(error);
  kv_cursor root = kv_tree_root(tree);
  kv_status status;
  if (!tree || !values)
    return kv_fields_fail(&walk, KV_INVALID_ARGUMENT,
                          tree ? "values is NULL" : "tree is NULL");
  status = kv_fields_check(&walk, fields, count);
  if (!status && type) status = kv_type_decode(type, tree, NULL, error);
  if (!status) status = kv_fields_read(&walk, &root, fields, count, NULL);
  if (!status)
    status = kv_fields_read(&walk, &root, fields, count, (char *)values);
  return status;
}

/* Checks the values of the fields by the types of the store's schema. */
static inline kv_status kv_fields_check_values(struct kv_fields_walk *walk,
                                               const kv_store *store,
                                               const kv_tree *tree,
                                               const kv_field *fields,
                                               size_t count) {
  kv_cursor root = kv_tree_root(tree), value;
  kv_status status = KV_OK;
  for (size_t i = 0; i < count && !status; i++) {
    kv_type *type = NULL;
    kv_tree *stored = NULL;
    kv_error *error = NULL;
    status = kv_fields_push_path(walk, &fields[i]);
    if (status) return status;
    if (!kv_store_type_at(store, walk->path, walk->steps, &type, NULL) &&
        !kv_cursor_path(&root, walk->path, walk->steps, &value) &&
        !kv_cursor_copy(&value, &stored))
      status = kv_type_decode(type, stored, NULL, &error);
    if (error) kv_fields_placed(walk, walk->steps, error);
    kv_tree_free(stored);
    kv_type_free(type);
    walk->steps = 0;
  }
  return status;
}

static inline kv_status kv_read_fields(const kv_store *store,
                                       const kv_field *fields, size_t count,
                                       void *values, kv_error **error) {
  struct kv_fields_walk walk = kv_fields_begin(error);
  kv_tree *tree = NULL;
  kv_status status = kv_fields_check(&walk, fields, count);
  if (!status) status = kv_store_snapshot(store, &tree, error);
  if (!status)
    status = kv_fields_check_values(&walk, store, tree, fields, count);
  if (!status)
    status = kv_tree_read_fields(tree, NULL, fields, count, values, error);
  kv_tree_free(tree);
  return status;
}

/* ---- Copying, freeing, comparing */

static inline void kv_copy_fields(const kv_field *fields, size_t count,
                                  const void *from, void *to) {
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    size_t elements = field->room ? field->room : 1;
    const char *source = (const char *)from + field->offset;
    char *target = (char *)to + field->offset;
    memcpy((char *)to + field->mark, (const char *)from + field->mark,
           field->mark_size);
    for (size_t j = 0; j < elements; j++) {
      if (field->kind == KV_FIELD_TABLE) {
        kv_copy_fields(field->fields, field->field_count, source, target);
      } else if (field->kind == KV_FIELD_STRING) {
        kv_str text = kv_fields_text(field, source);
        char *memory = NULL;
        if (text.data) {
          memory = (char *)kv_fields_memory(NULL, text.length + 1);
          memcpy(memory, text.data, text.length + 1);
        }
        memcpy(target, &memory, sizeof memory);
      } else {
        memcpy(target, source, field->size);
      }
      source += field->size;
      target += field->size;
    }
  }
}

static inline void kv_free_fields(const kv_field *fields, size_t count,
                                  void *values) {
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    size_t elements = field->room ? field->room : 1;
    char *target = (char *)values + field->offset;
    for (size_t j = 0; j < elements; j++, target += field->size) {
      char *memory = NULL;
      if (field->kind == KV_FIELD_TABLE) {
        kv_free_fields(field->fields, field->field_count, target);
      } else if (field->kind == KV_FIELD_STRING) {
        memcpy(&memory, target, sizeof memory);
        free(memory);
        memory = NULL;
        memcpy(target, &memory, sizeof memory);
      }
    }
  }
}

static inline int kv_fields_are_same(const kv_field *fields, size_t count,
                                     const char *left, const char *right);

static inline int kv_fields_is_same_value(const kv_field *field,
                                          const char *left, const char *right) {
  if (field->kind == KV_FIELD_TABLE)
    return kv_fields_are_same(field->fields, field->field_count, left, right);
  if (field->kind == KV_FIELD_TEXT || field->kind == KV_FIELD_STRING) {
    kv_str one = kv_fields_text(field, left);
    kv_str other = kv_fields_text(field, right);
    return !one.data == !other.data && one.length == other.length &&
           (!one.length || !memcmp(one.data, other.data, one.length));
  }
  if (field->kind == KV_FIELD_BOOL)
    return !kv_fields_bits(left, field->size) ==
           !kv_fields_bits(right, field->size);
  return memcmp(left, right, field->size) == 0;
}

static inline int kv_fields_is_same(const kv_field *field, const char *left,
                                    const char *right) {
  int is_there = kv_fields_is_there(field, left);
  size_t elements = kv_fields_elements(field, left);
  if (is_there != kv_fields_is_there(field, right)) return 0;
  if (!is_there) return 1;
  if (elements != kv_fields_elements(field, right)) return 0;
  for (size_t i = 0; i < elements; i++) {
    size_t offset = field->offset + i * field->size;
    if (!kv_fields_is_same_value(field, left + offset, right + offset))
      return 0;
  }
  return 1;
}

static inline int kv_fields_are_same(const kv_field *fields, size_t count,
                                     const char *left, const char *right) {
  for (size_t i = 0; i < count; i++)
    if (!kv_fields_is_same(&fields[i], left, right)) return 0;
  return 1;
}

/* ---- Writing */

/* Gives the value that is stored at the path now. */
static inline kv_status kv_fields_stored(struct kv_fields_walk *walk,
                                         kv_tree **value) {
  kv_cursor found, root = kv_tree_root(walk->tree);
  if (walk->transaction)
    return kv_transaction_get(walk->transaction, walk->path, walk->steps,
                              walk->any, value, walk->error);
  kv_status status = kv_cursor_path(&root, walk->path + walk->start,
                                    walk->steps - walk->start, &found);
  return status ? status : kv_cursor_copy(&found, value);
}

/* Replaces the tree that is written to; takes the new one. */
static inline kv_status kv_fields_replace(struct kv_fields_walk *walk,
                                          kv_status status, kv_tree *tree,
                                          kv_error *error) {
  if (error) return kv_fields_placed(walk, walk->start, error);
  if (status == KV_OK) {
    kv_tree_free(walk->tree);
    walk->tree = tree;
  }
  return status;
}

/* Sets the value at the path, or removes it where there is none. */
static inline kv_status kv_fields_put(struct kv_fields_walk *walk,
                                      const kv_tree *value) {
  const kv_step *path = walk->path + walk->start;
  size_t steps = walk->steps - walk->start;
  kv_tree *changed = NULL;
  kv_error *error = NULL;
  kv_status status;
  if (walk->transaction && value)
    return kv_transaction_set(walk->transaction, path, steps, value, walk->any,
                              KV_REPLACE, NULL, walk->error);
  if (walk->transaction)
    return kv_transaction_remove(walk->transaction, path, steps, walk->error);
  if (value)
    status = kv_tree_set(walk->tree, path, steps, value, &changed, &error);
  else
    status = kv_tree_remove(walk->tree, path, steps, &changed, &error);
  return kv_fields_replace(walk, status, changed, error);
}

static inline kv_status kv_fields_append(struct kv_fields_walk *walk,
                                         kv_builder *builder,
                                         const kv_field *field,
                                         const char *source, kv_error **error) {
  kv_field_kind kind = field->kind;
  if (kind == KV_FIELD_TEXT && !memchr(source, 0, field->size))
    return kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                          "Expected a NUL behind the text");
  if (kind == KV_FIELD_BOOL)
    return kv_builder_boolean(builder, kv_fields_bits(source, field->size) != 0,
                              error);
  if (kv_fields_is_signed(kind))
    return kv_builder_integer(builder, kv_fields_integer(source, field->size),
                              error);
  if (kv_fields_is_unsigned(kind))
    return kv_builder_unsigned(builder, kv_fields_bits(source, field->size),
                               error);
  if (kind == KV_FIELD_TEXT || kind == KV_FIELD_STRING)
    return kv_builder_string(builder, kv_fields_text(field, source), error);
  if (kind == KV_FIELD_DATE || kind == KV_FIELD_TIME)
    return kv_builder_date(builder, kv_fields_real(field, source), error);
  return kv_builder_real(builder, kv_fields_real(field, source), error);
}

static inline kv_tree *kv_fields_empty(void) {
  kv_builder *builder = kv_builder_new();
  kv_tree *tree = NULL;
  kv_builder_begin_dictionary(builder, NULL);
  kv_builder_end(builder, NULL);
  kv_builder_finish(builder, &tree, NULL);
  kv_builder_free(builder);
  return tree;
}

static inline kv_status kv_fields_write(struct kv_fields_walk *walk,
                                        const kv_field *fields, size_t count,
                                        const char *old, const char *values);

/* Which of the old elements element `index` of the new array is: one that is
 * equal and has moved, or the one at its index, where that has not; the number
 * of the old ones for none. */
static inline size_t kv_fields_origin(const kv_field *field, const char *old,
                                      const char *values, size_t index) {
  size_t before = kv_fields_elements(field, old);
  size_t now = kv_fields_elements(field, values);
  size_t size = field->size;
  const char *from = old + field->offset, *to = values + field->offset;
  if (index < before &&
      kv_fields_is_same_value(field, from + index * size, to + index * size))
    return index;
  if (field->kind != KV_FIELD_TABLE && before == now) return index;
  for (size_t i = 0; i < before; i++)
    if (kv_fields_is_same_value(field, from + i * size, to + index * size) &&
        !(i < now &&
          kv_fields_is_same_value(field, from + i * size, to + i * size)))
      return i;
  if (index >= before) return before;
  for (size_t i = 0; i < now; i++)
    if (kv_fields_is_same_value(field, from + index * size, to + i * size))
      return before;
  return index;
}

/* Whether a stored element reads as the struct's. */
static inline int kv_fields_reads_as(const struct kv_fields_walk *walk,
                                     const kv_cursor *stored,
                                     const kv_field *field,
                                     const char *source) {
  struct kv_fields_walk quiet = *walk;
  kv_field element = *field;
  char *memory = (char *)kv_fields_memory(NULL, field->size);
  quiet.error = NULL;
  element.offset = element.room = 0;
  memset(memory, 0, field->size);
  int is_same = !kv_fields_read_value(&quiet, stored, field, memory) &&
                kv_fields_is_same_value(field, memory, source);
  kv_free_fields(&element, 1, memory);
  free(memory);
  return is_same;
}

/* Gives an element that is a dictionary: the stored one, or an empty one, with
 * the fields that differ from the old element, or all of them. */
static inline kv_status kv_fields_element(struct kv_fields_walk *walk,
                                          const kv_field *field,
                                          const kv_cursor *stored,
                                          const char *old, const char *source,
                                          kv_tree **result) {
  struct kv_fields_walk inner = *walk;
  int is_stored = kv_cursor_kind(stored) == KV_DICTIONARY;
  inner.transaction = NULL;
  inner.start = inner.steps;
  inner.tree = NULL;
  if (is_stored)
    kv_cursor_copy(stored, &inner.tree);
  else
    inner.tree = kv_fields_empty();
  kv_status status = kv_fields_write(&inner, field->fields, field->field_count,
                                     is_stored ? old : NULL, source);
  if (status) {
    kv_tree_free(inner.tree);
    return status;
  }
  *result = inner.tree;
  return KV_OK;
}

/* Finds what element `index` of the new array was: the stored one, and the old
 * one, which is NULL where there is none. */
static inline const char *kv_fields_find_element(
    const struct kv_fields_walk *walk, const kv_field *field,
    const kv_cursor *array, const char *old, const char *values, size_t index,
    kv_cursor *found) {
  size_t count = kv_cursor_count(array);
  size_t before = old ? kv_fields_elements(field, old) : count;
  const char *source = values + field->offset + index * field->size;
  *found = kv_tree_root(NULL);
  if (kv_cursor_kind(array) != KV_ARRAY) return NULL;
  if (before == count) {
    size_t origin = old ? kv_fields_origin(field, old, values, index) : index;
    kv_step step = kv_index((int64_t)origin);
    if (kv_cursor_path(array, &step, 1, found) || !old) return NULL;
    return old + field->offset + origin * field->size;
  }
  for (size_t i = 0; i < count; i++) {
    kv_cursor next;
    kv_step step = kv_index((int64_t)((index + i) % count));
    if (!kv_cursor_path(array, &step, 1, &next) &&
        kv_fields_reads_as(walk, &next, field, source)) {
      *found = next;
      return source;
    }
  }
  return NULL;
}

static inline kv_status kv_fields_append_element(
    struct kv_fields_walk *walk, kv_builder *builder, const kv_field *field,
    const kv_cursor *stored, const char *old, const char *source,
    kv_error **error) {
  kv_tree *element = NULL;
  if (old && kv_fields_is_same_value(field, old, source))
    return kv_builder_cursor(builder, stored, error);
  if (field->kind != KV_FIELD_TABLE)
    return kv_fields_append(walk, builder, field, source, error);
  kv_status status =
      kv_fields_element(walk, field, stored, old, source, &element);
  kv_cursor root = kv_tree_root(element);
  if (!status) status = kv_builder_cursor(builder, &root, error);
  kv_tree_free(element);
  return status;
}

/* Appends an array. */
static inline kv_status kv_fields_append_all(
    struct kv_fields_walk *walk, kv_builder *builder, const kv_field *field,
    const char *old, const char *values, kv_error **error) {
  kv_tree *stored = NULL;
  kv_status status = kv_fields_stored(walk, &stored);
  kv_cursor array = kv_tree_root(stored);
  size_t steps = walk->steps, elements = kv_fields_elements(field, values);
  if (status >= 0) status = kv_builder_begin_array(builder, error);
  for (size_t i = 0; i < elements && !status; i++) {
    kv_cursor found;
    const char *was =
        kv_fields_find_element(walk, field, &array, old, values, i, &found);
    status = kv_fields_push(walk, kv_index((int64_t)i));
    if (!status)
      status = kv_fields_append_element(
          walk, builder, field, &found, was,
          values + field->offset + i * field->size, error);
    walk->steps = steps;
  }
  kv_tree_free(stored);
  return status ? status : kv_builder_end(builder, error);
}

/* Writes a value that is no struct, at the walk's path. */
static inline kv_status kv_fields_write_value(struct kv_fields_walk *walk,
                                              const kv_field *field,
                                              const char *old,
                                              const char *values) {
  kv_builder *builder = kv_builder_new();
  kv_tree *value = NULL;
  kv_error *error = NULL;
  kv_status status =
      field->room
          ? kv_fields_append_all(walk, builder, field, old, values, &error)
          : kv_fields_append(walk, builder, field, values + field->offset,
                             &error);
  if (!status) status = kv_builder_finish(builder, &value, &error);
  if (error)
    kv_fields_placed(walk, walk->steps, error);
  else if (!status)
    status = kv_fields_put(walk, value);
  kv_tree_free(value);
  kv_builder_free(builder);
  return status;
}

/* Writes a struct below the walk's path. */
static inline kv_status kv_fields_write_table(struct kv_fields_walk *walk,
                                              const kv_field *field,
                                              const char *old,
                                              const char *values) {
  kv_tree *stored = NULL;
  kv_status status = KV_OK;
  if (!old) {
    status = kv_fields_stored(walk, &stored);
    kv_tree_free(stored);
    if (status == KV_ABSENT) {
      kv_tree *empty = kv_fields_empty();
      status = kv_fields_put(walk, empty);
      kv_tree_free(empty);
    }
  }
  return status ? status
                : kv_fields_write(walk, field->fields, field->field_count,
                                  old ? old + field->offset : NULL,
                                  values + field->offset);
}

static inline kv_status kv_fields_write(struct kv_fields_walk *walk,
                                        const kv_field *fields, size_t count,
                                        const char *old, const char *values) {
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    const char *before = old && kv_fields_is_there(field, old) ? old : NULL;
    size_t steps = walk->steps;
    kv_status status = kv_fields_push_path(walk, field);
    if (status < 0) return status;
    if (!kv_fields_is_there(field, values)) {
      if (before || (walk->tree && !old)) status = kv_fields_put(walk, NULL);
    } else if (field->room && kv_fields_bits(values + field->mark,
                                             field->mark_size) > field->room) {
      status = kv_fields_fail(walk, KV_INVALID_ARGUMENT,
                              "the count is larger than the array");
    } else if (!before || !kv_fields_is_same(field, before, values)) {
      status = field->kind == KV_FIELD_TABLE && !field->room
                   ? kv_fields_write_table(walk, field, before, values)
                   : kv_fields_write_value(walk, field, before, values);
    }
    if (status < 0) return status;
    walk->steps = steps;
  }
  return KV_OK;
}

static inline kv_status kv_write_fields(kv_store *store, const kv_field *fields,
                                        size_t count, const void *old,
                                        const void *values, kv_error **error) {
  struct kv_fields_walk walk = kv_fields_begin(error);
  const char *before = (const char *)old, *now = (const char *)values;
  kv_status status;
  if (!store || !values)
    return kv_fields_fail(&walk, KV_INVALID_ARGUMENT,
                          store ? "values is NULL" : "store is NULL");
  status = kv_fields_check(&walk, fields, count);
  if (status || (before && kv_fields_are_same(fields, count, before, now)))
    return status;
  status = kv_store_begin(store, 0, &walk.transaction, error);
  if (status) return status;
  kv_registry_type(NULL, kv_string("Any"), &walk.any, NULL);
  status = kv_fields_write(&walk, fields, count, before, now);
  kv_type_free(walk.any);
  if (status < 0) {
    kv_transaction_rollback(walk.transaction);
    return status;
  }
  return kv_transaction_commit(walk.transaction, error);
}

/* ---- The declaration */

struct kv_fields_text {
  char *data;
  size_t length;
};

static inline void kv_fields_say(struct kv_fields_text *text,
                                 const char *words) {
  size_t length = strlen(words);
  text->data = (char *)kv_fields_memory(text->data, text->length + length + 1);
  memcpy(text->data + text->length, words, length + 1);
  text->length += length;
}

static inline void kv_fields_quote(struct kv_fields_text *text, kv_str words) {
  char piece[16];
  kv_fields_say(text, "\"");
  for (size_t i = 0; i < words.length; i++) {
    unsigned char byte = (unsigned char)words.data[i];
    if (byte < 32 || byte == 127)
      snprintf(piece, sizeof piece, "\\u{%x}", (unsigned)byte);
    else if (byte == '"' || byte == '\\')
      snprintf(piece, sizeof piece, "\\%c", byte);
    else
      snprintf(piece, sizeof piece, "%c", byte);
    kv_fields_say(text, piece);
  }
  kv_fields_say(text, "\"");
}

/* A number with a point, whatever the locale has. */
static inline void kv_fields_say_real(struct kv_fields_text *text,
                                      const char *format, double value) {
  char number[64];
  snprintf(number, sizeof number, format, value);
  for (char *at = number; *at; at++)
    if (!strchr("0123456789+-e", *at)) *at = '.';
  kv_fields_say(text, number);
}

/* A literal of the member; whether the type language has one. */
static inline int kv_fields_say_value(struct kv_fields_text *text,
                                      const kv_field *field,
                                      const char *source) {
  char number[32];
  if (field->kind == KV_FIELD_TABLE) return 0;
  if (field->kind == KV_FIELD_BOOL) {
    kv_fields_say(text, kv_fields_bits(source, field->size) ? "true" : "false");
  } else if (kv_fields_is_signed(field->kind)) {
    snprintf(number, sizeof number, "%lld",
             (long long)kv_fields_integer(source, field->size));
    kv_fields_say(text, number);
  } else if (kv_fields_is_unsigned(field->kind)) {
    snprintf(number, sizeof number, "%llu",
             (unsigned long long)kv_fields_bits(source, field->size));
    kv_fields_say(text, number);
  } else if (field->kind == KV_FIELD_TEXT || field->kind == KV_FIELD_STRING) {
    kv_str words = kv_fields_text(field, source);
    if (!words.data) return 0;
    kv_fields_quote(text, words);
  } else {
    double real = kv_fields_real(field, source);
    if (real - real != 0) return 0;
    int is_date = field->kind == KV_FIELD_DATE || field->kind == KV_FIELD_TIME;
    if (is_date) kv_fields_say(text, "date(");
    kv_fields_say_real(text, field->kind == KV_FIELD_FLOAT ? "%.9g" : "%.17g",
                       real);
    if (is_date) kv_fields_say(text, ")");
  }
  return 1;
}

/* The default behind a field, or the mark of one that may be absent. */
static inline void kv_fields_say_default(struct kv_fields_text *text,
                                         const kv_field *field,
                                         const char *defaults) {
  size_t start = text->length;
  int is_said = defaults && !kv_fields_is_optional(field);
  size_t elements = is_said ? kv_fields_elements(field, defaults) : 0;
  kv_fields_say(text, field->room ? " = [" : " = ");
  if (is_said && field->kind == KV_FIELD_TABLE && !field->room) {
    kv_fields_say(text, "[:]");
  } else {
    for (size_t i = 0; i < elements && is_said; i++) {
      if (i) kv_fields_say(text, ", ");
      is_said = kv_fields_say_value(text, field,
                                    defaults + field->offset + i * field->size);
    }
  }
  if (field->room) kv_fields_say(text, "]");
  if (is_said) return;
  text->length = start;
  kv_fields_say(text, "?");
}

/* Gives a name for the struct at a key of another: one that is not yet among
 * the names, which have a line each. Memory for free(). */
static inline char *kv_fields_name(struct kv_fields_text *names,
                                   const char *name, const char *key) {
  struct kv_fields_text made = {NULL, 0};
  char letter[2] = "";
  kv_fields_say(&made, "\n");
  kv_fields_say(&made, name);
  kv_fields_say(&made, "_");
  for (; *key; key++) {
    unsigned char byte = (unsigned char)*key;
    int is_word = byte >= 128 || (byte >= '0' && byte <= '9') ||
                  ((byte | 32) >= 'a' && (byte | 32) <= 'z');
    letter[0] = is_word ? *key : '_';
    kv_fields_say(&made, letter);
  }
  kv_fields_say(&made, "\n");
  while (strstr(names->data, made.data)) {
    made.data[made.length - 1] = '_';
    kv_fields_say(&made, "\n");
  }
  kv_fields_say(names, made.data + 1);
  made.data[made.length - 1] = 0;
  memmove(made.data, made.data + 1, made.length - 1);
  return made.data;
}

static inline int kv_fields_share(const kv_field *left, const kv_field *right,
                                  int keys) {
  for (int i = 0; i < keys; i++)
    if (!left->path[i] || !right->path[i] ||
        strcmp(left->path[i], right->path[i]))
      return 0;
  return 1;
}

/* `below` is the name of a nested table's struct. */
static inline void kv_fields_say_type(struct kv_fields_text *text,
                                      const kv_field *field,
                                      const char *below) {
  char limit[32];
  if (field->room) kv_fields_say(text, "[");
  kv_fields_say(text, below ? below : kv_fields_word(field->kind));
  if (field->kind == KV_FIELD_TEXT) {
    snprintf(limit, sizeof limit, "(...%zu)", field->size - 1);
    kv_fields_say(text, limit);
  }
  if (!field->room) return;
  snprintf(limit, sizeof limit, "](...%zu)", field->room);
  kv_fields_say(text, limit);
}

/* Declares the struct of the fields that share the first keys of `lead`, and
 * behind it those that it names. */
static inline void kv_fields_declare(struct kv_fields_text *text,
                                     struct kv_fields_text *names,
                                     const char *name, const kv_field *fields,
                                     size_t count, const kv_field *lead,
                                     int depth, const char *defaults) {
  struct kv_fields_text named = {NULL, 0};
  kv_fields_say(text, "struct ");
  kv_fields_say(text, name);
  kv_fields_say(text, " {\n");
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    const char *key = depth < KV_FIELD_STEPS ? field->path[depth] : NULL;
    int is_last = depth + 1 == KV_FIELD_STEPS || !field->path[depth + 1];
    int is_known = 0;
    char *below = NULL;
    if (!key || !kv_fields_share(field, lead, depth)) continue;
    for (size_t j = 0; j < i && !is_last; j++)
      is_known |= kv_fields_share(&fields[j], field, depth + 1);
    if (is_known) continue;
    if (!is_last || field->kind == KV_FIELD_TABLE)
      below = kv_fields_name(names, name, key);
    kv_fields_say(text, "  ");
    kv_fields_quote(text, kv_string(key));
    kv_fields_say(text, ": ");
    if (is_last) {
      kv_fields_say_type(text, field, below);
      kv_fields_say_default(text, field, defaults);
    } else {
      kv_fields_say(text, below);
      kv_fields_say(text, defaults ? " = [:]" : "?");
    }
    kv_fields_say(text, "\n");
    if (!is_last)
      kv_fields_declare(&named, names, below, fields, count, field, depth + 1,
                        defaults);
    else if (below)
      kv_fields_declare(
          &named, names, below, field->fields, field->field_count,
          field->fields, 0,
          defaults && !field->room ? defaults + field->offset : NULL);
    free(below);
  }
  kv_fields_say(text, "}\n");
  if (named.data) kv_fields_say(text, named.data);
  free(named.data);
}

static inline char *kv_fields_declaration(const char *name,
                                          const kv_field *fields, size_t count,
                                          const void *defaults) {
  struct kv_fields_text text = {NULL, 0}, names = {NULL, 0};
  kv_fields_say(&names, "\n");
  kv_fields_say(&names, name);
  kv_fields_say(&names, "\n");
  kv_fields_declare(&text, &names, name, fields, count, fields, 0,
                    (const char *)defaults);
  free(names.data);
  return text.data;
}

#ifdef __cplusplus
}
#endif

#endif
