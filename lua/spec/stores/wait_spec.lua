local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("kv.wait", function()
  local folder, path, store
  support.in_folder(before_each, after_each, function(...)
    folder, path = ...
    store = assert(kv.open_file(path))
    return store
  end)

  --- Runs code as a program of its own, which has the store's path as `path`.
  local function run_beside(code, behind)
    local script = os.tmpname()
    support.write(script, ([[
      local kv = require "kvcodable"
      local path = %q
      %s
    ]]):format(path, code))
    return support.run(script .. " " .. (behind or "")), script
  end

  it("gives at once what there is to tell", function()
    local told
    store:watch("n", function(_, new) told = new end)
    store:set("n", 1)
    assert.equal(1, kv.wait(60))
    assert.equal(1, told)
    assert.equal(0, kv.wait(0))
    assert.equal(0, kv.wait(0.02))
  end)

  it("is woken by another process", function()
    local told
    store:watch("n", function(_, new) told = new end)
    local _, script = run_beside([[
      local store = assert(kv.open_file(path))
      for i = 1, 3 do
        kv.wait(0.05)
        store:set("n", i)
        assert(store:sync())
      end
      store:close()
    ]], "&")
    local calls = 0
    while calls < 10 and told ~= 3 do
      assert.equal(1, kv.wait(60))
      calls = calls + 1
    end
    assert.equal(3, told)
    os.remove(script)
  end)

  it("raises what a watch's function raises, and refuses what is no time",
    function()
    store:watch("n", function() error("x", 0) end)
    store:set("n", 1)
    assert.equal("A watch's function failed at n: x",
      tostring(support.failure(kv.wait, 60)))
    for _, wrong in ipairs { -1, 0 / 0, "soon" } do
      assert.is_string(support.failure(kv.wait, wrong))
    end
    assert.is_string(support.failure(kv.wait))
  end)

  it("does not wait for ever where nothing can come", function()
    local answered, script = run_beside [[
      local ok, problem = pcall(kv.wait, math.huge)
      assert(not ok and problem:find("nothing is watched", 1, true))
      assert(kv.wait(0.01) == 0)
    ]]
    assert.is_true(answered)
    os.remove(script)
    -- Nor is it woken by what nobody watches any more.
    local watch, other = store:watch("n", type), store:watch("n", type)
    kv.fd()
    other:cancel()
    store:set("n", 0)
    assert.equal(1, kv.wait(60))
    watch:cancel()
    store:set("n", 1)
    store:sync()
    local start = os.clock()
    assert.equal(0, kv.wait(1))
    assert.is_true(os.clock() - start < 0.5) -- of the processor
  end)

  it("waits in a coroutine, whose functions may not yield", function()
    local told
    store:watch("n", function(_, new) told = new end)
    local other = store:watch("o", function() coroutine.yield() end)
    store:set("n", 1)
    local go = coroutine.wrap(function() return kv.wait(60) end)
    assert.equal(1, go())
    assert.equal(1, told)
    store:set("o", 1)
    local ok, problem =
      coroutine.resume(coroutine.create(function() kv.wait(60) end))
    assert.is_false(ok)
    assert.matches("at o: .*yield", tostring(problem))
    other:cancel()
  end)

  it("may be called by a watch's function", function()
    local told = {}
    store:watch("a", function()
      store:set("b", 1)
      local calls = kv.wait(60)
      told[#told + 1] = "a" .. calls
    end)
    store:watch("b", function() told[#told + 1] = "b" end)
    store:set("a", 1)
    assert.equal(1, kv.wait(60))
    assert.same({ "b", "a1" }, told)
  end)

  if jit then
    local ffi = require "ffi"
    ffi.cdef [[
      struct kv_spec_pollfd { int fd; short events, revents; };
      int poll(struct kv_spec_pollfd *, unsigned long, int);
      int fork(void);
      int waitpid(int, int *, int);
      int execl(const char *, const char *, ...);
      unsigned alarm(unsigned);
      void *signal(int, void (*)(int));
    ]]

    --- How often the descriptor was readable, within a time.
    local function count_wakes(seconds)
      local entry = ffi.new("struct kv_spec_pollfd[1]", { { kv.fd(), 1, 0 } })
      local wakes = 0
      while ffi.C.poll(entry, 1, seconds * 1000) > 0 do
        wakes = wakes + 1
        kv.pump()
      end
      return wakes
    end

    -- proves: G65
    it("and the descriptor are woken by a commit, a few times", function()
      store:set("n", 0)
      store:sync()
      local told = 0
      store:watch("n", function() told = told + 1 end)
      kv.pump()
      -- The first commit of a file makes its backup, which is another file.
      for i = 1, 4 do
        local _, script = run_beside(([[
          local store = assert(kv.open_file(path))
          store:set("n", %d)
          assert(store:close())
        ]]):format(i), "&")
        local wakes = count_wakes(0.5)
        if i > 1 then assert.is_true(wakes >= 1 and wakes <= 3) end
        assert.equal(i, told)
        os.remove(script)
      end
      store:set("n", 10)
      -- Of the set, and a few times of its commit.
      assert.is_true(count_wakes(0.4) <= 4)
      os.execute("touch " .. folder .. "/another")
      assert.equal(0, count_wakes(0.1))
      -- A file that is replaced, or written in place, by another program.
      for i, command in ipairs { "mv %s.new %s", "cp %s.new %s" } do
        support.write(path .. ".new", kv.encode { n = 20 + i })
        os.execute(command:format(path, path))
        assert.is_true(count_wakes(0.4) >= 1)
        assert.equal(20 + i, store:get "n")
      end
    end)

    it("in a child process is the child's own", function()
      local told
      store:set("n", 0)
      store:sync()
      store:watch("n", function(_, new) told = new end)
      kv.fd()
      local child = ffi.C.fork()
      if child == 0 then
        local ok = pcall(function()
          run_beside([[
            local store = assert(kv.open_file(path))
            store:set("n", 7)
            assert(store:close())
          ]], "&")
          assert(kv.wait(30) == 1 and told == 7)
          assert(kv.wait(0.05) == 0)
        end)
        -- Under valgrind an exit would look for leaks in a state that is open.
        local program = ok and "/bin/true" or "/bin/false"
        ffi.C.execl(program, program, ffi.cast("char *", nil))
      end
      local status = ffi.new "int[1]"
      ffi.C.waitpid(child, status, 0)
      assert.equal(0, status[0])
      assert.equal(told == 7 and 0 or 1, kv.wait(30))
      assert.equal(7, told)
    end)
  end
end)
