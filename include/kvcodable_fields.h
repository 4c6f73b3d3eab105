/*
 * kvcodable_fields.h: the settings of a C or C++ program in a struct, read from
 * a store and written to it by a table of the struct's members.
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
 * The path of a field is one key for each dictionary on the way, at most
 * KV_FIELD_STEPS keys. No path may begin with the path of another field of the
 * table. A member without a stored value stays as it was: set its default
 * before reading. A real with a whole value is read as an integer; there are no
 * other conversions. An error names the path, and what was expected and found.
 *
 * This header is outside the stability promise of kvcodable.h: it has a version
 * of its own, KV_FIELDS_VERSION. The functions keep no state. Threads may use
 * them at the same time on different structs.
 */
#ifndef KVCODABLE_FIELDS_H
#define KVCODABLE_FIELDS_H

#include "kvcodable.h"

#include <stdbool.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KV_FIELDS_VERSION 1

/* The most keys of a field's path, and the most keys and indexes of a path
 * through nested tables. */
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
  /* char *: NULL, or memory from malloc() that the struct owns. Reading frees
   * the old text. */
  KV_FIELD_STRING = 13,
  KV_FIELD_DATE = 14, /* double: seconds since 2001-01-01T00:00:00Z */
  KV_FIELD_TIME = 15, /* time_t, 4 or 8 bytes: whole seconds since 1970 */
  KV_FIELD_TABLE = 16 /* a struct with a table of its own */
} kv_field_kind;

/* A member of a struct, and the path of its value. The macros below make it.
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
  size_t mark_size; /* its bytes; 0 without a flag or count */
  const struct kv_field *fields; /* the table of a KV_FIELD_TABLE */
  size_t field_count;
  const char *path[KV_FIELD_STEPS]; /* keys; the rest is NULL */
} kv_field;

/* A member; and one that has a value only if its flag, a bool or an integer, is
 * not 0. Reading sets the flag. Writing a struct whose flag became 0 removes
 * the value. */
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

/* A member that is an array, and the integer `count`, its number of elements. A
 * stored array with more elements than it has room for is an error. */
#define KV_FIELD_ARRAY(type, member, count, kind, ...)                \
  {                                                                   \
    kind, offsetof(type, member), sizeof(((type *)0)->member[0]),     \
        sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0]), \
        offsetof(type, count), sizeof(((type *)0)->count), NULL, 0, { \
      __VA_ARGS__                                                     \
    }                                                                 \
  }

/* A table as two arguments: the array of fields, and their number. */
#define KV_FIELDS(table) table, sizeof(table) / sizeof((table)[0])

/* Members that are structs. `table` is an array of their fields, whose paths
 * begin at the struct's dictionary. Reading sets an array's elements to zeros
 * first. Written elements keep the keys that their table does not name;
 * kv_merge() says how it recognises them. */
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

/* Reads the members from the store, all at one moment. An absent value has the
 * default of the store's schema, if there is one. An error leaves the struct
 * unchanged: KV_TYPE_MISMATCH for a value that the schema refuses, that has
 * another type, or for which the member has no room; KV_INVALID_ARGUMENT for a
 * table that does not fit its struct. */
kv_status kv_read_fields(const kv_store *store, const kv_field *fields,
                         size_t count, void *values, kv_error **error);

/* The same from a tree of stored values, such as kv_read_file() gives. `type`,
 * which may be NULL, first checks the tree as kv_type_decode() does: ranges,
 * enums and other rules that a table does not have. */
kv_status kv_tree_read_fields(const kv_tree *tree, const kv_type *type,
                              const kv_field *fields, size_t count,
                              void *values, kv_error **error);

/* Stores the difference between `old`, the struct as it was read, and `values`.
 * What other programs changed meanwhile stays: other members, elements of
 * arrays, and keys that the table does not name. The two changes are merged as
 * kv_merge() says: if both changed the same member, `values` wins; if another
 * program changed what `values` removes, or put a value of another kind in the
 * place of a dictionary or array, its value stays. Without a difference nothing
 * is done.
 *
 * If `old` is NULL, the difference to what the store has now is stored: members
 * that `values` does not have are removed, and other keys stay.
 *
 * The values of one top-level key change at once. If there is an error other
 * than KV_OUTCOME_UNKNOWN, no key has changed. The write waits for the disk
 * only with immediate durability. In a transaction of the calling thread it is
 * a part of that. A schema checks each changed key. KV_INVALID_VALUE for a
 * string that is not UTF-8; KV_INVALID_ARGUMENT for a table that does not fit
 * its struct, a text without a NUL, and a count larger than its array. */
kv_status kv_write_fields(kv_store *store, const kv_field *fields, size_t count,
                          const void *old, const void *values,
                          kv_error **error);

/* A handler for kv_store_watch(), for programs that read all members again. The
 * context is a bool that it sets to true. Clear it before you read. */
static inline void kv_note_change(void *changed, const kv_step *path,
                                  size_t steps, const kv_tree *old_value,
                                  const kv_tree *new_value) {
  (void)path, (void)steps, (void)old_value, (void)new_value;
  *(bool *)changed = true;
}

/* Copies the members to another struct, with copies of owned strings. What the
 * other struct held is overwritten and not freed. */
void kv_copy_fields(const kv_field *fields, size_t count, const void *from,
                    void *to);

/* Frees the owned strings, and sets them to NULL. */
void kv_free_fields(const kv_field *fields, size_t count, void *values);

/* Gives the declaration of the struct in the type language, for
 * kv_registry_declare(): memory for free(). NULL for a table that does not fit
 * its struct. `defaults` is a struct with the default of each member; if it is
 * NULL, every field may be absent. The structs of nested tables, and of the
 * dictionaries on the way, are declared as NAME_KEY, with a "_" behind it if
 * the name is taken.
 *
 * The type language counts the characters of a KV_FIELD_TEXT, and the struct
 * its bytes. So a text of another program that is of the type may still be too
 * long for the member.
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
char *kv_fields_declaration(const char *name, const kv_field *fields,
                            size_t count, const void *defaults);

#ifdef __cplusplus
}
#endif

#endif
