-- margin.lua: a line at the right margin, whose options are typed, kept in a
-- file, and taken over when anything changes them.

local kv = require "kvcodable"

local Column = kv.int:range(1, 500)
local Options = kv.struct "Margin" {
  column = Column:default(80),
  shown = kv.bool:default(true),
  filetypes = kv.dictionary_of(Column):default {},
}

local margin = {}
local store, options

local function report(problem)
  vim.notify("margin: " .. tostring(problem), vim.log.levels.ERROR)
end

local function show()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local filetype = vim.bo[vim.api.nvim_win_get_buf(window)].filetype
    local column = options.filetypes[filetype] or options.column
    vim.wo[window].colorcolumn = options.shown and tostring(column) or ""
  end
end

-- Another program, or a person, may have put anything into the file: what is
-- wrong is told with its place, and the options stay as they were.
local function read()
  local good, found = pcall(store.get, store, {}, Options)
  if good then options = found else report(found) end
  show()
end

-- :Margin PLACE VALUE sets an option, :Margin PLACE takes it away.
local function command(call)
  local place = vim.split(call.fargs[1], ".", { plain = true })
  local text = call.fargs[2]
  local value = text and kv.decode(text, nil, { format = "json" })
  if value == nil then value = text end
  local good, problem
  if text then
    good, problem = pcall(store.set, store, place, value)
  else
    good, problem = pcall(store.remove, store, place)
  end
  if not good then report(problem) end
end

function margin.setup(path)
  local folder = vim.fn.stdpath "config"
  vim.fn.mkdir(folder, "p")
  local problem
  store, problem = kv.open_file(path or folder .. "/margin.json",
    { format = "json", schema = Options, durability = "immediate" })
  if not store then return report(problem) end
  options = kv.decode("{}", Options, { format = "json" })  -- the defaults
  store:watch({}, read)
  store:events(function(_, message) report(message) end)
  require "kvcodable_loop"
  read()

  vim.api.nvim_create_user_command("Margin", command, { nargs = "+" })
  vim.api.nvim_create_autocmd({ "BufWinEnter", "FileType" },
    { callback = show })
  vim.api.nvim_create_autocmd("VimLeavePre", { callback = function()
    local closed, why = store:close()
    if not closed then report(why) end
  end })
end

return margin
