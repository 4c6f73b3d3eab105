"""Two writers of one value, by paths and in arrays, and what it is after each of their steps."""
import copy
import json

SHAPE = {"mine": [], "map": {}}
# What the one writes, each line with its sync; the other's changes, in between, are to another key of the same value.
LINES = ("set a.mine.0 1;set a.map.x 1;sync", "set a.mine.1 2;remove a.map.x;set b 7;sync",
         "remove a.mine.0;set a.mine.1 3;sync", 'set a.mine.0 {"n":4};set a.mine.0.deep 5;set a.map.y.z 6;sync')


def value(text):
    return json.loads(text)


def applied(state, line):
    """The state that the steps of a line make of another."""
    state = copy.deepcopy(state)
    for step in line.split(";"):
        words = step.split(" ")
        if words[0] not in ("set", "within", "remove"):
            continue
        path = [int(part) if part.isdigit() else part for part in words[1].split(".")]
        container = state
        for part in path[:-1]:
            container = container.setdefault(part, {}) if isinstance(part, str) else container[part]
        if words[0] == "remove":
            del container[path[-1]]
        elif isinstance(container, list) and path[-1] == len(container):
            container.append(value(words[2]))
        else:
            container[path[-1]] = value(words[2])
    return state


class Writer:
    """A program that does what it is told, a line at a time."""

    def __init__(self, proofs, path, durability, **options):
        self.process = proofs.start("drive", path, durability, stdin=-1, **options)
        self.ended = None

    def does(self, line):
        """What it answers; what it said last once it has ended."""
        if self.ended is None:
            try:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                pass
            answer = self.process.stdout.readline().rstrip("\n")
            if answer == "ok" or answer.startswith("error Optional"):
                return answer
            self.ended = answer or "error ended"
        return self.ended

    def leave(self):
        """Ends it; its exit code and whatever it still says."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        rest = self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(timeout=60), rest
