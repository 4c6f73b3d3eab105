"""A database that is removed or replaced while programs have it open: what is said to be durable is found."""
import glob
import os
import pathlib
import shutil
import subprocess

from rows.proofs import Broken, read_store
from rows.writers import Writer


def prove(proofs, folder):
    for check in (under_writer, in_transaction):
        inner = f"{folder}/{check.__name__}"
        os.makedirs(inner)
        check(proofs, inner + "/store.sqlite")
    moments = in_commit(proofs, f"{folder}/in_commit")
    return f"removed, replaced, in a transaction, at {moments} moments of a commit"


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


# proves: G66
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
        does(writers[1], "remove list")
    for writer in writers:
        does(writer, "close")
        writer.leave()
    if os.path.exists(path + "-wal"):
        raise Broken("the last one left the journal")


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


# proves: G66
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
