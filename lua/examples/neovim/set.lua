-- set.lua: another program that changes a file of options. It knows nothing of
-- their types.
--
--   luajit set.lua FILE KEY VALUE

local kv = require "kvcodable"

local store = assert(kv.open_file(arg[1]))
store:set(arg[2], tonumber(arg[3]) or arg[3])
assert(store:close())
