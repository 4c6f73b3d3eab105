/* errors.h: the error object. */
#ifndef KVCODABLE_ERRORS_H
#define KVCODABLE_ERRORS_H

#include "handle.h"

void kvl_open_errors(lua_State *L);

/* Pushes the error object of a kv_error. Takes it. It names no file where the
 * running function is a method of a handle that a host pushed. */
void kvl_push_error(lua_State *L, kvl_state *state, kv_status status,
                    kv_error *error);

/* Pushes the error object of a kv_error about the handle at `handle`, if one is
 * there. Takes the error. */
void kvl_push_error_of(lua_State *L, kvl_state *state, int handle,
                       kv_status status, kv_error *error);

/* Pushes the error object of a failure in the module itself: the words for the
 * expected value, the path, and the words for the value found there, or
 * NULL. */
void kvl_push_failure(lua_State *L, kv_status status, const kv_step *steps,
                      size_t count, const char *expected, const char *found);

/* Pushes the error object of a failed action: the words for it, the path, and a
 * message about it. */
void kvl_push_complaint(lua_State *L, kv_status status, const kv_step *steps,
                        size_t count, const char *what, const char *why);

/* Pushes the error object of a value with more than `limit` of `what`. */
void kvl_push_too_large(lua_State *L, size_t limit, const char *what);

/* Pushes the value at `index` as a message quotes it. May call metamethods. */
const char *kvl_push_shown(lua_State *L, int index);

/* Raises the error object of a kv_error. Takes it. */
int kvl_raise(lua_State *L, kvl_state *state, kv_status status,
              kv_error *error);

/* Replaces the table of a path in the value at 1, on top, by the one that the
 * function at `renaming` makes of it and the value; fills in its steps, and
 * gives their number. Raises. */
size_t kvl_renamed_steps(lua_State *L, int renaming, kv_step *path);

/* Raises the error object of a kv_error about the value at 1, with the path that
 * the function at `renaming`, if one is there, makes of the error's path and the
 * value. Takes the error. */
int kvl_raise_renamed(lua_State *L, kvl_state *state, kv_status status,
                      kv_error *error, int renaming);

/* Leaves nil and the error object on top, as io.open does. */
int kvl_return_failure(lua_State *L);

/* Leaves nil and the error object of a kv_error on top. Takes the error. */
int kvl_return_error(lua_State *L, kvl_state *state, kv_status status,
                     kv_error *error);

/* Puts `what` and the path before the message of the error at `index`, the top
 * of the stack, where that is a text or an error object. */
void kvl_name_failure(lua_State *L, int index, const kv_step *steps,
                      size_t count, const char *what);

/* Whether an error object of this module is at `index`, and its status. Raise
 * nothing but a lack of memory. */
int kvl_is_error(lua_State *L, int index);
kv_status kvl_error_status(lua_State *L, int index);

/* Whether the host forbids one of these: then nil and the error are on top. */
int kvl_is_forbidden(lua_State *L, const kvl_state *state, uint32_t policy);

/* Leaves nil and the error of a file that is not there; gives 2. */
int kvl_no_file(lua_State *L, const char *path);

#endif
