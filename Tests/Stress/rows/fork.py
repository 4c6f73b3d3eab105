"""A process that forks keeps working in both; what was set is written at exit."""
import glob
import os

from rows.proofs import ENGINES, Broken, read_store


def prove(proofs, folder):
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        for _ in range(proofs.size(3, 50)):
            for old in glob.glob(folder + "/*"):
                os.unlink(old)
            result = proofs.run("split", path)
            if result.stdout != "child 0\n" or result.returncode:
                raise Broken(f"{engine}: {result.stdout}{result.stderr}")
            found = read_store(path)
            if found != {"queue": [1, 2, 3, 4, 5], "before": 1, "child": 2, "parent": 2, "counter": 40}:
                raise Broken(f"{engine}: {found}")
        os.unlink(path)
        result = proofs.run("inherit", path)
        if result.stdout != "child 0\n" or result.returncode:
            raise Broken(f"{engine}: {result.stdout}{result.stderr}")
        if read_store(path) != {"box": {"queue": [1, 2, 3], "child": 1, "parent": 1}}:
            raise Broken(f"{engine}, the child wrote first: {read_store(path)}")
        paths = [f"{folder}/{name}.{engine}" for name in ("first", "second", "third")]
        result = proofs.run("leave-forked", *paths)
        if result.stdout != "child 0\n" or result.returncode:
            raise Broken(f"{engine}, leaving: {result.stdout}{result.stderr}")
        found = [read_store(path) for path in paths]
        if found != [{"before": 1, "child": 2}, {"inside": 1}, {"parent": 1, "child": 1}]:
            raise Broken(f"{engine}, the child left without closing: {found}")
        proofs.run("leave", path)
        if read_store(path).get("left") != 42:
            raise Broken(f"{engine}: nothing was written at exit")
        os.unlink(path)
        proofs.run("leave-inside", path)
        if read_store(path) != {"left": 42}:
            raise Broken(f"{engine}: {read_store(path)} after an exit in the middle of a transaction")
    return "both engines"
