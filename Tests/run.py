#!/usr/bin/env python3
"""Runs test suites and ends with a line 'N passed, N failed'.

    run.py                     the suites of make test
    run.py --group places      the suites of another group: places, packages or quick
    run.py swift "lua 5.4"     some suites of any group; "lua" for every Lua

A suite is a command and a way to count its outcomes. Two suites run at a time, except those that need the machine for
themselves. build/test-logs has the output of each suite. A suite's output is printed if one of its tests failed.
"""
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
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


def specs(version, modules=None, without=()):
    """Runs the specs in one Lua, without the named ones. busted is a program of Lua; Debian has its modules for all
    versions except 5.5."""
    folder = {"luajit": "5.1", "5.5": "5.4"}.get(version, version)
    paths = ["./?.lua", *(f"/usr/share/lua/{folder}/{name}" for name in ("?.lua", "?/init.lua"))]
    start = f"package.path = '{';'.join(paths)};' .. package.path " \
            f"package.cpath = '{modules or f'build/lua/{version}'}/?.so;' .. package.cpath"
    if version == "5.5":
        return [LUAS[version], "-e", start, "Tests/specs.lua", *sorted(map(str, (ROOT / "lua/spec").rglob("*_spec.lua")))]
    left_out = [f"--exclude-pattern={name}" for name in (*without, *(["close_spec"] if version != "5.4" else []))]
    return [LUAS[version], "-e", start, "/usr/bin/busted", "-o", "plainTerminal", *left_out, "lua/spec"]


def plain_counts(output):
    found = re.findall(r"^(\d+) passed, (\d+) failed", output, flags=re.M)
    return (*map(int, found[-1]), 0) if found else None


def tap_suite(*command):
    return ["python3", *command], tap_counts


SWIFT_TEST = [SWIFT, "test", "--xunit-output", str(LOGS / "swift.xml")]


# ---- make quick

QUICK = ROOT / "build/quick"
# Rooms whose tests are another room's.
TESTED_WITH = {"CKVSystem": ["DefaultsStorage"], "CKVSQLite": ["DefaultsStorage"], "KVCodable": ["KVCodable", "Story"]}
# Swift tests that take more than five seconds of the processor in a debug build.
SLOW = "StoreLimitTests/readsBack|WatchTests/many|FaultWordsTests/longTexts|HostileTypeTests"


def changed_rooms():
    """The test targets of the rooms that differ from HEAD: all of them if nothing differs, or if Package.swift does."""
    targets = {path.name for path in (ROOT / "Tests").glob("*Tests")}
    changed = [name for command in (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
               for name in subprocess.run(["git", *command], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.split()]
    if not changed or "Package.swift" in changed:
        return targets
    rooms = [name.split("/")[1] for name in changed if name.startswith(("Sources/", "Tests/"))]
    tests = {f"{room}Tests" for name in rooms for room in TESTED_WITH.get(name, [name])}
    return (tests | set(rooms)) & targets


def quick_suites():
    """The Swift tests of the changed rooms, the C programs and the specs in Lua 5.4, with the library in QUICK."""
    rooms = sorted(changed_rooms())
    print(f"quick: Swift tests of {', '.join(rooms) or 'no room'} without {SLOW.replace('|', ', ')}; "
          "C programs that measure nothing; specs in Lua 5.4 without growth_spec", flush=True)
    suites = {"swift": ([*SWIFT_TEST, "--skip-build", "--filter", f"^({'|'.join(rooms)})\\.", "--skip", SLOW],
                        swift_counts)} if rooms else {}
    c = ["make", "-s", "-C", "Tests/C", "quick", f"LIBRARY={QUICK}", f"BUILD={QUICK}/c-tests"]
    return {**suites, "c": (c, tap_counts), "lua 5.4": (specs("5.4", "build/quick", ["growth_spec"]), busted_counts)}


# ---- The suites

# What each group runs, in the order of its report. Long suites come first, so that none is left for the end.
GROUPS = {
    "test": {
        "swift": (SWIFT_TEST, swift_counts),
        "c": (["make", "-s", "-C", "Tests/C", "test"], tap_counts),
        "store": (["python3", "Tests/Stress/store.py"], plain_counts),
        **{f"lua {version}": (specs(version), plain_counts if version == "5.5" else busted_counts)
           for version in LUAS if (ROOT / f"build/lua/{version}/kvcodable.so").exists()},
        "hosts": tap_suite("Tests/suites/hosts.py"),
        "tool": tap_suite("Tests/suites/tool.py"),
        "tool-faults": tap_suite("Tests/suites/tool_faults.py"),
        "scenarios": tap_suite("Tests/suites/scenarios.py"),
        "examples": tap_suite("Tests/suites/examples.py"),
        "install": tap_suite("Tests/suites/install.py"),
        "contract": tap_suite("Tests/suites/contract.py"),
        "json-schema": tap_suite("Tests/suites/json_schema.py"),
        "crowd": tap_suite("Tests/suites/crowd.py"),
        "processes": tap_suite("Tests/suites/processes.py"),
        "bench": tap_suite("Tests/suites/bench.py"),
    },
    "places": {
        "lua-hosts": tap_suite("Tests/suites/lua_hosts.py"),
        "completion": tap_suite("Tests/suites/completion.py"),
    },
    "packages": {
        "configuration": tap_suite("Tests/suites/configuration.py"),
        "swift-packages": tap_suite("Tests/suites/packages.py"),
        "hosts-packages": tap_suite("Tests/suites/hosts.py", "--packages"),
        "dist": tap_suite("Tests/suites/dist.py"),
    },
}

# Suites that compile Swift, which uses every core, or that measure how soon programs see each other's changes.
ALONE = {"swift", "crowd", "processes", "bench", *GROUPS["packages"]}


class Outcome:
    """What a suite counted, and what it printed."""

    def __init__(self, name, command, count):
        started = time.monotonic()
        result = subprocess.run(command, cwd=ROOT, env={**os.environ, "KVCODABLE_LUA_PROGRAM": command[0]},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                                errors="replace")
        self.name, self.output, self.seconds = name, result.stdout, time.monotonic() - started
        (LOGS / f"{name.replace(' ', '-')}.log").write_text(result.stdout)
        counts = count(result.stdout)
        self.passed, self.failed, self.skipped = counts if counts and sum(counts) else (0, 1, 0)
        if result.returncode != 0 and self.failed == 0:
            self.failed = 1

    def report(self):
        name = self.name
        print(f"{name}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped in {self.seconds:.0f} s")
        if name.startswith("lua ") and name != "lua luajit":
            print("  skipped: lua/spec/luajit_spec.lua, since this Lua has no compiler and no numbers of C")
        if name in ("lua 5.1", "lua luajit", "lua 5.2", "lua 5.3"):
            print("  skipped: lua/spec/close_spec.lua, since this Lua has no variables that are closed")
        if self.failed:
            print(self.output)
        for line in re.findall(r"^.*skipp(?:ed|ing):.*$", self.output, flags=re.M | re.I):
            print(f"  {line.strip()}")
        sys.stdout.flush()


def outcomes(suites):
    """The outcome of each suite, in their order. The first suites run alone if they must, then two suites at a time."""
    together = ThreadPoolExecutor(2)
    waiting = []
    for name, suite in suites.items():
        if name in ALONE and "--skip-build" not in suite[0]:
            yield from (future.result() for future in waiting)
            waiting = []
            yield Outcome(name, *suite)
        else:
            waiting.append(together.submit(Outcome, name, *suite))
    yield from (future.result() for future in waiting)


def chosen_suites(arguments):
    if arguments[:1] == ["--group"]:
        return quick_suites() if arguments[1] == "quick" else GROUPS[arguments[1]]
    every = {name: suite for group in GROUPS.values() for name, suite in group.items()}
    unknown = set(arguments) - set(every) - {"lua"}
    if unknown:
        sys.exit(f"no suite {', '.join(sorted(unknown))}; the suites are {', '.join(every)}")
    return {name: every[name] for name in every if {name, name.split()[0]} & set(arguments)} or GROUPS["test"]


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    for report in LOGS.glob("*.xml"):
        report.unlink()
    started, passed, failed, skipped = time.monotonic(), 0, 0, 0
    for outcome in outcomes(chosen_suites(sys.argv[1:])):
        outcome.report()
        passed, failed, skipped = passed + outcome.passed, failed + outcome.failed, skipped + outcome.skipped
    print(f"all of it took {time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)


main()
