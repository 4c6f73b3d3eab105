/* CKVFields: the functions of kvcodable_fields.h. This header is what their
 * files share: table.c, memory.c, reading.c, writing.c and declaration.c. */
#ifndef CKVFIELDS_H
#define CKVFIELDS_H

#include <kvcodable_fields.h>

/* The state of a walk over a table: the path from the root of the store, and
 * the caller's pointer for an error. */
typedef struct kv_walk {
  kv_step path[KV_FIELD_DEPTH];
  size_t steps;
  kv_error **error;
} kv_walk;

/* Sets the caller's error to NULL. */
kv_walk kv_walk_begin(kv_error **error);

/* Report an error at the walk's path. Its message is the words, the path, and
 * the value that was found. */
kv_status kv_walk_fail(const kv_walk *walk, kv_status status,
                       const char *words);
kv_status kv_walk_fail_with(const kv_walk *walk, kv_status status,
                            const char *words, const char *found);

/* Reports an error whose own path begins at the walk's path. Takes the
 * error. */
kv_status kv_walk_fail_inside(const kv_walk *walk, kv_error *error);

/* Add steps to the path. KV_LIMIT_EXCEEDED for more than KV_FIELD_DEPTH. */
kv_status kv_walk_push(kv_walk *walk, kv_step step);
kv_status kv_walk_push_path(kv_walk *walk, const kv_field *field);

/* ---- The table */

/* Checks that a table fits its struct. Below the walk's path. */
kv_status kv_fields_check(kv_walk *walk, const kv_field *fields, size_t count);

/* Whether `fields` may be an array of `count` fields. */
bool kv_fields_may_be(const kv_field *fields, size_t count);

/* Whether the path has no key behind the one at `depth`. */
bool kv_field_ends(const kv_field *field, int depth);

/* Whether both paths begin with the same `depth` keys. */
bool kv_field_shares(const kv_field *left, const kv_field *right, int depth);

/* Whether the first keys of the path, up to the one at `depth`, are those of an
 * earlier field of the table. */
bool kv_field_is_repeated(const kv_field *fields, size_t index, int depth);

/* The type of the kind in the type language. */
const char *kv_field_type_name(kv_field_kind kind);

bool kv_field_is_signed(kv_field_kind kind);
bool kv_field_is_unsigned(kv_field_kind kind);
bool kv_field_is_optional(const kv_field *field);

/* ---- Members */

/* The bits of an integer of 1, 2, 4 or 8 bytes; 0 for another size. */
uint64_t kv_field_bits(const void *source, size_t size);
void kv_field_put_bits(void *target, size_t size, uint64_t bits);

/* The value of a signed integer. */
int64_t kv_field_integer(const void *source, size_t size);

/* The value of a float, double, date or time. */
double kv_field_real(const kv_field *field, const char *source);

/* The text of a member; its pointer is NULL if an owned string is NULL. */
kv_str kv_field_text(const kv_field *field, const char *source);

/* Whether the struct has a value for the member. */
bool kv_field_is_there(const kv_field *field, const char *values);

/* The number of elements that the member has; 1 if it is no array. At most as
 * many as there is room for. */
size_t kv_field_elements(const kv_field *field, const char *values);

/* realloc() that ends the process when memory runs out. */
void *kv_fields_memory(void *old, size_t size);

/* ---- Reading */

/* Reads one value that is no array into memory for one element, or only checks
 * it if `target` is NULL. */
kv_status kv_field_read_value(kv_walk *walk, const kv_cursor *value,
                              const kv_field *field, char *target);

#endif
