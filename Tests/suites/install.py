#!/usr/bin/env python3
"""Stages an install as a packager does, and uses nothing but what is there. Prints TAP."""
import os
import re
import shutil
import tempfile
from pathlib import Path

from tap import ROOT, check, environment, finish, run, version

# Prefix and folder of libraries: a distribution's, a program's own, Debian's.
PLACES = [("/usr", "/usr/lib"), ("/opt/kvcodable", "/opt/kvcodable/lib"), ("/usr", "/usr/lib/x86_64-linux-gnu"),
          ("/usr/local", "/usr/local/lib")]

WHERE = """
local kv = require "kvcodable"
local s = assert(kv.open_file("none.plist", { engine = "memory" }))
s:set("width", 640)
assert(s:get("width", kv.int) == 640)
for line in io.lines "/proc/self/maps" do
  local path = line:match "%S*libkvcodable%S*"
  if path then print(path) break end
end
print(kv._VERSION)
"""


def staged(stage, prefix, libraries):
    good, output = run("make", "-s", "install", f"DESTDIR={stage}", f"PREFIX={prefix}",
                       f"LIBDIR={libraries}", cwd=ROOT)
    check(good, f"make install stages {libraries}", output)
    private = [str(path) for path in stage.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o044 != 0o044]
    check(not private, "for everybody to read, whatever the umask", "\n".join(private))
    files = sorted(str(path.relative_to(stage)) for path in stage.rglob("*") if not path.is_dir())
    return files


def listing(files):
    """The files as docs/installing.md lists them: without what differs between machines and versions."""
    return [re.sub(r"lib/[\w-]+-linux-gnu/", "lib/<triplet>/", name).replace(version(), "<version>") for name in files]


# proves: G108
def consumer(stage, libraries, folder):
    """A C program from the staged files alone, with the one line of docs/installing.md."""
    packages = f"{stage}{libraries}/pkgconfig"
    build = environment(PKG_CONFIG_LIBDIR=packages, PKG_CONFIG_SYSROOT_DIR=stage, PKG_CONFIG_PATH=None)
    good, output = run("pkg-config", "--modversion", "kvcodable", env=build)
    check(good and output.strip() == version(), "pkg-config knows the version", output)
    good, output = run("sh", "-c", "cc main.c $(pkg-config --cflags --libs kvcodable) -o consumer", cwd=folder,
                       env=build)
    check(good, f"a C program builds from {libraries}", output)
    home = environment(XDG_CONFIG_HOME=folder / "config", LD_LIBRARY_PATH=f"{stage}{libraries}")
    good, output = run(folder / "consumer", env=home)
    check(good and output == f"kvcodable {version()}\n", "and runs", output)


CMAKE = """cmake_minimum_required(VERSION 3.13)
project(consumer LANGUAGES C CXX)
find_package(kvcodable VERSION REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer kvcodable::kvcodable)
add_executable(wrapped main.cpp)
set_target_properties(wrapped PROPERTIES CXX_STANDARD 17)
target_link_libraries(wrapped kvcodable::kvcodable)
if(NOT TARGET kvcodable::lua)
  message(FATAL_ERROR "no library for hosts")
endif()
find_package(PkgConfig REQUIRED)
foreach(name IN ITEMS HOSTS)
  pkg_check_modules(${name} REQUIRED ${name})
  add_executable(host-${name} host.c)
  target_include_directories(host-${name} PRIVATE ${${name}_INCLUDE_DIRS})
  target_link_libraries(host-${name} kvcodable::${name} ${${name}_LINK_LIBRARIES})
endforeach()
"""

HOST = r"""
#include <kvcodable_lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
int main(void) {
  kv_lua_options options = {.size = sizeof options};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (kv_lua_open(L, &options, NULL) != KV_OK) return 1;
  lua_getfield(L, -1, "_VERSION");
  puts(lua_tostring(L, -1));
  lua_close(L);
  return 0;
}
"""


# proves: G108
def cmake(stage, prefix, folder):
    """Programs in C and C++ by the package for CMake, from an install that was moved."""
    moved, source = folder / "moved", folder / "cmake"
    shutil.copytree(stage, moved, symlinks=True)
    source.mkdir()
    shutil.copy(ROOT / "Tests/Packages/c/main.c", source)
    (source / "host.c").write_text(HOST)
    hosts = [name for name in ("lua5.1", "luajit", "lua5.2", "lua5.3", "lua5.4") if run("pkg-config", "--exists", name)[0]
             and (ROOT / "build/lua" / name.replace("lua5", "5") / "kvcodable.so").exists()]
    (source / "main.cpp").write_text("#include <kvcodable.hpp>\nint main() { return kvcodable::tree::of(1) ? 0 : 1; }\n")
    for wanted, is_there in ((version(), True), ("", True), ("0.0.9", False), ("99.0", False)):
        (source / "CMakeLists.txt").write_text(CMAKE.replace("kvcodable VERSION ", f"kvcodable {wanted} ")
                                               .replace("HOSTS", " ".join(hosts)))
        shutil.rmtree(source / "build", ignore_errors=True)
        good, output = run("cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={moved}{prefix}")
        check(good == is_there, f"find_package(kvcodable {wanted}) {'finds' if is_there else 'does not take'} it", output)
        if not good:
            continue
        good, output = run("cmake", "--build", source / "build")
        check(good, "programs in C and C++ build by CMake", output)
        good, output = run(source / "build/consumer", env=environment(XDG_CONFIG_HOME=folder / "config"))
        check(good and output == f"kvcodable {version()}\n", "and run", output)
        good, output = run(source / "build/wrapped")
        check(good, "in C++ too", output)
        for name in hosts:
            good, output = run(source / f"build/host-{name}")
            check(good and version() in output, f"a host links kvcodable::{name}", output)


def installs_alone(folder):
    """The Makefile alone, without what make lib makes and without a Swift: an error that says so."""
    bare = folder / "bare"
    bare.mkdir()
    shutil.copy(ROOT / "Makefile", bare)
    for target, first in (("install", "lib"), ("install-tool", "tool"), ("install-page", "page")):
        good, output = run("make", "-s", "-C", bare, target, f"DESTDIR={folder / 'none'}", "SWIFT=false")
        check(not good and f"run make {first} first" in output and not (folder / "none").exists(),
              f"make {target} says what to build first if nothing is built", output)
        good, output = run("make", "-n", target, "SWIFT=no-swift", cwd=ROOT)
        check(good and "no-swift" not in output, f"make {target} builds nothing", output)


# What tools/require.sh asks the system, and what that says: no package is installed.
STUBS = {"dpkg-query": "exit 1", "id": "echo $WHO", "sudo": "exit 1", "apt-get": 'echo "$@" >>"$CALLS"'}


def packages(folder):
    """What make lib needs of the system is named before it is installed, and asked for where that may not be done."""
    stubs, calls = folder / "stubs", folder / "calls"
    stubs.mkdir()
    for name, body in STUBS.items():
        (stubs / name).write_text(f"#!/bin/sh\n{body}\n")
        (stubs / name).chmod(0o755)
    given = {"PATH": f"{stubs}:{os.environ['PATH']}", "CALLS": calls}
    good, output = run(ROOT / "tools/require.sh", "one", "two", env=environment(WHO="1000", **given))
    check(not good and "sudo apt-get install one two" in output and not calls.exists(),
          "who may not install is told which packages to ask for", output)
    good, output = run(ROOT / "tools/require.sh", "one", "two", env=environment(WHO="0", **given))
    check(good and output.startswith("Installing: one two") and "install" in calls.read_text(),
          "who may is told what is installed", output)


# proves: G108
def lua_modules(stage, prefix, files, folder):
    modules = [path for path in map(str, (path.relative_to(stage) for path in stage.rglob("kvcodable.so")))]
    check(len(modules) >= 4, "each Lua has its module", "\n".join(modules))
    for module in modules:
        version = Path(module).parent.name
        if not shutil.which(f"lua{version}"):
            continue
        lua_module(stage, prefix, module, f"lua{version}", folder)
        if version == "5.1":
            lua_module(stage, prefix, module, "luajit", folder)


def lua_module(stage, prefix, module, program, folder):
    if prefix in ("/usr", "/usr/local"):
        bare = environment(LUA_CPATH=None, LUA_CPATH_5_4=None)
        good, searched = run(program, "-e", "print(package.cpath)", env=bare)
        check(f"/{Path(module).parent}/?.so" in searched.split(";"), f"{program} looks where {prefix} has the module",
              searched)
    script = folder / "where.lua"
    script.write_text(WHERE)
    good, output = run(program, script, cwd=folder,
                       env=environment(LUA_CPATH=f"{(stage / module).parent}/?.so", LD_LIBRARY_PATH=None))
    lines = output.splitlines()
    check(good and lines[0].startswith(str(stage)), f"the module of {program} finds the library beside it", output)
    check(good and version() in lines[-1], "and has its version", output)


def documented_listing():
    blocks = re.findall(r"^```text staged\n(.*?)^```", (ROOT / "docs/installing.md").read_text(), flags=re.M | re.S)
    return blocks[0].splitlines() if blocks else []


def main():
    os.umask(0o077)
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        shutil.copy(ROOT / "Tests/Packages/c/main.c", folder)
        for number, (prefix, libraries) in enumerate(PLACES):
            stage = folder / f"stage{number}"
            files = staged(stage, prefix, libraries)
            if number == 0:
                listed = listing(files)
                check(listed == documented_listing(), "docs/installing.md lists what is installed", "\n".join(listed))
            consumer(stage, libraries, folder)
            lua_modules(stage, prefix, files, folder)
        cmake(folder / "stage2", PLACES[2][0], folder)
        installs_alone(folder)
        packages(folder)
    finally:
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
