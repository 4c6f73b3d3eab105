"""Every prefix of the recorded calls, with what was not synced lost, kept or reordered."""
import os
import pathlib
import shutil

from rows.proofs import ENGINES, Broken, read_store


def prove(proofs, folder):
    states = 0
    for engine in ENGINES:
        recorded = f"{folder}/record-{engine}"
        os.makedirs(recorded)
        log = f"{folder}/{engine}.log"
        proofs.run("attempt", f"{recorded}/store.{engine}", 12, LD_PRELOAD=proofs.interposer,
                 INTERPOSE_FOLDER=recorded, INTERPOSE_RECORD=log)
        operations = [line.split(" ") for line in pathlib.Path(log).read_text().splitlines()]
        states += Crashes(operations, engine, proofs.random, f"{folder}/state").explore(proofs.size(300, 5000))
    return f"{states} states"


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
