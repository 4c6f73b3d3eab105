"""What the Python tests share: checks in TAP, and running programs."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SWIFT = os.environ.get("SWIFT", "swift")
checks = 0
failures = 0


def check(good, what, output=""):
    """Prints a line for one check; `output` is shown when it failed."""
    global checks, failures
    checks += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {checks} - {what}", flush=True)
    if not good and output:
        print(output)
    return good


def skip(what):
    """Prints a line for a check that cannot be made here."""
    global checks
    checks += 1
    print(f"ok {checks} - # SKIP {what}", flush=True)


def run(*command, **options):
    """Whether a program went well, and what it printed."""
    if not shutil.which(command[0]):
        return False, f"no program {command[0]}"
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                            text=True, errors="replace", **options)
    return result.returncode == 0, result.stdout


def environment(**changes):
    """The environment with changes; None takes a name away."""
    result = {**os.environ, **{name: str(value) for name, value in changes.items() if value is not None}}
    for name in [name for name, value in changes.items() if value is None]:
        result.pop(name, None)
    return result


def version():
    """The package's version, from the one place where it stands."""
    text = (ROOT / "Sources/KVCodable/Version.swift").read_text()
    return text.split('libraryVersion = "')[1].split('"')[0]


def finish():
    print(f"1..{checks}")
    sys.exit(1 if failures else 0)
