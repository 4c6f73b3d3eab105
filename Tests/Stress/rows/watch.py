"""A change by another process is seen within 200 ms, and one that is made in the midst of an own commit, too."""
import os
import pathlib
import plistlib
import time

from rows.faults import calls_of
from rows.proofs import ENGINES, Broken
from rows.writers import Writer


# proves: G64
def prove(proofs, folder):
    moments = behind_own(proofs, f"{folder}/behind")
    while_observed(proofs, f"{folder}/placed.plist")
    slow = after_slow_disk(proofs, folder)
    return report(max(slow, slowest(proofs, folder, proofs.size(5, 50))), 0.2) + f"; at {moments} moments of a commit"


def behind_own(proofs, folder):
    """While a program puts a new file in its place it does not observe that: another's change of the new file, before it
    is observed, is seen all the same."""
    calls = commit_beside(proofs, f"{folder}/0", 0, "immediate")
    placed = next(index for index, (_, call, name) in enumerate(calls, 1) if (call, name) == ("rename", "store.plist"))
    moments = [index for index, (_, call, name) in enumerate(calls, 1) if index > placed and call == "sync"]
    for index in moments:
        for durability in ("immediate", "coalesced"):
            commit_beside(proofs, f"{folder}/{durability}-{index}", index, durability)
    if not moments:
        raise Broken(f"nothing is done behind the rename: {calls}")
    return len(moments)


def commit_beside(proofs, folder, index, durability):
    """Commits, and has another program write in place before the call of an index; the calls."""
    os.makedirs(folder)
    path = f"{folder}/store.plist"
    pathlib.Path(path).write_bytes(plistlib.dumps({"a": {}}))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    writer = Writer(proofs, path, durability, env={
        **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder, "INTERPOSE_CALLS": folder + ".calls",
        "INTERPOSE_WRITER": f"{index}:{path}"})
    for line in ("set a.b 1", *(["see a.theirs"] if index else []), "close"):
        said = writer.does(line)
        if said != "ok":
            raise Broken(f"{line}, written before call {index}: {said}")
    writer.leave()
    return calls_of(folder)


def while_observed(proofs, path):
    """A file that another replaces at the moment when it is observed anew: what is written into the new one is seen."""
    file, new = pathlib.Path(path), pathlib.Path(path + ".new")
    file.write_bytes(plistlib.dumps({"number": 1}))
    environment = {**os.environ, "LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE": "place"}
    watcher = proofs.start("watch", path, "number", 3, env=environment)
    try:
        said = [watcher.stdout.readline()]
        pathlib.Path(path + ".made").write_bytes(plistlib.dumps({"number": 2}))
        os.rename(path + ".made", new)
        os.utime(path)
        said.append(watcher.stdout.readline())
        if said != ["watching\n", "number 2\n"] or new.exists():
            raise Broken(f"did not begin: {said}")
        time.sleep(0.1)
        file.write_bytes(plistlib.dumps({"number": 3}))
        # The watcher looks by itself after ten seconds.
        if watcher.wait(timeout=5) != 0:
            raise Broken("what was written into the new file was not seen, or it was woken for nothing")
    finally:
        watcher.kill()
        watcher.stdout.close()


def after_slow_disk(proofs, folder):
    """As `slowest`, of a writer that goes on, and for which the disk takes its time: what it writes first says nothing."""
    seconds = 0
    environment = {**os.environ, "LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE": "haste"}
    for engine in ENGINES:
        path = f"{folder}/slow.{engine}"
        writer = Writer(proofs, path, "immediate", env=environment)
        for number in range(1, 4):
            watcher = proofs.start("watch", path, "number", number)
            if watcher.stdout.readline() != "watching\n" or writer.does(f"set number {number}") != "ok":
                raise Broken("did not begin")
            start = time.time()
            if watcher.wait(timeout=10) != 0:
                raise Broken(f"the watcher of {engine} failed at {number}: {watcher.stdout.read()}")
            seconds = max(seconds, time.time() - start)
            watcher.stdout.close()
        writer.leave()
    return seconds


def slowest(proofs, folder, changes, **options):
    """How many seconds after the writer's exit a watcher has seen a change, at most; the options are the watcher's."""
    seconds = 0
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        for number in range(1, changes + 1):
            watcher = proofs.start("watch", path, "number", number, **options)
            if watcher.stdout.readline() != "watching\n":
                raise Broken("the watcher did not start")
            proofs.run("attempt", path, number)
            start = time.time()
            if watcher.wait(timeout=10) != 0:
                raise Broken(f"the watcher of {engine} failed at {number}: {watcher.stdout.read()}")
            seconds = max(seconds, time.time() - start)
            watcher.stdout.close()
    return seconds


def report(seconds, limit):
    if seconds > limit:
        raise Broken(f"took {seconds * 1000:.0f} ms")
    return f"at most {seconds * 1000:.0f} ms after the writer's exit"
