"""Processes that set keys of their own and share a counter lose nothing; one dies with the lock."""
import time

from rows.proofs import ENGINES, Broken, read_store


# proves: G9, G19
def prove(proofs, folder):
    count, processes = proofs.size(60, 1000), 8
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        holder = proofs.start("hold", path)
        if holder.stdout.readline() != "holding\n":
            raise Broken("the holder did not get the lock")
        counters = [proofs.start("count", path, f"p{number}", count) for number in range(processes)]
        time.sleep(0.2)
        holder.kill()
        holder.wait()
        for counter in counters:
            if counter.communicate(timeout=1200)[0] != "done\n":
                raise Broken(f"{engine}: a process failed")
        found = read_store(path)
        if found["counter"] != processes * count:
            raise Broken(f"{engine}: counted to {found['counter']} instead of {processes * count}")
        lost = [f"p{p}-{n}" for p in range(processes) for n in range(count) if found.get(f"p{p}-{n}") != n]
        if lost or "never" in found:
            raise Broken(f"{engine}: lost {lost[:5]}")
    return f"{processes} processes, {count} sets and {count} transactions each, both engines"
