#!/usr/bin/env python3
"""Runs the demonstration, the examples and the README's snippets. Prints TAP."""
import re
import shutil
import tempfile
from pathlib import Path

from tap import ROOT, check, environment, finish, run

ENVIRONMENT = environment(LUA_CPATH=f"{ROOT}/build/?.so;;")


DIFFERENCE = "root['Target Applications'][1]['Bundle Identifier']: 'org.example.browser' -> 'org.example.navigator'"
REFUSAL = "refused\tExpected String at Target Applications[1].bundleIdentifier, found Int"


def demonstration():
    good, output = run(ROOT / "Tests/demo.sh", cwd=ROOT, env=ENVIRONMENT)
    lines = output.splitlines()
    changes = lines[lines.index("What changed, as Python's plistlib reads it:") + 1:] if good else []
    check(good and REFUSAL in lines, "the demonstration refuses a wrong value, with its path", output)
    check(changes == [DIFFERENCE], "the demonstration changes exactly one value", output)


def absent_key(folder):
    path = folder / "other.plist"
    path.write_text('<plist version="1.0"><dict><key>a</key><integer>1</integer></dict></plist>')
    good, output = run("lua5.4", ROOT / "lua/examples/target_applications.lua", path, env=ENVIRONMENT)
    check(good and output == "no target applications\n", "an absent key gives nil and not a crash", output)


def snippets(language):
    text = (ROOT / "README.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def lua_snippets(folder):
    for number, code in enumerate(snippets("lua"), 1):
        script = folder / f"snippet{number}.lua"
        script.write_text(code)
        good, output = run("lua5.4", script, cwd=folder,
                           env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(folder / "config")})
        check(good, f"README: Lua snippet {number} runs", output)


def c_snippets(folder):
    for number, code in enumerate(snippets("c"), 1):
        source, program = folder / f"snippet{number}.c", folder / f"snippet{number}"
        source.write_text(code)
        good, output = run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", source,
                           "-o", program, f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
        check(good, f"README: C snippet {number} compiles", output)
        good, output = run(program, cwd=folder, env=environment(XDG_CONFIG_HOME=folder / "config"))
        check(good, f"README: C snippet {number} runs", output)


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        demonstration()
        absent_key(folder)
        lua_snippets(folder)
        c_snippets(folder)
    finally:
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
