std = "lua54"
files["lua/embedded"] = { std = "lua51", read_globals = { math = { fields = { "type" } } } }
max_line_length = 80
files["lua/spec"] = { std = "+busted", read_globals = { "unpack", "newproxy", "jit",
  "setfenv", "getfenv", "loadstring" } }
files["lua/examples/ffi.lua"].std = "luajit"
files["Tests/specs.lua"] = { globals = { "assert", "before_each", "after_each",
  "describe", "finally", "it" } }
exclude_files = { ".build*", "build" }
files["Tests/C/lua/hidden.lua"].globals = { "kv", "needles", "is_own", "spoil", "whole", "unpack" }
files["lua/examples/hosts"].globals = { "kv", "ui", "mine", "home" }
files["lua/examples/neovim"] = { std = "luajit", globals = { "vim" } }
files["lua/examples/nginx"].std = "ngx_lua"
files["lua/kvcodable.d.lua"] = {
  ignore = { "211", "212", "241" }, max_line_length = false,
}
