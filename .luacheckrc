std = "lua54"
max_line_length = 80
files["lua/spec"].std = "+busted"
exclude_files = { ".build*", "build" }
files["lua/examples/hosts"].globals = { "kv", "ui", "mine", "home" }
