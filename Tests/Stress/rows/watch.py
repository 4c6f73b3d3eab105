"""A change by another process is seen within 200 ms."""
import os
import time

from rows.proofs import ENGINES, Broken
from rows.writers import Writer


def prove(proofs, folder):
    slow = after_slow_disk(proofs, folder)
    return report(max(slow, slowest(proofs, folder, proofs.size(5, 50))), 0.2)


def after_slow_disk(proofs, folder):
    """As `slowest`, of a writer that goes on, and for which the disk takes its time: what it writes first says nothing."""
    seconds = 0
    environment = {**os.environ, "LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE": "haste"}
    for engine in ENGINES:
        path = f"{folder}/slow.{engine}"
        writer = Writer(proofs, path, "immediate", env=environment)
        for number in range(1, 4):
            watcher = proofs.start("watch", path, "number", number)
            if watcher.stdout.readline() != "watching\n" or writer.does(f"set number {number}") != "ok":
                raise Broken("did not begin")
            start = time.time()
            if watcher.wait(timeout=10) != 0:
                raise Broken("the watcher failed")
            seconds = max(seconds, time.time() - start)
            watcher.stdout.close()
        writer.leave()
    return seconds


def slowest(proofs, folder, changes, **options):
    """How many seconds after the writer's exit a watcher has seen a change, at most; the options are the watcher's."""
    seconds = 0
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        for number in range(1, changes + 1):
            watcher = proofs.start("watch", path, "number", number, **options)
            if watcher.stdout.readline() != "watching\n":
                raise Broken("the watcher did not start")
            proofs.run("attempt", path, number)
            start = time.time()
            if watcher.wait(timeout=10) != 0:
                raise Broken("the watcher failed")
            seconds = max(seconds, time.time() - start)
            watcher.stdout.close()
    return seconds


def report(seconds, limit):
    if seconds > limit:
        raise Broken(f"took {seconds * 1000:.0f} ms")
    return f"at most {seconds * 1000:.0f} ms after the writer's exit"
