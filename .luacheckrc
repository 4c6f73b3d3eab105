std = "lua54"
max_line_length = 80
files["lua/spec"].std = "+busted"
exclude_files = { ".build*", "build" }
files["Tests/C/hidden.lua"].globals = { "kv", "needles", "is_own", "spoil", "whole" }
files["lua/examples/hosts"].globals = { "kv", "ui", "mine", "home" }
files["lua/examples/neovim"] = { std = "luajit", globals = { "vim" } }
files["lua/examples/nginx"].std = "ngx_lua"
files["lua/kvcodable.d.lua"] = {
  ignore = { "211", "212", "241" }, max_line_length = false,
}
