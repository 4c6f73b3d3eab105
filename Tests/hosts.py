#!/usr/bin/env python3
"""Hosts and the rock, built against an installed library. Prints TAP.

A C host and a Swift host each run a script that tries to get out of what it
was given; the rock is built by luarocks and its module runs specs and states.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOSTS = ROOT / "lua/examples/hosts"
checks = 0
failures = 0


def check(good, what, output=""):
    global checks, failures
    checks += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {checks} - {what}", flush=True)
    if not good and output:
        print(output)
    return good


def skip(what):
    global checks
    checks += 1
    print(f"ok {checks} - # SKIP {what}", flush=True)


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", **options)
    return result.returncode == 0, result.stdout


def is_tight(output):
    """Whether the escaping script tried hard and found no way out."""
    found = re.search(r"(\d+) tries, (\d+) ways out", output)
    return found and int(found[1]) > 90 and int(found[2]) == 0


def c_host(folder, stage):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(stage / "lib/pkgconfig"),
                   "LD_LIBRARY_PATH": str(stage / "lib")}
    good, flags = run("pkg-config", "--cflags", "--libs", "kvcodable-lua", "lua5.4", env=environment)
    check(good, "pkg-config knows the library for hosts", flags)
    program = folder / "host"
    good, output = run("gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HOSTS / "host.c", "-o", program,
                       *flags.split())
    check(good, "the C host builds against the installed library", output)
    home = folder / "c"
    home.mkdir()
    good, output = run(program, HOSTS / "escape.lua", home, env=environment)
    check(good and is_tight(output), "a script finds no way out of the C host", output)


def swift_host(folder):
    package = ROOT / "build/swift-host"
    good, output = run(os.environ.get("SWIFT", "swift"), "build", "--package-path", HOSTS / "swift",
                       "--scratch-path", package)
    if not check(good, "the Swift host builds as a package of its own", output):
        return
    home = folder / "swift"
    home.mkdir()
    good, output = run(package / "debug/SwiftHost", HOSTS, home)
    check(good and is_tight(output), "a script finds no way out of the Swift host", output)
    check("the program reads Ada King 37" in output, "a script changes a Swift type by its name", output)
    check("refused\tExpected an age from 0 at plugins.demo.user.age" in output,
          "the type's own init(from:) refuses what it does not like", output)


def rock(folder, stage):
    if not shutil.which("luarocks"):
        run(ROOT / "tools/require.sh", "luarocks")
    if not shutil.which("luarocks"):
        return skip("luarocks is not installed, and cannot be")
    source, tree = folder / "source", folder / "rocks"
    shutil.copytree(ROOT / "lua", source / "lua", ignore=shutil.ignore_patterns("examples", "spec"))
    good, output = run("luarocks", "--lua-version=5.4", "--tree", tree, "make", "lua/kvcodable-scm-1.rockspec",
                       f"KVCODABLE_DIR={stage}", cwd=source, env={**os.environ, "HOME": str(folder)})
    check(good, "luarocks makes the rock", output)
    listed = re.findall(r'"lua/(\w+\.c)"', (ROOT / "lua/kvcodable-scm-1.rockspec").read_text())
    check(sorted(listed) == sorted(path.name for path in (ROOT / "lua").glob("*.c")),
          "the rockspec names every source", str(listed))
    module = tree / "lib/lua/5.4/?.so"
    good, output = run("busted", "--lua=/usr/bin/lua5.4", f"--cpath={module}", "-o", "plainTerminal",
                       "lua/spec/values_spec.lua", "lua/spec/store_spec.lua", cwd=ROOT)
    check(good, "the rock's module passes specs", output)
    good, output = run("lua5.4", "-e", f"package.cpath = '{module}'; print(require 'kvcodable'._VERSION)")
    check(good and output.startswith("kvcodable "), "the rock's module finds the library", output)


def main():
    folder = Path(tempfile.mkdtemp())
    stage = folder / "stage"
    try:
        good, output = run("make", "-s", "-o", "lib", "install", f"PREFIX={stage}", cwd=ROOT)
        check(good, "make install", output)
        c_host(folder, stage)
        rock(folder, stage)
        swift_host(folder)
    finally:
        shutil.rmtree(folder)
    print(f"1..{checks}")
    sys.exit(1 if failures else 0)


main()
