"""Every system call fails, once and for ever, with every error."""
import json
import os
import pathlib
import shutil
import subprocess

from rows.proofs import ENGINES, Broken, check_modes, read_store
from rows.writers import LINES, SHAPE, Writer, applied

ERRORS = {"ENOSPC": "28", "EIO": "5", "EINTR": "4", "short write": "short"}


# proves: G4, G38
def prove(proofs, folder):
    runs = reported = 0
    for engine in ENGINES:
        calls = count_calls(proofs, f"{folder}/count-{engine}", engine)
        total = len(calls)
        step = 1 if proofs.is_full or engine == "plist" else 3
        # Each call that makes a new database, too.
        made = {index for index, (_, _, name) in enumerate(calls, 1) if name.startswith(".store.sqlite.tmp")}
        for index in sorted({*range(1, total + 1, step), *made}):
            for name, number in ERRORS.items():
                for how in ("once", "ever"):
                    if engine == "sqlite" and name == "EINTR" and how == "ever":
                        continue
                    _, call = fault(proofs, f"{folder}/{engine}", engine, index, f"{index}:{number}:{how}", name)
                    reported += call is not None
                    runs += 1
        if engine == "sqlite":
            runs += endless(proofs, folder, range(1, total + 1, proofs.size(12, 1)))
    if reported < 100:
        raise Broken(f"only {reported} runs failed a call that has to be reported")
    return f"{runs} runs, {reported} of them with an error that had to be told, {two_writers(proofs, folder)} of two writers"


def endless(proofs, folder, calls):
    """SQLite makes a call that a signal interrupted again, for ever: who ends it finds the old or the new."""
    path = f"{folder}/sqlite/store.sqlite"
    for index in calls:
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        os.makedirs(os.path.dirname(path))
        process = proofs.start("attempt", path, 3, env={
            **os.environ, "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": os.path.dirname(path),
            "INTERPOSE_FAIL": f"{index}:4:ever"})
        try:
            output, _ = process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        good = [int(line.split()[1]) for line in output.split("\n") if line.startswith("ok")]
        number = read_store(path).get("number", 0)
        if "lost" in output or not max(good, default=0) <= number <= max(good, default=0) + 1:
            raise Broken(f"sqlite, call {index}, EINTR for ever: {output!r}, but {number} is stored")
        check_modes(os.path.dirname(path))
    return len(calls)


def count_calls(proofs, folder, engine):
    """The calls of a run in which none fails: how often it had said something before, the call, the file's name."""
    os.makedirs(folder)
    proofs.run("attempt", f"{folder}/store.{engine}", 3, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=folder,
               INTERPOSE_CALLS=folder + ".calls")
    return calls_of(folder)


def calls_of(folder):
    lines = pathlib.Path(folder + ".calls").read_text().splitlines()
    os.unlink(folder + ".calls")
    return [(int(said), call, name) for said, call, name in (line.split(" ", 2) for line in lines)]


def must_be_told(engine, call, name):
    """Whether a commit may not go on as if nothing had happened when the call on this file fails."""
    if engine == "sqlite":
        return call == "sync" and name in ("store.sqlite-wal", ".store.sqlite.tmp")
    if call == "open":
        return name != "."  # where it only looks for what others left
    if call == "rename":
        return name == "store.plist"  # not the backup, without which a store can do
    if call == "close":
        return name.endswith(".tmp")
    return call in ("write", "sync", "lock")


def fault(proofs, folder, engine, index, fail, name):
    """What a run with a failing call said, and where it had to say so: the number of its line."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = f"{folder}/store.{engine}"
    result = proofs.run("attempt", path, 3, timeout=60, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=folder,
                        INTERPOSE_FAIL=fail, INTERPOSE_CALLS=folder + ".calls")
    what = f"{engine}, call {index}, {name} {fail}"
    lines = result.stdout.split("\n")[:-1]
    # A change that could not be written is not kept: there is nothing that could be lost at the end.
    is_unknown = engine == "sqlite" and result.stderr.endswith("; whether the last changes are stored is not known\n")
    if result.returncode != 0 or result.stderr and not is_unknown:
        raise Broken(f"{what}: ended with {result.returncode} {result.stderr}")
    if any(line.startswith("lost") for line in lines):
        raise Broken(f"{what}: lost from memory")
    good = [int(line.split()[1]) for line in lines if line.startswith("ok")]
    bad = [int(line.split()[1]) for line in lines if line.startswith("error ") and line.split()[1].isdigit()]
    if not any(line.startswith("error open") for line in lines) and len(good) + len(bad) != 3:
        raise Broken(f"{what}: {lines}")
    told_at = check_told(what, engine, calls_of(folder), index, name, lines)
    number = read_store(path).get("number", 0)
    check_held(what, engine, lines, number)
    check_modes(folder)
    if fail.endswith(":once") and any(name.endswith(".tmp") for name in os.listdir(folder)):
        raise Broken(f"{what}: left {os.listdir(folder)}")
    return lines, told_at


def check_held(what, engine, lines, number):
    """After a failed change memory holds what it held before, or the change where it has happened all the same; and so
    does the file in the end."""
    held = 0
    for words in (line.split() for line in lines):
        if words[0] == "ok":
            held = int(words[1])
        elif words[0] == "error" and words[1].isdigit():
            if int(words[3]) not in (held, int(words[1])):
                raise Broken(f"{what}: {lines}")
            held = int(words[3])
    # SQLite may have written what it could not fsync.
    late = {int(line.split()[1]) for line in lines if line.startswith("error ") and line.split()[1].isdigit()}
    if number != held and not (engine == "sqlite" and number in late and number > held):
        raise Broken(f"{what}: {lines}, but {number} is stored")


def check_told(what, engine, calls, index, name, lines):
    if index > len(calls):
        return None
    said, call, file = calls[index - 1]
    if name in ("EINTR", "short write"):
        # Made again, without a trace for the caller.
        is_retried = engine == "plist" and what.endswith(":once") and call in ("write", "sync")
        if is_retried and lines[said].startswith("error "):
            raise Broken(f"{what}: {call} of {file} was not made again, but {lines[said]!r} was said")
        return None
    if said >= 3 and engine == "sqlite" or not must_be_told(engine, call, file):
        return None
    if not lines[said].startswith("error "):
        raise Broken(f"{what}: {call} of {file} failed, and {lines[said]!r} was said")
    return said


# ---- Two writers

def two_writers(proofs, folder):
    """One writer's calls fail, another changes the same value in between: each change is there once, in its order."""
    runs = 0
    for engine in ENGINES:
        inner = f"{folder}/two-{engine}"
        answers, total = write_together(proofs, inner, engine, None)
        if set(answers) != {"ok"}:
            raise Broken(f"{engine}, two writers: {answers}")
        for index in range(1, total + 1, proofs.size(1 if engine == "plist" else 4, 1)):
            for number, how in ((28, "once"), (5, "ever")):
                write_together(proofs, inner, engine, f"{index}:{number}:{how}")
                runs += 1
    return runs


def write_together(proofs, folder, engine, fail):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = f"{folder}/store.{engine}"
    other = Writer(proofs, path, "immediate")
    first = {"a": SHAPE}
    if other.does("set a " + json.dumps(SHAPE, separators=(",", ":"))) != "ok":
        raise Broken(f"{engine}, two writers: nothing to begin with")
    environment = {"LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": folder, "INTERPOSE_CALLS": folder + ".calls"}
    if fail:
        environment["INTERPOSE_FAIL"] = fail
    writer = Writer(proofs, path, "manual", env={**os.environ, **environment}, stderr=subprocess.DEVNULL)
    answers = []
    for number, line in enumerate(LINES):
        answers.append(writer.does(line))
        if other.does(f"set a.theirs {number}") != "ok":
            raise Broken(f"{engine}, two writers, {fail}: the other could not write")
    answers.append(writer.does("close"))
    other.does("close")
    code, rest = writer.leave()
    if other.leave()[0] or rest or code and not writer.ended:
        raise Broken(f"{engine}, two writers, {fail}: ended with {code} {rest}")
    check_together(engine, fail, first, answers, read_store(path), bool(writer.ended))
    check_modes(folder)
    return answers, len(calls_of(folder))


def check_together(engine, fail, state, answers, found, is_closed):
    """What is stored is what the lines made up to one of them, and no line less than was said to be durable."""
    states = [state]
    for line in LINES:
        states.append(applied(states[-1], line))
    durable = max([number + 1 for number, answer in enumerate(answers[:-1]) if answer == "ok"], default=0)
    if answers[-1] == "ok" and not is_closed:
        durable = len(LINES)
    allowed = [applied(state, f"set a.theirs {len(LINES) - 1}") for state in states[durable:]]
    if is_closed:
        allowed = allowed[:1]
    if found not in allowed:
        raise Broken(f"{engine}, two writers, {fail}: {answers}, but {found} is stored")
