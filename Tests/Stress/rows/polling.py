"""Where inotify is not to be had, or observes no folder, a change is seen by looking once a second."""
import os
import plistlib
import time
from pathlib import Path

from rows import watch
from rows.proofs import Broken


# proves: G64
def prove(proofs, folder):
    log = folder + "/refused"
    environment = {**os.environ, "LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE_LOG": log}
    seconds = watch.slowest(proofs, folder, proofs.size(1, 9), env={**environment, "REFUSE": "inotify"})
    if not os.path.exists(log):
        raise Broken("inotify was never asked for")
    os.remove(log)
    seconds = max(seconds, removed(proofs, folder + "/removed.plist", {**environment, "REFUSE": "folders"}))
    if not os.path.exists(log):
        raise Broken("no folder was to be observed")
    return watch.report(seconds, 1.2)


def removed(proofs, path, environment):
    """The file is removed, so that only its folder could tell that it is there again: how long that takes to be seen."""
    file = Path(path)
    file.write_bytes(plistlib.dumps({"number": 1}))
    watcher = proofs.start("watch", path, "number", 2, env=environment)
    if watcher.stdout.readline() != "watching\n":
        raise Broken("the watcher did not start")
    os.unlink(path)
    if watcher.stdout.readline() != "number -1\n":
        raise Broken("the removal was not seen")
    new = Path(path + ".new")
    new.write_bytes(plistlib.dumps({"number": 2}))
    start = time.time()
    os.rename(new, path)
    try:
        if watcher.wait(timeout=10) != 0:
            raise Broken("the watcher failed")
    finally:
        watcher.kill()
        watcher.stdout.close()
    return time.time() - start
