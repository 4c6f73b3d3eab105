"""Programs that open a store that is not there yet at the same moment all can, and lose nothing."""
import os

from rows.faults import calls_of
from rows.proofs import ENGINES, Broken, read_store


# proves: G17
def prove(proofs, folder):
    rounds, processes = proofs.size(10, 200), 8
    for engine in ENGINES:
        for number in range(rounds):
            path = f"{folder}/{number}.{engine}"
            counters = [proofs.start("count", path, f"p{process}", 1) for process in range(processes)]
            for counter in counters:
                said = counter.communicate(timeout=120)[0]
                if said != "done\n":
                    raise Broken(f"{engine}: {said}")
            if read_store(path).get("counter") != processes:
                raise Broken(f"{engine}: {read_store(path)}")
    folders(proofs, f"{folder}/new")
    return f"{rounds} new stores for each engine, {processes} processes each"


def folders(proofs, folder):
    """The folders that are made for a store's name are on disk when the file is: each one's parent is synced."""
    os.makedirs(folder)
    config = f"{folder}/deep/config"
    said = proofs.run("settle", "com.example.app", XDG_CONFIG_HOME=config, LD_PRELOAD=proofs.interposer,
                      INTERPOSE_FOLDER=folder, INTERPOSE_CALLS=folder + ".calls").stdout
    if said != f"{config}/com.example.app.plist\n" or read_store(said.strip()) != {"n": 1}:
        raise Broken(f"made {said}")
    synced = [name for _, call, name in calls_of(folder) if call == "sync"]
    if synced[:2] != ["new", "deep"] or synced[-1] != "config":
        raise Broken(f"synced {synced}")
