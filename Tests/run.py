#!/usr/bin/env python3
"""Runs every suite and ends with a line 'N passed, N failed'.

    run.py            all suites
    run.py swift "lua 5.4"  only those; "lua" for every Lua

A suite is a command and a way to count its outcomes. What a suite printed is
shown when something in it failed, and stands in build/test-logs in any case.
"""
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build/test-logs"
SWIFT = os.environ.get("SWIFT", "swift")


def swift_counts(_output):
    """Counts from the report that the test runner writes."""
    report = LOGS / "swift-swift-testing.xml"
    if not report.exists():
        return None
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = sum(1 for case in cases if case.find("failure") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    return len(cases) - failed - skipped, failed, skipped


def tap_counts(output):
    """Counts of 'ok' and 'not ok' lines; '# SKIP' behind an ok is a skip."""
    lines = re.findall(r"^(not )?ok\b(.*)$", output, flags=re.M)
    failed = sum(1 for bad, _ in lines if bad)
    skipped = sum(1 for bad, rest in lines if not bad and "# SKIP" in rest)
    return len(lines) - failed - skipped, failed, skipped


def busted_counts(output):
    found = re.findall(r"(\d+) success\w* / (\d+) failures? / (\d+) errors? / (\d+) pending", output)
    if not found:
        return None
    passed, failures, errors, pending = map(int, found[-1])
    return passed, failures + errors, pending


# The Lua versions whose module is built, and the program of each; 5.5's may be named.
LUAS = {"5.1": "lua5.1", "luajit": "luajit", "5.2": "lua5.2", "5.3": "lua5.3", "5.4": "lua5.4",
        "5.5": os.environ.get("LUA_5_5", "lua5.5")}


def specs(version):
    """Runs the specs in one Lua. busted is a program of Lua, whose modules Debian has for each but 5.5."""
    folder = {"luajit": "5.1", "5.5": "5.4"}.get(version, version)
    paths = ["./?.lua", *(f"/usr/share/lua/{folder}/{name}" for name in ("?.lua", "?/init.lua"))]
    start = f"package.path = '{';'.join(paths)};' .. package.path " \
            f"package.cpath = 'build/lua/{version}/?.so;' .. package.cpath"
    if version == "5.5":
        return [LUAS[version], "-e", start, "Tests/specs.lua", *sorted(map(str, (ROOT / "lua/spec").rglob("*_spec.lua")))]
    without = [] if version == "5.4" else ["--exclude-pattern=close_spec"]
    return [LUAS[version], "-e", start, "/usr/bin/busted", "-o", "plainTerminal", *without, "lua/spec"]


def plain_counts(output):
    found = re.findall(r"^(\d+) passed, (\d+) failed", output, flags=re.M)
    return (*map(int, found[-1]), 0) if found else None


SUITES = {
    "swift": ([SWIFT, "test", "--xunit-output", str(LOGS / "swift.xml")], swift_counts),
    "c": (["make", "-s", "-C", "Tests/C", "test"], tap_counts),
    **{f"lua {version}": (specs(version), plain_counts if version == "5.5" else busted_counts)
       for version in LUAS if (ROOT / f"build/lua/{version}/kvcodable.so").exists()},
    "json-schema": (["python3", "Tests/suites/json_schema.py"], tap_counts),
    "tool": (["python3", "Tests/suites/tool.py"], tap_counts),
    "tool-faults": (["python3", "Tests/suites/tool_faults.py"], tap_counts),
    "store": (["python3", "Tests/Stress/store.py"], plain_counts),
    "processes": (["python3", "Tests/suites/processes.py"], tap_counts),
    "contract": (["python3", "Tests/suites/contract.py"], tap_counts),
    "hosts": (["python3", "Tests/suites/hosts.py"], tap_counts),
    "lua-hosts": (["python3", "Tests/suites/lua_hosts.py"], tap_counts),
    "crowd": (["python3", "Tests/suites/crowd.py"], tap_counts),
    "examples": (["python3", "Tests/suites/examples.py"], tap_counts),
    "bench": (["python3", "Tests/suites/bench.py"], tap_counts),
    "install": (["python3", "Tests/suites/install.py"], tap_counts),
    "dist": (["python3", "Tests/suites/dist.py"], tap_counts),
    "configuration": (["python3", "Tests/suites/configuration.py"], tap_counts),
    "packages": (["python3", "Tests/suites/packages.py"], tap_counts),
}


def run(name):
    command, count = SUITES[name]
    started = time.monotonic()
    result = subprocess.run(command, cwd=ROOT, env={**os.environ, "KVCODABLE_LUA_PROGRAM": command[0]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            stdin=subprocess.DEVNULL, text=True, errors="replace")
    (LOGS / f"{name.replace(' ', '-')}.log").write_text(result.stdout)
    counts = count(result.stdout)
    if counts is None or sum(counts) == 0:
        counts = (0, 1, 0)
    passed, failed, skipped = counts
    if result.returncode != 0 and failed == 0:
        failed = 1
    print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped "
          f"in {time.monotonic() - started:.0f} s", flush=True)
    if name.startswith("lua ") and name != "lua luajit":
        print("  skipped: lua/spec/luajit_spec.lua, since this Lua has no compiler and no numbers of C")
    if name in ("lua 5.1", "lua luajit", "lua 5.2", "lua 5.3"):
        print("  skipped: lua/spec/close_spec.lua, since this Lua has no variables that are closed")
    if failed:
        print(result.stdout, flush=True)
    for line in re.findall(r"^.*skipp(?:ed|ing):.*$", result.stdout, flags=re.M | re.I):
        print(f"  {line.strip()}")
    return passed, failed, skipped


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    for report in LOGS.glob("*.xml"):
        report.unlink()
    chosen = [name for name in SUITES if not sys.argv[1:] or {name, name.split()[0]} & set(sys.argv[1:])]
    totals = [sum(column) for column in zip(*(run(name) for name in chosen))]
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)


main()
