#!/usr/bin/env python3
"""How many machines a server carries: some that listen, many that ask through a pooler.

    fleet_scale.py [--listening N] [--polling N] [--changes N] [--interval SECONDS]

Each machine is a connection of the library's own, with the library's thread behind it, of some hundreds in a process;
all are on one computer with the server. A change is written with the time of day, and each machine measures from that
until its handler is called: the commit is a part of it. Prints the figures of docs/fleets.md, and ends with 1 where a
machine misses the last change.
"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from servers.postgresql import Pooler, Server  # noqa: E402
from tap import ROOT, environment, run  # noqa: E402

IN_A_PROCESS = 500


def processor_time(process):
    """The seconds that a process and its children have used, the ended ones too."""
    ticks = os.sysconf("SC_CLK_TCK")
    numbers = [process] + [int(line) for line in subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], stdout=subprocess.PIPE, text=True).stdout.split()]
    total = 0
    for number in numbers:
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15] if number == process else fields[11:13]))
    return total / ticks


class Writer:
    """A Lua process that sets what it is told."""

    def __init__(self, text, folder):
        program = ("local kv = require 'kvcodable' local s = assert(kv.open('scale', { engine = 'postgresql', server = "
                   f"'{text}', durability = 'immediate' }})) print 'ok' for line in io.lines() do "
                   "local n, at = line:match '(%d+) (%d+)' "
                   "s:set('change', { n = math.tointeger(n), at = math.tointeger(at) }) print 'ok' end")
        self.process = subprocess.Popen(["lua5.4", "-e", "io.stdout:setvbuf 'line' " + program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env=environment(LUA_CPATH=f"{ROOT}/build/?.so;;", XDG_CACHE_HOME=folder))
        self.receive()

    def receive(self):
        if self.process.stdout.readline() != "ok\n":
            raise RuntimeError("the writer has failed")

    def set(self, number):
        self.process.stdin.write(f"{number} {time.time_ns() // 1000}\n")
        self.receive()


def measure(name, server, text, nodes, interval, changes, pause):
    """Has the machines take up changes; gives whether all have seen the last."""
    folder = server.folder
    started = time.monotonic()
    # Nothing is kept for the time without the server: these machines share one disk.
    processes = [subprocess.Popen(
        [folder / "nodes", text, "scale", str(min(IN_A_PROCESS, nodes - first)), str(interval), str(changes)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(XDG_CACHE_HOME="/proc/none"))
        for first in range(0, nodes, IN_A_PROCESS)]
    writer = Writer(server.text(), folder / "writer")
    writer.set(0)
    for process in processes:
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(process.stderr.read())
    opened = time.monotonic() - started
    time.sleep(2 * interval + 5)
    idle, start = processor_time(server.postmaster), time.monotonic()
    time.sleep(10)
    idle = (processor_time(server.postmaster) - idle) / (time.monotonic() - start)
    busy, start = processor_time(server.postmaster), time.monotonic()
    for number in range(1, changes + 1):
        began = time.monotonic()
        writer.set(number)
        time.sleep(max(0, pause - (time.monotonic() - began)))
    times, missed = [], []
    for process in processes:
        output, error = process.communicate(timeout=300)
        times += [int(line) / 1000 for line in output.split()]
        if process.returncode:
            missed.append(error.strip())
    busy = (processor_time(server.postmaster) - busy) / (time.monotonic() - start)
    writer.process.stdin.close()
    writer.process.wait()
    times.sort()
    print(f"{nodes} {name}: {len(times)} times that a change was seen, after {times[len(times) // 2]:.1f} ms (median), "
          f"{times[len(times) * 99 // 100]:.1f} ms (99 %), {times[-1]:.1f} ms (all); the server takes {idle * 100:.1f} % "
          f"of a core without changes, {busy * 100:.1f} % with one each {pause} s; all opened in {opened:.1f} s", flush=True)
    for line in missed:
        print(f"missed: {line}", flush=True)
    return not missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--listening", type=int, default=500)
    parser.add_argument("--polling", type=int, default=5000)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--interval", type=float, default=5)
    arguments = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # and so for those that are started
    with tempfile.TemporaryDirectory(prefix="kvscale-") as folder:
        os.chmod(folder, 0o755)
        server, pooler, good = Server(folder), None, True
        try:
            server.make_tables()
            server.stop()
            # Each has a second connection for half a minute, over which it has loaded the store.
            server.start(("max_connections", 2 * arguments.listening + 100))
            built, output = run("gcc", "-std=c11", "-O1", f"-I{ROOT}/include", ROOT / "Tests/Support/fleet_nodes.c", "-o",
                                f"{folder}/nodes", f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
            if not built:
                sys.exit(output)
            if arguments.listening:
                good = measure("that listen", server, server.text(), arguments.listening, 0, arguments.changes, 0.5)
            if arguments.polling:
                pooler = Pooler(server, clients=arguments.polling + 100, pool=20)
                good = measure(f"that ask each {arguments.interval:g} s through a pooler", server,
                               server.text(port=pooler.port), arguments.polling, arguments.interval, arguments.changes,
                               arguments.interval * 1.4) and good
        finally:
            if pooler:
                pooler.stop()
            server.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
