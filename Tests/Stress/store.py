#!/usr/bin/env python3
"""The guarantees of docs/guarantees.md about the store, proved on real processes, files and system calls.

    store.py [--full] [--helper PROGRAM] [--interposer LIBRARY] [--seed NUMBER] [ROW ...]

Each row is a module in rows/. Short by default, with --full the full figures. The oracles are Python's own plistlib
and sqlite3, never the store itself. Ends with a line `N passed, N failed`.
"""
import argparse
import importlib
import os
import plistlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "suites"))
from rows.proofs import Broken, Proofs

ROWS = ("kill", "faults", "codes", "power", "meanwhile", "foreign", "updates", "lock", "opening", "disk", "fork", "watch",
        "polling", "memory", "hostile", "quarantine", "unsaved", "limits", "database", "replaced", "outcome", "network",
        "privileged")


def prove(row, proofs, folder):
    """Runs a row; whether it held."""
    start = time.time()
    try:
        figure = importlib.import_module("rows." + row).prove(proofs, folder)
        print(f"ok   {row}: {figure} ({time.time() - start:.1f} s)", flush=True)
        return True
    except (Broken, OSError, ValueError, KeyError, plistlib.InvalidFileException, sqlite3.Error,
            subprocess.SubprocessError) as error:
        print(f"FAIL {row}: {type(error).__name__}: {error}", flush=True)
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--helper", default=".build/debug/StoreHelper")
    parser.add_argument("--interposer")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("rows", nargs="*", default=ROWS)
    arguments = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="kvstore-")
    print(f"seed {arguments.seed}")
    passed = 0
    try:
        proofs = Proofs(arguments.helper, arguments.full, arguments.seed, scratch, arguments.interposer)
        for row in arguments.rows:
            os.makedirs(f"{scratch}/{row}")
            passed += prove(row, proofs, f"{scratch}/{row}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    failed = len(arguments.rows) - passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
