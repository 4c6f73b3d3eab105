"""A program that knows of no lock and renames files of its own over the store's: none of its changes is lost, whatever
ours do or are killed in. One that writes in place loses some: how many is measured."""
import os
import pathlib
import plistlib
import signal
import subprocess
import sys
import threading
import time

from rows.faults import calls_of
from rows.meanwhile import CONFLICT
from rows.proofs import Broken, read_store
from rows.writers import Writer

FIRST = {"a": {"gone": 1, "kept": 1}, "b": 1}

# The foreign program. Its reading and writing race with ours by their nature: so it writes all of its keys each time,
# and looks until it sees what it wrote. A change that it does not see in two seconds is never seen.
PROGRAM = r"""
import os, plistlib, random, sys, time
path, how, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def read():
    while True:
        try:
            with open(path, "rb") as file:
                return plistlib.load(file)
        except (OSError, plistlib.InvalidFileException, ValueError, AttributeError):
            time.sleep(0.0005)
        except Exception:
            time.sleep(0.0005)
own, lost = {}, 0
for number in range(1, count + 1):
    own["theirs-%d" % (number % 10)] = number
    data = plistlib.dumps({**read(), **own})
    if how == "rename":
        with open(path + ".theirs", "wb") as file:
            file.write(data)
        os.rename(path + ".theirs", path)
    else:
        with open(path, "r+b") as file:
            file.truncate(0)
            file.write(data)
    time.sleep(random.choice((0, 0.001, 0.004, 0.015)))
    end = time.monotonic() + 2
    while read().get("theirs-%d" % (number % 10)) != number:
        if time.monotonic() > end:
            lost += 1
            break
        time.sleep(0.001)
print(lost)
"""


# proves: G22
def prove(proofs, folder):
    moments = at_each_moment(proofs, f"{folder}/moments")
    plain(proofs, f"{folder}/plain")
    count = proofs.size(150, 5000)
    # Ours take a while between a look at the file and a rename, so that the other one often comes in between.
    late = {"LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE": "late"}
    lost, sets, kills, conflicts = beside(proofs, f"{folder}/renames", "rename", count, **late)
    if lost:
        raise Broken(f"{lost} of {count} changes of another program by rename are lost")
    overwritten, _, _, _ = beside(proofs, f"{folder}/in-place", "in place", count)
    return (f"{moments} moments; {count} changes by rename beside {sets} sets of ours, {kills} kills and {conflicts} "
            f"conflicts of transactions: none lost; in place: {overwritten} of {count} lost")


# ---- Each moment of an exchange

# proves: G22
def at_each_moment(proofs, folder):
    """Another renames right before our exchange, and a third before we undo it; ours is killed in between, and the
    next one that takes the lock ends what it began."""
    calls, _ = commit(proofs, f"{folder}/count", None, None)
    rename = next(index for index, (_, call, name) in enumerate(calls, 1) if (call, name) == ("rename", "store.plist"))
    moments = 0
    for strangers in ([rename], [rename, rename + 1]):
        for killed in [None, *range(rename, rename + len(strangers) + 3)]:
            _, state = commit(proofs, f"{folder}/{len(strangers)}-{killed}", strangers, killed)
            kept = {key for found in state for key in found["a"]}
            # The second comes before the second rename, if there is one.
            wanted = {"theirs", "theirs2"} if len(strangers) > 1 and killed != rename else {"theirs"}
            if killed is None:
                wanted |= {"mine"}
            # The first has removed it. Of two the newer one counts, and the first is kept beside the store.
            gone = killed is None and len(strangers) < 2 and "gone" in state[0]["a"]
            if gone or not wanted <= kept or "after" not in state[0]:
                raise Broken(f"strangers before {strangers}, killed after {killed}: {state}")
            moments += 1
    return moments


def commit(proofs, folder, strangers, killed):
    """A commit; the calls, and what is stored: in the store, and in files that were kept beside it."""
    os.makedirs(folder)
    path = f"{folder}/store.plist"
    pathlib.Path(path).write_bytes(plistlib.dumps(FIRST))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    # It was there before: a program that has the store open for long ends the commit that another was killed in.
    other = Writer(proofs, path, "immediate")
    environment = {"LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder, "INTERPOSE_CALLS": folder + ".calls"}
    if strangers:
        environment["INTERPOSE_RENAMER"] = ",".join(map(str, strangers)) + ":" + path
    if killed:
        environment["INTERPOSE_KILL"] = str(killed)
    writer = Writer(proofs, path, "manual", env={**os.environ, **environment})
    answers = [writer.does(line) for line in ("set a.mine 1;sync", "close")]
    code, _ = writer.leave()
    if code not in (0, -signal.SIGKILL) or code == 0 and answers != ["ok", "ok"] or code and not killed:
        raise Broken(f"strangers before {strangers}, killed after {killed}: {answers}, {code}")
    if other.does("set after 1") != "ok":
        raise Broken(f"strangers before {strangers}, killed after {killed}: nothing can be set any more")
    told = other.does("told")
    if other.leave()[0]:
        raise Broken(f"strangers before {strangers}, killed after {killed}: the other has failed")
    left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
    if left:
        raise Broken(f"strangers before {strangers}, killed after {killed}: left {left}")
    kept = [plistlib.loads(pathlib.Path(folder, name).read_bytes())
            for name in os.listdir(folder) if ".unsaved-" in name]
    # A second stranger's file may have been kept, and told, by the writer itself.
    allowed = {CONFLICT if kept else "ok"} | ({"ok"} if strangers and len(strangers) > 1 else set())
    if told not in allowed:
        raise Broken(f"strangers before {strangers}, killed after {killed}: told {told} of {len(kept)} kept files")
    return calls_of(folder), [read_store(path), *kept]


def plain(proofs, folder):
    """File systems that can exchange no files: EINVAL, ENOSYS, EOPNOTSUPP."""
    for number in (22, 38, 95):
        inner = f"{folder}/{number}"
        os.makedirs(inner)
        path = f"{inner}/store.plist"
        writer = Writer(proofs, path, "immediate", env={
            **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": inner, "INTERPOSE_PLAIN": str(number)})
        answers = [writer.does(line) for line in ("set a 1", "set b 2", "begin;set c 3;commit", "close")]
        writer.leave()
        if answers != ["ok"] * 4 or read_store(path) != {"a": 1, "b": 2, "c": 3}:
            raise Broken(f"without exchange, error {number}: {answers}, {read_store(path)}")
        if any(name.endswith(".tmp") for name in os.listdir(inner)):
            raise Broken(f"without exchange, error {number}: left {os.listdir(inner)}")
    fails(proofs, f"{folder}/fails")


def fails(proofs, folder):
    """Where the rename that replaces the exchange fails, so does the set."""
    rename = None
    for index in (0, 1):
        os.makedirs(f"{folder}/{index}")
        path = f"{folder}/{index}/store.plist"
        pathlib.Path(path).write_bytes(plistlib.dumps(FIRST))
        os.utime(path, (1_000_000_000, 1_000_000_000))
        writer = Writer(proofs, path, "immediate", env={
            **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": f"{folder}/{index}", "INTERPOSE_PLAIN": "22",
            "INTERPOSE_CALLS": f"{folder}/{index}.calls", **({"INTERPOSE_FAIL": f"{rename}:5:once"} if index else {})})
        answers = [writer.does(line) for line in ("set a.b 1", "set b 2", "close")]
        writer.leave()
        calls = calls_of(f"{folder}/{index}")
        # The exchange, which fails, and the rename behind it.
        rename = [number for number, (said, call, name) in enumerate(calls, 1)
                 if (said, call, name) == (0, "rename", "store.plist")][1]
    if answers != ["error Optional(DefaultsStorage.DefaultsError.Code.io)", "ok", "ok"] or (
            read_store(path) != {**FIRST, "b": 2}):
        raise Broken(f"a rename that fails: {answers}, {read_store(path)}")


# ---- At random

def beside(proofs, folder, how, count, **environment):
    """The other program beside ours, which are killed now and then; how many of its changes are lost, and how many sets,
    kills and conflicts there were of ours."""
    os.makedirs(folder)
    path = f"{folder}/store.plist"
    pathlib.Path(path).write_bytes(plistlib.dumps({"padding": "x" * 2000}))
    other = subprocess.Popen([sys.executable, "-c", PROGRAM, path, how, str(count)], stdout=subprocess.PIPE, text=True)
    tally = {"sets": 0, "kills": 0, "conflicts": 0, "broken": []}
    threads = [threading.Thread(target=write, args=(proofs, path, other, tally, number, durability,
                                                    proofs.random.random(), {**os.environ, **environment}))
               for number, durability in enumerate(("immediate", "coalesced"))]
    for thread in threads:
        thread.start()
    said = other.communicate()[0]
    for thread in threads:
        thread.join()
    if other.returncode or tally["broken"]:
        raise Broken(f"{how}: {other.returncode} {tally['broken'][:3]}")
    if not tally["sets"] or not tally["kills"]:
        raise Broken(f"{how}: {tally}")
    return int(said), tally["sets"], tally["kills"], tally["conflicts"]


def write(proofs, path, other, tally, number, durability, phase, environment):
    """One of ours, started anew when it was killed."""
    done = 0
    while other.poll() is None:
        writer = Writer(proofs, path, durability, env=environment)
        threading.Timer(0.1 + phase / 3, writer.process.kill).start()
        while other.poll() is None and writer.ended is None:
            done += 1
            line = f"begin;set t{number} {done};commit" if done % 5 == 0 else f"set ours{number}.n{done % 7} {done}"
            answer = writer.does(line)
            if answer == "ok":
                tally["sets"] += 1
            elif answer == CONFLICT and "begin" in line:
                tally["conflicts"] += 1
            elif writer.ended is None:
                tally["broken"].append(f"{line}: {answer}")
            if durability == "coalesced":
                time.sleep(0.01)
        writer.process.kill()
        writer.leave()
        tally["kills"] += 1
