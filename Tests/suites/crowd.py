#!/usr/bin/env python3
"""Two Lua processes, a C process and a Swift process on one file, and a program with Foundation's UserDefaults beside
them.

    crowd.py [--seconds N] [--limit MILLISECONDS]

Each sets keys of its own and adds to a counter that all share, and watches the others. Every change has to be seen,
half of them within 200 ms of their commit, and nothing may be lost. With a limit, for a machine that does nothing
else, all have to be seen within it: what the machine takes to wake a process that only sleeps is measured beside them
and added twice, for the waking of the one that sees, and for its reading.

With UserDefaults on the file, which writes in place and without a lock, the states that the file went through are put
together from recorded system calls: no state that one of ours wrote may lack anything that the state before it held, of
ours or of UserDefaults, so that whatever is missing was overwritten by UserDefaults itself, or written by it into the
file that was the store's before. Prints TAP.
"""
import argparse
import os
import plistlib
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

from tap import ROOT, check, finish, preloaded

SUPPORT = ROOT / "Tests/Support"
BINARIES = ROOT / ".build/debug"
NAMES = ("lua1", "lua2", "c", "swift")


def build(folder):
    lua = subprocess.run(["pkg-config", "--cflags", "lua5.4"], stdout=subprocess.PIPE, text=True, check=True)
    compile_ = ["gcc", "-O1", "-Wall", "-Werror"]
    subprocess.run([*compile_, "-std=c11", f"-I{ROOT}/include", "-o", f"{folder}/crowd", SUPPORT / "crowd.c",
                    f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build"], check=True)
    subprocess.run([*compile_, "-shared", "-fPIC", *lua.stdout.split(), "-o", f"{folder}/clock.so",
                    SUPPORT / "clock.c"], check=True)
    preloaded("interpose.c", folder)


def command(name, tools):
    if name == "c":
        return [f"{tools}/crowd"]
    if name == "swift":
        return [f"{BINARIES}/StoreHelper", "crowd"]
    return ["lua5.4", str(SUPPORT / "crowd.lua")]


def recording(tools, folder, name):
    return {"LD_PRELOAD": f"{tools}/interpose.c.so", "INTERPOSE_FOLDER": str(folder), "INTERPOSE_TIMES": "1",
            "INTERPOSE_RECORD": f"{tools}/{name}.log"}


class Crowd:
    def __init__(self, tools, path, is_recorded=False):
        self.path = path
        environment = {**os.environ, "LUA_CPATH": f"{ROOT}/build/?.so;{tools}/?.so;;"}
        self.processes = {}
        for name in NAMES:
            peers = [other for other in NAMES if other != name]
            own = recording(tools, path.parent, name) if is_recorded else {}
            self.processes[name] = subprocess.Popen(
                [*command(name, tools), path, name, *peers], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env={**environment, **own})
        for name, process in self.processes.items():
            if process.stdout.readline() != "ready\n":
                raise RuntimeError(f"{name}: {process.stderr.read()}")
        for process in self.processes.values():
            process.stdin.write("go\n")
            process.stdin.flush()

    def stop(self):
        """Lets each end; gives what each noted: {name: {"set": {n: time}, "saw": {peer: [(n, time)]}, "sum": n}}"""
        for process in self.processes.values():
            process.stdin.write("stop\n")
            process.stdin.flush()
        notes = {}
        for name, process in self.processes.items():
            output, problem = process.communicate(timeout=120)
            if process.returncode != 0:
                raise RuntimeError(f"{name} ended with {process.returncode}: {problem}")
            found = notes[name] = {"set": {}, "saw": {}, "sum": 0}
            for line in output.splitlines():
                words = line.split()
                if words[0] == "set":
                    found["set"][int(words[1])] = int(words[2])
                elif words[0] == "saw":
                    found["saw"].setdefault(words[1], []).append((int(words[2]), int(words[3])))
                elif words[0] == "sum":
                    found["sum"] = int(words[1])
        return notes


def delays(notes):
    """For each commit and each peer, how long after it the peer saw it or a later one, in milliseconds."""
    result, unseen = [], 0
    for name, own in notes.items():
        for peer in NAMES:
            if peer == name:
                continue
            saw = iter(notes[peer]["saw"].get(name, []))
            seen, moment = 0, 0
            for number, committed in sorted(own["set"].items()):
                while seen < number:
                    step = next(saw, None)
                    if step is None:
                        break
                    seen, moment = step
                if seen < number:
                    unseen += 1
                else:
                    result.append(max(0, moment - committed) / 1e6)
    return sorted(result), unseen


def read_file(path):
    if path.suffix == ".plist":
        return plistlib.loads(path.read_bytes())
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT key, value FROM defaults WHERE value IS NOT NULL")
        return {key: plistlib.loads(value) for key, value in rows}


def sleep_in_steps(seconds):
    """Sleeps, and gives how late this process was woken at most, in milliseconds."""
    end, late = time.monotonic() + seconds, 0
    while (start := time.monotonic()) < end:
        time.sleep(0.005)
        late = max(late, (time.monotonic() - start - 0.005) * 1000)
    return late


# proves: G9, G64
def together(tools, folder, engine, seconds, limit):
    path = folder / f"shared.{engine}"
    crowd = Crowd(tools, path)
    late = sleep_in_steps(seconds)
    notes = crowd.stop()
    found, unseen = delays(notes)
    sets = sum(own["sum"] for own in notes.values())
    stored = read_file(path)
    check(min(own["sum"] for own in notes.values()) > 1, f"{engine}: all four write ({sets} transactions)")
    check(unseen == 0, f"{engine}: each of {len(found)} changes is seen by each of the others ({unseen} unseen)")
    median = found[len(found) // 2]
    figures = (f"slowest {found[-1]:.0f} ms, one in a hundred {found[len(found) * 99 // 100]:.0f} ms, median "
               f"{median:.1f} ms; a process that only sleeps was woken up to {late:.0f} ms late")
    # A program that polls once a second is late by half of one: that shows on a busy machine, too.
    check(median <= 200, f"{engine}: half of them within 200 ms of its commit ({figures})")
    if limit:
        check(found[-1] <= limit + 2 * late, f"{engine}: all within {limit:.0f} ms of its commit ({figures})")
    check(stored.get("counter") == sets, f"{engine}: the counter stands at {stored.get('counter')} of {sets}")
    lost = [f"{name}-{number % 50}" for name, own in notes.items()
            for number in range(max(1, own["sum"] - 49), own["sum"] + 1)
            if stored.get(f"{name}-{number % 50}") != number]
    check(not lost, f"{engine}: no key is lost {lost[:5]}")


# ---- UserDefaults beside them

def read_log(log, name):
    """What a recorded program did: [(time, name, words)]."""
    moment, result = 0, []
    for words in (line.split(" ") for line in (log.read_text().splitlines() if log.exists() else [])):
        if words[0] == "time":
            moment = int(words[1])
        else:
            result.append((moment, name, words))
    return result


def states(logs, store):
    """What the recorded programs made of the store's file, [(time, name, dictionary)], and how often UserDefaults wrote
    into a file that was not the store's any more."""
    contents, result, current, late, placed = {}, [], None, [], set()
    for moment, name, words in sorted((entry for log in logs for entry in log), key=lambda entry: entry[0]):
        kind = words[0]
        if kind == "create":
            contents[words[1]] = bytearray()
            if words[2] == store:
                current = words[1]
        elif kind == "write":
            # One at 0 takes the place of all that there was. The truncation before it is not looked at: it has the time
            # before its call, in which another's whole file may come to the store's place and be what is emptied.
            data, offset = contents.setdefault(words[1], bytearray()), int(words[2])
            data[offset:] = bytes.fromhex(words[3])
            if name == "UserDefaults" and words[1] == current:
                result.append((moment, name, bytes(data)))
            elif name == "UserDefaults":
                late.append(words[1])
        elif kind in ("rename", "exchange") and words[3] == store:
            current = words[1]
            if kind == "exchange" and words[2] in placed:
                # What was put there a moment ago is taken away again, and the other's file is there as before.
                result = [state for state in result if state[3:] != (words[2],)]
                if current in late:  # UserDefaults wrote into it meanwhile
                    late = [file for file in late if file != current]
                    result.append((moment, "UserDefaults", bytes(contents[current])))
                continue
            placed.add(words[2])
            result.append((moment, name, bytes(contents[words[1]]), words[2]))
    return [(state[0], state[1], plistlib.loads(state[2])) for state in result], len(late)


def is_ours(key):
    return key.rsplit("-", 1)[0] in NAMES


# proves: G23
def beside_user_defaults(tools, folder, seconds):
    program = BINARIES / "UserDefaultsHelper"
    if not program.exists():
        check(True, "UserDefaults beside them # SKIP UserDefaultsHelper is not built")
        return
    path = folder / "org.shared.plist"
    crowd = Crowd(tools, path, is_recorded=True)
    neighbour = subprocess.Popen(
        [program, "org.shared", str(int(seconds * 40))], stdout=subprocess.PIPE, text=True,
        env={**os.environ, **recording(tools, folder, "UserDefaults"), "XDG_CONFIG_HOME": str(folder)})
    rounds = len(neighbour.communicate()[0].split())
    check(neighbour.returncode == 0 and rounds == int(seconds * 40), f"UserDefaults wrote {rounds} times")
    notes = crowd.stop()
    history, late = states([read_log(Path(f"{tools}/{name}.log"), name) for name in (*NAMES, "UserDefaults")], path.name)
    ours = [index for index, state in enumerate(history) if state[1] != "UserDefaults"]
    sets = sum(own["sum"] for own in notes.values())
    # UserDefaults sometimes writes more often than it is told to.
    check(len(ours) >= sets and len(history) - len(ours) + late >= rounds,
          f"{len(ours)} states of the file are ours, {len(history) - len(ours)} those of UserDefaults")
    lost = overwritten = theirs = 0
    for index in range(1, len(history)):
        before, after = history[index - 1][2], history[index][2]
        gone = [key for key, value in before.items() if is_ours(key) and after.get(key, -1) < value]
        if history[index][1] == "UserDefaults":
            overwritten += len(gone)
        elif after.get("neighbour", 0) < before.get("neighbour", 0):
            theirs += 1
        if history[index][1] != "UserDefaults" and gone:
            lost += len(gone)
            print(f"# {history[index][1]} wrote {index} without {gone[:3]} of {history[index - 1][1]}")
    check(lost == 0, f"no state that we wrote lacks what the one before held of ours ({lost} lost; UserDefaults "
          f"overwrote {overwritten})")
    check(theirs == 0, f"no state that we wrote lacks what UserDefaults had set ({theirs} lost; it wrote {late} times into "
          "a file that was not the store's any more)")
    check(plistlib.loads(path.read_bytes()) == history[-1][2], "the file is what was written last")
    damaged = [name.name for name in folder.glob("*.corrupt-*")]
    check(not damaged, f"no half-written file was taken for a damaged one {damaged}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--limit", type=float, help="milliseconds after which none may be seen; for an idle machine")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as tools, tempfile.TemporaryDirectory() as folder:
        build(tools)
        for engine in ("plist", "sqlite"):
            together(tools, Path(folder), engine, options.seconds, options.limit)
        beside_user_defaults(tools, Path(folder), options.seconds)
    finish()


main()
