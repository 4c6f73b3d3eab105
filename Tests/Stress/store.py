#!/usr/bin/env python3
"""The store's promises, proved on real processes, files and system calls.

    store.py [--full] [--helper PROGRAM] [--interposer LIBRARY] [--seed NUMBER] [ROW ...]

Each row of the table in the store's documentation is a function here. Short
by default, with --full the full figures. The oracles are Python's own plistlib
and sqlite3, never the store itself. Ends with a line `N passed, N failed`.
"""
import argparse
import glob
import os
import pathlib
import plistlib
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

ENGINES = ("plist", "sqlite")
ERRORS = {"ENOSPC": "28", "EIO": "5", "EINTR": "4", "short write": "short"}


class Broken(Exception):
    """A promise that did not hold."""


def read_store(path):
    """The store's dictionary, by another reader than ours; {} for none."""
    if not os.path.exists(path):
        return {}
    if path.endswith(".plist"):
        with open(path, "rb") as file:
            return plistlib.load(file)
    database = sqlite3.connect(path)
    try:
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise Broken("integrity_check failed")
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name='defaults'").fetchone():
            return {}
        rows = database.execute("SELECT key, value FROM defaults WHERE value IS NOT NULL")
        return {key: plistlib.loads(value) for key, value in rows}
    finally:
        database.close()


def check_modes(folder):
    for path in glob.glob(folder + "/*") + glob.glob(folder + "/.*"):
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        if os.path.isfile(path) and mode != 0o600:
            raise Broken(f"{path} has mode {mode:o}")


class Proofs:
    def __init__(self, arguments):
        self.helper = arguments.helper
        self.interposer = arguments.interposer
        self.is_full = arguments.full
        self.random = random.Random(arguments.seed)

    def size(self, short, full):
        return full if self.is_full else short

    def run(self, *command, timeout=120, **environment):
        return subprocess.run(
            [self.helper, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **environment}, timeout=timeout, text=True)

    def start(self, *command, **options):
        return subprocess.Popen(
            [self.helper, *map(str, command)], stdout=subprocess.PIPE, text=True, bufsize=1, **options)

    # -- the file is always the old or the new one ---------------------------

    def kill(self, folder):
        """An acknowledged durable set survives SIGKILL."""
        rounds = self.size(50, 500)
        writes = 0
        for engine in ENGINES:
            path = f"{folder}/store.{engine}"
            acknowledged = 0
            for _ in range(rounds):
                process = self.start("save", path, acknowledged + 1, self.random.choice((10, 1000, 60000)))
                time.sleep(self.random.uniform(0.005, 0.04))
                process.send_signal(signal.SIGKILL)
                lines = [line for line in process.stdout.read().split("\n")[:-1]]
                process.wait()
                if lines:
                    writes += len(lines)
                    acknowledged = int(lines[-1])
                check_modes(folder)
                found = read_store(path)
                number = found.get("number", 0)
                if not acknowledged <= number <= acknowledged + 1:
                    raise Broken(f"{engine}: {acknowledged} was acknowledged, {number} is stored")
                if found and found["square"] != number * number:
                    raise Broken(f"{engine}: half of a transaction is stored")
                acknowledged = number
        return f"{rounds * 2} kills, {writes} acknowledged writes"

    # -- every system call may fail ------------------------------------------

    def faults(self, folder):
        """Every call fails, once and for ever, with every error."""
        runs = 0
        for engine in ENGINES:
            total = self.count_calls(f"{folder}/count-{engine}", engine)
            step = 1 if self.is_full or engine == "plist" else 3
            for index in range(1, total + 1, step):
                for name, number in ERRORS.items():
                    for how in ("once", "ever"):
                        if engine == "sqlite" and name == "EINTR" and how == "ever":
                            continue
                        self.fault(f"{folder}/{engine}", engine, index, f"{index}:{number}:{how}", name)
                        runs += 1
            if engine == "sqlite":
                runs += self.endless(folder, range(1, total + 1, self.size(12, 1)))
        return f"{runs} runs"

    def endless(self, folder, calls):
        """SQLite makes a call that a signal interrupted again, for ever: who ends it finds the old or the new."""
        path = f"{folder}/sqlite/store.sqlite"
        for index in calls:
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
            os.makedirs(os.path.dirname(path))
            process = self.start("attempt", path, 3, env={
                **os.environ, "LD_PRELOAD": self.interposer, "INTERPOSE_FOLDER": os.path.dirname(path),
                "INTERPOSE_FAIL": f"{index}:4:ever"})
            try:
                output, _ = process.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            good = [int(line.split()[1]) for line in output.split("\n") if line.startswith("ok")]
            number = read_store(path).get("number", 0)
            if "lost" in output or not max(good, default=0) <= number <= max(good, default=0) + 1:
                raise Broken(f"sqlite, call {index}, EINTR for ever: {output!r}, but {number} is stored")
            check_modes(os.path.dirname(path))
        return len(calls)

    def count_calls(self, folder, engine):
        os.makedirs(folder)
        self.run("attempt", f"{folder}/store.{engine}", 3, LD_PRELOAD=self.interposer, INTERPOSE_FOLDER=folder,
                 INTERPOSE_COUNT=folder + ".count")
        return int(pathlib.Path(folder + ".count").read_text())

    def fault(self, folder, engine, index, fail, name):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        path = f"{folder}/store.{engine}"
        result = self.run("attempt", path, 3, timeout=60, LD_PRELOAD=self.interposer, INTERPOSE_FOLDER=folder,
                          INTERPOSE_FAIL=fail)
        what = f"{engine}, call {index}, {name} {fail}"
        lines = result.stdout.split("\n")[:-1]
        if result.returncode != 0 or result.stderr:
            raise Broken(f"{what}: ended with {result.returncode} {result.stderr}")
        if any(line.startswith("lost") for line in lines):
            raise Broken(f"{what}: lost from memory")
        good = [int(line.split()[1]) for line in lines if line.startswith("ok")]
        bad = [int(line.split()[1]) for line in lines if line.startswith("error ") and line.split()[1].isdigit()]
        if "error open" not in lines and len(good) + len(bad) != 3:
            raise Broken(f"{what}: {lines}")
        number = read_store(path).get("number", 0)
        allowed = {max(good, default=0)} | {n for n in bad if n > max(good, default=0)}
        if "closed" in lines and bad and max(bad) > max(good, default=0):
            allowed = {max(bad)}  # close wrote what was kept
        if number not in allowed:
            raise Broken(f"{what}: {lines}, but {number} is stored")
        check_modes(folder)

    # -- power loss -----------------------------------------------------------

    def power(self, folder):
        """Every prefix of the recorded calls, with what was not synced lost, kept or reordered."""
        states = 0
        for engine in ENGINES:
            recorded = f"{folder}/record-{engine}"
            os.makedirs(recorded)
            log = f"{folder}/{engine}.log"
            self.run("attempt", f"{recorded}/store.{engine}", 12, LD_PRELOAD=self.interposer,
                     INTERPOSE_FOLDER=recorded, INTERPOSE_RECORD=log)
            operations = [line.split(" ") for line in pathlib.Path(log).read_text().splitlines()]
            states += Crashes(operations, engine, self.random, f"{folder}/state").explore(self.size(300, 5000))
        return f"{states} states"

    # -- no lost updates ------------------------------------------------------

    def updates(self, folder):
        """Processes that set keys of their own and share a counter lose nothing; one dies with the lock."""
        count, processes = self.size(60, 1000), 8
        for engine in ENGINES:
            path = f"{folder}/store.{engine}"
            holder = self.start("hold", path)
            if holder.stdout.readline() != "holding\n":
                raise Broken("the holder did not get the lock")
            counters = [self.start("count", path, f"p{number}", count) for number in range(processes)]
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

    # -- the first opening ----------------------------------------------------

    def opening(self, folder):
        """Programs that open a store that is not there yet at the same moment all can, and lose nothing."""
        rounds, processes = self.size(10, 200), 8
        for engine in ENGINES:
            for number in range(rounds):
                path = f"{folder}/{number}.{engine}"
                counters = [self.start("count", path, f"p{process}", 1) for process in range(processes)]
                for counter in counters:
                    said = counter.communicate(timeout=120)[0]
                    if said != "done\n":
                        raise Broken(f"{engine}: {said}")
                if read_store(path).get("counter") != processes:
                    raise Broken(f"{engine}: {read_store(path)}")
        return f"{rounds} new stores for each engine, {processes} processes each"

    # -- full disk ------------------------------------------------------------

    def disk(self, folder):
        """On a full disk the old file stays whole, the error says so, and there is life after it."""
        mount = folder + "/small"
        os.makedirs(mount)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", mount], stderr=subprocess.PIPE).returncode:
            return "NOT RUN: no right to mount a small file system"
        try:
            for engine in ENGINES:
                result = self.run("fill", f"{mount}/store.{engine}", f"{mount}/filler")
                if engine == "sqlite":  # its file may grow while it stays whole
                    lines = [line for line in result.stdout.split() if line not in ("whole", "damaged")]
                    expected = ["full", "kept", "works"]
                else:
                    lines, expected = result.stdout.split("\n")[:-1], ["full", "kept", "whole", "works"]
                if lines != expected:
                    raise Broken(f"{engine}: {result.stdout} {result.stderr}")
                if read_store(f"{mount}/store.{engine}")["number"] != 2:
                    raise Broken(f"{engine}: not written when there was room again")
                result = self.run("retry", f"{mount}/store.{engine}", f"{mount}/filler")
                if result.stdout != "patient\n":
                    raise Broken(f"{engine}: {result.stdout} {result.stderr}")
                if read_store(f"{mount}/store.{engine}")["number"] != 59:
                    raise Broken(f"{engine}: what was kept was not written at exit")
        finally:
            subprocess.run(["umount", mount], check=True)
        return "both engines"

    # -- fork and exit --------------------------------------------------------

    def fork(self, folder):
        """A process that forks keeps working in both; what was set is written at exit."""
        for engine in ENGINES:
            path = f"{folder}/store.{engine}"
            for _ in range(self.size(3, 50)):
                for old in glob.glob(folder + "/*"):
                    os.unlink(old)
                result = self.run("split", path)
                if result.stdout != "child 0\n" or result.returncode:
                    raise Broken(f"{engine}: {result.stdout}{result.stderr}")
                found = read_store(path)
                if found != {"before": 1, "child": 2, "parent": 2, "counter": 40}:
                    raise Broken(f"{engine}: {found}")
            self.run("leave", path)
            if read_store(path).get("left") != 42:
                raise Broken(f"{engine}: nothing was written at exit")
            os.unlink(path)
            self.run("leave-inside", path)
            if read_store(path) != {"left": 42}:
                raise Broken(f"{engine}: {read_store(path)} after an exit in the middle of a transaction")
        return "both engines"

    # -- watching -------------------------------------------------------------

    def watch(self, folder):
        """A change by another process is seen within 200 ms."""
        slowest = 0
        for engine in ENGINES:
            path = f"{folder}/store.{engine}"
            for number in range(1, self.size(5, 50)):
                watcher = self.start("watch", path, "number", number)
                if watcher.stdout.readline() != "watching\n":
                    raise Broken("the watcher did not start")
                self.run("attempt", path, number)
                start = time.time()
                if watcher.wait(timeout=10) != 0:
                    raise Broken("the watcher failed")
                slowest = max(slowest, time.time() - start)
                watcher.stdout.close()
        if slowest > 0.2:
            raise Broken(f"took {slowest * 1000:.0f} ms")
        return f"at most {slowest * 1000:.0f} ms after the writer's exit"

    # -- cost ------------------------------------------------------------------

    def memory(self, folder):
        """What a set, a durable set of SQLite and a watch of everything ask memory for does not grow with the store."""
        library = folder + "/count.so"
        source = pathlib.Path(__file__).parent.parent / "Support" / "count_allocations.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        most = {}
        for engine in ENGINES:
            small, large = (self.allocations(f"{folder}/{keys}.{engine}", keys, library) for keys in (10, 100_000))
            if len(small) != (7 if engine == "sqlite" else 5) or small.keys() != large.keys():
                raise Broken(f"{engine}: {small} {large}")
            for what, amount in large.items():
                most[what] = max(most.get(what, 0), amount)
                if amount > small[what] + 8192:
                    raise Broken(f"{engine}, {what}: {small[what]} bytes at 10 keys, {amount} at 100,000")
        return "bytes asked for at 100,000 keys: " + ", ".join(f"{what} {amount}" for what, amount in most.items())

    def allocations(self, path, keys, library):
        result = self.run("allocations", path, keys, LD_PRELOAD=library)
        if result.returncode:
            raise Broken(result.stdout + result.stderr)
        return {what: int(amount) for what, amount in (line.rsplit(" ", 1) for line in result.stdout.splitlines())}

    # -- hostile files --------------------------------------------------------

    def hostile(self, folder):
        """Whatever is in the file's place: no crash, and nothing of it is overwritten unread."""
        contents = [os.urandom(n) for n in (1, 7, 8, 40, 500)] + [b"\0" * 64, b"bplist00" + b"\xff" * 60, b"<plist>", b"{"]
        seeds = [plistlib.dumps({"a": [1, 2.5, "x", b"y"], "b": {"c": True}}, fmt=form)
                 for form in (plistlib.FMT_XML, plistlib.FMT_BINARY)]
        corpus = os.environ.get("KVCODABLE_CORPUS")
        if corpus:
            for path in pathlib.Path(corpus).rglob("*"):
                if path.is_file() and path.stat().st_size < 300_000:
                    contents.append(path.read_bytes())
        for _ in range(self.size(300, 5000)):
            data = bytearray(self.random.choice(seeds))
            for _ in range(self.random.randint(1, 6)):
                data[self.random.randrange(len(data))] = self.random.randrange(256)
            contents.append(bytes(data[: self.random.randint(1, len(data))] if self.random.random() < 0.3 else data))
        paths = []
        for number, data in enumerate(contents):
            os.makedirs(f"{folder}/{number}")
            paths.append(f"{folder}/{number}/store.plist")
            pathlib.Path(paths[-1]).write_bytes(data)
            os.utime(paths[-1], (1, 1))
        result = subprocess.run([self.helper, "visit"], input="\n".join(paths), stdout=subprocess.PIPE, text=True)
        answers = result.stdout.split("\n")[:-1]
        if result.returncode or len(answers) != len(paths):
            raise Broken(f"crashed at {contents[len(answers)][:80]!r}")
        for path, data, answer in zip(paths, contents, answers):
            self.check_hostile(path, data, answer)
        return f"{len(contents)} files" + ("" if corpus else ", NOT the corpus: KVCODABLE_CORPUS is not set")

    def check_hostile(self, path, data, answer):
        kept = [pathlib.Path(p).read_bytes() for p in glob.glob(os.path.dirname(path) + "/*")]
        if answer.startswith("error"):
            if data not in kept:
                raise Broken(f"{data[:80]!r} was refused and is gone")
        elif int(answer.split()[1]) == 0 and data not in kept:
            raise Broken(f"{data[:80]!r} was taken for an empty store and is gone")


class Crashes:
    """The states that a power failure can leave: what the recorded calls made, less what was not synced."""

    def __init__(self, operations, engine, generator, folder):
        self.operations, self.engine, self.random, self.folder = operations, engine, generator, folder

    def explore(self, wanted):
        each = max(1, wanted // len(self.operations))
        count = 0
        for end in range(len(self.operations) + 1):
            self.replay(end)
            for attempt in range(each + 2):
                # Everything lost that may be, everything kept, and then by chance.
                self.check(chance=0 if attempt == 0 else 1 if attempt == 1 else None)
                count += 1
        return count

    def replay(self, end):
        self.files = {}     # inode number: index into data
        self.data = []      # for each file [(is synced, offset or None for a truncation, bytes or size)]
        self.entries = []   # [(is synced, {name: inode or None})]
        self.acknowledged = 0
        self.attempted = 1
        for operation in self.operations[:end]:
            self.apply(operation)

    def apply(self, operation):
        kind = operation[0]
        if kind == "say":
            text = bytes.fromhex(operation[3]).decode().split()
            if text[0] == "ok":
                self.acknowledged = int(text[1])
                self.attempted = self.acknowledged + 1
            elif text[0] in ("error", "lost"):
                raise Broken(f"the recorded run failed: {text}")
            return
        number = operation[1] if len(operation) > 1 else ""
        if kind == "create":  # an inode's number may have been another file's
            self.files[number] = len(self.data)
            self.data.append([])
        inode = self.files.get(number)
        if kind in ("create", "link"):
            self.entries.append([False, {operation[2]: inode}])
        elif kind == "rename":
            self.entries.append([False, {operation[2]: None, operation[3]: inode}])
        elif kind == "unlink":
            self.entries.append([False, {operation[2]: None}])
        elif kind == "write":
            self.data[inode].append([False, int(operation[2]), bytes.fromhex(operation[3])])
        elif kind == "truncate":
            self.data[inode].append([False, None, int(operation[2])])
        elif kind == "sync":
            for write in self.data[inode]:
                write[0] = True
        elif kind == "syncfolder":
            for entry in self.entries:
                entry[0] = True

    def survives(self, is_synced, chance):
        return is_synced or (self.random.random() < 0.5 if chance is None else chance == 1)

    def check(self, chance):
        names = {}
        for is_synced, change in self.entries:
            if self.survives(is_synced, chance):
                names.update(change)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        for name, inode in names.items():
            if inode is None or name.endswith("-shm"):
                continue
            data = bytearray()
            for is_synced, offset, content in self.data[inode]:
                if not self.survives(is_synced, chance):
                    continue
                if offset is None:
                    del data[content:]
                    continue
                data.extend(b"\0" * (offset + len(content) - len(data)))
                data[offset : offset + len(content)] = content
            pathlib.Path(self.folder, name).write_bytes(data)
        number = read_store(f"{self.folder}/store.{self.engine}").get("number", 0)
        if not self.acknowledged <= number <= self.attempted:
            raise Broken(f"{self.engine}: {self.acknowledged} was acknowledged, {number} is left after power loss")


ROWS = ("kill", "faults", "power", "updates", "opening", "disk", "fork", "watch", "memory", "hostile")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--helper", default=".build/debug/StoreHelper")
    parser.add_argument("--interposer")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("rows", nargs="*", default=ROWS)
    arguments = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="kvstore-")
    if not arguments.interposer:
        arguments.interposer = scratch + "/interpose.so"
        source = pathlib.Path(__file__).parent.parent / "Support" / "interpose.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", arguments.interposer, source, "-ldl"], check=True)
    arguments.helper = os.path.abspath(arguments.helper)
    proofs = Proofs(arguments)
    passed = failed = 0
    print(f"seed {arguments.seed}")
    for row in arguments.rows:
        folder = f"{scratch}/{row}"
        os.makedirs(folder)
        start = time.time()
        try:
            figure = getattr(proofs, row)(folder)
            passed += 1
            print(f"ok   {row}: {figure} ({time.time() - start:.1f} s)", flush=True)
        except (Broken, OSError, ValueError, KeyError, plistlib.InvalidFileException, sqlite3.Error,
                subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAIL {row}: {type(error).__name__}: {error}", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
