-- Builds the Lua module, for Lua 5.1 to 5.5 and LuaJIT, which is 5.1 to
-- luarocks, against an installed libkvcodable:
--   luarocks --lua-version=5.4 make lua/kvcodable-scm-1.rockspec \
--     KVCODABLE_DIR=/usr/local
rockspec_format = "3.0"
package = "kvcodable"
version = "scm-1"
source = { url = "." }
description = {
  summary = "Typed preferences: stores, property lists and types",
  detailed = [[
    One store of property-list values, read and written from Swift, C and Lua,
    with types, layered defaults, transactions and watches. For Lua 5.1 to 5.5
    and LuaJIT.]],
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.1, < 5.6" }
external_dependencies = {
  KVCODABLE = { header = "kvcodable_lua.h", library = "kvcodable" },
}
build = {
  type = "builtin",
  modules = {
    kvcodable = {
      sources = {
        "lua/src/bulk.c", "lua/src/codec.c", "lua/src/date.c", "lua/src/errors.c",
        "lua/src/from_document.c", "lua/src/handle.c", "lua/src/host.c",
        "lua/src/migrate.c", "lua/src/module.c", "lua/src/open.c",
        "lua/src/nodes.c", "lua/src/numbers.c", "lua/src/options.c",
        "lua/src/path.c",
        "lua/src/store.c", "lua/src/to_document.c", "lua/src/transaction.c",
        "lua/src/types.c", "lua/src/values.c", "lua/src/watch.c",
        "lua/src/watch_queue.c", "lua/src/watch_source.c", "lua/src/wholes.c",
      },
      incdirs = { "$(KVCODABLE_INCDIR)" },
      libdirs = { "$(KVCODABLE_LIBDIR)" },
      libraries = { "kvcodable" },
    },
  },
}
