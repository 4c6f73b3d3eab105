"""Programs that open a store that is not there yet at the same moment all can, and lose nothing."""
from rows.proofs import ENGINES, Broken, read_store


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
    return f"{rounds} new stores for each engine, {processes} processes each"
