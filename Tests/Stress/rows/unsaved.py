"""A file that is damaged while programs have it open: who leaves keeps what the file lacks beside it, and says so."""
import os
import pathlib
import plistlib
import resource
import sqlite3
import subprocess

from rows.faults import calls_of
from rows.proofs import Broken

TYPO = b"<plist>\n<dict>\n<key>written</kye>\n</dict>\n</plist>"
LINE = "Expected </key>, found </kye> (line 3, column 13)"


# proves: G33
def prove(proofs, folder):
    for check in (changed, manual, closed, replaced, failing, unchanged, mended, mended_late, unwritable, unsynced, database):
        inner = f"{folder}/{check.__name__}"
        os.makedirs(inner)
        check(proofs, inner + "/store.plist")
    return "changes, no changes, closed, no file, a disk that fails, mended, a full disk, calls that fail, database"


def strand(proofs, path, line, damage, durability="coalesced", **options):
    """What the program says on standard output and standard error, when its file is damaged meanwhile."""
    process = proofs.start("strand", path, durability, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                           **options)
    if process.stdout.readline() != "written\n":
        raise Broken("did not begin")
    damage(path, process)
    said, complaint = process.communicate(line + "\n", timeout=60)
    if process.returncode:
        raise Broken(f"left with {process.returncode}: {complaint}")
    return said, complaint


def damage(path, _):
    pathlib.Path(path).write_bytes(TYPO)
    os.utime(path, (1, 1))


def unsaved(path):
    store = pathlib.Path(path)
    return sorted(store.parent.glob(store.name + ".unsaved-*"))


def expect(found, expected):
    if found != expected:
        raise Broken(f"expected {expected!r}, found {found!r}")


def check_kept(path, complaint):
    """One file, its user's alone, with all that was in memory; the damaged one as it was."""
    found = unsaved(path)
    if len(found) != 1:
        raise Broken(f"{os.listdir(os.path.dirname(path))}: {complaint}")
    expect(plistlib.loads(found[0].read_bytes()), {"written": 1, "unwritten": 2})
    expect(oct(found[0].stat().st_mode & 0o777), "0o600")
    expect(complaint, f"kvcodable: {LINE} ({path}); what is not in it is kept in {found[0]}\n")
    expect(pathlib.Path(path).read_bytes(), TYPO)


def changed(proofs, path):
    said, complaint = strand(proofs, path, "change", damage)
    expect(said, "corrupt\nread 1\n")
    check_kept(path, complaint)


def manual(proofs, path):
    """Changes that the program did not ask to be written at exit are kept all the same."""
    check_kept(path, strand(proofs, path, "change", damage, "manual")[1])


def closed(proofs, path):
    """A store that is closed before the program ends, which could not write: its changes wait for the end as well."""
    for durability in ("manual", "coalesced"):
        said, complaint = strand(proofs, path, "close", damage, durability)
        expect(said, "corrupt\nread 1\ncorrupt\n")
        check_kept(path, complaint)
        for name in os.listdir(os.path.dirname(path)):
            os.unlink(f"{os.path.dirname(path)}/{name}")


def replaced(proofs, path):
    """What is no file took the file's name: it is not touched, and all that was in memory is kept."""
    kinds = {"io": os.mkdir, "io ": os.mkfifo}
    for code, make in kinds.items():
        def replace(path, _):
            os.unlink(path)
            make(path)
        for line in ("change", "close"):
            said, complaint = strand(proofs, path, line, replace, "manual")
            expect(said.splitlines()[:2], [code.strip(), "read 1"])
            check_all_kept(path, complaint)
            os.rmdir(path) if make is os.mkdir else os.unlink(path)


def check_all_kept(path, complaint):
    """One file with all that was in memory; takes the file away."""
    found = unsaved(path)
    if len(found) != 1 or not complaint.endswith(f"; what is not in it is kept in {found[0]}\n"):
        raise Broken(f"{os.listdir(os.path.dirname(path))}: {complaint}")
    expect(plistlib.loads(found[0].read_bytes()), {"written": 1, "unwritten": 2})
    found[0].unlink()


def failing(proofs, path):
    """A disk that fails to read: the file is as it was, so only another look tells when it can be read again."""
    folder = os.path.dirname(path)
    signal = pathlib.Path(folder + ".failing")

    def fail(path, _):
        os.utime(path, (1, 1))
        signal.touch()
    environment = {**os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder,
                   "INTERPOSE_UNREADABLE": str(signal)}
    said, complaint = strand(proofs, path, "change", fail, "manual", env=environment)
    expect(said, "io\nread 1\n")
    check_all_kept(path, complaint)
    signal.unlink()
    process = proofs.start("strand", path, "manual", stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    process.stdout.readline()
    fail(path, process)
    process.stdin.write("change\n")
    process.stdin.flush()
    expect([process.stdout.readline() for _ in range(2)], ["io\n", "read 1\n"])
    signal.unlink()
    expect(process.communicate(timeout=60), ("", ""))
    expect(unsaved(path), [])


def unchanged(proofs, path):
    """Nothing waits, and the file no longer has what was written."""
    said, complaint = strand(proofs, path, "", damage)
    expect(said, "corrupt\nread 1\n")
    found = unsaved(path)
    if len(found) != 1 or not complaint.endswith(f"; what is not in it is kept in {found[0]}\n"):
        raise Broken(f"{os.listdir(os.path.dirname(path))}: {complaint}")
    expect(plistlib.loads(found[0].read_bytes()), {"written": 1})


def mended(proofs, path):
    """A file that can be read again gets the change."""
    def mend(path, _):
        pathlib.Path(path).write_bytes(plistlib.dumps({"written": 5}))
    said, complaint = strand(proofs, path, "change", mend)
    expect((said, complaint), ("refreshed\nread 5\n", ""))
    expect(plistlib.loads(pathlib.Path(path).read_bytes()), {"written": 5, "unwritten": 2})
    expect(unsaved(path), [])


def mended_late(proofs, path):
    """A file that was damaged when it was looked at last, and no more when the program ends."""
    process = proofs.start("strand", path, "manual", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    damage(path, process)
    process.stdin.write("change\n")
    process.stdin.flush()
    expect([process.stdout.readline() for _ in range(2)], ["corrupt\n", "read 1\n"])
    pathlib.Path(path).write_bytes(plistlib.dumps({"written": 5}))
    expect(process.communicate(timeout=60), ("", ""))
    expect(unsaved(path), [])


def unsynced(proofs, path):
    """What is kept is on disk before it is said to be; each call on the way there may fail, and nothing half is left."""
    folder = os.path.dirname(path)

    def keep(failing):
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        pathlib.Path(folder + ".calls").unlink(missing_ok=True)
        complaint = strand(proofs, path, "change", damage, "manual", env={
            **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder,
            "INTERPOSE_CALLS": folder + ".calls", "INTERPOSE_FAIL": f"{failing}:5:once"})[1]
        return complaint, calls_of(folder)

    complaint, calls = keep(0)
    check_kept(path, complaint)
    last = next(index for index, (_, call, name) in enumerate(calls) if call == "rename" and ".unsaved-" in name)
    made = [(call, name) for _, call, name in calls[last - 4:last + 2]]
    # Whole, and on the disk, before it has its name.
    steps = [(call, unsaved(path)[0].name + ".part") for call in ("open", "write", "sync", "close")]
    expect(made, [*steps, ("rename", unsaved(path)[0].name), ("sync", os.path.basename(folder))])
    for index in range(last - 4, last + 2):
        complaint, _ = keep(index + 1)
        if "could not be kept: " not in complaint or unsaved(path):
            raise Broken(f"call {index} failed: {complaint}, {unsaved(path)}")


def unwritable(proofs, path):
    """What can be kept nowhere is said to be lost."""
    def fill(path, process):
        damage(path, process)
        # Stands for a full disk: no file of the program's may have more than ten bytes.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (10, 10))
    # The signal stays ignored, as Python has it.
    complaint = strand(proofs, path, "change", fill, restore_signals=False)[1]
    lost = f"what is not in it could not be kept: write: File too large ({path}.unsaved-"
    if not complaint.startswith(f"kvcodable: {LINE} ({path}); {lost}") or len(complaint.splitlines()) != 1:
        raise Broken(complaint)
    expect(unsaved(path), [])
    expect(pathlib.Path(path).read_bytes(), TYPO)


def database(proofs, path):
    """A database whose table goes under a running program, and one with a row that is damaged: the others are written."""
    def scribbling(statement):
        def scribble(path, _):
            database = sqlite3.connect(path)
            database.execute(statement)
            database.commit()
            database.close()
        return scribble

    file = path.replace(".plist", "-table.sqlite")
    said, complaint = strand(proofs, file, "change", scribbling("DROP TABLE defaults"))
    expect(said, "io\nread 1\n")
    found = unsaved(file)
    if len(found) != 1 or not complaint.endswith(f"; what is not in it is kept in {found[0]}\n"):
        raise Broken(f"{os.listdir(os.path.dirname(path))}: {complaint}")
    expect(plistlib.loads(found[0].read_bytes()), {"written": 1, "unwritten": 2})
    file = path.replace(".plist", "-row.sqlite")
    said, complaint = strand(proofs, file, "change", scribbling("UPDATE defaults SET value = x'00'"))
    expect((said, complaint, unsaved(file)), ("refreshed\nread 1\n", "", []))
    database = sqlite3.connect(file)
    rows = dict(database.execute("SELECT key, value FROM defaults"))
    database.close()
    expect((rows["written"], plistlib.loads(rows["unwritten"])), (b"\0", 2))
