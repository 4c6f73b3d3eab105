"""The lock between processes: one that another program removes, that a child has as well, that root makes, that is kept
for long, and that is still kept when a program ends."""
import glob
import os
import pathlib
import pwd
import signal
import subprocess
import time

from rows.proofs import ENGINES, Broken, read_store
from rows.writers import Writer


def prove(proofs, folder):
    figures = []
    for check in (removed, inherited, made_by_root, stuck, alone, ended):
        inner = f"{folder}/{check.__name__}"
        os.makedirs(inner)
        figures.append(check(proofs, inner))
    return ", ".join(figure for figure in figures if figure)


def expect(found, expected):
    if found != expected:
        raise Broken(f"expected {expected!r}, found {found!r}")


def lock_of(path):
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.lock")


def removed(proofs, folder):
    """A transaction whose lock file was removed, and another process's change meanwhile: a conflict, and nothing is lost."""
    path = f"{folder}/store.plist"
    first, second = Writer(proofs, path, "immediate"), Writer(proofs, path, "immediate")
    expect(first.does("set n 1"), "ok")
    expect(first.does("begin;add n"), "ok")
    os.unlink(lock_of(path))
    expect(second.does("begin;add n;commit"), "ok")
    expect(first.does("commit"), "error Optional(DefaultsStorage.DefaultsError.Code.conflict)")
    expect(read_store(path), {"n": 2})
    expect(first.does("begin;add n;commit"), "ok")
    expect(read_store(path), {"n": 3})
    for writer in (first, second):
        expect(writer.leave()[0], 0)
    return ""


# proves: G19
def inherited(proofs, folder):
    """A child made without fork's handlers has the lock's file open, and not the lock."""
    path = f"{folder}/store.plist"
    parent, other = Writer(proofs, path, "immediate"), Writer(proofs, path, "immediate")
    expect(parent.does("begin;child;set a 1;commit"), "ok")
    task = f"/proc/{parent.process.pid}/task/{parent.process.pid}/children"
    children = [int(number) for number in pathlib.Path(task).read_text().split()]
    try:
        if len(children) != 1:
            raise Broken(f"{len(children)} children")
        start = time.monotonic()
        expect(other.does("set b 2"), "ok")
        if time.monotonic() - start > 5:
            raise Broken("waited for the child")
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
    expect(read_store(path), {"a": 1, "b": 2})
    for writer in (parent, other):
        expect(writer.leave()[0], 0)
    return ""


def made_by_root(proofs, folder):
    """A program that root runs once leaves a lock file that the user can take."""
    if os.geteuid() != 0:
        return "NOT RUN: root's lock file"
    user = pwd.getpwnam("nobody")
    helper = f"{folder}/helper"
    subprocess.run(["cp", proofs.helper, helper], check=True)
    for name in (proofs.scratch, os.path.dirname(folder), folder):
        os.chmod(name, 0o755)
    for has_file in (True, False):
        inner = f"{folder}/{has_file}"
        os.makedirs(inner)
        path = f"{inner}/store.plist"
        if has_file:
            pathlib.Path(path).write_bytes(b"{}")
            os.chown(path, user.pw_uid, user.pw_gid)
        os.chown(inner, user.pw_uid, user.pw_gid)
        expect(proofs.run("attempt", path, 1).stdout.split("\n")[0], "ok 1")
        status = os.stat(lock_of(path))
        expect((status.st_uid, status.st_gid, status.st_mode & 0o777), (user.pw_uid, user.pw_gid, 0o600))
        if has_file:
            said = subprocess.run([helper, "attempt", path, "1"], user=user.pw_uid, group=user.pw_gid, extra_groups=[],
                                  stdout=subprocess.PIPE, text=True).stdout
            expect(said.split("\n")[0], "ok 1")
    return ""


def hold(proofs, path):
    holder = proofs.start("hold", path)
    expect(holder.stdout.readline(), "holding\n")
    return holder


# proves: G3
def stuck(proofs, folder):
    """Stores whose locks another process keeps: the others are written all the same, within 100 ms, and these later."""
    worst = 0
    for engine in ENGINES:
        kept = [f"{folder}/kept{number}.{engine}" for number in range(3)]
        holders = [hold(proofs, path) for path in kept]
        process = proofs.start("neighbours", f"{folder}/free.{engine}", *kept, stdin=-1)
        try:
            worst = max(worst, slowest(process, f"{folder}/free.{engine}", proofs.size(5, 100)))
        finally:
            for holder in holders:
                holder.kill()
                holder.communicate()
            rest = process.communicate(timeout=60)[0]
        expect((rest, process.returncode), ("", 0))
        for path in kept:
            expect(read_store(path).get("n"), 1)
    # What is promised is 100 ms; the machine and the look at the file come on top.
    if worst > 1:
        raise Broken(f"a set was on disk after {worst * 1000:.0f} ms")
    return f"beside three locked stores on disk after at most {worst * 1000:.0f} ms"


def slowest(process, path, count):
    """The longest time in seconds until a set is on disk, of so many."""
    worst = 0
    for number in range(1, count):
        process.stdin.write("\n")
        process.stdin.flush()
        expect(process.stdout.readline(), "set\n")
        start = time.monotonic()
        while read_store(path).get("n") != number:
            if time.monotonic() - start > 5:
                raise Broken(f"{path}: set {number} was not written in 5 s")
            time.sleep(0.002)
        worst = max(worst, time.monotonic() - start)
    return worst


def alone(proofs, folder):
    """No thread can be made: what was set is on disk all the same while the program runs."""
    refuse = proofs.compiled("refuse.c")
    for engine in ENGINES:
        path, log = f"{folder}/store.{engine}", f"{folder}/log-{engine}"
        writer = Writer(proofs, path, "coalesced",
                        env={**os.environ, "LD_PRELOAD": refuse, "REFUSE": "threads", "REFUSE_LOG": log})
        for number in range(3):
            expect(writer.does(f"set n {number}"), "ok")
            expect(read_store(path), {"n": number})
        expect(writer.does("told"), "ok")
        # What cannot be written then is told, and written with the next.
        holder = hold(proofs, path)
        said = writer.does("set n 3;told")
        holder.kill()
        holder.communicate()
        expect(said, "error Optional(DefaultsStorage.DefaultsError.Code.timedOut)")
        expect(writer.does("set m 1"), "ok")
        expect({key: read_store(path)[key] for key in "mn"}, {"m": 1, "n": 3})
        expect(writer.leave(), (0, ""))
        expect(set(pathlib.Path(log).read_text().split()), {"refused"})
    return ""


# proves: G35
def ended(proofs, folder):
    """A program that ends while another has the lock says what it loses; with its changes written it says nothing."""
    words = "Another process kept the store locked"
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        expect(proofs.run("leave", path).stderr, "")
        expect(read_store(path), {"left": 42})
        holder = hold(proofs, path)
        result = proofs.run("leave", path, "43")
        holder.kill()
        holder.communicate()
        said = f"kvcodable: {words} ({path}); the last changes are lost\n"
        expect((result.returncode, result.stderr), (0, said))
        expect(glob.glob(path + ".unsaved-*"), [])
    return ""
