/*
 * kvcodable_lua.h: for programs that embed Lua, 5.1 to 5.5 or LuaJIT, and hand
 * values and stores to scripts.
 *
 * The functions are part of the Lua module. A C program links the library that
 * `require "kvcodable"` loads too (pkg-config: kvcodable-lua for Lua 5.4,
 * kvcodable-lua5.1, -lua5.2, -lua5.3 and kvcodable-luajit), and its own Lua;
 * a Swift package links the product KVCodableLua.
 *
 * Conventions, besides those of kvcodable.h:
 *
 *   Lua errors  None leaves a function here, luaopen_kvcodable() apart: they
 *               become a kv_error. The module's own keep their status, message
 *               and path; an error that a script raised itself is KV_MISUSE
 *               with its text, or "an error without a text"; where Lua has no
 *               memory, KV_LIMIT_EXCEEDED.
 *   The stack   A function pushes what its comment says on KV_OK, and else
 *               leaves the stack as it was. It makes room itself.
 *   Threads     A Lua state, with its values, is used by one thread at a
 *               time. Several states may be used by several threads at once,
 *               also with the same stores.
 *   Libraries   The state has Lua's base library, string, table and math when
 *               the module is opened. It keeps the functions that it needs: the
 *               libraries may be taken away from scripts afterwards.
 *
 * Scripts reach the functions and stores that the program gives them. A state
 * without io, os, package and debug, with `load` (before 5.2 loadstring, too)
 * for text alone, in LuaJIT without jit and ffi, and with the module opened by
 * kv_lua_open() under KV_LUA_SANDBOX reaches no file and no store but those
 * that were pushed. The debug library reaches everything that is in the state.
 */
#ifndef KVCODABLE_LUA_H
#define KVCODABLE_LUA_H

#include "kvcodable.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;

/* The module's opener, a lua_CFunction: for luaL_requiref or package.preload.
 * Pushes the module's table, the same one each time. Raises Lua errors. */
int luaopen_kvcodable(struct lua_State *L);

/* ------------------------------------------------------------------------
 * Opening, and what scripts may do
 */

/* Policies, to be combined. A forbidden call gives scripts the error
 * "access_denied", or "read_only"; under any policy so do kv.publish, and
 * kv.wait, which no hook interrupts. Without files, no layer of a store is a
 * file that the script names (managed_file). */
#define KV_LUA_NO_STORES 1u /* no kv.open, open_file, stores and path */
#define KV_LUA_NO_FILES 2u  /* no kv.read, write, open_file and types_from */
#define KV_LUA_READ_ONLY 4u /* every store is read-only; no kv.write */
#define KV_LUA_SANDBOX (KV_LUA_NO_STORES | KV_LUA_NO_FILES)

/* Options of opening the module. Set all of it to 0 and `size` to its size.
 *
 * Example:
 *
 *   kv_lua_options options = {.size = sizeof options};
 *   options.policy = KV_LUA_SANDBOX;
 *   if (kv_lua_open(L, &options, NULL) == KV_OK) lua_setglobal(L, "kv");
 *   if (kv_lua_push_store(L, store, NULL, 0, 0, NULL) == KV_OK)
 *     lua_setglobal(L, "settings");
 */
typedef struct kv_lua_options {
  size_t size; /* sizeof(kv_lua_options) */
  uint32_t policy;
  kv_registry *registry; /* types that scripts may name; may be freed when the
                            module is open. What scripts declare is not seen in
                            it */
  /* The most values and keys, and bytes, of one value that a script sets,
   * encodes, decodes or makes a type of, counted as it is written: a table that
   * is in it twice counts twice. KV_LIMIT_EXCEEDED beyond. 0 for the default:
   * under a policy 524,288 values and keys, and 64 MB of strings, keys and
   * data; without one 16,777,216 and 256 MB. Under a policy, or with a limit
   * given, bytes that a script decodes or imports are at most a quarter of
   * max_bytes, the defaults that it registers with a handle are within the
   * limits together, so is a store that it exports as text, and its own limits
   * for decoding and for stores that it opens only lower these. What is written
   * as text, encoded or exported, has at most max_bytes of strings, keys and
   * data as they are escaped there, and of indentation. The keys, names and
   * defaults that a type adds to a value are at most 1,048,576 values and keys
   * and 64 MB, whatever is set here.
   *
   * A pump tells all watches all differences, one value at a time. The host's
   * hook ends it in a watch's function, and its allocator bounds what they keep;
   * kv.fd() stays readable, and the next pump tells the rest.
   *
   * The types that are in use, and those that have names, have together at most
   * half as much again in their descriptions, whatever shares a default.
   *
   * One call takes memory for a few copies of such a value besides Lua's own. A
   * script's tables and strings are Lua's memory: the host bounds that by its
   * allocator (lua_newstate), and the steps of a script by a hook
   * (LUA_MASKCOUNT), which interrupts no call in C, and nothing that LuaJIT has
   * compiled. lua/examples/hosts/script_limits.h does both, in every Lua. */
  size_t max_nodes;
  size_t max_bytes;
  /* The most watches that the state has open, on values and on events. One that
   * is cancelled, or whose store is closed, counts no more. KV_LIMIT_EXCEEDED
   * beyond. 0 for the default: under a policy 64; without one there is no
   * limit. */
  size_t max_watches;
  /* The most bytes that a pushed store or part may have after a set of the
   * script, as kv_store_share() counts them; and under a policy
   * those of each store that the script opens itself. 0 for the default: under
   * a policy max_bytes; without one there is no quota. */
  uint64_t quota;
} kv_lua_options;

/* Opens the module in the state, and pushes its table. `require "kvcodable"`
 * gives the same table, where scripts have require. `options` may be NULL. The
 * policy lasts as long as the state: KV_MISUSE where the module is open already
 * and there are options, since a script may have opened it without; and where
 * another copy of this library has opened it. */
kv_status kv_lua_open(struct lua_State *L, const kv_lua_options *options,
                      kv_error **error);

/* ------------------------------------------------------------------------
 * Stores. KV_MISUSE where the module is not open.
 */

/* Pushes a handle of its own on the store, rooted at a path (no steps: at
 * everything): the script reaches the values below the path, and no file, layer
 * or event of the store. `flags` is 0 or KV_LUA_READ_ONLY. The script closes
 * its own handle alone; the store may be closed and freed at any time, and
 * stays usable for the script, which a host ends by calling the handle's method
 * close, or by closing the state.
 *
 * The script does not learn where the store is kept: errors and events say "the
 * store" for its file, and paths begin at the root. */
kv_status kv_lua_push_store(struct lua_State *L, const kv_store *store,
                            const kv_step *root, size_t root_count,
                            uint32_t flags, kv_error **error);

/* Gives another handle on the store of the handle at `index`, the whole store
 * where the script's handle is rooted at a part; with the handle's right to
 * change it. KV_TYPE_MISMATCH where no store is there, KV_CLOSED where it is
 * closed. */
kv_status kv_lua_to_store(struct lua_State *L, int index, kv_store **store,
                          kv_error **error);

/* Step `step` of the path that the handle at `index` is rooted at; KV_ABSENT
 * past the last, and where no handle is there. Borrows the key: it lasts as
 * long as the handle. */
kv_status kv_lua_store_root(struct lua_State *L, int index, size_t step,
                            kv_step *root);

/* ------------------------------------------------------------------------
 * Values and watches. KV_MISUSE where the module is not open.
 */

/* Pushes the Lua value of a tree, as store:get gives it. */
kv_status kv_lua_push_tree(struct lua_State *L, const kv_tree *tree,
                           kv_error **error);

/* Gives a tree of the Lua value at `index`, as store:set takes it: no
 * metamethod is called, and a whole number is an integer where Lua has none.
 * KV_INVALID_VALUE, with the path, for a value that no
 * property list holds. */
kv_status kv_lua_to_tree(struct lua_State *L, int index, kv_tree **tree,
                         kv_error **error);

/* Calls the functions of the state's watches, as kv.pump(); `calls` is set to
 * the number of calls, and may be NULL. The first error that one of them raised
 * is reported when all were called; its message names the watch. */
kv_status kv_lua_pump(struct lua_State *L, size_t *calls, kv_error **error);

#ifdef __cplusplus
}
#endif

#endif
