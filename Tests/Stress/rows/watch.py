"""A change by another process is seen within 200 ms."""
import time

from rows.proofs import ENGINES, Broken


def prove(proofs, folder):
    slowest = 0
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        for number in range(1, proofs.size(5, 50)):
            watcher = proofs.start("watch", path, "number", number)
            if watcher.stdout.readline() != "watching\n":
                raise Broken("the watcher did not start")
            proofs.run("attempt", path, number)
            start = time.time()
            if watcher.wait(timeout=10) != 0:
                raise Broken("the watcher failed")
            slowest = max(slowest, time.time() - start)
            watcher.stdout.close()
    if slowest > 0.2:
        raise Broken(f"took {slowest * 1000:.0f} ms")
    return f"at most {slowest * 1000:.0f} ms after the writer's exit"
