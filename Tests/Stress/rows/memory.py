"""What a set, a durable set of SQLite and a watch of everything ask memory for does not grow with the store.

What writing a file asks for grows with the file alone, also where making a block smaller asks for all of it again.
"""
from rows.proofs import ENGINES, Broken


# proves: G53
def prove(proofs, folder):
    library = proofs.compiled("count_allocations.c")
    most = {}
    for engine in ENGINES:
        small, large = (allocations(proofs, f"{folder}/{keys}.{engine}", keys, library) for keys in (10, 100_000))
        if len(small) != (7 if engine == "sqlite" else 5) or small.keys() != large.keys():
            raise Broken(f"{engine}: {small} {large}")
        for what, amount in large.items():
            most[what] = max(most.get(what, 0), amount)
            # The maps of changes are deeper by a few nodes.
            if amount > small[what] + 16384:
                raise Broken(f"{engine}, {what}: {small[what]} bytes at 10 keys, {amount} at 100,000")
    for line in lines(proofs, library, "serializations", f"{folder}/none", 800_000):
        name, size, amount = line.rsplit(" ", 2)
        if int(amount) > 32 * int(size):
            raise Broken(f"{name}: {amount} bytes asked for to write {size}")
    return "bytes asked for at 100,000 keys: " + ", ".join(f"{what} {amount}" for what, amount in most.items())


def lines(proofs, library, *arguments):
    result = proofs.run(*arguments, LD_PRELOAD=library)
    if result.returncode:
        raise Broken(result.stdout + result.stderr)
    return result.stdout.splitlines()


def allocations(proofs, path, keys, library):
    found = lines(proofs, library, "allocations", path, keys)
    return {what: int(amount) for what, amount in (line.rsplit(" ", 1) for line in found)}
