-- Runs last: busted takes the files in the order of their names.
local handles = require "lua.spec.handles"

describe("all specs before this", function()
  -- proves: G109
  it("made handles, and left none open", function()
    assert.is_true(handles.made > 0)
    assert.same({}, handles.open())
  end)

  it("left no watch behind", function()
    assert.equal(0, handles.watches())
  end)
end)
