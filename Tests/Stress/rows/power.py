"""Every prefix of the recorded calls, with what was not synced lost, kept or reordered."""
import json
import os
import pathlib
import shutil

from rows.proofs import ENGINES, Broken, read_store
from rows.writers import LINES, SHAPE, Writer, applied


# proves: G1
def prove(proofs, folder):
    states = 0
    for engine in ENGINES:
        for record in (alone, together):
            recorded = f"{folder}/{record.__name__}-{engine}"
            os.makedirs(recorded)
            log = recorded + ".log"
            history = record(proofs, f"{recorded}/store.{engine}", {
                "LD_PRELOAD": proofs.interposer, "INTERPOSE_FOLDER": recorded, "INTERPOSE_RECORD": log})
            operations = [line.split(" ") for line in pathlib.Path(log).read_text().splitlines()]
            crashes = Crashes(operations, engine, history, proofs.random, f"{folder}/state")
            states += crashes.explore(proofs.size(150, 2500))
    return f"{states} states, of one writer and of two"


def alone(proofs, path, environment):
    """A key that is set again and again. Gives what is stored after each change."""
    proofs.run("attempt", path, 12, **environment)
    return [{}] + [{"number": number + 1} for number in range(12)]


def together(proofs, path, environment):
    """Two writers in turn, by paths and in arrays."""
    writers = {}
    lines = [(0, "set a " + json.dumps(SHAPE, separators=(",", ":")))]
    for number, line in enumerate(LINES):
        lines += [(1, line), (0, f"set a.theirs {number}")]
    history = [{}]
    for number, line in lines:
        if number not in writers:  # the second opens what the first has made
            durability = "manual" if number else "immediate"
            writers[number] = Writer(proofs, path, durability, env={**os.environ, **environment})
        if writers[number].does(line) != "ok":
            raise Broken(f"{line} failed")
        history.append(applied(history[-1], line))
    for writer in writers.values():
        writer.leave()
    return history


class Crashes:
    """The states that a power failure can leave: what the recorded calls made, less what was not synced."""

    def __init__(self, operations, engine, history, generator, folder):
        self.operations, self.engine, self.history = operations, engine, history
        self.random, self.folder = generator, folder

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
        for operation in self.operations[:end]:
            self.apply(operation)

    def apply(self, operation):
        kind = operation[0]
        if kind == "say":
            text = bytes.fromhex(operation[3]).decode().split()
            if text[0] == "ok":
                self.acknowledged += 1
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
        elif kind == "exchange":
            other = self.files.get(operation[4])
            self.entries.append([False, {operation[2]: other, operation[3]: inode}])
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
        found = read_store(f"{self.folder}/store.{self.engine}")
        if found not in self.history[self.acknowledged:self.acknowledged + 2]:
            raise Broken(f"{self.engine}: {self.acknowledged} were acknowledged, {found} is left after power loss")
