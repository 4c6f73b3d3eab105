#!/usr/bin/env python3
"""Real Lua processes on one file: kills in the middle of saves, and many writers at once.

    processes.py [--kills N] [--writers N] [--sets N]

Prints TAP. A check counts what is in the file afterwards, as Python's plistlib reads it.
"""
import argparse
import plistlib
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tap import ROOT, check, environment, finish

ENVIRONMENT = environment(LUA_CPATH=f"{ROOT}/build/?.so;;")
SAVER = """
local kv = require "kvcodable"
local store = assert(kv.open_file(arg[1], { durability = "immediate" }))
local filler = ("x"):rep(3000)
local i = store:get "count" or 0
while true do
  i = i + 1
  store:transaction(function(tx)
    tx:set("count", i)
    tx:set("copy", i)
    tx:set({ "deep", "filler" }, filler .. i)
  end)
  io.write(i, "\\n")
  io.flush()
end
"""

WRITER = """
local kv = require "kvcodable"
local store <close> = assert(kv.open_file(arg[1]))
for i = 1, tonumber(arg[3]) do
  store:set(("writer %s key %d"):format(arg[2], i), i)
  store:update("counter", kv.int, function(n) return (n or 0) + 1 end)
end
"""


def lua(script, *arguments, **options):
    return subprocess.Popen(["lua5.4", "-", *arguments], stdin=subprocess.PIPE, env=ENVIRONMENT,
                            text=True, **options), script


def start(script, *arguments, **options):
    process, text = lua(script, *arguments, **options)
    process.stdin.write(text)
    process.stdin.close()
    return process


def last_acknowledged(output):
    lines = output.split("\n")
    return int(lines[-2]) if len(lines) > 1 else None


# proves: G1
def kill_in_the_middle(folder, kills):
    """Kills a saving process at a random moment, again and again, and looks at the file each time."""
    path = folder / "kills.plist"
    seeded = random.Random(1)
    broken, lost, acknowledged = 0, 0, 0
    for _ in range(kills):
        process = start(SAVER, str(path), stdout=subprocess.PIPE)
        first = process.stdout.readline()
        time.sleep(seeded.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        output = first + process.stdout.read()
        process.wait()
        acknowledged = last_acknowledged(output) or acknowledged
        try:
            found = plistlib.load(path.open("rb"))
        except Exception as problem:  # any failure to read it is what this looks for
            broken += 1
            print(f"# {problem}")
            continue
        if found["count"] != found["copy"] or not found["deep"]["filler"].endswith(str(found["count"])):
            broken += 1
        if found["count"] < acknowledged:
            lost += 1
    check(broken == 0, f"{kills} kills in the middle of saves leave no broken file ({broken} broken)")
    check(lost == 0, f"no save that was acknowledged is lost ({lost} lost, {acknowledged} saves)")
    check(oct(path.stat().st_mode & 0o777) == "0o600", "the file stays its user's alone")


# proves: G9
def write_at_once(folder, writers, sets):
    path = folder / "writers.plist"
    processes = [start(WRITER, str(path), str(number), str(sets), stderr=subprocess.PIPE)
                 for number in range(writers)]
    for process in processes:
        problem = process.stderr.read()
        process.wait()
        check(process.returncode == 0, f"writer {process.pid} ends well {problem.strip()}")
    found = plistlib.load(path.open("rb"))
    kept = sum(found.get(f"writer {number} key {i}") == i for number in range(writers) for i in range(1, sets + 1))
    check(kept == writers * sets, f"{writers} processes x {sets} keys: {kept} of {writers * sets} kept")
    check(found["counter"] == writers * sets, f"the shared counter stands at {found['counter']} of {writers * sets}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--sets", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kill_in_the_middle(Path(folder), options.kills)
        write_at_once(Path(folder), options.writers, options.sets)
    finish()


main()
