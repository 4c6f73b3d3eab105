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
        "lua/src/classes.c", "lua/src/errors.c", "lua/src/handle.c",
        "lua/src/host.c", "lua/src/module.c", "lua/src/options.c",
        "lua/src/state.c", "lua/src/steps.c",
        "lua/src/stores/bulk.c", "lua/src/stores/close.c",
        "lua/src/stores/given.c",
        "lua/src/stores/migrate.c", "lua/src/stores/open.c",
        "lua/src/stores/store.c",
        "lua/src/stores/transaction.c", "lua/src/stores/watch.c",
        "lua/src/stores/watch_source.c",
        "lua/src/values/codec.c", "lua/src/values/date.c",
        "lua/src/values/from_document.c", "lua/src/values/kinds.c", "lua/src/values/merge.c",
        "lua/src/values/nodes.c", "lua/src/values/numbers.c",
        "lua/src/values/path.c",
        "lua/src/values/to_document.c", "lua/src/values/types.c",
        "lua/src/values/settling.c", "lua/src/values/values.c",
      },
      incdirs = { "$(KVCODABLE_INCDIR)" },
      libdirs = { "$(KVCODABLE_LIBDIR)" },
      libraries = { "kvcodable" },
    },
  },
}
