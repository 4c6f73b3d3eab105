"""What the SQLite engine makes, and what it does not touch; without the library it says so."""
import os
import pathlib
import plistlib
import sqlite3
import time

from rows.faults import calls_of, count_calls
from rows.proofs import Broken, check_modes, read_store
from rows.writers import Writer

APPLICATION = 0x4B565354


def expect(said, expected, what):
    if not said.startswith(expected):
        raise Broken(f"{what}: {said!r}")


def prove(proofs, folder):
    for check in (made, unmade, without_links, met, synchronous, foreign, damaged, running, locked,
                  leaves, copied, in_host, without_library):
        inner = f"{folder}/{check.__name__}"
        os.makedirs(inner)
        check(proofs, inner + "/store.sqlite")
    return ("made, not made, without links, met, synchronous, another program's, damaged, running, "
            "locked, left, copied, in a host, no library")


def made(proofs, path):
    expect(proofs.run("probe", path).stdout, "open 0\nset\n", "a new database")
    database = sqlite3.connect(path)
    found = [database.execute("PRAGMA " + name).fetchone()[0]
             for name in ("application_id", "user_version", "journal_mode")]
    database.close()
    if found != [APPLICATION, 3, "wal"]:
        raise Broken(f"{found}")
    expect(proofs.run("probe", path).stdout, "open 1\nset\n", "an old database")


def unmade(proofs, path):
    """A file that we cannot make is an error: SQLite would make it for everybody to read."""
    folder = os.path.dirname(path)
    calls = count_calls(proofs, folder + "/count", "sqlite")
    first = next(index for index, (_, call, name) in enumerate(calls, 1) if (call, name) == ("open", ".store.sqlite.tmp"))
    said = proofs.run("probe", path, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=folder,
                      INTERPOSE_FAIL=f"{first}:5:once").stdout
    expect(said, "error io: open: Input/output error", "a new database")
    if os.path.exists(path):
        raise Broken("made all the same")


def without_links(proofs, path):
    """Without hard links a database is made by a rename."""
    refused = {"LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE": "link"}
    expect(proofs.run("probe", path, **refused).stdout, "open 0\nset\n", "a new database")
    check_modes(os.path.dirname(path))


def met(proofs, path):
    """A database that another program puts there while one is made is the one that counts."""
    folder = os.path.dirname(path)
    calls = count_calls(proofs, folder + "/count", "sqlite")
    link = next(index for index, (_, call, name) in enumerate(calls, 1) if (call, name) == ("link", "store.sqlite"))
    proofs.run("attempt", path, 3)
    database = sqlite3.connect(path)
    database.execute("UPDATE defaults SET key='theirs'")
    database.commit()
    database.close()
    os.rename(path, path + ".new")
    os.unlink(f"{folder}/.store.sqlite.lock")
    said = proofs.run("probe", path, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=folder,
                      INTERPOSE_MOVE=f"{link}:{path}.new").stdout
    if said != "open 1\nset\n" or read_store(path) != {"theirs": 3, "probed": 1}:
        raise Broken(f"{said!r}: {read_store(path)}")


def synchronous(proofs, path):
    """Each set reaches the disk; with synchronous=NORMAL none does on its own."""
    syncs = {}
    for kind in ("full", "normal"):
        log = f"{path}-{kind}.log"
        proofs.run("attempt", path, 20, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=os.path.dirname(path),
                   INTERPOSE_RECORD=log, STORE_SYNCHRONIZATION=kind)
        lines = [line.split(" ") for line in pathlib.Path(log).read_text().splitlines()]
        said = [number for number, line in enumerate(lines) if line[0] == "say"]
        between = lines[said[0]:said[19]]
        syncs[kind] = sum(line[0] == "sync" for line in between)
        os.unlink(log)
    if syncs != {"full": 19, "normal": 0}:
        raise Broken(f"{syncs}")


# proves: G70
def foreign(proofs, path):
    """Another program's database, and one of a newer version, are refused and left alone."""
    for text, error in (("CREATE TABLE t(x)", "error invalidValue: The database belongs to another program"),
                        (f"PRAGMA application_id={APPLICATION}; PRAGMA user_version=4; CREATE TABLE defaults(x)",
                         "error migration: The database was made by a newer version")):
        database = sqlite3.connect(path)
        database.executescript(text)
        database.close()
        before = pathlib.Path(path).read_bytes()
        expect(proofs.run("probe", path).stdout, error, text)
        if pathlib.Path(path).read_bytes() != before:
            raise Broken(f"{text}: written over")
        os.unlink(path)


# proves: G69
def damaged(proofs, path):
    """A damaged database is an error. It stays with its journal, also if the program asked to recover."""
    holder = proofs.start("hold", path)
    if holder.stdout.readline() != "holding\n":
        raise Broken("the holder did not start")
    holder.kill()
    holder.wait()
    parts = {end: pathlib.Path(path + end) for end in ("", "-wal", "-shm")}
    if not all(part.exists() for part in parts.values()):
        raise Broken(f"{os.listdir(os.path.dirname(path))}")
    garbage = os.urandom(4096)
    for part in parts.values():
        part.write_bytes(garbage)
    names = sorted(os.listdir(os.path.dirname(path)))
    expect(proofs.run("probe", path, STORE_CORRUPTION="recover").stdout, "error corrupt: SQLite: ", "damaged")
    if sorted(os.listdir(os.path.dirname(path))) != names or parts[""].read_bytes() != garbage:
        raise Broken("a damaged database was touched")


def running(proofs, path):
    """A row that cannot be read is told once, each time that it comes to be; the store goes on when it can be read."""
    writer = Writer(proofs, path, "manual")
    expect(writer.does("sync"), "ok", "opened")
    database = sqlite3.connect(path, isolation_level=None)

    def write(value):
        database.execute("UPDATE defaults SET value = ?, revision = (SELECT max(revision) FROM defaults) + 1 "
                         "WHERE key = 'a'", (value,))

    def does(line, expected):
        expect(writer.does(line), expected, line)

    deep = []
    for _ in range(600):
        deep = [deep]
    does("set a 1;sync;pump", "ok")
    for value, code in ((b"\0", "corrupt"), (b"\0", "corrupt"), (plistlib.dumps(deep, fmt=plistlib.FMT_BINARY),
                                                                 "limitExceeded")):
        write(value)
        does("pump", f"error Optional(DefaultsStorage.DefaultsError.Code.{code})")
        write(value)
        does("pump;set b 2;sync", "ok")
        write(plistlib.dumps(5, fmt=plistlib.FMT_BINARY))
        does("pump;remove b;sync", "ok")
    database.close()
    writer.leave()
    if read_store(path) != {"a": 5}:
        raise Broken(f"{read_store(path)}")


# proves: G18
def locked(proofs, path):
    """Another's transaction is waited for no longer than the handle says, and the change is written with the next."""
    writer = Writer(proofs, path, "manual", env={**os.environ, "STORE_TIMEOUT": "50"})
    expect(writer.does("set a 1;sync"), "ok", "unlocked")
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    start = time.time()
    expect(writer.does("set a 2;sync"), "error Optional(DefaultsStorage.DefaultsError.Code.timedOut)", "locked")
    if time.time() - start > 4:
        raise Broken(f"waited for {time.time() - start:.1f} s")
    database.execute("ROLLBACK")
    expect(writer.does("sync"), "ok", "unlocked again")
    writer.leave()
    if read_store(path) != {"a": 2}:
        raise Broken(f"{read_store(path)}")


# proves: G71
def leaves(proofs, path):
    """Who leaves without closing its store leaves it in one file all the same: a copy of that is the store."""
    for command, expected in (("leave", {"left": 42}), ("leave-inside", {"left": 42})):
        proofs.run(command, path)
        if sorted(os.listdir(os.path.dirname(path))) != [".store.sqlite.lock", ".store.sqlite.open", "store.sqlite"]:
            raise Broken(f"{command}: {os.listdir(os.path.dirname(path))}")
        if read_store(path) != expected:
            raise Broken(f"{command}: {read_store(path)}")


def copied(proofs, path):
    """The copy for a migration is on the disk before it has its name, and its name before the migration is."""
    folder = os.path.dirname(path)
    writer = Writer(proofs, path, "manual", env={
        **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder, "INTERPOSE_CALLS": folder + ".calls"})
    expect(writer.does("set a 1;sync;migrate;close"), "ok", "a migration")
    writer.leave()
    calls = [(call, name) for _, call, name in calls_of(folder)]
    renamed = calls.index(("rename", "store.sqlite.v0"))
    synced = [index for index, call in enumerate(calls) if call == ("sync", ".store.sqlite.v0.tmp")]
    if not synced or synced[-1] > renamed or calls[renamed + 1] != ("sync", "copied"):
        raise Broken(f"{calls}")


# proves: G66
def in_host(proofs, path):
    """Other parts of the host close the database, which drops SQLite's locks: no change is lost when others leave."""
    for step in ("peek store.sqlite", "peek store.sqlite;peek store.sqlite-wal;peek store.sqlite-shm"):
        for other in (ours, foreign_shell):
            host = Writer(proofs, path, "immediate")
            expect(host.does("set a 1;" + step), "ok", step)
            expected = {"a": 1}
            for number in range(5):
                other(proofs, path, number)
                if other is ours and not os.path.exists(path + "-wal"):
                    raise Broken(f"{step}: another program removed the journal of an open database")
                expect(host.does(f"set b{number} {number};sync;{step}"), "ok", step)
                expected |= {f"b{number}": number} | ({"other": number} if other is ours else {})
                if read_store(path) != expected:
                    raise Broken(f"{step}, {other.__name__}: {read_store(path)}, not {expected}")
            expect(host.does("read"), "error Optional(DefaultsStorage.DefaultsError.Code.misuse)", "read as a file")
            other(proofs, path, 9)
            expect(host.does("set last 1;sync"), "ok", "after a refused read")
            host.process.kill()
            host.process.wait()
            expected |= {"last": 1} | ({"other": 9} if other is ours else {})
            if read_store(path) != expected:
                raise Broken(f"{step}, {other.__name__}, killed: {read_store(path)}, not {expected}")
            for end in ("", "-wal", "-shm"):
                if os.path.exists(path + end):
                    os.unlink(path + end)


def ours(proofs, path, number):
    writer = Writer(proofs, path, "immediate")
    expect(writer.does(f"set other {number};close"), "ok", "another program")
    writer.leave()


def foreign_shell(_, path, number):
    database = sqlite3.connect(path)
    database.execute("SELECT count(*) FROM defaults").fetchone()
    database.close()


def without_library(proofs, path):
    """No SQLite on the machine: an error at opening; a property list never asks for it."""
    log = os.path.dirname(path) + ".log"
    environment = {"LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE": "sqlite", "REFUSE_LOG": log}
    expect(proofs.run("probe", path.replace(".sqlite", ".plist"), **environment).stdout, "open 0\nset\n", "plist")
    if os.path.exists(log):
        raise Broken("a property list loads SQLite")
    expect(proofs.run("probe", path, **environment).stdout, "error unavailable: SQLite is not installed", "no library")
    if not os.path.exists(log):
        raise Broken("the library was not asked for")
