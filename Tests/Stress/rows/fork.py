"""A process that forks keeps working in both; what was set is written at exit; signals are the program's."""
import glob
import os
import pathlib
import plistlib
import signal
import time

from rows.proofs import ENGINES, Broken, read_store


# proves: G35, G36, G37
def prove(proofs, folder):
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        for _ in range(proofs.size(3, 50)):
            for old in glob.glob(folder + "/*"):
                os.unlink(old)
            says(proofs, "child 0\n", "split", path)
            found = read_store(path)
            if found != {"queue": [1, 2, 3, 4, 5], "before": 1, "child": 2, "parent": 2, "counter": 40}:
                raise Broken(f"{engine}: {found}")
        os.unlink(path)
        says(proofs, "child 0\n", "inherit", path)
        if read_store(path) != {"box": {"queue": [1, 2, 3], "child": 1, "parent": 1}}:
            raise Broken(f"{engine}, the child wrote first: {read_store(path)}")
        in_transactions(proofs, folder, engine)
        says(proofs, "child 0\n", "fork-watching", f"{folder}/watched.{engine}")
        path = f"{folder}/again.{engine}"
        says(proofs, "", "fork-again", path)
        if read_store(path) != {"counter": 5}:
            raise Broken(f"{engine}, each child forked once more: {read_store(path)}")
        path = f"{folder}/store.{engine}"
        paths = [f"{folder}/{name}.{engine}" for name in ("first", "second", "third")]
        says(proofs, "child 0\n", "leave-forked", *paths)
        found = [read_store(path) for path in paths]
        if found != [{"before": 1, "child": 2}, {"inside": 1}, {"parent": 1, "child": 1}]:
            raise Broken(f"{engine}, the child left without closing: {found}")
        coalesced(proofs, f"{folder}/coalesced.{engine}")
        leaving(proofs, f"{folder}/leaving.{engine}")
        says(proofs, "setting: 10\nwaiting: 1 2 10 12 14 15 17 29\n", "signals", f"{folder}/signals.{engine}")
        watch(proofs, f"{folder}/woken.{engine}")
        beside(proofs, f"{folder}/beside.{engine}")
        says(proofs, "child 0\n", "fork-descriptors", f"{folder}/descriptors.{engine}")
        for thread in ("own", "other"):
            orphan(proofs, f"{folder}/orphan.{engine}", thread)
        proofs.run("leave", path)
        if read_store(path).get("left") != 42:
            raise Broken(f"{engine}: nothing was written at exit")
        os.unlink(path)
        said = proofs.run("leave-late", path)
        if (said.stdout, said.stderr, read_store(path)) != ("read 2\n", "", {"left": 42, "late": 2}):
            raise Broken(f"{engine}: {read_store(path)} after a late exit handler, {said}")
        os.unlink(path)
        proofs.run("leave-inside", path)
        if read_store(path) != {"left": 42}:
            raise Broken(f"{engine}: {read_store(path)} after an exit in the middle of a transaction")
    lost(proofs, f"{folder}/lost.plist")
    says(proofs, "child before\nchild before child child's own\nparent 0 before inside\n", "fork-inside")
    watch(proofs, f"{folder}/polled.plist", LD_PRELOAD=proofs.compiled("refuse.c"), REFUSE="inotify")
    opening(proofs, f"{folder}/slow.plist", f"{folder}/quick.plist")
    count = proofs.size(150, 10000)
    for engine in ENGINES:
        says(proofs, "0 hung\n", "fork-pumping", f"{folder}/pumped.{engine}", count, timeout=3600)
        for _ in range(proofs.size(20, 200)):
            # Its threads are at the store for the first time.
            says(proofs, "0 hung\n", "fork-pumping", f"{folder}/first.{engine}", 2)
    return f"both engines, {2 * count} forks with busy pumps"


# proves: G37
def beside(proofs, path):
    """A transaction of another thread holds up no fork; the child has nothing of it, and a property list to write."""
    says(proofs, "in time\nchild 0\n", "fork-beside", path)
    own = {} if path.endswith(".sqlite") else {"child": 1}
    if read_store(path) != {"before": 1, "inside": 1, **own}:
        raise Broken(f"forked beside a transaction: {read_store(path)}")


# proves: G19
def orphan(proofs, path, thread):
    """A child that outlives its parent, which was killed with the store locked, keeps no lock."""
    parent = proofs.start("fork-orphan", path, thread)
    child = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.wait()
        start = time.monotonic()
        said = proofs.run("count", path, "counter", 1)
        took = time.monotonic() - start
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()
    if said.returncode or took > 3:
        raise Broken(f"{path}: a child of a transaction's {thread} thread keeps the lock: {said} after {took:.1f} s")


# proves: G37
def opening(proofs, path, other):
    """A store that is slow to open, since another program is writing it, holds up no fork and no other store."""
    whole = plistlib.dumps({"theirs": 1})
    pathlib.Path(path).write_bytes(whole[:60])
    forking = proofs.start("fork-opening", path, other, stdin=-1)
    said = forking.stdout.readline()
    pathlib.Path(path).write_bytes(whole)
    rest = forking.communicate("\n", timeout=60)[0]
    if (said, rest, forking.returncode) != ("in time\n", "child 0 7\n", 0) or read_store(other) != {"child": 1, "parent": 1}:
        raise Broken(f"beside a store that is being opened: {said!r} {rest!r} {forking.returncode} {read_store(other)}")


def in_transactions(proofs, folder, engine):
    """Forks in the middle of one: a child can go on with a property list, and is told that it cannot with a database."""
    path = f"{folder}/inside.{engine}"
    rest = "child unavailable" if engine == "sqlite" else "child before child child's own inside"
    says(proofs, f"child before\n{rest}\nparent 0 before inside\n", "fork-inside", path)
    found = read_store(path)
    own = {} if engine == "sqlite" else {"child": 1, "child's own": 1}
    if found != {"before": 1, "inside": 1, **own}:
        raise Broken(f"{engine}, forked inside: {found}")
    says(proofs, "limitExceeded 12000\ntakes 7000\ntakes 3000\nchild 0\n",
         "fork-limited", f"{folder}/limited.{engine}")
    if engine == "sqlite":
        return
    says(proofs, "limitExceeded 12000\ntakes 7000\ntakes 3000\nchild 0\n",
         "fork-limited", f"{folder}/set-aside.{engine}", "inside")
    path = f"{folder}/rolled-back.{engine}"
    says(proofs, "child 0\n", "inherit", path, "inside")
    if read_store(path) != {"box": {"queue": [1, 2, 3], "child": 1, "parent": 1}}:
        raise Broken(f"{engine}, the child wrote what its parent had set aside: {read_store(path)}")


# proves: G36
def coalesced(proofs, path):
    """What a child sets is written while it lives, by a thread of its own."""
    forking = proofs.start("fork-coalesced", path, stdin=-1)
    end = time.time() + 20
    while read_store(path) != {"parent": 1, "child": 1}:
        if time.time() > end:
            raise Broken(f"{path}: {read_store(path)}")
        time.sleep(0.01)
    if forking.communicate(timeout=60)[0] != "child 0\n":
        raise Broken(f"{path}: the child failed")


# proves: G35
def lost(proofs, path):
    """What cannot be written at exit is told."""
    lock = f"{os.path.dirname(path)}/.{os.path.basename(path)}.lock"
    if os.path.exists(lock):
        os.unlink(lock)
    os.mkdir(lock)
    said = proofs.run("leave", path)
    os.rmdir(lock)
    if not said.stderr.endswith("; the last changes are lost\n") or lock not in said.stderr:
        raise Broken(f"{path}: {said} of changes that could not be written")


def leaving(proofs, path):
    """A program ends while its change waits for another's lock."""
    holder = proofs.start("hold", path)
    if holder.stdout.readline() != "holding\n":
        raise Broken("the holder did not get the lock")
    leaver = proofs.start("leave-writing", path)
    if leaver.stdout.readline() != "leaving\n":
        raise Broken("did not get there")
    # A program that does not wait for the thread that writes is gone by then.
    time.sleep(0.3)
    holder.kill()
    holder.communicate()
    if leaver.wait(timeout=60) or read_store(path) != {"left": 42}:
        raise Broken(f"{path}: {read_store(path)} after an exit while the change was being written")
    leaver.stdout.close()


def says(proofs, expected, *command, timeout=120):
    result = proofs.run(*command, timeout=timeout)
    if result.stdout != expected or result.returncode:
        raise Broken(f"{command}: {result.stdout}{result.stderr}")


def watch(proofs, path, **environment):
    """Parent and child are woken for what the other sets, each by descriptors of its own."""
    result = proofs.run("watch-forked", path, **environment)
    if result.stdout != "child 0\n" or result.returncode:
        raise Broken(f"{path}, watching: {result.stdout}{result.stderr}")
