/*
 * module.h: opening the module, and the map of its files. Each calls only those
 * above it (tools/layers.py):
 *
 *   compat.h           the versions of Lua
 *   state.c            the state, and the library's objects (state.h)
 *   steps.c            the steps of paths (steps.h)
 *   handle.c           handles, and the facts that they keep (handle.h)
 *   errors.c           the error object (errors.h)
 *   classes.c          userdata and their methods, and unknown ones (classes.h)
 *   options.c          tables of options (options.h)
 *
 *   values/            between Lua and documents (conversion.h)
 *     nodes.c          sizes of values in documents, and comparison (nodes.h)
 *     kinds.c          the kinds of userdata, pushed and checked (kinds.h)
 *     numbers.c        int64, uint64, real, and the numbers of LuaJIT (kinds.h)
 *     date.c           dates (kinds.h)
 *     path.c           the paths that scripts give
 *     from_document.c  document -> Lua value
 *     to_document.c    Lua value -> document
 *     settling.c       kinds that Lua does not tell: empty tables, whole numbers
 *     values.c         data, uid, null; kv.type; the tags of tables
 *     types.c          type arguments, converters
 *     codec.c          decode, encode, read, write
 *     merge.c          the merge of three values
 *
 *   stores/            stores, and watches of their changes (store.h)
 *     given.c          what get gave (given.h)
 *     store.c          the methods of stores and transactions
 *     open.c           opening stores
 *     transaction.c    transactions and updates
 *     migrate.c        versions of stores, and their migrations
 *     bulk.c           layers, converting getters, whole stores
 *     watch_source.c   what watches of one path share, and the walk over the
 *                      difference of two values (watch_source.h)
 *     watch.c          watches, kv.pump and kv.fd (watch.h)
 *     close.c          closing stores, which ends their watches
 *
 *   module.c           opens the module
 *   host.c             the functions of programs that embed Lua
 *
 * and in Lua, embedded by embedded.h: one file that runs at each `require`, and
 * those that run, in this order, when a script first needs one of them:
 *
 *   sugar.lua         built-in types, tags, loops over stores
 *   types.lua         the table of a type, its methods, names of types
 *   words.lua         errors in a type, in its author's words
 *   converters.lua    converters of the parts of a type
 *   declarations.lua  types made of types
 *   compiling.lua     expressions, and the library's form of types
 */
#ifndef KVCODABLE_MODULE_H
#define KVCODABLE_MODULE_H

#include "state.h"

/* Whether the module is open, by any copy of this library. May raise for lack
 * of memory. */
int kvl_is_open(lua_State *L);

/* Pushes the module's table; the options count where this opens it. */
void kvl_open_module(lua_State *L, const kv_lua_options *options);

#endif
