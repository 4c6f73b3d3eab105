#!/usr/bin/env python3
"""Real Lua processes on one file: kills in the middle of saves, and many writers at once.

    processes.py [--kills N] [--writers N] [--sets N] [--rounds N]

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

# Each step is acknowledged when the sync has returned.
SHARER = """
local kv = require "kvcodable"
local store = assert(kv.open_file(arg[1], { timeout = 60 }))
for i = 1, tonumber(arg[3]) do
  local name = arg[2] .. "-" .. i
  store:set("own " .. name, i)
  store:set({ "shared", name }, i)
  local list = store:get "list" or {}
  list[#list + 1] = name
  store:set("list", list)
  store:transaction(function(tx)
    tx:set("counter", (tx:get "counter" or 0) + 1)
  end)
  assert(store:sync())
  io.write(i, "\\n")
  io.flush()
end
store:close()
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


# proves: G9
def share_at_once(folder, rounds, writers, kills):
    """Programs change a table, a list and a counter at once, and some are killed: nothing is lost, nothing is twice."""
    seeded = random.Random(2)
    lost, twice, counted = [], [], 0
    for number in range(rounds):
        path = folder / f"shared-{number}.plist"
        running = {f"{number}.{writer}": start(SHARER, str(path), f"{number}.{writer}", "12", stdout=subprocess.PIPE)
                   for writer in range(writers)}
        for kill in range(kills):
            time.sleep(seeded.uniform(0, 0.1))
            name = seeded.choice([name for name in running if "k" not in name])
            running[name].send_signal(signal.SIGKILL)
            again = f"{name}k{kill}"
            running[again] = start(SHARER, str(path), again, "6", stdout=subprocess.PIPE)
        done = {}
        for name, process in running.items():
            done[name] = last_acknowledged(process.stdout.read()) or 0
            process.wait()
        found = plistlib.load(path.open("rb"))
        acknowledged = [f"{name}-{i}" for name, count in done.items() for i in range(1, count + 1)]
        for item in acknowledged:
            if f"own {item}" not in found or item not in found["shared"] or item not in found["list"]:
                lost.append(item)
        twice += [item for item in set(found["list"]) if found["list"].count(item) > 1]
        # A program that was killed may have counted once more than it could say.
        if not len(acknowledged) <= found["counter"] <= len(acknowledged) + kills:
            lost.append(f"counter {found['counter']} of {len(acknowledged)}")
        counted += len(acknowledged)
    check(not lost, f"{rounds} rounds of {writers} processes with {rounds * kills} kills: of {counted} steps each, in a "
                    f"table, a list and a counter, none is lost {lost[:5]}")
    check(not twice, f"and none is twice {twice[:5]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kill_in_the_middle(Path(folder), options.kills)
        write_at_once(Path(folder), options.writers, options.sets)
        share_at_once(Path(folder), options.rounds, options.writers, 4)
    finish()


main()
