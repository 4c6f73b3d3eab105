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
import re
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


def with_children(process):
    return [process] + [int(line) for line in subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], stdout=subprocess.PIPE, text=True).stdout.split()]


def memory(process):
    """The MB of a process and its children, of what they share a part each."""
    total = 0
    for number in with_children(process):
        try:
            total += int(re.search(r"^Pss: +(\d+)", Path(f"/proc/{number}/smaps_rollup").read_text(), re.M)[1])
        except OSError:
            continue
    return total / 1024


def processor_time(process):
    """The seconds that a process and its children have used, all threads of them."""
    total = 0
    for number in with_children(process):
        for thread in Path(f"/proc/{number}/task").glob("*/schedstat"):
            try:
                total += int(thread.read_text().split()[0])
            except OSError:
                continue
    return total / 1e9


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


def measure(name, server, pooler, nodes, interval, changes, pause):
    """Has the machines take up changes; gives whether all have seen the last."""
    folder, text = server.folder, server.text(port=pooler and pooler.port)
    started, opening = time.monotonic(), processor_time(server.postmaster)
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
    opened, opening = time.monotonic() - started, processor_time(server.postmaster) - opening
    time.sleep(2 * interval + 5)

    def used():
        """The seconds of the server, the pooler and the machines."""
        return [processor_time(server.postmaster), processor_time(pooler.process.pid) if pooler else 0,
                sum(processor_time(each.pid) for each in processes)]

    def rates(before, start):
        return [(after - then) / (time.monotonic() - start) for then, after in zip(before, used())]

    idle, start = used(), time.monotonic()
    before = pooler and pooler.totals()
    time.sleep(10)
    idle = rates(idle, start)
    passed = [after - then for then, after in zip(before, pooler.totals())] if pooler else None
    size = memory(server.postmaster)
    busy, start = used(), time.monotonic()
    for number in range(1, changes + 1):
        if number == changes:
            busy = rates(busy, start)  # while all are there
        began = time.monotonic()
        writer.set(number)
        time.sleep(max(0, pause - (time.monotonic() - began)))
    times, missed = [], []
    for process in processes:
        output, error = process.communicate(timeout=300)
        times += [int(line) / 1000 for line in output.split()]
        if process.returncode:
            missed.append(error.strip())
    writer.process.stdin.close()
    writer.process.wait()
    times.sort()
    print(f"{nodes} {name}: {len(times)} times that a change was seen, after {times[len(times) // 2]:.1f} ms (median), "
          f"{times[len(times) * 99 // 100]:.1f} ms (99 %), {times[-1]:.1f} ms (all)\n"
          f"  all opened in {opened:.1f} s, for which the server took {opening:.1f} s of a core; it has {size:.0f} MB", flush=True)
    for what, (server_s, pooler_s, machines_s) in (("without changes", idle), (f"with one each {pause:g} s", busy)):
        print(f"  {what}: the server takes {server_s * 100:.1f} % of a core, the pooler {pooler_s * 100:.1f} %, the machines "
              f"{machines_s * 100:.1f} %", flush=True)
    if passed:
        print(f"  without changes: {passed[0] / 10:.0f} polls a second, of {passed[1] / passed[0]:.0f} bytes each, for which the "
              f"server takes {idle[0] * 1e7 / passed[0]:.0f} us and the pooler {idle[1] * 1e7 / passed[0]:.0f} us", flush=True)
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
            server.start(("max_connections", arguments.listening + 100))
            built, output = run("gcc", "-std=c11", "-O1", f"-I{ROOT}/include", ROOT / "Tests/Support/fleet_nodes.c", "-o",
                                f"{folder}/nodes", f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
            if not built:
                sys.exit(output)
            if arguments.listening:
                good = measure("that listen", server, None, arguments.listening, 0, arguments.changes, 0.5)
            if arguments.polling:
                pooler = Pooler(server, clients=arguments.polling + 100, pool=20)
                good = measure(f"that ask each {arguments.interval:g} s through a pooler", server,
                               pooler, arguments.polling, arguments.interval, arguments.changes,
                               arguments.interval * 1.25) and good
        finally:
            if pooler:
                pooler.stop()
            server.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
