"""What the Python tests share: checks in TAP, and running programs."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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


def preloaded(source, folder):
    """A program of Tests/Support as a library in a folder, to be loaded before others."""
    path = f"{folder}/{source}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", path, ROOT / "Tests/Support" / source,
                    "-ldl"], check=True)
    return path


def environment(**changes):
    """The environment with changes; None takes a name away."""
    result = {**os.environ, **{name: str(value) for name, value in changes.items() if value is not None}}
    for name in [name for name, value in changes.items() if value is None]:
        result.pop(name, None)
    return result


def version():
    """The package's version, from the one file that has it."""
    text = (ROOT / "Sources/KVCodable/Version.swift").read_text()
    return text.split('libraryVersion = "')[1].split('"')[0]


def forget_other_sources(folder):
    """Removes what was built in the folder of a package when this one had other files: SwiftPM does not notice files
    that come to a package beside the one it builds, or go."""
    listing = "".join(f"{path.relative_to(ROOT)}\n" for path in sorted((ROOT / "Sources").rglob("*")))
    noted = folder / "listing"
    if not noted.exists() or noted.read_text() != listing:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        noted.write_text(listing)


def finish():
    print(f"1..{checks}")
    sys.exit(1 if failures else 0)
