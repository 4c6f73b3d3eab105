-- kvcodable_loop.lua: watches are told in Neovim's main loop.
--
-- libuv watches a descriptor once: all plug-ins require this file, and none
-- makes a poll of its own.

local kv = require "kvcodable"

local poll = assert(vim.loop.new_poll(kv.fd()))

-- libuv calls it where most of Neovim's functions may not be called: the
-- watches' functions run a moment later, in vim.schedule. Until then the
-- descriptor stays readable, so the poll rests. What a pump raises is told,
-- such as a value of another program that is not of its type.
local function wake(problem)
  poll:stop()
  vim.schedule(function()
    local good, raised = pcall(kv.pump)
    poll:start("r", wake)
    if not good then vim.notify(tostring(raised), vim.log.levels.ERROR) end
  end)
  assert(not problem, problem)
end

poll:start("r", wake)
return poll
