"""A program that knows of no lock writes in place or renames a file of its own, at each moment of a commit: its change
and ours are both there, but for those of a transaction that had begun before, which are a conflict."""
import os
import pathlib
import plistlib

from rows.faults import calls_of
from rows.proofs import Broken, read_store
from rows.writers import Writer, applied

FIRST = {"a": {"kept": [1, 2, 3]}, "b": 1}
# The second line's transaction takes along what waits for its flush, and comes after it.
CONFLICT = "error Optional(DefaultsStorage.DefaultsError.Code.conflict)"
LINES = ("set a.kept.0 5;remove a.kept.1;sync", "remove a.kept.0;set b 2;within a.kept.1 6")


# proves: G23, G24
def prove(proofs, folder):
    calls, found, _ = commit(proofs, f"{folder}/0", "WRITER", 0)
    state = applied(applied(FIRST, LINES[0]), LINES[1])
    if found != state:
        raise Broken(f"{found}")
    merged = conflicts = 0
    for how in ("WRITER", "RENAMER"):
        for index in range(1, len(calls) + 1):
            made, found, is_conflict = commit(proofs, f"{folder}/{how}{index}", how, index)
            _, call, name = made[index - 1]
            if [call for _, call, _ in made][:index] != [call for _, call, _ in calls][:index]:
                raise Broken(f"other calls than before: {made}")
            expected = applied(state, "set a.theirs true")
            if found != expected:
                raise Broken(f"{how} before call {index}, {call} of {name}: {found}")
            merged += 1
            conflicts += is_conflict
    if merged < 40 or not 4 <= conflicts <= merged // 2:
        raise Broken(f"only {merged} moments, {conflicts} of them a conflict")
    failures = fails_then(proofs, folder, calls)
    after_recovery(proofs, f"{folder}/recovered")
    return f"{merged} moments, {conflicts} of them in a transaction, {failures} failures after it, and after a recovery"


def fails_then(proofs, folder, calls):
    """The commit that found another's change is made again, and a call of that fails: the next one has both, too."""
    last = next(index for index, (_, call, name) in enumerate(calls, 1) if (call, name) == ("rename", "store.plist"))
    closing = max(index for index, (_, call, _) in enumerate(calls[:last], 1) if call == "close")
    expected = applied(applied(FIRST, LINES[0]), "set a.theirs true")
    failed = 0
    for index in range(closing + 1, closing + 20):
        answers, made, found = run(proofs, f"{folder}/fails-{index}", closing, (LINES[0], "sync", "close"),
                                   INTERPOSE_FAIL=f"{index}:5:once")
        # Where only the folder's fsync failed the file has the changes, which are made once more.
        if made[index - 1:index] and made[index - 1][1] == "sync" and not made[index - 1][2].endswith(".tmp"):
            continue
        failed += answers[0] != "ok"
        if answers[1:] != ["ok", "ok"] or found != expected:
            raise Broken(f"call {index} failed after another had written: {answers}, {found}")
    if failed < 5:
        raise Broken(f"only {failed} commits failed")
    return failed


def after_recovery(proofs, folder):
    """A store that has put a damaged file aside looks as closely as before at what others write."""
    lines = ("sync", LINES[0], "close")
    expected = applied(applied(FIRST, LINES[0]), "set a.theirs true")
    calls, closing = [], 0
    for number in (0, 1):
        inner = f"{folder}/{number}"
        os.makedirs(inner)
        pathlib.Path(inner, "store.plist.bak").write_bytes(plistlib.dumps(FIRST))
        answers, calls, found = run(proofs, inner, closing, lines, b"<plist><dict>", STORE_CORRUPTION="recover")
        if answers != ["ok"] * 3 or len([name for name in os.listdir(inner) if ".corrupt-" in name]) != 1:
            raise Broken(f"recovered: {answers}, {os.listdir(inner)}")
        # The last time that a new file is closed, before it replaces the old one.
        closing = max(index for index, (_, call, name) in enumerate(calls, 1) if call == "close" and ".tmp" in name)
    if found != expected:
        raise Broken(f"written by another after a recovery: {found}")


def commit(proofs, folder, how, index):
    """Two commits, before one of whose calls another program writes; the calls, what is stored, and whether the second,
    which is a transaction's, was a conflict: it was made again then, as a program does."""
    answers, calls, found = run(proofs, folder, index, (*LINES, "close"), how=how)
    is_conflict = answers[1:2] == [CONFLICT]
    if answers != ["ok", CONFLICT, "ok", "ok"][:len(answers)] and answers != ["ok"] * 3:
        raise Broken(f"call {index}: {answers}")
    return calls, found, is_conflict


def run(proofs, folder, index, lines, content=plistlib.dumps(FIRST), how="WRITER", **environment):
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/store.plist"
    pathlib.Path(path).write_bytes(content)
    # Of a file written just now the engine takes a second look, as long as a clock tick lasts: calls that may be absent.
    os.utime(path, (1_000_000_000, 1_000_000_000))
    writer = Writer(proofs, path, "manual", env={
        **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder, "INTERPOSE_CALLS": folder + ".calls",
        f"INTERPOSE_{how}": f"{index}:{path}", **environment})
    answers = []
    for line in lines:
        answers.append(writer.does(line))
        if answers[-1] == CONFLICT:
            answers.append(writer.does(line.split(";")[-1]))
    code, rest = writer.leave()
    if code or rest:
        raise Broken(f"call {index}: {answers}, {code} {rest}")
    if any(name.endswith(".tmp") for name in os.listdir(folder)):
        raise Broken(f"call {index}: left {os.listdir(folder)}")
    return answers, calls_of(folder), read_store(path)
