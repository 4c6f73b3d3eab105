"""A commit that fails so late that it may have happened: no change, or an unknown outcome; and no second time."""
import os
import pathlib
import shutil
import subprocess

from rows.faults import calls_of
from rows.proofs import Broken, read_store
from rows.writers import Writer

IO = "error Optional(DefaultsStorage.DefaultsError.Code.io)"
UNKNOWN = "error Optional(DefaultsStorage.DefaultsError.Code.outcomeUnknown)"
LINE = "set list.1 2;sync"


# proves: G40
def prove(proofs, folder):
    first = first_call(proofs, f"{folder}/count")
    moments = proofs.size(1, 3)
    for sync in range(moments):
        overwritten(proofs, f"{folder}/overwritten-{sync}", first)
    for is_killed in (True, False):
        unknown(proofs, f"{folder}/unknown-{is_killed}", is_killed)
    return f"failed once {moments} times, and for a while, killed and not"


def start(proofs, folder, durability="manual", **environment):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return Writer(proofs, folder + "/store.sqlite", durability, stderr=subprocess.DEVNULL, env={
        **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder, **environment})


def begun(writer):
    for line in ("set list [1];sync", "set b 1;sync"):
        if writer.does(line) != "ok":
            raise Broken(f"{line}: {writer.ended}")


def first_call(proofs, folder):
    """The number of the call that syncs the journal of the commit of LINE."""
    writer = start(proofs, folder, INTERPOSE_CALLS=folder + ".calls")
    begun(writer)
    before = len(pathlib.Path(folder + ".calls").read_text().splitlines())
    if writer.does(LINE) != "ok":
        raise Broken(f"{writer.ended}")
    made = pathlib.Path(folder + ".calls").read_text().splitlines()[before:]
    writer.leave()
    calls_of(folder)
    return before + 1 + next(number for number, line in enumerate(made) if line.endswith(" sync store.sqlite-wal"))


def overwritten(proofs, folder, call):
    """The journal's fsync fails once: an error, and the old values, in memory and at the next opening after a kill."""
    path = folder + "/store.sqlite"
    writer = start(proofs, folder, INTERPOSE_FAIL=f"{call}:5:once")
    begun(writer)
    said = writer.does(LINE)
    if said != IO:
        raise Broken(f"a commit that failed once: {said!r}")
    writer.process.kill()
    writer.process.wait()
    if read_store(path)["list"] != [1]:
        raise Broken(f"a commit that had failed is there after a kill: {read_store(path)}")
    writer = start(proofs, folder, INTERPOSE_FAIL=f"{call}:5:once")
    begun(writer)
    answers = [writer.does(line) for line in (LINE, "sync", "set list.2 3;sync")]
    writer.leave()
    if answers != [IO, "ok", "ok"] or read_store(path)["list"] != [1, 2, 3]:
        raise Broken(f"{answers}: {read_store(path)}")


def unknown(proofs, folder, is_killed):
    """No fsync succeeds for a while: the outcome is unknown, nothing more is written, and then what is there counts."""
    path, switch = folder + "/store.sqlite", folder + ".broken"
    writer = start(proofs, folder, INTERPOSE_UNSYNCED=switch)
    begun(writer)
    pathlib.Path(switch).touch()
    answers = [writer.does(line) for line in (LINE, "sync", "begin", "set c 1;sync")]
    if answers != [UNKNOWN] * 4:
        raise Broken(f"{answers}")
    if is_killed:
        writer.process.kill()
        writer.process.wait()
        if read_store(path) not in ({"list": [1], "b": 1}, {"list": [1, 2], "b": 1}):
            raise Broken(f"{read_store(path)}")
        return
    os.unlink(switch)
    answers = [writer.does(line) for line in ("sync", "set list.2 3;sync", "close")]
    writer.leave()
    if answers != ["ok"] * 3 or read_store(path) != {"list": [1, 2, 3], "b": 1, "c": 1}:
        raise Broken(f"{answers}: {read_store(path)}")
