/*
 * kvcodable.h: typed preferences, for C and C++.
 *
 * One store of property-list values, read and written from Swift, C and Lua.
 * Link with -lkvcodable (pkg-config: kvcodable).
 *
 * This file is the whole reference, which is why it is long. Its parts:
 * version, status and errors, trees (cursors, builders), types, codec, stores
 * (sharing, values, scalars, layers, converting getters, whole stores,
 * transactions, migrations, watching). Beside it stand kvcodable_fields.h,
 * which reads and writes structs by a table of their members, kvcodable.hpp for
 * C++17, and kvcodable_lua.h for hosts of Lua.
 *
 * Conventions, which hold for every function here:
 *
 *   Status     Functions that can fail return a kv_status. KV_OK is 0,
 *              KV_ABSENT is 1 and means that there is nothing, which is no
 *              error; errors are negative. New codes may be added, none is
 *              ever reused.
 *   Errors     A last parameter `kv_error **error`, where there is one, may be
 *              NULL. When the status is negative it is set to an error that the
 *              caller frees with kv_error_free(); else it is set to NULL.
 *   Outputs    are written on KV_OK only, and may be NULL where nothing is
 *              wanted.
 *   Pointers   Any pointer may be NULL: a NULL that makes no sense gives
 *              KV_INVALID_ARGUMENT. Options may always be NULL, which stands
 *              for the default of each. All kv_..._free() accept NULL. A
 *              pointer that is not NULL must point to an object of its type; a
 *              handle that was freed cannot be told from one that was not.
 *   Ownership  "gives": the caller owns the result and frees it. "takes": the
 *              library frees the argument, on success and on failure.
 *              "borrows": the memory belongs to another object, and the comment
 *              says how long it lasts. Where nothing is said, arguments are
 *              only read during the call.
 *   Strings    are a pointer and a length in bytes, valid UTF-8, and may hold
 *              NUL. A kv_str with a NULL pointer and length 0 is the empty
 *              string. kv_string("...") makes one from a C string.
 *   Paths      An array of steps: a key for each dictionary, an index (from 0)
 *              for each array on the way; no steps is the value itself. Keys
 *              are exact: dots have no meaning.
 *   Threads    An object whose first parameter is const may be used from
 *              several threads at once, and so may a kv_store; everything else
 *              by one thread at a time. pthread_cancel() ends a thread at the
 *              beginning of kv_store_sync(), _begin(), _pump() and _wait(), with
 *              nothing locked. fork() may be called on any thread, but not in a
 *              signal handler: changes that wait are written before it.
 *   Stack      Types, comparison and changes inside a value go down into it, of
 *              512 levels at most: a thread that meets such values wants 2 MB
 *              of stack; one that runs scripts, whose converters may call each
 *              other, 4 MB.
 *   Callbacks  must return: no longjmp and no C++ exception may leave one.
 *   Freeing    in any order: a handle keeps alive what it needs of another.
 *              Borrowed memory goes with its owner.
 *   Memory     When memory runs out, the process is aborted.
 *   Stability  As long as KV_ABI_VERSION stays, no function, constant or layout
 *              goes or changes. Functions and constants may be added, and an
 *              options struct, which begins with its size, may grow at its end:
 *              a program runs with every later library of its version.
 */
#ifndef KVCODABLE_H
#define KVCODABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * Version
 */

/* The version of this contract. A library with a higher one still keeps it. */
#define KV_ABI_VERSION 1

/* The contract version that the library was built with. */
int32_t kv_abi_version(void);

/* The library's version, such as "0.2.0". A string that lasts for ever. */
const char *kv_version(void);

/* ------------------------------------------------------------------------
 * Status and errors
 */

/* The state of memory and file after a call, by the status that it returned:
 *
 *   KV_OK               the change is in memory at once, and on the disk when
 *                       the durability says.
 *   KV_ABSENT           nothing has changed.
 *   KV_OUTCOME_UNKNOWN  the commit has happened, or not, or a power failure may
 *                       take it back: the stored values decide. The store takes
 *                       them up as soon as it can read them, and writes nothing
 *                       before that. Look before repeating.
 *   KV_IO, KV_NO_SPACE, KV_ACCESS_DENIED, KV_READ_ONLY, KV_TIMED_OUT,
 *   KV_CORRUPT, KV_LIMIT_EXCEEDED and KV_INVALID_VALUE of a sync and a close
 *                       the file has not changed; the values set stay in
 *                       memory, and are written with the next commit.
 *   the same of a change with immediate durability, a transaction, an update
 *   and a compare-and-set
 *                       neither memory nor the file has any of the change:
 *                       repeating it is right.
 *   any other, and any of a call that writes nothing
 *                       nothing has changed, in memory or in the file.
 */
typedef enum kv_status {
  KV_OK = 0,
  KV_ABSENT = 1,            /* there is nothing at that key or path */
  KV_INVALID_ARGUMENT = -1, /* a NULL, a wrong option, a string not UTF-8 */
  KV_MALFORMED = -2,        /* the bytes are not what the format demands */
  KV_INVALID_VALUE = -3,    /* a value that cannot be held, or not written so */
  KV_LIMIT_EXCEEDED = -4,   /* deeper, longer or larger than allowed */
  KV_PATH_MISMATCH = -5,    /* a path leads through something else */
  KV_TYPE_MISMATCH = -6,    /* the value is not of the type */
  KV_INVALID_TYPE = -7,     /* a type's text or description is wrong */
  KV_IO = -8,               /* the system refused: see the message */
  KV_TIMED_OUT = -9,        /* a lock was not free in time */
  KV_READ_ONLY = -10,       /* the store or the key may not be changed */
  KV_CLOSED = -11,          /* the store is closed, the transaction over */
  KV_CORRUPT = -12,         /* the store's file is damaged */
  KV_MISUSE = -13,          /* calls in an order that makes no sense */
  KV_UNSUPPORTED = -14,     /* not available: SQLite, a home folder */
  KV_ACCESS_DENIED = -15,   /* the file's or folder's mode forbids it */
  KV_NO_SPACE = -16,        /* the device is full, or a quota is */
  KV_FORCED = -17,          /* the administrator has set the key */
  KV_REFUSED = -18,         /* the program's own check refused the value */
  KV_UNSAFE_LOCATION = -19, /* a folder or link that is not to be trusted */
  KV_CONFLICT = -20,        /* the store changed in between: begin again */
  KV_ROLLED_BACK = -21,     /* the process was forked in the transaction */
  KV_MIGRATION = -22,       /* a migration failed */
  KV_INVALID_NAME = -23,    /* no name of a store */
  KV_OUTCOME_UNKNOWN = -24  /* made or not: look before repeating */
} kv_status;

/* An error: its status, its message, and the path or position.
 *
 * Example:
 *
 *   kv_error *error;
 *   if (kv_store_sync(store, &error) < 0) {
 *     fprintf(stderr, "%s\n", kv_error_message(error).data);
 *     kv_error_free(error);
 *   }
 */
typedef struct kv_error kv_error;

/* A string, or other bytes.
 *
 * Example:
 *
 *   kv_str name = kv_string("com.acme.app");
 *   kv_str suffix = {name.data + 9, 3};
 *   printf("%.*s\n", (int)suffix.length, suffix.data);
 */
typedef struct kv_str {
  const char *data;
  size_t length; /* in bytes */
} kv_str;

/* The kv_str of a C string; borrows it. */
static inline kv_str kv_string(const char *text) {
  kv_str result;
  result.data = text;
  result.length = text ? strlen(text) : 0;
  return result;
}

/* The most bytes that the keys of a path may have together; KV_LIMIT_EXCEEDED
 * beyond. A longer key may be in a value: it is reached through its
 * dictionary. */
#define KV_PATH_BYTES 1048576

/* One step of a path: a key where `key.data` is not NULL, else an index.
 *
 * Example:
 *
 *   kv_step path[] = {kv_key("windows"), kv_index(0), kv_key("title")};
 *   kv_store_remove(store, path, 3, NULL);
 */
typedef struct kv_step {
  kv_str key;
  int64_t index;
} kv_step;

/* The step to a dictionary's key; borrows the text. */
static inline kv_step kv_key(const char *text) {
  kv_step step;
  step.key = kv_string(text ? text : "");
  step.index = 0;
  return step;
}

/* The step to an array's element, counted from 0. */
static inline kv_step kv_index(int64_t index) {
  kv_step step;
  step.key.data = NULL;
  step.key.length = 0;
  step.index = index;
  return step;
}

/* Memory that the caller owns: free it with kv_bytes_free(). A NUL, which is
 * not counted, follows the bytes.
 *
 * Example:
 *
 *   kv_bytes bytes;
 *   if (kv_store_export(store, KV_FORMAT_JSON, &bytes, NULL) == KV_OK) {
 *     puts(bytes.data);
 *     kv_bytes_free(&bytes);
 *   }
 */
typedef struct kv_bytes {
  char *data;
  size_t length;
} kv_bytes;

/* Frees the memory of `bytes`, and sets it to NULL and 0. */
void kv_bytes_free(kv_bytes *bytes);

/* The status of the call that gave the error; KV_INVALID_ARGUMENT for NULL. */
kv_status kv_error_status(const kv_error *error);

/* The whole message, with the path, such as "Expected String at window.tags[2],
 * found Bool". Borrows: lasts as long as the error. A NUL follows the text. */
kv_str kv_error_message(const kv_error *error);

/* Gives the same with the indexes of arrays counted from `first_index`, for
 * languages that count from 1. */
kv_status kv_error_describe(const kv_error *error, int64_t first_index,
                            kv_bytes *message);

/* The path in the tree, such as "window.tags[2]"; empty for the root. Borrows:
 * lasts as long as the error. A NUL follows the text. */
kv_str kv_error_path(const kv_error *error);

/* A step of the same; KV_ABSENT past the last. The key lasts as long as the
 * error. */
kv_status kv_error_path_step(const kv_error *error, size_t index,
                             kv_step *step);

/* The line and column in a text, from 1; KV_ABSENT when there is none. */
kv_status kv_error_position(const kv_error *error, int64_t *line,
                            int64_t *column);

/* The offset in binary data, in bytes from its start; KV_ABSENT when there is
 * none. */
kv_status kv_error_offset(const kv_error *error, int64_t *offset);

/* The file that the message names; empty where it names none. Borrows: lasts as
 * long as the error. A NUL follows the text. */
kv_str kv_error_file(const kv_error *error);

/* Gives the same error for a reader that may see only the values below `root`,
 * and not where the store is kept, such as a script in a sandbox: paths begin
 * at the root, and one outside it is left out; "the store" stands for its file
 * and "the folder" for the file's folder. NULL for NULL, and for an invalid
 * path. */
kv_error *kv_error_confined(const kv_error *error, const kv_step *root,
                            size_t root_count);

/* Frees an error, and the memory borrowed from it. */
void kv_error_free(kv_error *error);

/* ------------------------------------------------------------------------
 * Trees: immutable values
 */

/* A scalar, or an array or dictionary with all its values. Never changes.
 *
 * Example:
 *
 *   kv_step width = kv_key("width");
 *   kv_tree *rest;
 *   if (kv_tree_remove(tree, &width, 1, &rest, NULL) == KV_OK) {
 *     kv_store_set(store, NULL, 0, rest, NULL, 0, NULL, NULL);
 *     kv_tree_free(rest);
 *   }
 */
typedef struct kv_tree kv_tree;

/* The kind of a value.
 *
 * Example:
 *
 *   kv_cursor root = kv_tree_root(tree);
 *   if (kv_cursor_kind(&root) == KV_DICTIONARY)
 *     printf("%zu entries\n", kv_cursor_count(&root));
 */
typedef enum kv_kind {
  KV_NULL = 0, /* in memory only: no property-list format has one */
  KV_BOOLEAN = 1,
  KV_INTEGER = 2,  /* within int64_t */
  KV_UNSIGNED = 3, /* above INT64_MAX, within uint64_t */
  KV_REAL = 4,
  KV_DATE = 5, /* seconds since 2001-01-01T00:00:00Z, as a double: 978307200
                  less than what time() counts */
  KV_UID = 6,  /* a keyed archive's reference */
  KV_STRING = 7,
  KV_DATA = 8,
  KV_ARRAY = 9,
  KV_DICTIONARY = 10
} kv_kind;

/* Frees a tree. Cursors and bytes that were borrowed from it end with it. */
void kv_tree_free(kv_tree *tree);

/* Whether both are the same value: reals by their bits, integer 1 is not real
 * 1. 1 or 0; NULL equals only NULL. */
int kv_tree_equal(const kv_tree *left, const kv_tree *right);

/* Gives the tree with `value` at the end of the path, and nothing else
 * changed. A missing key is added, with the dictionaries on the way; an index
 * equal to an array's count appends. KV_PATH_MISMATCH where the path leads
 * through a scalar, or beyond the end of an array. */
kv_status kv_tree_set(const kv_tree *tree, const kv_step *path, size_t steps,
                      const kv_tree *value, kv_tree **result, kv_error **error);

/* Gives the tree without the value at the end of the path; KV_ABSENT when there
 * is none. */
kv_status kv_tree_remove(const kv_tree *tree, const kv_step *path, size_t steps,
                         kv_tree **result, kv_error **error);

/* ---- Cursors: reading a tree */

/* A position in a tree. A plain value: copy it, keep it, forget it. It borrows
 * the tree, and is valid as long as that is. Its members are not for use.
 *
 * Example:
 *
 *   kv_cursor names = kv_tree_root(tree), name;
 *   uint64_t state = 0;
 *   while (kv_cursor_next(&names, &state, &name) == KV_OK) {
 *     kv_str text;
 *     if (kv_cursor_string(&name, &text) == KV_OK)
 *       printf("%.*s\n", (int)text.length, text.data);
 *   }
 */
typedef struct kv_cursor {
  const kv_tree *tree;
  uint64_t position;
} kv_cursor;

/* The tree's own value. */
kv_cursor kv_tree_root(const kv_tree *tree);

/* The kind of the value at the cursor; KV_NULL for a cursor without a tree. */
kv_kind kv_cursor_kind(const kv_cursor *cursor);

/* Elements of an array, entries of a dictionary, bytes of a string or data;
 * else 0. */
size_t kv_cursor_count(const kv_cursor *cursor);

/* The value as one kind; KV_TYPE_MISMATCH when it is of another. Nothing is
 * converted, but that kv_cursor_real() reads every number, and
 * kv_cursor_unsigned() every integer from 0. */
kv_status kv_cursor_boolean(const kv_cursor *cursor, int *value);
kv_status kv_cursor_integer(const kv_cursor *cursor, int64_t *value);
kv_status kv_cursor_unsigned(const kv_cursor *cursor, uint64_t *value);
kv_status kv_cursor_real(const kv_cursor *cursor, double *value);
kv_status kv_cursor_date(const kv_cursor *cursor, double *seconds_since_2001);
kv_status kv_cursor_uid(const kv_cursor *cursor, uint32_t *value);

/* Borrow the bytes: they last as long as the tree. No NUL follows them. */
kv_status kv_cursor_string(const kv_cursor *cursor, kv_str *value);
kv_status kv_cursor_data(const kv_cursor *cursor, kv_str *value);

/* The value of a dictionary's key; KV_ABSENT when there is none, or the cursor
 * is at no dictionary. */
kv_status kv_cursor_key(const kv_cursor *cursor, kv_str key, kv_cursor *value);

/* The value at the end of a path; KV_ABSENT when there is none. */
kv_status kv_cursor_path(const kv_cursor *cursor, const kv_step *path,
                         size_t steps, kv_cursor *value);

/* Entry `index` of a dictionary, in the order of the keys' bytes; KV_ABSENT
 * past the end. Constant time. Borrows the key: it lasts as long as the
 * tree. */
kv_status kv_cursor_entry(const kv_cursor *cursor, size_t index, kv_str *key,
                          kv_cursor *value);

/* Walks an array: the first call, with `state` 0, gives the first element, each
 * further one the next; KV_ABSENT behind the last. `state` is kept by the
 * caller. */
kv_status kv_cursor_next(const kv_cursor *array, uint64_t *state,
                         kv_cursor *element);

/* Gives the value at the cursor as a tree of its own. */
kv_status kv_cursor_copy(const kv_cursor *cursor, kv_tree **tree);

/* ---- Builders: making a tree */

/* Writes a tree value by value. An error leaves it useless but for
 * kv_builder_free().
 *
 * Example:
 *
 *   kv_builder *builder = kv_builder_new();
 *   kv_tree *window;
 *   kv_builder_begin_dictionary(builder, NULL);
 *   kv_builder_key(builder, kv_string("width"), NULL);
 *   kv_builder_integer(builder, 640, NULL);
 *   kv_builder_end(builder, NULL);
 *   if (kv_builder_finish(builder, &window, NULL) == KV_OK)
 *     kv_tree_free(window);
 *   kv_builder_free(builder);
 */
typedef struct kv_builder kv_builder;

/* Gives a builder with nothing in it. */
kv_builder *kv_builder_new(void);

/* Frees a builder, and the tree that it was writing. */
void kv_builder_free(kv_builder *builder);

/* Append a value: at the root, as the next element of the open array, or as the
 * value of the key that was just named. The bytes are copied. KV_MISUSE where
 * no value is expected, KV_INVALID_VALUE for a string that is not UTF-8,
 * KV_LIMIT_EXCEEDED for more or larger values than a tree holds. */
kv_status kv_builder_null(kv_builder *builder, kv_error **error);
kv_status kv_builder_boolean(kv_builder *builder, int value, kv_error **error);
kv_status kv_builder_integer(kv_builder *builder, int64_t value,
                             kv_error **error);
kv_status kv_builder_unsigned(kv_builder *builder, uint64_t value,
                              kv_error **error);
kv_status kv_builder_real(kv_builder *builder, double value, kv_error **error);
kv_status kv_builder_date(kv_builder *builder, double seconds_since_2001,
                          kv_error **error);
kv_status kv_builder_uid(kv_builder *builder, uint32_t value, kv_error **error);
kv_status kv_builder_string(kv_builder *builder, kv_str value,
                            kv_error **error);
kv_status kv_builder_data(kv_builder *builder, kv_str value, kv_error **error);
kv_status kv_builder_cursor(kv_builder *builder, const kv_cursor *value,
                            kv_error **error);

/* Open a container; kv_builder_end() closes the one opened last. Of a key that
 * is given twice, the last value stays. KV_MISUSE for a key outside a
 * dictionary or behind another key, and for an end without a beginning;
 * KV_LIMIT_EXCEEDED from 512 levels on. */
kv_status kv_builder_begin_array(kv_builder *builder, kv_error **error);
kv_status kv_builder_begin_dictionary(kv_builder *builder, kv_error **error);
kv_status kv_builder_key(kv_builder *builder, kv_str key, kv_error **error);
kv_status kv_builder_end(kv_builder *builder, kv_error **error);

/* Gives the tree and leaves the builder empty, ready for another. KV_MISUSE
 * while a container is open, and where there is no value. */
kv_status kv_builder_finish(kv_builder *builder, kv_tree **tree,
                            kv_error **error);

/* ------------------------------------------------------------------------
 * Types
 */

/* The type of a value, by an expression. Never changes.
 *
 *   Bool                      true and false, never numbers
 *   Int, Int8 ... Int64, Int128, UInt, UInt8 ... UInt64, UInt128
 *                             whole numbers; a real with a whole value, too
 *   Float, Double             every number
 *   String, Data, Date, UID   themselves
 *   Decimal, URL, UUID        strings that spell one; of Decimal numbers, too
 *   Duration                  an array of two whole numbers
 *   Any                       everything but null
 *   [T], [String: T], T?      arrays, dictionaries, values that may be absent
 *   Int(1...9), Double(0..<1), String(...80), [T](1...)
 *                             with a range, or a length
 *   Window                    a struct or enum that was declared
 *
 * Example:
 *
 *   kv_step path = kv_key("sizes");
 *   kv_type *type;
 *   kv_tree *sizes;
 *   if (kv_registry_type(NULL, kv_string("[Int]?"), &type, NULL) == KV_OK) {
 *     if (kv_store_get(store, &path, 1, type, &sizes, NULL) == KV_OK)
 *       kv_tree_free(sizes);
 *     kv_type_free(type);
 *   }
 */
typedef struct kv_type kv_type;

/* A set of declared types with names.
 *
 * Example:
 *
 *   kv_registry *registry = kv_registry_new(NULL, 0);
 *   kv_str text = kv_string("struct Window { width: Int(1...16384) }");
 *   kv_error *error;
 *   if (kv_registry_declare(registry, text, kv_string(""), NULL, &error) < 0)
 *     kv_error_free(error);
 *   kv_registry_free(registry);
 */
typedef struct kv_registry kv_registry;

/* Flag: declaring a name again with another meaning replaces it, as where
 * scripts are loaded again; without it, that is an error. */
#define KV_REDECLARE 1u

/* Gives a registry with the built-in types and those of `outer`, unless that is
 * NULL: its own types replace those, and are not seen in `outer`. NULL where
 * `flags` has other flags. */
kv_registry *kv_registry_new(const kv_registry *outer, uint32_t flags);

/* Frees a registry; types that it gave stay. */
void kv_registry_free(kv_registry *registry);

/* Declares structs and enums from text:
 *
 *   struct Window { width: Int(1...16384); title: String? @key(window_title);
 *                   tags: [String] = []; theme: Theme = dark }
 *   enum Theme: String { light, dark }
 *   enum Shape { circle(radius: Double), square(Double), empty }
 *
 * A field may be absent where it has `?` or a default. @key(...) names its key
 * in the file, which paths use. Gives an array of the types' names, in the order
 * of the text. `file` is the file that the text was read from, which errors
 * name, and empty where there is none. KV_INVALID_TYPE, with line and column,
 * when the text is wrong; also when a name already means something else. */
kv_status kv_registry_declare(kv_registry *registry, kv_str text, kv_str file,
                              kv_tree **names, kv_error **error);

/* The same of a text file, of 16 MB at most: one for programs in C and Swift
 * and for scripts. KV_ABSENT when there is no file. */
kv_status kv_registry_declare_file(kv_registry *registry, kv_str file,
                                   kv_tree **names, kv_error **error);

/* Gives the type of an expression such as "[Window]?". A NULL registry knows
 * the built-in types alone. */
kv_status kv_registry_type(kv_registry *registry, kv_str expression,
                           kv_type **type, kv_error **error);

/* A number that changes when a name of the registry, or of those it was made
 * over, gets another meaning: a program that keeps types by their texts asks
 * for them anew then. 0 for NULL. */
uint64_t kv_registry_generation(const kv_registry *registry);

/* Gives the type that a tree describes (the notation is in the documentation of
 * CodableTypes); a struct or enum in it is declared in the registry. */
kv_status kv_registry_describe(kv_registry *registry,
                               const kv_tree *description, kv_type **type,
                               kv_error **error);

/* Gives the text of a file that begins with ---@meta and describes the
 * registry's types to the Lua language server, so that editors complete
 * scripts. The types of the registry it was made over are among them. */
kv_status kv_registry_annotations(const kv_registry *registry, kv_bytes *text,
                                  kv_error **error);

/* Gives the text that kv_registry_declare() takes for a declared type;
 * KV_ABSENT for a type that is not declared, and for a Swift type of which
 * nothing is known. */
kv_status kv_type_declaration(const kv_type *type, kv_bytes *text,
                              kv_error **error);

/* Gives the type of the value at a path inside a value of the type; the path
 * names keys as they are stored. A field's type has the field's default.
 * KV_ABSENT for a path of which the type says nothing: to a key that a struct
 * does not declare, or into a scalar, Any or a Swift type.
 *
 * Example:
 *
 *   kv_step first = kv_index(0);
 *   kv_type *sizes, *size;
 *   if (kv_registry_type(NULL, kv_string("[Int]"), &sizes, NULL) == KV_OK) {
 *     if (kv_type_at(sizes, &first, 1, &size, NULL) == KV_OK)
 *       kv_type_free(size);
 *     kv_type_free(sizes);
 *   }
 */
kv_status kv_type_at(const kv_type *type, const kv_step *path, size_t steps,
                     kv_type **part, kv_error **error);

/* Gives the JSON Schema (2020-12) of what a file holds for the type, as JSON on
 * one line: for the completion and the checks of other tools. Dates, data and
 * UIDs are objects of one key there, {"$date": "2026-11-21T08:00:00Z"}. */
kv_status kv_type_json_schema(const kv_type *type, kv_bytes *text,
                              kv_error **error);

/* Publishes the type of an expression, a declared struct, as that of the
 * store `name`, for tools and scripts: writes its declaration, and those of the
 * types in it, to kvcodable/types/NAME.kvtypes in $XDG_DATA_HOME or
 * ~/.local/share, in place of an older one. Gives the file's path.
 * KV_INVALID_NAME where no store may have the name, and KV_MISUSE for a type
 * without a declaration, such as [Int]. */
kv_status kv_registry_publish(kv_registry *registry, kv_str expression,
                              kv_str name, kv_bytes *file, kv_error **error);

/* Gives the type that is published for a store, by the user or by a package:
 * in $XDG_DATA_HOME, then in the folders of $XDG_DATA_DIRS. Its names are in no
 * registry of the program. KV_ABSENT where there is none; KV_INVALID_TYPE with
 * the file, line and column where its text is wrong; KV_UNSAFE_LOCATION for a
 * file that is neither the user's nor root's, or that everybody may write. */
kv_status kv_type_published(kv_str name, kv_type **type, kv_error **error);

/* Frees a type. */
void kv_type_free(kv_type *type);

/* The same type once more, for kv_type_free(); NULL for NULL. */
kv_type *kv_type_copy(const kv_type *type);

/* Whether two types mean the same. NULL equals NULL alone. */
int kv_type_equal(const kv_type *left, const kv_type *right);

/* Flag of a typed set: the parts of the old value that the type does not know
 * are dropped. */
#define KV_REPLACE 1u

/* Gives the value as programs see it from the value as it is stored: checked,
 * keys renamed to fields, defaults filled in. */
kv_status kv_type_decode(const kv_type *type, const kv_tree *stored,
                         kv_tree **value, kv_error **error);

/* Gives the value to store from the value as programs see it. `stored`, which
 * may be NULL, is the value that is stored now: its parts that the type does
 * not know are kept. */
kv_status kv_type_encode(const kv_type *type, const kv_tree *value,
                         const kv_tree *stored, uint32_t flags,
                         kv_tree **result, kv_error **error);

/* ------------------------------------------------------------------------
 * Codec: bytes and files
 */

/* The format of bytes or of a file, to read or to write. */
typedef enum kv_format {
  KV_FORMAT_ANY = 0, /* to read: found from the content; to write: XML, and JSON
                        into a file whose name ends in .json */
  KV_FORMAT_XML = 1,
  KV_FORMAT_BINARY = 2,
  KV_FORMAT_OPENSTEP = 3, /* read only */
  KV_FORMAT_JSON = 4
} kv_format;

/* Options of reading. Set all of it to 0 and `size` to its size; 0 is the
 * default everywhere.
 *
 * Example:
 *
 *   kv_decode_options options = {.size = sizeof options, .depth = 64};
 *   kv_str path = kv_string("shape.plist");
 *   kv_tree *shape;
 *   if (kv_read_file(path, &options, NULL, &shape, NULL, NULL) == KV_OK)
 *     kv_tree_free(shape);
 */
typedef struct kv_decode_options {
  size_t size;           /* sizeof(kv_decode_options) */
  kv_format format;      /* that the bytes must have */
  size_t depth;          /* levels of containers: 512, at most 2048 */
  size_t expanded_nodes; /* values and keys that a file may have, with shared
                            objects each time, and an archive may grow to:
                            1,000,000 and one for each byte */
  size_t expanded_bytes; /* bytes that shared strings and data may grow to:
                            64 MB and 16 for each byte */
  size_t file_bytes;     /* of a file that is read: 1 GB */
  int drop_nulls;        /* whether JSON's nulls are left out of dictionaries
                            and arrays; not of an archive */
} kv_decode_options;

/* Gives the tree that the bytes hold, as `type` shows it unless that is NULL;
 * `found` is set to their format. KV_MALFORMED with the position;
 * KV_TYPE_MISMATCH for a value that is not of the type. A keyed archive is of
 * no type but Data and Any: kv_tree_unarchive() gives its plain value, and
 * kv_store_migrate_archive() brings a stored one into the type's form. */
kv_status kv_decode(kv_str bytes, const kv_decode_options *options,
                    const kv_type *type, kv_tree **tree, kv_format *found,
                    kv_error **error);

/* Gives the bytes of a tree, which is checked against `type` unless that is
 * NULL. KV_INVALID_VALUE, with the path, for a value that the format cannot
 * hold, and for KV_FORMAT_OPENSTEP, which is only read. */
kv_status kv_encode(const kv_tree *tree, kv_format format, const kv_type *type,
                    kv_bytes *bytes, kv_error **error);

/* The same from and to a file, whole. A written file replaces the old one at
 * once: a reader sees the one or the other. JSON has a line for each value.
 * Nothing of the old one's comments is kept: a store opened on the file keeps
 * them. KV_ABSENT when the file to read does not exist; KV_IO when it is no
 * file but a folder or a device; KV_LIMIT_EXCEEDED, before it is read, when it
 * is larger than the options say; KV_MISUSE when it is a database that this
 * program has open as a store: read it through the store, since closing the
 * file would drop SQLite's locks; KV_OUTCOME_UNKNOWN when the new file is
 * there, and a power failure may take it back. */
kv_status kv_read_file(kv_str path, const kv_decode_options *options,
                       const kv_type *type, kv_tree **tree, kv_format *found,
                       kv_error **error);
kv_status kv_write_file(kv_str path, const kv_tree *tree, kv_format format,
                        const kv_type *type, kv_error **error);

/* Whether the tree has the form of an NSKeyedArchiver archive, or is data with
 * such a file inside: 1 or 0. Only kv_tree_unarchive() finds out whether the
 * archive is sound; its error names another archiver. */
int kv_tree_is_archive(const kv_tree *tree);

/* Gives the plain tree of a keyed archive, without its classes. Where
 * `class_name_key` is not empty, an object of a class of the program's own
 * keeps its class's name under that key. `options` may be NULL; its format has
 * no meaning here. */
kv_status kv_tree_unarchive(const kv_tree *tree, kv_str class_name_key,
                            const kv_decode_options *options, kv_tree **result,
                            kv_error **error);

/* ------------------------------------------------------------------------
 * Stores
 */

/* A handle on a store of preferences. All handles on one file in a process
 * share its values in memory. An XML file keeps its comments when it is
 * written, each with the key or element that it stands before, and its keys
 * their order; new keys come behind.
 *
 * Example:
 *
 *   kv_step path[] = {kv_key("window"), kv_key("width")};
 *   kv_str name = kv_string("com.acme.app");
 *   kv_store *store;
 *   if (kv_store_open(name, NULL, &store, NULL) == KV_OK) {
 *     kv_store_set_integer(store, path, 2, 640, NULL);
 *     kv_store_free(store);
 *   }
 */
typedef struct kv_store kv_store;

/* The time at which the changes of a store reach the disk. */
typedef enum kv_durability {
  /* On disk at most 100 ms later, at sync, close and exit. What cannot be
   * written at exit, since another program has the lock, is lost, with a line
   * on stderr; _exit, quick_exit, abort, execve and signals write nothing. */
  KV_COALESCED = 0,
  KV_IMMEDIATE = 1, /* on disk when the call returns; what fails is not kept */
  KV_MANUAL = 2     /* at sync and close, and not at exit */
} kv_durability;

/* The engine that keeps a store's values.
 *
 * Example:
 *
 *   kv_store_options options = {.size = sizeof options};
 *   kv_store *scratch;
 *   options.engine = KV_ENGINE_MEMORY;
 *   if (kv_store_open(kv_string("scratch"), &options, &scratch, NULL) == KV_OK)
 *     kv_store_free(scratch);
 */
typedef enum kv_engine {
  KV_ENGINE_AUTOMATIC = 0,     /* SQLite for .sqlite and .db, else a file */
  KV_ENGINE_MEMORY = 1,        /* nothing is kept */
  KV_ENGINE_PROPERTY_LIST = 2, /* a property-list file */
  KV_ENGINE_SQLITE = 3         /* the system's libsqlite3 */
} kv_engine;

/* The treatment of a damaged file. Reading alone never moves one.
 *
 * Example:
 *
 *   kv_store_options options = {.size = sizeof options};
 *   kv_str name = kv_string("com.acme.app");
 *   kv_store *store;
 *   options.on_corruption = KV_CORRUPTION_RECOVER;
 *   if (kv_store_open(name, &options, &store, NULL) == KV_OK)
 *     kv_store_free(store);
 */
typedef enum kv_corruption {
  /* The file stays where it is, and opening it is KV_CORRUPT, with the line. A
   * store that is open goes on with the values in memory and tells
   * KV_EVENT_UNREADABLE; syncs, transactions and immediate sets are KV_CORRUPT,
   * other changes are kept and are written when the file can be read again. At
   * exit all values go to NAME.unsaved-TIME, with a line on stderr. A file that
   * cannot be read for another reason is treated alike, with that reason's
   * status: KV_INVALID_VALUE for a root that is no dictionary,
   * KV_LIMIT_EXCEEDED, KV_ACCESS_DENIED, KV_IO, or KV_UNSAFE_LOCATION for a
   * link. One row of a database that cannot be read is an error for its key
   * alone: a get of it is KV_CORRUPT, a set replaces it, keys and whole
   * dictionaries leave it out, and kv_store_copy() copies nothing. */
  KV_CORRUPTION_ERROR = 0,
  /* The file is kept as NAME.corrupt-TIME, and the newer of the document in
   * memory and the backup, NAME.bak, takes its place. KV_CORRUPT if there is
   * neither, and for a database: "sqlite3 FILE .dump" reads what is left of
   * one. Holds for all of the process's handles on the file. */
  KV_CORRUPTION_RECOVER = 1
} kv_corruption;

/* The program's own check of a change: given the path, and the value that it
 * would have, NULL where it is removed; both are borrowed for the time of the
 * call. Return 0 to accept it; any other number refuses it with KV_REFUSED.
 * Called on the thread that changes; it must not use the store.
 *
 * Example:
 *
 *   static int check_length(void *most, const kv_step *path, size_t steps,
 *                           const kv_tree *value) {
 *     kv_cursor root = kv_tree_root(value);
 *     (void)path;
 *     (void)steps;
 *     return kv_cursor_kind(&root) == KV_STRING &&
 *            kv_cursor_count(&root) > *(size_t *)most;
 *   }
 *
 *   static size_t most = 80;
 *   kv_store_options options = {.size = sizeof options};
 *   kv_str name = kv_string("com.acme.app");
 *   kv_store *store;
 *   options.check = check_length;
 *   options.check_context = &most;
 *   if (kv_store_open(name, &options, &store, NULL) == KV_OK)
 *     kv_store_free(store);
 */
typedef int (*kv_check)(void *context, const kv_step *path, size_t steps,
                        const kv_tree *value);

/* Options of opening a store. Set all of it to 0 and `size` to its size; 0 is
 * the default everywhere.
 *
 * Example:
 *
 *   kv_store_options options = {.size = sizeof options, .timeout = 2};
 *   kv_str name = kv_string("com.acme.app");
 *   kv_store *store;
 *   options.durability = KV_IMMEDIATE;
 *   if (kv_store_open(name, &options, &store, NULL) == KV_OK)
 *     kv_store_free(store);
 */
typedef struct kv_store_options {
  size_t size;             /* sizeof(kv_store_options) */
  const kv_tree *defaults; /* a dictionary of values for absent keys */
  kv_format format; /* of a new file: XML, binary or JSON; by default JSON
                       where its name ends in .json, else XML */
  kv_durability durability;
  kv_engine engine;
  int read_only;
  double timeout;           /* seconds to wait for another holder's lock: 10 */
  const kv_tree *arguments; /* the arguments layer: a dictionary */
  const kv_str *suites;     /* names of domains that are searched as well */
  size_t suite_count;
  kv_str managed_file; /* the administrator's file; empty for the usual one */
  int without_global_domain;
  int sqlite_normal; /* SQLite's synchronous=NORMAL: a power failure may take
                        the last commits back, whole */
  kv_check check;    /* called before each change; NULL for none */
  void *check_context;
  /* The type of the store's dictionary: a struct, whose fields are the
   * top-level keys, or [String: T]; NULL for none. */
  const kv_type *schema;
  kv_corruption on_corruption;
  /* The most bytes of the store's values in memory, 256 MB, and the most values
   * and keys at every depth, 2^24. A value or key takes 16 bytes, and those of
   * its text or data. A change that would pass a limit is KV_LIMIT_EXCEEDED and
   * changes nothing; one that does not make the store larger is always
   * possible. A call that sets many keys counts as a whole. Files are read and
   * written that are up to 768 MB, or max_bytes where that is more, above the
   * limit. Opening a larger file is KV_LIMIT_EXCEEDED. So is a sync that would
   * write one, and the changes stay in memory. Of several handles in a process
   * the widest limits count for the file. Whatever is set here, a top-level value in SQLite has 1,000,000,000 bytes at
   * most, and a sync of more is KV_LIMIT_EXCEEDED, and writes nothing; its key
   * has 16,384 bytes at most. */
  uint64_t max_bytes;
  uint64_t max_nodes;
  /* Seconds that a file which cannot be parsed is given from its last change,
   * since a program that writes in place may be in the midst of it: 1. After
   * that it is damaged; until then a call that has waited for `timeout` is
   * KV_TIMED_OUT. Of several handles in a process the longest time counts. A
   * database is written by no program in place. */
  double settle_time;
} kv_store_options;

/* A schema is the type of all that is read and written without one: gets, sets,
 * scalars, updates, transactions and watches do what they do with the type that
 * the schema has for the path. Paths name keys as they are stored. The whole
 * store (no steps) is a dictionary of stored keys, each with its value as its
 * type shows it. What the schema says nothing of, such as a key that a struct
 * does not declare, is read and written as it is stored, and so is everything
 * with a type given, by that type: with Any as it is. In a migration everything
 * is as it is stored. Layers, kv_store_snapshot(), kv_store_export() and
 * kv_store_import(), defaults and the converting getters know no type.
 *
 * A value that is not of its type is KV_TYPE_MISMATCH for the get; a set of one
 * is refused. So is any other change that would give one of the keys a value
 * that kv_store_get() with the field's type does not give: at once, and in a
 * transaction when it is committed. Every key may be absent. Values that are
 * stored already, and those of other layers, are not looked at before they are
 * read: the store opens. The type may be freed once the store is open.
 * KV_INVALID_TYPE for a type that is neither struct nor dictionary.
 *
 * The schema's defaults are the lowest layer; those of `defaults` and
 * kv_store_register(), which are checked, lie over them. They are the defaults
 * of the struct's fields, and for one of these that
 * is a struct and needs no value an empty one, which its own fields' defaults
 * fill; a struct further in needs a default of its own, such as `= [:]`, where
 * values may be there that do not have it.
 * In a value that is there each absent field has its default; below an optional
 * one that is absent all is absent. A set writes the defaults that it is given.
 * A registered Swift type has no defaults that could be seen here. */

/* Gives the store `name`, such as "com.acme.app": the file NAME.plist in
 * $XDG_CONFIG_HOME or ~/.config. "acme/settings" is settings.plist in the
 * folder acme there, up to eight parts deep; folders are made for their owner
 * alone (0700), and the administrator's file is in the same ones below its own.
 * KV_INVALID_NAME where a part is empty, begins with "." or has ".." in it. A
 * file that cannot be read is an error, never an empty store. */
kv_status kv_store_open(kv_str name, const kv_store_options *options,
                        kv_store **store, kv_error **error);

/* Gives the store in the file `path`. */
kv_status kv_store_open_file(kv_str path, const kv_store_options *options,
                             kv_store **store, kv_error **error);

/* Gives an array of strings, sorted: the names of the stores that
 * kv_store_open() finds with the engine, those of other programs among them;
 * none in memory. Folders that cannot be read are left out. */
kv_status kv_store_names(kv_engine engine, kv_tree **names, kv_error **error);

/* Gives the path of the file of the store `name`, which need not be there;
 * KV_ABSENT for one in memory. */
kv_status kv_store_path(kv_str name, kv_engine engine, kv_bytes *path,
                        kv_error **error);

/* Gives the path of the store's file, absolute and without symbolic links (as
 * it was given, where a store is opened to be read and its folder does not
 * exist); KV_ABSENT where it has none, being in memory. Also of a closed
 * handle. */
kv_status kv_store_file(const kv_store *store, kv_bytes *file,
                        kv_error **error);

/* Returns when everything that was set before is on disk. KV_MISUSE in a
 * transaction of the calling thread, whose commit is what writes. */
kv_status kv_store_sync(kv_store *store, kv_error **error);

/* Writes the changes and closes the handle, also where writing fails: that is
 * tried again as long as the program runs, and at exit. Further calls on the
 * handle give KV_CLOSED. Closing twice is fine. */
kv_status kv_store_close(kv_store *store, kv_error **error);

/* Frees the handle, and closes it where that was not done: at once, or with the
 * end of a transaction that is open on it. */
void kv_store_free(kv_store *store);

/* ---- Sharing: other handles for parts of a program */

/* Flag: the handle may only read. */
#define KV_READ_ONLY_HANDLE 4u

/* Whether the handle was opened or shared as one that may only read. 0 for
 * NULL. */
int kv_store_is_read_only(const kv_store *store);

/* Gives another handle on the same store, with the same layers and options, and
 * watches of its own: closing one of the two leaves the other open. For a part
 * of the program that closes the store it is given.
 *
 * `quota` is the most bytes that the value at the path may take in memory, as
 * max_bytes counts them, after a set of the handle; without steps, all that the store holds. 0 is
 * no quota, and the path has no meaning then. All of the value's bytes count,
 * those that other handles set among them, and so do those of a lower layer's
 * array that a set copies. They are counted at each set, in a transaction too; a
 * set that does not make the value larger is always possible. KV_LIMIT_EXCEEDED
 * beyond, with the quota and the size that the value would have. A handle that
 * is shared from this one has its quotas, too. KV_PATH_MISMATCH for a quota at
 * a path that begins with an index.
 *
 * Example:
 *
 *   kv_step part[] = {kv_key("plugins"), kv_key("clock")};
 *   kv_store *plugin;
 *   if (kv_store_share(store, 0, part, 2, 1 << 20, &plugin, NULL) == KV_OK)
 *     kv_store_free(plugin);
 */
kv_status kv_store_share(const kv_store *store, uint32_t flags,
                         const kv_step *path, size_t steps, uint64_t quota,
                         kv_store **handle, kv_error **error);

/* ---- Values */

/* Gives the value at the path, as its type shows it: `type`, unless that is
 * NULL, else the store's schema's, else as it is stored. KV_ABSENT when there
 * is none and `type` has no default. With a NULL `value` it tells whether there
 * is one. */
kv_status kv_store_get(const kv_store *store, const kv_step *path, size_t steps,
                       const kv_type *type, kv_tree **value, kv_error **error);

/* Sets the value at the path in the store's own file. Nothing of lower layers is
 * copied, but an array of which an element is set. A dictionary shows what was
 * set alone: keys of lower layers that it leaves out are noted as unset, under
 * the reserved key KVUnset. A value that the administrator has locked stays as
 * it is; KV_FORCED for a change of one.
 *
 * It is merged with what other programs have saved
 * meanwhile, as kv_merge() says: an index means the element that it meant in
 * memory. A change that cannot be kept is the event KV_EVENT_CONFLICT, and
 * KV_CONFLICT of the next kv_store_sync(); with immediate durability it is
 * KV_CONFLICT of this call.
 *
 * With a type, the value is checked and stored as the type says, and the keys of
 * the stored value that the type does not know are kept, unless the flags have
 * KV_REPLACE. Without one, the schema's type counts; without a schema the value
 * is stored as it is. `dropped` is set to the number of elements of stored arrays
 * that are gone with keys that the type does not know. */
kv_status kv_store_set(kv_store *store, const kv_step *path, size_t steps,
                       const kv_tree *value, const kv_type *type,
                       uint32_t flags, size_t *dropped, kv_error **error);

/* Removes the value; KV_ABSENT when there was none. A top-level key is reset, as
 * by kv_store_reset(). Below one, a value of lower layers is noted as unset: there
 * is no value then. If another program has
 * changed the value meanwhile, it stays, which is a conflict as with
 * kv_store_set(). */
kv_status kv_store_remove(kv_store *store, const kv_step *path, size_t steps,
                          kv_error **error);

/* Takes back what the store's file says of the value at the path: its own value
 * and what is noted as unset there and below, so that lower layers show again. A
 * path into an array takes back the array. KV_ABSENT when there was nothing. */
kv_status kv_store_reset(kv_store *store, const kv_step *path, size_t steps,
                         kv_error **error);

/* Moves the value that the store's file has at the path to another one;
 * KV_ABSENT when there was none. KV_CONFLICT where the file has a value there.
 * Defaults stay where they are. A reset and a rename are each a transaction, or
 * a part of the one that the thread has open. */
kv_status kv_store_rename(kv_store *store, const kv_step *path, size_t steps,
                          const kv_step *new_path, size_t new_steps,
                          kv_error **error);

/* Gives an array of strings: the keys of the dictionary at a path, as paths
 * name them, those of defaults included; without steps, those at the top level.
 * None where another value is; KV_ABSENT where nothing is. */
kv_status kv_store_keys(const kv_store *store, const kv_step *path,
                        size_t steps, kv_tree **keys, kv_error **error);

/* Gives the type that the store's schema has for the value at a path, as
 * kv_type_at(); KV_ABSENT where it has none. */
kv_status kv_store_type_at(const kv_store *store, const kv_step *path,
                           size_t steps, kv_type **type, kv_error **error);

/* ---- Scalars: values without a tree */

/* Get a scalar. KV_ABSENT when there is none; KV_TYPE_MISMATCH when the value is
 * of another kind: nothing is converted, but that a real reads every number. A
 * string is given. */
kv_status kv_store_get_boolean(const kv_store *store, const kv_step *path,
                               size_t steps, int *value, kv_error **error);
kv_status kv_store_get_integer(const kv_store *store, const kv_step *path,
                               size_t steps, int64_t *value, kv_error **error);
kv_status kv_store_get_real(const kv_store *store, const kv_step *path,
                            size_t steps, double *value, kv_error **error);
kv_status kv_store_get_string(const kv_store *store, const kv_step *path,
                              size_t steps, kv_bytes *value, kv_error **error);

/* The same with a value for where there is none: also for a value of another
 * kind, a path that leads nowhere, a closed store, and what else kv_store_get_
 * tells of, for programs that go on with their default in any case.
 *
 * Example:
 *
 *   kv_step width = kv_key("width"), title = kv_key("title");
 *   char text[80];
 *   printf("%s: %lld\n",
 *          kv_store_get_string_or(store, &title, 1, text, sizeof text, "none"),
 *          (long long)kv_store_get_integer_or(store, &width, 1, 640));
 */
static inline int kv_store_get_boolean_or(const kv_store *store,
                                          const kv_step *path, size_t steps,
                                          int fallback) {
  kv_store_get_boolean(store, path, steps, &fallback, NULL);
  return fallback;
}

static inline int64_t kv_store_get_integer_or(const kv_store *store,
                                              const kv_step *path, size_t steps,
                                              int64_t fallback) {
  kv_store_get_integer(store, path, steps, &fallback, NULL);
  return fallback;
}

static inline double kv_store_get_real_or(const kv_store *store,
                                          const kv_step *path, size_t steps,
                                          double fallback) {
  kv_store_get_real(store, path, steps, &fallback, NULL);
  return fallback;
}

/* Copies the string into the caller's `buffer` of `size` bytes, and returns
 * that; else returns `fallback` itself, which may be NULL, and leaves the
 * buffer as it was. Nothing is to be freed. A string is never cut: one that has
 * no room with a NUL behind it, or has a NUL inside, gives the fallback. */
static inline const char *kv_store_get_string_or(const kv_store *store,
                                                 const kv_step *path,
                                                 size_t steps, char *buffer,
                                                 size_t size,
                                                 const char *fallback) {
  kv_bytes text = {NULL, 0};
  if (kv_store_get_string(store, path, steps, &text, NULL) != KV_OK)
    return fallback;
  if (buffer && text.length < size && !memchr(text.data, 0, text.length))
    fallback = (const char *)memcpy(buffer, text.data, text.length + 1);
  kv_bytes_free(&text);
  return fallback;
}

/* Set a scalar as kv_store_set() without a type does, but without a tree. A
 * boolean is true unless it is 0. KV_INVALID_VALUE for a string that is not
 * UTF-8. */
kv_status kv_store_set_boolean(kv_store *store, const kv_step *path,
                               size_t steps, int value, kv_error **error);
kv_status kv_store_set_integer(kv_store *store, const kv_step *path,
                               size_t steps, int64_t value, kv_error **error);
kv_status kv_store_set_real(kv_store *store, const kv_step *path, size_t steps,
                            double value, kv_error **error);
kv_status kv_store_set_string(kv_store *store, const kv_step *path,
                              size_t steps, kv_str value, kv_error **error);

/* ---- Layers: merged by path, the upper layer first
 *
 * From the top: managed, arguments, application, suites, administrator, global,
 * registered, schema. Dictionaries of several layers are merged by key, at every
 * depth; of arrays and other values that of the upper layer counts alone. */

/* A layer of a store. */
typedef enum kv_layer {
  KV_LAYER_MANAGED = 0,     /* locked by the administrator */
  KV_LAYER_ARGUMENTS = 1,   /* of the command line */
  KV_LAYER_APPLICATION = 2, /* the store's own file, which set changes */
  KV_LAYER_SUITE = 3,       /* an added suite, by its index */
  KV_LAYER_GLOBAL = 4,      /* the user's, shared by all programs */
  KV_LAYER_REGISTERED = 5,  /* registered defaults */
  KV_LAYER_SCHEMA = 6,      /* the defaults of the schema */
  /* the administrator's defaults, /etc/kvcodable/defaults/NAME.plist */
  KV_LAYER_ADMINISTRATOR = 7
} kv_layer;

/* Gives the dictionary of one layer by itself; an empty one where the store
 * does not have it. `suite`, the index of a suite, counts from 0. */
kv_status kv_store_layer(const kv_store *store, kv_layer layer, size_t suite,
                         kv_tree **dictionary, kv_error **error);

/* Sets `is_forced` to 1 if the administrator has locked the value at the path,
 * otherwise to 0. Locked are the leaves of the managed file, and all below them:
 * values that are no dictionaries, and dictionaries without entries. */
kv_status kv_store_is_forced(const kv_store *store, const kv_step *path,
                             size_t steps, int *is_forced, kv_error **error);

/* The origin of a value. Set `size` before the call. */
typedef struct kv_origin {
  size_t size;    /* sizeof(kv_origin) */
  kv_layer layer; /* that the value is read from */
  size_t suite;   /* the index of a KV_LAYER_SUITE, else 0 */
  kv_bytes file;  /* the layer's file, which is given; empty without one */
} kv_origin;

/* Tells which layer the value at the path is read from, of a dictionary that is
 * merged of several layers the uppermost; KV_ABSENT where there is no value, and
 * without steps, since the whole dictionary is made of all layers. A default of
 * the schema is KV_LAYER_SCHEMA, also inside of a value that a file has.
 *
 * Example:
 *
 *   kv_step volume = kv_key("volume");
 *   kv_origin origin = {.size = sizeof origin};
 *   if (kv_store_origin(store, &volume, 1, &origin, NULL) == KV_OK) {
 *     if (origin.layer == KV_LAYER_MANAGED)
 *       printf("The administrator has set it in %s\n", origin.file.data);
 *     kv_bytes_free(&origin.file);
 *   }
 */
kv_status kv_store_origin(const kv_store *store, const kv_step *path,
                          size_t steps, kv_origin *origin, kv_error **error);

/* Adds values for absent paths; a value given before gets the new one.
 * KV_LIMIT_EXCEEDED where all registered defaults would be larger than the
 * store may be. */
kv_status kv_store_register(kv_store *store, const kv_tree *defaults,
                            kv_error **error);

/* ---- Converting getters: those of UserDefaults */

/* "YES" and 1 are true, "42" and "42 apples" are 42, "1.5" is 1.5 in every
 * locale, 123 is "123"; an absent value, or one that cannot be converted, is 0,
 * or KV_ABSENT for strings. Nothing else here converts. */
kv_status kv_store_bool_for_key(const kv_store *store, kv_str key, int *value,
                                kv_error **error);
kv_status kv_store_integer_for_key(const kv_store *store, kv_str key,
                                   int64_t *value, kv_error **error);
kv_status kv_store_double_for_key(const kv_store *store, kv_str key,
                                  double *value, kv_error **error);
kv_status kv_store_string_for_key(const kv_store *store, kv_str key,
                                  kv_bytes *value, kv_error **error);

/* ---- Whole stores */

/* Gives a dictionary: everything that can be read now, as it is stored, with
 * the defaults of all layers and of the schema. */
kv_status kv_store_snapshot(const kv_store *store, kv_tree **snapshot,
                            kv_error **error);

/* Gives the store's own dictionary as the bytes of a file. */
kv_status kv_store_export(const kv_store *store, kv_format format,
                          kv_bytes *bytes, kv_error **error);

/* Sets the entries of a property list, all or none; of a keyed archive those of
 * its plain value. The options say the format, limits, and whether JSON's nulls,
 * which are KV_INVALID_VALUE in a store, are left out. KV_CORRUPT where the
 * bytes are no property list, and KV_INVALID_VALUE where that is no
 * dictionary. */
kv_status kv_store_import(kv_store *store, kv_str bytes,
                          const kv_decode_options *options, kv_error **error);

/* Replaces the values of `target` by those of `store`, whatever their
 * engines. */
kv_status kv_store_copy(kv_store *store, kv_store *target, kv_error **error);

/* ---- Transactions: read, change and write under the store's lock */

/* The store's file is locked against every other process and handle until the
 * transaction ends. Reads are fresh, and see the transaction's own changes.
 *
 * It belongs to the thread that began it: others get KV_MISUSE, and see nothing
 * of it before the commit. On that thread, reads and changes by the store's own
 * functions are part of it too: kv_store_get_integer() and
 * kv_store_set_integer() have no forms of their own here. A transaction that is
 * begun inside another rolls back alone, and is on the disk when the outer one
 * is. One cannot be committed before those inside it: KV_MISUSE.
 *
 * A program that knows nothing of the lock may write the file all the same: its
 * change since the transaction began is KV_CONFLICT at the commit, and nothing
 * of the transaction has happened. Begin again.
 *
 * Example:
 *
 *   kv_step path = kv_key("launches");
 *   kv_transaction *transaction;
 *   int64_t count = 0;
 *   if (kv_store_begin(store, 0, &transaction, NULL) == KV_OK) {
 *     kv_store_get_integer(store, &path, 1, &count, NULL);
 *     kv_store_set_integer(store, &path, 1, count + 1, NULL);
 *     kv_transaction_commit(transaction, NULL);
 *   }
 */
typedef struct kv_transaction kv_transaction;

/* Gives a transaction, and must: `transaction` may not be NULL. End it with
 * kv_transaction_commit() or kv_transaction_rollback(). `seconds` is the time
 * to wait for the lock, 0 for the store's own timeout. KV_TIMED_OUT when
 * another process or handle holds it longer. */
kv_status kv_store_begin(kv_store *store, double seconds,
                         kv_transaction **transaction, kv_error **error);

/* As on the store. */
kv_status kv_transaction_get(const kv_transaction *transaction,
                             const kv_step *path, size_t steps,
                             const kv_type *type, kv_tree **value,
                             kv_error **error);
kv_status kv_transaction_set(kv_transaction *transaction, const kv_step *path,
                             size_t steps, const kv_tree *value,
                             const kv_type *type, uint32_t flags,
                             size_t *dropped, kv_error **error);
kv_status kv_transaction_remove(kv_transaction *transaction,
                                const kv_step *path, size_t steps,
                                kv_error **error);

/* Writes all changes at once, durably. Takes the transaction: it is over, and
 * on failure nothing was changed. */
kv_status kv_transaction_commit(kv_transaction *transaction, kv_error **error);

/* Forgets all changes. Takes the transaction. */
void kv_transaction_rollback(kv_transaction *transaction);

/* The new value of an update: given `old` (NULL where there was none), set
 * `*changed` to a tree, which the library takes, or leave it NULL to change
 * nothing, and return 0; any other number rolls back and is reported as
 * KV_MISUSE.
 *
 * Example:
 *
 *   static int add(void *number, const kv_tree *old, kv_tree **changed) {
 *     kv_cursor root = kv_tree_root(old);
 *     kv_builder *builder = kv_builder_new();
 *     int64_t count = 0;
 *     kv_cursor_integer(&root, &count);
 *     kv_builder_integer(builder, count + *(int64_t *)number, NULL);
 *     kv_builder_finish(builder, changed, NULL);
 *     kv_builder_free(builder);
 *     return 0;
 *   }
 *
 *   kv_step path = kv_key("launches");
 *   int64_t number = 1;
 *   kv_store_update(store, &path, 1, NULL, 0, add, &number, NULL, NULL);
 */
typedef int (*kv_change)(void *context, const kv_tree *old, kv_tree **changed);

/* kv_store_get(), `change` and kv_store_set() as one transaction. */
kv_status kv_store_update(kv_store *store, const kv_step *path, size_t steps,
                          const kv_type *type, uint32_t flags, kv_change change,
                          void *context, size_t *dropped, kv_error **error);

/* Counts the changes that this process has seen. 0 for NULL. */
uint64_t kv_store_generation(const kv_store *store);

/* Sets the value if nothing changed since `generation`; KV_CONFLICT when
 * something has. */
kv_status kv_store_compare_and_set(kv_store *store, const kv_step *path,
                                   size_t steps, const kv_tree *value,
                                   uint64_t generation, kv_error **error);

/* ---- Merging */

/* Combines the changes that two sides made to `ancestor`. NULL is no value. Ours
 * is the side that is saved last. A side that did not change a value takes the
 * other side's. Dictionaries are merged by key and arrays by element. A change
 * wins over a removal, a value of another kind over changes inside the old one;
 * of two different changes of one value, ours wins.
 *
 * Gives the result in `merged`; KV_ABSENT if there is no value. Gives the
 * conflicts in `conflicts`: an array of dictionaries with "path" (an array of
 * keys and indexes from 0), "kept" ("ours" or "theirs"), and "ours" and "theirs"
 * if that side has a value. Both may be NULL.
 *
 * Example:
 *
 *   kv_step path = kv_key("window");
 *   kv_tree *before = NULL, *mine = NULL, *saved = NULL, *merged = NULL;
 *   kv_store_get(store, &path, 1, NULL, &before, NULL);
 *   if (kv_merge(before, mine, saved, &merged, NULL, NULL) == KV_OK)
 *     kv_tree_free(merged);
 *   kv_tree_free(before);
 */
kv_status kv_merge(const kv_tree *ancestor, const kv_tree *ours,
                   const kv_tree *theirs, kv_tree **merged, kv_tree **conflicts,
                   kv_error **error);

/* Stores what differs between `ancestor`, the value that the program had, and
 * `ours`: what other programs changed meanwhile stays. NULL is no value. Values
 * are as the type shows them, if there is one, or the schema. Without steps the
 * keys of two dictionaries are merged with the whole store, as values are
 * stored. `dropped`, which may be NULL, is as with kv_store_set(), and
 * `conflicts` as with kv_merge(); if `conflicts` is NULL, a change of ours that
 * was dropped is reported as with kv_store_set(). */
kv_status kv_store_merge(kv_store *store, const kv_step *path, size_t steps,
                         const kv_tree *ancestor, const kv_tree *ours,
                         const kv_type *type, size_t *dropped,
                         kv_tree **conflicts, kv_error **error);

/* As kv_store_merge(), in a transaction. */
kv_status kv_transaction_merge(kv_transaction *transaction, const kv_step *path,
                               size_t steps, const kv_tree *ancestor,
                               const kv_tree *ours, const kv_type *type,
                               size_t *dropped, kv_tree **conflicts,
                               kv_error **error);

/* ---- Migrations: bringing an older program's store up to date
 *
 * Example:
 *
 *   kv_step colour = kv_key("colour"), cache = kv_key("cache");
 *   kv_transaction *transaction;
 *   int64_t found;
 *   if (kv_store_version(store, &found, NULL) == KV_OK && found < 2 &&
 *       kv_store_begin(store, 0, &transaction, NULL) == KV_OK) {
 *     if (kv_transaction_migrate(transaction, 2, &found, NULL) == KV_OK) {
 *       if (found < 1) kv_transaction_remove(transaction, &colour, 1, NULL);
 *       if (found < 2) kv_transaction_remove(transaction, &cache, 1, NULL);
 *       kv_transaction_commit(transaction, NULL);
 *     } else {
 *       kv_transaction_rollback(transaction);
 *     }
 *   }
 */

/* Sets `version` to the version of the stored values: 0 where no migration has
 * been made yet. The store keeps it under the key "KVStoreVersion". */
kv_status kv_store_version(const kv_store *store, int64_t *version,
                           kv_error **error);

/* Makes the transaction the one that brings the store to `version`, from 1: its
 * commit writes the version with the changes. `found` is set to the version
 * before, and the file is kept as it was under its name and ".v<found>".
 * KV_ABSENT when the store has the version: another process was faster, and
 * nothing is to be done. KV_MIGRATION when it has a newer one. */
kv_status kv_transaction_migrate(kv_transaction *transaction, int64_t version,
                                 int64_t *found, kv_error **error);

/* Brings a value that an older program archived into the form of its type, in
 * one transaction; KV_ABSENT when there is no value or it is no archive. With
 * KV_KEEP_OLD the archive is kept, once, beside it: under the key with
 * ".archive" behind it. */
kv_status kv_store_migrate_archive(kv_store *store, const kv_step *path,
                                   size_t steps, const kv_type *type,
                                   uint32_t flags, kv_error **error);
#define KV_KEEP_OLD 2u

/* ---- Watching: changes, told on the thread that pumps */

/* The changes that a watch at a path reports. */
typedef enum kv_scope {
  KV_SCOPE_VALUE = 0,   /* the value at the path, as a whole; the whole store
                           where it is empty, told with a path of no steps */
  KV_SCOPE_SUBTREE = 1, /* each path below it, down to values that are no
                           dictionaries; each key where it is empty */
  /* The value at the path as it is stored, whatever the schema says, with its
   * defaults; each key where the path is empty. */
  KV_SCOPE_STORED = 2
} kv_scope;

/* A watch on values, or on the events of a store.
 *
 * Example:
 *
 *   static void print_change(void *file, const kv_step *path, size_t steps,
 *                            const kv_tree *old, const kv_tree *new_value) {
 *     const char *change = !old ? "new" : !new_value ? "gone" : "changed";
 *     kv_str key = path[steps - 1].key;
 *     fprintf(file, "%.*s is %s\n", (int)key.length, key.data, change);
 *   }
 *
 *   kv_step path = kv_key("volume");
 *   kv_watch *watch;
 *   if (kv_store_watch(store, &path, 1, KV_SCOPE_VALUE, print_change,
 *                      stdout, &watch, NULL) == KV_OK) {
 *     kv_store_pump(store, NULL, NULL);
 *     kv_watch_cancel(watch);
 *   }
 */
typedef struct kv_watch kv_watch;

/* Called with a change: its path, the old value and the new one, NULL for none.
 * All are borrowed for the time of the call. It may set and get, and cancel
 * watches. */
typedef void (*kv_watch_handler)(void *context, const kv_step *path,
                                 size_t steps, const kv_tree *old_value,
                                 const kv_tree *new_value);

/* Gives a watch, and must: `watch` may not be NULL. The handler is called by
 * kv_store_pump(), once for each difference since the last time. Closing the
 * store ends it; kv_watch_cancel() frees it, before or after that. */
kv_status kv_store_watch(kv_store *store, const kv_step *path, size_t steps,
                         kv_scope scope, kv_watch_handler handler,
                         void *context, kv_watch **watch, kv_error **error);

/* The events of a store, which happen apart from calls. */
typedef enum kv_event {
  KV_EVENT_FLUSH_FAILED = 1,   /* changes were not written; they are kept */
  KV_EVENT_RECOVERED = 2,      /* a damaged file was put aside for a good one */
  KV_EVENT_UNRECOVERABLE = 3,  /* the store is read-only now */
  KV_EVENT_OUTGROWN = 4,       /* too large for a file: use SQLite */
  KV_EVENT_LOCK_WAITED = 5,    /* another holder had the store locked */
  KV_EVENT_GROUP_WRITABLE = 6, /* others may replace the store's files */
  KV_EVENT_CONFLICT = 7,       /* a change was dropped for another one */
  KV_EVENT_UNREADABLE = 8,     /* a file became so: the memory's values count */
  KV_EVENT_OVER_LIMIT = 9,     /* opened beyond max_bytes or max_nodes */
  KV_EVENT_REMOVED = 10        /* the file is gone: the store is empty */
} kv_event;

/* Called with an event. `message` is borrowed for the time of the call.
 *
 * Example:
 *
 *   static void print_event(void *file, kv_event event, kv_str message) {
 *     if (event == KV_EVENT_FLUSH_FAILED)
 *       fprintf(file, "%.*s\n", (int)message.length, message.data);
 *   }
 *
 *   kv_watch *watch;
 *   if (kv_store_watch_events(store, print_event, stderr, &watch, NULL) ==
 *       KV_OK) {
 *     kv_store_pump(store, NULL, NULL);
 *     kv_watch_cancel(watch);
 *   }
 */
typedef void (*kv_event_handler)(void *context, kv_event event, kv_str message);

/* Gives a watch on the store's events, told by kv_store_pump(). */
kv_status kv_store_watch_events(kv_store *store, kv_event_handler handler,
                                void *context, kv_watch **watch,
                                kv_error **error);

/* Ends the watch, where it has not ended. Takes it. A pump that is running on
 * another thread may still be calling the handler. */
void kv_watch_cancel(kv_watch *watch);

/* Sets `descriptor` to one that is readable, for poll(), when pumping may have
 * something to tell. Borrows: it is the store's until that is closed. */
kv_status kv_store_watch_descriptor(kv_store *store, int *descriptor,
                                    kv_error **error);

/* Takes up the changes of others and calls the handlers; `calls` is set to the
 * number of calls. Never waits. A changed value that is not of its type is
 * KV_TYPE_MISMATCH, when the other watches were told. */
kv_status kv_store_pump(kv_store *store, size_t *calls, kv_error **error);

/* Waits until there is something to tell, at most for so many seconds, and
 * pumps: for a program without a loop of its own. `calls` is set to 0 when the
 * time is over, and when a signal came, which the program may be waiting
 * for. */
kv_status kv_store_wait(kv_store *store, double seconds, size_t *calls,
                        kv_error **error);

#ifdef __cplusplus
}
#endif

#endif
