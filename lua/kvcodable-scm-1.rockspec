-- Builds the Lua module against an installed libkvcodable:
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
    with types, layered defaults, transactions and watches.]],
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5" }
external_dependencies = {
  KVCODABLE = { header = "kvcodable_lua.h", library = "kvcodable" },
}
build = {
  type = "builtin",
  modules = {
    kvcodable = {
      sources = {
        "lua/build.c", "lua/codec.c", "lua/date.c", "lua/errors.c",
        "lua/host.c", "lua/migrate.c", "lua/module.c", "lua/notes.c",
        "lua/open.c", "lua/options.c", "lua/path.c", "lua/session.c",
        "lua/shapes.c", "lua/store.c", "lua/transaction.c", "lua/types.c",
        "lua/values.c", "lua/walk.c", "lua/watch.c", "lua/whole.c",
      },
      incdirs = { "$(KVCODABLE_INCDIR)" },
      libdirs = { "$(KVCODABLE_LIBDIR)" },
      libraries = { "kvcodable" },
    },
  },
}
