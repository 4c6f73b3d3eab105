"""Where inotify is not to be had, a change is seen by looking once a second."""
import os

from rows import watch
from rows.proofs import Broken


def prove(proofs, folder):
    log = folder + "/refused"
    environment = {**os.environ, "LD_PRELOAD": proofs.compiled("refuse.c"), "REFUSE": "inotify", "REFUSE_LOG": log}
    seconds = watch.slowest(proofs, folder, proofs.size(1, 9), env=environment)
    if not os.path.exists(log):
        raise Broken("inotify was never asked for")
    return watch.report(seconds, 1.2)
