-- neovim.lua: inside Neovim, drives the plug-in of lua/examples/neovim as its
-- user and as other programs do, and notes what happens (lua_hosts.py).
--
-- kv.pump runs where the plug-in's poll calls it, and nowhere else.

local kv = require "kvcodable"
local options = vim.fn.stdpath "config" .. "/margin.json"
local notes, seen = {}, {}
local pumps = 0

vim.notify = function(message, level)
  assert(level == vim.log.levels.ERROR)
  seen[#seen + 1] = message
end
local pump = kv.pump
kv.pump = function()
  pumps = pumps + 1
  return pump()
end

local function shown() return vim.wo.colorcolumn end

-- Lets the main loop run until it holds; looks after events alone.
local function await(condition)
  return vim.wait(8000, condition, 60000) and condition()
end

-- Another program: a Lua of its own, which knows nothing of the types.
local function set_elsewhere(value)
  local said = vim.fn.system { vim.env.OTHER_LUA, vim.env.SET_LUA, options,
    "column", value }
  assert(vim.v.shell_error == 0, said)
end

notes.default = shown()
vim.cmd "Margin column 100"
notes.set = await(function() return shown() == "100" end) and shown()
vim.cmd "Margin filetypes.lua 60"
vim.cmd "set filetype=lua"
notes.nested = await(function() return shown() == "60" end) and shown()
vim.cmd "set filetype=text"

vim.cmd "Margin column wide"
vim.cmd "Margin filetypes.lua 1000"
notes.refused, seen = seen, {}
notes.kept = shown()

set_elsewhere "72"
notes.arrived = await(function() return shown() == "72" end) and shown()
set_elsewhere "wide"
await(function() return #seen > 0 end)
notes.wrong, seen = seen, {}
notes.still = shown()

vim.cmd "Margin column"
notes.removed = await(function() return shown() == "80" end) and shown()

-- A typo: the file is given a second, then its line is told; and nothing else
-- changes.
local contents = vim.fn.readfile(options)
vim.fn.writefile({ "{", '"shown": fal}' }, options)
await(function() return #seen > 0 end)
notes.typo, seen = seen, {}
vim.fn.writefile(contents, options)

-- While Neovim waits and runs nothing that was scheduled, the poll rests.
pumps = 0
set_elsewhere "90"
vim.wait(300, function() return false end, 60000, true)
notes.late = await(function() return shown() == "90" end) and shown()
notes.pumps = pumps

vim.fn.writefile({ vim.json.encode(notes) }, vim.env.NOTES)
vim.cmd "qall!"
