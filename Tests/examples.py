#!/usr/bin/env python3
"""Runs the demonstration, the examples and the README's snippets. Prints TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {**os.environ, "LUA_CPATH": f"{ROOT}/build/?.so;;"}
checks = 0
failures = 0


def check(good, what, output=""):
    global checks, failures
    checks += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {checks} - {what}", flush=True)
    if not good and output:
        print(output)


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return result.returncode == 0, result.stdout


DIFFERENCE = "root['Target Applications'][1]['Bundle Identifier']: 'org.example.browser' -> 'org.example.navigator'"
REFUSAL = "refused\tExpected String at Target Applications[1].bundleIdentifier, found Int"


def demonstration():
    good, output = run("Tests/demo.sh", cwd=ROOT, env=ENVIRONMENT)
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
        good, output = run(program, cwd=folder, env={**os.environ, "XDG_CONFIG_HOME": str(folder / "config")})
        check(good, f"README: C snippet {number} runs", output)


PACKAGE = """// swift-tools-version: 6.3
import PackageDescription
let package = Package(
    name: "consumer",
    dependencies: [.package(name: "kvcodable", path: "{root}")],
    targets: [
        .executableTarget(name: "Consumer", dependencies: [.product(name: "KVCodable", package: "kvcodable")])
    ])
"""


def swift_snippets(folder):
    """The README's Swift is the main file of a package that depends on this one by path."""
    package = ROOT / "build/consumer"
    (package / "Sources/Consumer").mkdir(parents=True, exist_ok=True)
    (package / "Package.swift").write_text(PACKAGE.format(root=ROOT))
    for number, code in enumerate(snippets("swift"), 1):
        (package / "Sources/Consumer/main.swift").write_text(code)
        good, output = run(os.environ.get("SWIFT", "swift"), "build", cwd=package)
        check(good, f"README: Swift snippet {number} builds in a package of its own", output)
        good, output = run(package / ".build/debug/Consumer", cwd=folder,
                           env={**os.environ, "XDG_CONFIG_HOME": str(folder / "config")})
        check(good, f"README: Swift snippet {number} runs", output)


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        demonstration()
        absent_key(folder)
        lua_snippets(folder)
        c_snippets(folder)
        swift_snippets(folder)
    finally:
        shutil.rmtree(folder)
    print(f"1..{checks}")
    sys.exit(1 if failures else 0)


main()
