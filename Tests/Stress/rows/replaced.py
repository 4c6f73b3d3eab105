"""A database that is removed, replaced or damaged while programs have it open: what is said to be durable is found."""
import glob
import os
import pathlib
import shutil
import sqlite3
import subprocess

from rows.proofs import Broken, check_modes, read_store
from rows.writers import Writer


def prove(proofs, folder):
    for check in (under_writer, left_journal, in_transaction):
        inner = f"{folder}/{check.__name__}"
        os.makedirs(inner)
        check(proofs, inner + "/store.sqlite")
    moments = in_commit(proofs, f"{folder}/in_commit")
    rounds = proofs.size(4, 30)
    for number in range(rounds):
        recovered_by_all(proofs, f"{folder}/round-{number}")
    return f"removed, replaced, with a journal left, in a transaction, at {moments} moments of a commit; {rounds} times 8 processes that recover"


def does(writer, line, expected="ok"):
    said = writer.does(line)
    if said != expected:
        raise Broken(f"{line}: {said!r}")


def other_database(proofs, path):
    """A copy that an administrator restores: whole, with one key."""
    name = os.path.dirname(path) + "/other.sqlite"
    writer = Writer(proofs, name, "immediate")
    does(writer, "set old 1")
    does(writer, "close")
    writer.leave()
    if os.path.exists(name + "-wal"):
        raise Broken("a store that was closed left its journal")
    return name


def expect_stored(path, expected):
    found = read_store(path)
    if found != expected:
        raise Broken(f"{found} is stored, and {expected} was said to be")


def under_writer(proofs, path):
    """Two programs have it open; each change that was said to be durable is in the file that has the name."""
    other = other_database(proofs, path)
    writers = [Writer(proofs, path, "immediate") for _ in range(2)]
    does(writers[0], "set a 1")
    does(writers[1], "set b 1")
    for how in ("remove", "replace", "replace", "remove"):
        if how == "remove":
            os.unlink(path)
            expected = {}
        else:
            shutil.copy(other, path + ".new")
            os.chmod(path + ".new", 0o600)
            os.rename(path + ".new", path)
            expected = {"old": 1}
        for number, writer in enumerate(writers):
            does(writer, f"set {'ab'[number]} 2")
            expected["ab"[number]] = 2
            expect_stored(path, expected)
        does(writers[0], "set list [1];set list.1 2")
        does(writers[1], "set list.2 3")
        expect_stored(path, expected | {"list": [1, 2, 3]})
        does(writers[0], "remove list")
    for writer in writers:
        does(writer, "close")
        writer.leave()
    if os.path.exists(path + "-wal"):
        raise Broken("the last one left the journal")


def left_journal(proofs, path):
    """A program is killed, and its database replaced: the journal that it left is not the new one's."""
    other = other_database(proofs, path)
    for keeps_open in (False, True):
        holder = Writer(proofs, path, "immediate")
        does(holder, "set a 1;set b 2")
        if not keeps_open:
            holder.process.kill()
            holder.process.wait()
        if not os.path.getsize(path + "-wal"):
            raise Broken("no journal to leave")
        os.unlink(path)
        shutil.copy(other, path)
        writer = Writer(proofs, path, "immediate")
        does(writer, "set c 3")
        expect_stored(path, {"old": 1, "c": 3})
        if keeps_open:
            does(holder, "set d 4")
            expect_stored(path, {"old": 1, "c": 3, "d": 4})
            holder.leave()
        writer.leave()
        os.unlink(path)


def in_transaction(proofs, path):
    other = other_database(proofs, path)
    writer = Writer(proofs, path, "manual")
    does(writer, "set a 1;sync;begin;set a 2")
    os.rename(other, path)
    does(writer, "commit", "error Optional(DefaultsStorage.DefaultsError.Code.conflict)")
    expect_stored(path, {"old": 1})
    does(writer, "set c 3;sync")
    expect_stored(path, {"old": 1, "c": 3})
    writer.leave()


def in_commit(proofs, folder):
    """The database is replaced before each call of a commit: what is acknowledged is in the new one."""
    os.makedirs(folder)
    path = folder + "/store.sqlite"
    other = other_database(proofs, path)
    calls = folder + ".calls"

    def start(**environment):
        for name in [*glob.glob(path + "*"), *glob.glob(folder + "/.store.*")]:
            os.unlink(name)
        writer = Writer(proofs, path, "immediate", stderr=subprocess.DEVNULL, env={
            **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder, **environment})
        does(writer, "set a [1]")
        shutil.copy(other, path + ".new")
        os.chmod(path + ".new", 0o600)
        return writer

    writer = start(INTERPOSE_CALLS=calls)
    first = len(pathlib.Path(calls).read_text().splitlines())
    does(writer, "set b 2")
    made = pathlib.Path(calls).read_text().splitlines()
    writer.leave()
    os.unlink(calls)
    # What comes behind the journal's fsync only wakes others: then the database was replaced after the commit.
    committed = max(index for index, line in enumerate(made, 1) if line.endswith(" sync store.sqlite-wal"))
    for index in range(first + 1, len(made) + 1):
        writer = start(INTERPOSE_MOVE=f"{index}:{path}.new")
        does(writer, "set b 2")
        if os.path.exists(path + ".new"):
            raise Broken(f"not replaced before call {index}")
        expected = {"old": 1} | ({"b": 2} if index <= committed else {})
        does(writer, "sync")
        expect_stored(path, expected)
        does(writer, "set c 3")
        expect_stored(path, expected | {"c": 3})
        writer.leave()
    return len(made) - first


def recovered_by_all(proofs, folder):
    """Eight programs find the damage at the same time, and make changes of their own and to a counter of all."""
    os.makedirs(folder)
    path = folder + "/store.sqlite"
    if proofs.random.randrange(2):
        with open(path, "wb") as file:
            file.write(proofs.random.randbytes(20_000))
        os.chmod(path, 0o600)
        kept = {}
    else:
        kept = damage_middle(proofs, path)
    processes = [proofs.start("count", path, f"p{number}", 2, env={**os.environ, "STORE_CORRUPTION": "recover"})
                 for number in range(8)]
    for process in processes:
        said, _ = process.communicate(timeout=120)
        if said != "done\n" or process.returncode != 0:
            raise Broken(f"{said!r}")
    found = read_store(path)
    expected = {f"p{number}-{change}": change for number in range(8) for change in range(2)} | {"counter": 16}
    lost = [key for key, value in expected.items() if found.get(key) != value]
    if lost:
        raise Broken(f"lost: {lost}, the counter is {found.get('counter')}")
    rows = [key for key in found if key.startswith("key-")]
    if len(rows) < len(kept) * 0.8:
        raise Broken(f"only {len(rows)} of {len(kept)} rows were copied")
    if len([name for name in glob.glob(path + ".corrupt-*") if name[-4:] not in ("-wal", "-shm")]) != 1:
        raise Broken(f"{os.listdir(folder)}")
    check_modes(folder)


def damage_middle(proofs, path):
    writer = Writer(proofs, path, "manual")
    keys = [f"key-{1000 + number}" for number in range(300)]
    for key in keys:
        does(writer, f'set {key} "{"x" * 400}"')
    does(writer, "sync;close")
    writer.leave()
    database = sqlite3.connect(path)
    page = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'defaults'").fetchone()[0]
    count = database.execute("PRAGMA page_count").fetchone()[0]
    database.close()
    with open(path, "r+b") as file:
        file.seek(4096 * max(page, count // 2))
        file.write(b"\xff" * 4096)
    return keys
