"""Where inotify is not to be had, a change is seen by looking once a second."""
import os
import time

from rows.proofs import ENGINES, Broken


def prove(proofs, folder):
    log = folder + "/refused"
    environment = {**os.environ, "LD_PRELOAD": proofs.library("refuse.c"), "REFUSE": "inotify", "REFUSE_LOG": log}
    slowest = 0
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        for number in range(1, proofs.size(2, 10)):
            watcher = proofs.start("watch", path, "number", number, env=environment)
            if watcher.stdout.readline() != "watching\n":
                raise Broken("the watcher did not start")
            proofs.run("attempt", path, number)
            start = time.time()
            if watcher.wait(timeout=10) != 0:
                raise Broken("the watcher failed")
            slowest = max(slowest, time.time() - start)
            watcher.stdout.close()
    if not os.path.exists(log):
        raise Broken("inotify was never asked for")
    if slowest > 1.2:
        raise Broken(f"took {slowest * 1000:.0f} ms")
    return f"at most {slowest * 1000:.0f} ms after the writer's exit"
