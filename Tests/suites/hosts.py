#!/usr/bin/env python3
"""Hosts built against an installed library run a script that tries to get out of its sandbox. Prints TAP.

    hosts.py             a host in C and one in C++, each with every Lua
    hosts.py --packages  a host in Swift, which is a package of its own; and the rock, which luarocks builds
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import ROOT, SWIFT, check, environment, finish, forget_other_sources, run

HOSTS = ROOT / "lua/examples/hosts"


def is_tight(output):
    """Whether the escaping script tried hard and found no way out."""
    found = re.search(r"(\d+) tries, (\d+) ways out", output)
    return found and int(found[1]) > 90 and int(found[2]) == 0


# Scripts that their host has to end, and what it says of each.
BOUNDED = {
    "while true do end": "the script takes too long",
    "while true do pcall(function() while true do end end) end": "the script takes too long",
    "while true do pcall(coroutine.wrap(function() while true do end end)) end": "the script takes too long",
    # Coroutines that end before the hook is called.
    "local function level(n) if n == 0 then for _ = 1, 300 do end return end for _ = 1, 60 do "
    "coroutine.wrap(level)(n - 1) end end level(8)": "the script takes too long",
    "local f = function() end while true do coroutine.resume(coroutine.create(f)) end": "the script takes too long",
    # Calls that take long: few steps.
    "local t = {} for i = 1, 50000 do t[i] = i end while true do mine:set('a', t) end": "the script takes too long",
    "local t = {} for i = 1, 1e9 do t[i] = {} end": "not enough memory",
    "local s = 'x' while true do s = s .. s end": "not enough memory",
    "error(setmetatable({}, { __tostring = function() error('no text', 0) end }))": "no text",
    "error(setmetatable({}, { __tostring = function() error(kv) end }))": "an error without a text",
    "error(setmetatable({}, { __tostring = function() while true do end end }))": "the script takes too long",
    "for i = 1, 9 do mine:watch('a' .. i, print) end": "More than 8 watches",
    "mine:set('a', ('x'):rep(2^21))": "at most 1048576 bytes",
    "mine:set('a', ('x'):rep(5 * 2^20))": "4194304",
    "getmetatable(kv.decode '[1]').__gc = print": "attempt to index a boolean value",
    "getmetatable(select(2, kv.decode '{')).__gc = print": "attempt to index a boolean value",
    "newproxy(true)": "newproxy",
    "\x1bLua": "attempt to load a binary chunk",
    "#!/usr/bin/lua\n\x1bLua": "attempt to load a binary chunk",
    "setmetatable({}, { __gc = function() while true do end end })": "__gc is the host's alone",
}


def bounded_scripts(folder):
    """Each script's file, the script, and what is said of it."""
    for number, (script, words) in enumerate(BOUNDED.items()):
        path = folder / f"bounded{number}.lua"
        path.write_text(script)
        yield path, script, words


LUAS = ("lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit")

# The hosts in C and C++: how they are built, and their source.
COMPILED = {"C": (["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L"], "host.c"), "C++": (["g++", "-std=c++17"], "host.cpp")}

CHANGE = """local kv = require "kvcodable"
local s <close> = assert(kv.open_file(arg[1], { durability = "immediate" }))
if arg[2] == "quit" then s:set("quit", true) else s:set("volume", tonumber(arg[2]) or arg[2]) end"""


def follows(command, folder, what, installed):
    """A host's loop takes up what another program changes, keeps its settings where a value is wrong, and ends."""
    script, change = folder / "nothing.lua", folder / "change.lua"
    script.write_text("return 1, {}")
    change.write_text(CHANGE)
    scripts = [] if what == "the Swift host" else [script]
    lua = environment(LUA_CPATH=f"{ROOT}/build/?.so;;")
    host = subprocess.Popen([*command, *scripts, folder, "60"], env=installed, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    lines = []

    def until(text):
        while line := host.stdout.readline():
            lines.append(line)
            if text in line:
                return True
        return False

    good = until("the volume is 7")
    for value, answer in ((9, "the volume is 9"), ("loud", "at volume, found String"),
                          (10, "the volume is 10")):
        good = good and run("lua5.4", change, folder / "host.plist", str(value), env=lua)[0] and until(answer)
    check(good, f"{what} takes up what another program changes, and refuses what is wrong", "".join(lines))
    run("lua5.4", change, folder / "host.plist", "quit", env=lua)
    lines += host.communicate()[0]
    check(host.returncode == 0 and "the theme is still light" in "".join(lines), f"{what} ends when it is told to",
          "".join(lines))


# proves: G95, G97
def compiled_host(language, lua, folder, stage):
    compiler, source = COMPILED[language]
    module = "kvcodable-" + lua.replace("lua5.4", "lua")
    folder = folder / f"{language} {lua}"
    folder.mkdir()
    installed = environment(PKG_CONFIG_PATH=stage / "lib/pkgconfig", LD_LIBRARY_PATH=stage / "lib")
    good, flags = run("pkg-config", "--cflags", "--libs", module, lua, env=installed)
    check(good, "pkg-config knows the library for hosts", flags)
    program, host = folder / f"{source}.out", f"the {language} host with {lua}"
    good, output = run(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", HOSTS / source, "-o", program,
                       *flags.split())
    check(good, f"{host} builds against the installed library", output)
    home = folder / source
    home.mkdir()
    good, output = run(program, HOSTS / "escape.lua", home, env=installed)
    check(good and is_tight(output), f"a script finds no way out of {host}", output)
    for path, script, words in bounded_scripts(home):
        good, output = run(program, path, home, env=installed)
        check(not good and words in output, f"{host} ends {script!r}", output)
    good, output = run(program, HOSTS / "escape.lua", folder / "none", env=installed)
    check(not good and "No such file or directory" in output, f"{host} says what is wrong with its folder", output)
    follows([program], home, host, installed)


# proves: G95, G97
def swift_host(folder):
    package = ROOT / "build/swift-host"
    forget_other_sources(package)
    good, output = run(SWIFT, "build", "--package-path", HOSTS / "swift",
                       "--scratch-path", package)
    if not check(good, "the Swift host builds as a package of its own", output):
        return
    home = folder / "swift"
    home.mkdir()
    bounded = list(bounded_scripts(home))
    good, output = run(package / "debug/SwiftHost", HOSTS, home, *(path for path, _, _ in bounded))
    check(good and is_tight(output), "a script finds no way out of the Swift host", output)
    check("the program reads Ada King 37" in output, "a script changes a Swift type by its name", output)
    check("refused\tExpected an age from 0 at user.age" in output,
          "the type's own init(from:) refuses what it does not like", output)
    for path, script, words in bounded:
        said = [line for line in output.splitlines() if line.startswith(f"{path}: ")]
        check(said and words in said[0], f"the Swift host ends {script!r}", output)
    home = folder / "loop"
    home.mkdir()
    follows([package / "debug/SwiftHost", HOSTS], home, "the Swift host", environment())


def rock(folder, stage):
    source = folder / "source"
    shutil.copytree(ROOT / "lua", source / "lua", ignore=shutil.ignore_patterns("examples", "spec"))
    listed = re.findall(r'"(lua/src/[\w/]+\.c)"', (ROOT / "lua/kvcodable-scm-1.rockspec").read_text())
    check(sorted(listed) == sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "lua/src").rglob("*.c")),
          "the rockspec names every source", str(listed))
    for version in ("5.1", "5.4"):
        tree, lua = folder / f"rocks{version}", f"lua{version}"
        good, output = run("luarocks", f"--lua-version={version}", "--tree", tree, "make",
                           "lua/kvcodable-scm-1.rockspec", f"KVCODABLE_DIR={stage}", cwd=source,
                           env=environment(HOME=folder))
        check(good, f"luarocks makes the rock for {lua}", output)
        module = tree / f"lib/lua/{version}/?.so"
        good, output = run("busted", f"--lua=/usr/bin/{lua}", f"--cpath={module}", "-o", "plainTerminal",
                           "lua/spec/values/values_spec.lua", "lua/spec/stores/store_spec.lua", cwd=ROOT)
        check(good, f"the rock's module passes specs in {lua}", output)
        good, output = run(lua, "-e", f"package.cpath = '{module}'; print(require 'kvcodable'._VERSION)")
        check(good and output.startswith("kvcodable "), f"the rock's module finds the library in {lua}", output)


def main():
    folder = Path(tempfile.mkdtemp())
    stage = folder / "stage"
    try:
        good, output = run("make", "-s", "install", f"PREFIX={stage}", cwd=ROOT)
        check(good, "make install", output)
        if sys.argv[1:] == ["--packages"]:
            rock(folder, stage)
            swift_host(folder)
        else:
            for lua in LUAS:
                for language in COMPILED:
                    compiled_host(language, lua, folder, stage)
    finally:
        shutil.rmtree(folder)
    finish()


main()
