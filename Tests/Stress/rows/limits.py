"""What a set accepts near the limits another process reads; a row that is beyond them is no damage."""
import os
import plistlib
import sqlite3

from rows.proofs import Broken, read_store

LIMIT = 20_000


# proves: G43
def prove(proofs, folder):
    count = proofs.size(10, 300)
    refusals = 0
    for number in range(count):
        for kind in ("xml", "binary", "database"):
            path = f"{folder}/{number}-{kind}." + ("sqlite" if kind == "database" else "plist")
            said = proofs.run("stuff", path, proofs.random.randrange(1 << 40), kind)
            refused, _, held = said.stdout.partition(" ")
            if refused not in ("true", "false"):
                raise Broken(f"{path}: {said.stdout}{said.stderr}")
            refusals += refused == "true"
            found = proofs.run("show", path)
            if found.stdout != held:
                raise Broken(f"{path}: {held!r} was set, {found.stdout!r} is read: {found.stderr}")
            read_store(path)
    if refusals < count:
        raise Broken(f"only {refusals} of {3 * count} came to a limit")
    deep_row(proofs, f"{folder}/deep.sqlite")
    if proofs.is_full:
        huge_row(proofs, f"{folder}/huge.sqlite")
    return f"{3 * count} stores, and a row that is too deep"


def huge_row(proofs, path):
    """A value that a limit of the store's allows, and SQLite's own does not: an error, and what was there stays."""
    said = proofs.run("enlarge", path).stdout
    if said != "limitExceeded\n" or read_store(path) != {"big": 1}:
        raise Broken(f"{said}, {read_store(path).keys()}")


def deep_row(proofs, path):
    """One row that nothing of ours would have written: an error of its key alone, and nothing is moved."""
    proofs.run("probe", path)
    value = []
    for _ in range(600):
        value = [value]
    database = sqlite3.connect(path)
    database.execute("INSERT INTO defaults VALUES('deep', ?, 9)", (plistlib.dumps(value, fmt=plistlib.FMT_BINARY),))
    database.commit()
    database.close()
    said = proofs.run("probe", path, STORE_CORRUPTION="recover").stdout
    if not said.startswith("open 1\nset\nunreadable(Deeper than 512 levels at deep["):
        raise Broken(said)
    if any(".corrupt-" in name for name in os.listdir(os.path.dirname(path))):
        raise Broken("taken for damage")
