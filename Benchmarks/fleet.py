#!/usr/bin/env python3
"""A store on a PostgreSQL server of the benchmark's own, beside others: Benchmarks/c/fleet.c. Prints rows (report.py)."""
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Tests"))
from servers.postgresql import Server, free_port  # noqa: E402
from tap import environment  # noqa: E402

PROGRAM = ROOT / "build/bench/fleet"


class Etcd:
    def __init__(self, folder):
        port, peer = free_port(), free_port()
        self.port = port
        self.process = subprocess.Popen(
            ["etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", f"http://127.0.0.1:{port}",
             "--advertise-client-urls", f"http://127.0.0.1:{port}", "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}", "--initial-cluster",
             f"default=http://127.0.0.1:{peer}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError("etcd does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory(prefix="kvbench-") as folder:
        os.chmod(folder, 0o755)
        measure(Path(folder))


def measure(folder):
    server, etcd = Server(folder), None
    try:
        server.make_tables()
        # In a database of its own: a notification wakes all that listen in one.
        server.sql("CREATE ROLE devices; CREATE ROLE device LOGIN IN ROLE devices")
        server.sql("CREATE DATABASE devices")
        server.make_tables("devices")
        server.sql("INSERT INTO kv_right VALUES ('devices', 'all', false), ('device', 'device', true)", database="devices")
        etcd = Etcd(folder)
        usual = environment(XDG_CACHE_HOME=folder / "cache", XDG_CONFIG_HOME=folder / "config")
        process = subprocess.Popen([PROGRAM, "run", server.text(), str(etcd.port), folder], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=usual)
        for line in process.stdout:
            if line == "stop\n":
                break
            print(line, end="")
        time.sleep(2)  # The values are kept once a second.
        server.stop()
        time.sleep(1)
        print(process.communicate("\n")[0], end="")
        if process.returncode:
            sys.exit("the benchmark has failed")
        found = [tuple(map(float, subprocess.run([PROGRAM, "open", server.text(), folder], env=usual, check=True,
                                                 stdout=subprocess.PIPE, text=True).stdout.split())) for _ in range(51)]
        ours, files = (statistics.median(times) for times in zip(*found))
        print(f"row\topening without the server\tms\t{ours / 1e3:.3f}\ta file's store={files / 1e3:.3f}")
    finally:
        if etcd:
            etcd.stop()
        server.stop()


if __name__ == "__main__":
    main()
