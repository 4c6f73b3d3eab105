"""Every system call fails, once and for ever, with every error."""
import os
import pathlib
import shutil
import subprocess

from rows.proofs import ENGINES, Broken, check_modes, read_store

ERRORS = {"ENOSPC": "28", "EIO": "5", "EINTR": "4", "short write": "short"}


def prove(proofs, folder):
    runs = 0
    for engine in ENGINES:
        total = count_calls(proofs, f"{folder}/count-{engine}", engine)
        step = 1 if proofs.is_full or engine == "plist" else 3
        for index in range(1, total + 1, step):
            for name, number in ERRORS.items():
                for how in ("once", "ever"):
                    if engine == "sqlite" and name == "EINTR" and how == "ever":
                        continue
                    fault(proofs, f"{folder}/{engine}", engine, index, f"{index}:{number}:{how}", name)
                    runs += 1
        if engine == "sqlite":
            runs += endless(proofs, folder, range(1, total + 1, proofs.size(12, 1)))
    return f"{runs} runs"


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
    os.makedirs(folder)
    proofs.run("attempt", f"{folder}/store.{engine}", 3, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=folder,
             INTERPOSE_COUNT=folder + ".count")
    return int(pathlib.Path(folder + ".count").read_text())


def fault(proofs, folder, engine, index, fail, name):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = f"{folder}/store.{engine}"
    result = proofs.run("attempt", path, 3, timeout=60, LD_PRELOAD=proofs.interposer, INTERPOSE_FOLDER=folder,
                      INTERPOSE_FAIL=fail)
    what = f"{engine}, call {index}, {name} {fail}"
    lines = result.stdout.split("\n")[:-1]
    if result.returncode != 0 or result.stderr:
        raise Broken(f"{what}: ended with {result.returncode} {result.stderr}")
    if any(line.startswith("lost") for line in lines):
        raise Broken(f"{what}: lost from memory")
    good = [int(line.split()[1]) for line in lines if line.startswith("ok")]
    bad = [int(line.split()[1]) for line in lines if line.startswith("error ") and line.split()[1].isdigit()]
    if "error open" not in lines and len(good) + len(bad) != 3:
        raise Broken(f"{what}: {lines}")
    number = read_store(path).get("number", 0)
    allowed = {max(good, default=0)} | {n for n in bad if n > max(good, default=0)}
    if "closed" in lines and bad and max(bad) > max(good, default=0):
        allowed = {max(bad)}  # close wrote what was kept
    if number not in allowed:
        raise Broken(f"{what}: {lines}, but {number} is stored")
    check_modes(folder)
    return lines
