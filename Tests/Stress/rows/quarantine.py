"""Where the program asked to recover, a damaged file is put aside; one that cannot be stays where it is: the store shows
the backup, and only reads."""
import os
import pathlib
import plistlib
import shutil

from rows.faults import calls_of
from rows.proofs import Broken

DAMAGED = b"<plist><dict>"
RECOVER = {"STORE_CORRUPTION": "recover"}


# proves: G31
def prove(proofs, folder):
    path = f"{folder}/store.plist"
    pathlib.Path(path).write_bytes(DAMAGED)
    os.utime(path, (1, 1))
    backup = plistlib.dumps({"kept": 1})
    pathlib.Path(path + ".bak").write_bytes(backup)
    refuse = proofs.compiled("refuse.c")
    for call in ("rename", "link"):
        said = proofs.run("probe", path, LD_PRELOAD=refuse, REFUSE=call, **RECOVER).stdout.splitlines()
        if said[:1] != ["open 1"] or len(said) != 3 or not said[1].startswith("error ") or said[2] != "unrecoverable":
            raise Broken(f"{call}: {said}")
        if pathlib.Path(path).read_bytes() != DAMAGED or pathlib.Path(path + ".bak").read_bytes() != backup:
            raise Broken(f"{call}: a file was written over")
    once(proofs, folder, path)
    if pathlib.Path(path).read_bytes() != DAMAGED or pathlib.Path(path + ".bak").read_bytes() != backup:
        raise Broken("a file was written over once it could be")
    if proofs.run("probe", path, **RECOVER).stdout != "open 1\nset\nrecovered\n":
        raise Broken("not recovered when it could be")
    kept = [name for name in os.listdir(folder) if ".corrupt-" in name]
    if len(kept) != 1 or pathlib.Path(folder, kept[0]).read_bytes() != DAMAGED:
        raise Broken(f"{os.listdir(folder)}")
    return "read-only until the file can be moved"


def once(proofs, folder, path):
    """It only reads for as long as it is open, also where the call that failed would not fail again."""
    inner = f"{folder}/counted"
    os.makedirs(inner)
    # With the lock file, which is there already: making it takes another call.
    for name in ("store.plist", "store.plist.bak", ".store.plist.lock"):
        shutil.copy2(f"{folder}/{name}", inner)
    proofs.run("probe", inner + "/store.plist", LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=inner,
               INTERPOSE_CALLS=inner + ".calls", **RECOVER)
    first = next(index for index, (_, call, name) in enumerate(calls_of(inner), 1)
                 if (call, name) == ("rename", "store.plist"))
    said = proofs.run("probe", path, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=folder,
                      INTERPOSE_FAIL=f"{first}:5:once", **RECOVER).stdout.splitlines()
    if said[:1] != ["open 1"] or len(said) != 3 or not said[1].startswith("error ") or said[2] != "unrecoverable":
        raise Broken(f"{said}")
    shutil.rmtree(inner)
