"""What the rows share: checks, a program that is driven line by line, and a server with a proxy before it."""
import os
import select
import signal
import subprocess
import time
from pathlib import Path

from servers.postgresql import Server
from servers.proxy import Plan, Proxy

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("FLEET_PROGRAM", ROOT / ".build-fleet/debug/FleetProgram"))
ROWS = []
passed = failed = 0


def row(body):
    """Adds a function to the rows."""
    ROWS.append(body)
    return body


def check(good, what, output=""):
    """Counts a check, and prints it; `output` only if it failed."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'ok' if good else 'not ok'} - {what}", flush=True)
    if not good and output:
        print(output, flush=True)
    return good


def eventually(condition, seconds=10):
    """Whether a condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def digits(value):
    """A key or a value for the program."""
    return "-" if value is None else (value.encode() if isinstance(value, str) else value).hex()


class Contents:
    """The answer to `read`."""

    def __init__(self, text):
        self.extent, number, *pairs = text.split()
        self.number = int(number)
        self.entries = {}
        for pair in pairs:
            key, _, value = pair.partition("=")
            self.entries[bytes.fromhex(key).decode()] = None if value == "-" else bytes.fromhex(value).decode()

    def __str__(self):
        return f"{self.extent} {self.number} {self.entries}"


class Program:
    """A process of Tests/Program."""

    def __init__(self, fleet, **changes):
        self.process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, "LC_ALL": "C", **{name: str(value) for name, value in changes.items()}})
        fleet.programs.append(self)

    def send(self, *words):
        self.process.stdin.write("\t".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def receive(self, seconds=60):
        """The code and the rest of the answer; no code if none comes in time."""
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return None, f"no answer in {seconds} s"
        line = self.process.stdout.readline()
        if not line:
            return None, f"the program ended with status {self.process.wait()}"
        code, _, rest = line.rstrip("\n").partition(" ")
        return code, rest

    def call(self, *words, seconds=60):
        self.send(*words)
        return self.receive(seconds)

    def value(self, *words, seconds=60):
        """The answer to a line that must succeed."""
        code, rest = self.call(*words, seconds=seconds)
        if code != "ok":
            raise AssertionError(f"{words}: {code} {rest}")
        return rest

    def connects(self, text, seconds=20):
        """Whether the program can connect in time, also while the server starts."""
        return eventually(lambda: self.call("connect", text)[0] == "ok", seconds)

    def read(self, store, *words):
        return Contents(self.value("read", store, *words))

    def write(self, store, note="", **entries):
        return self.call("write", store, note, *[f"{digits(key)}={digits(value)}" for key, value in entries.items()])

    def writes(self, store, note="", **entries):
        """The revision of a write that must succeed."""
        code, rest = self.write(store, note, **entries)
        if code != "ok":
            raise AssertionError(f"write {store}: {code} {rest}")
        return int(rest)

    def follows(self, store, wanted, text, seconds=20):
        """Whether `wait` and `read` lead to the wanted entries. A lost connection is made again."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            code, names = self.call("wait", 500)
            if code == "ok" and store in names.split():
                code, rest = self.call("read", store)
                if code == "ok" and Contents(rest).entries == wanted:
                    return True
            if code != "ok" and self.call("connect", text)[0] == "ok":
                self.call("listen", 0, store)
        return False

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Fleet:
    """A server with tables, a proxy before it, and programs."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.programs = []
        self.count = 0
        self.server = Server(folder)
        self.server.make_tables()
        self.proxy = Proxy(path=f"{folder}/.s.PGSQL.{self.server.port}")

    def store(self):
        """A name that no other row uses."""
        self.count += 1
        return f"store{self.count}"

    def program(self, text=None, **changes):
        """A program that is connected."""
        program = Program(self, **changes)
        program.value("connect", text or self.server.text())
        return program

    def far(self):
        """The server's text through the proxy."""
        return self.server.text(port=self.proxy.port)

    def stored(self, store, key, server=None):
        """A value on the server; nothing if there is none."""
        return (server or self.server).sql(
            f"SELECT convert_from(value, 'UTF8') FROM kv_value WHERE store = '{store}' AND key = '{key}'")

    def clear(self):
        for program in self.programs:
            program.end()
        self.programs = []
        self.proxy.join()
        self.proxy.plan = Plan()
