#!/usr/bin/env python3
"""Runs the rows on a real PostgreSQL server: run.py [ROW ...]"""
import os
import shutil
import sys
import tempfile
import time

import fleet
import connections  # noqa: F401: a module adds its rows
import harm  # noqa: F401
import revisions  # noqa: F401
import rights  # noqa: F401
import tables  # noqa: F401


def main():
    folder = tempfile.mkdtemp(prefix="kvfleet-")
    os.chmod(folder, 0o755)
    place = None
    try:
        place = fleet.Fleet(folder)
        for body in fleet.ROWS:
            if sys.argv[1:] and body.__name__ not in sys.argv[1:]:
                continue
            start = time.monotonic()
            try:
                body(place)
            except Exception as error:  # the other rows run in any case
                fleet.check(False, f"{body.__name__}: {type(error).__name__}", str(error))
            place.clear()
            print(f"# {body.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    finally:
        if place:
            place.clear()
            place.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{fleet.passed} passed, {fleet.failed} failed")
    sys.exit(fleet.failed > 0 or fleet.passed == 0)


main()
