#!/usr/bin/env python3
"""What `require "kvcodable"` costs over bare lua5.4, in time and in memory. Prints rows (report.py)."""
import random
import statistics
import subprocess
import time

RUNS = 100
# The memory that is the process's own: the pages that it has written, as the interpreter itself finds them. What is
# resident besides are pages of files, which the system keeps and shares, more or fewer of them by the machine.
PRIVATE = """for line in io.lines '/proc/self/smaps_rollup' do
  local n = line:match 'Private_Dirty:%s*(%d+)' if n then print(n) end end"""


def seconds(script):
    start = time.perf_counter()
    subprocess.run(["lua5.4", "-e", script], check=True)
    return time.perf_counter() - start


def private(script):
    """Bytes."""
    output = subprocess.run(["lua5.4", "-e", f"{script} {PRIVATE}"], check=True, capture_output=True, text=True).stdout
    return int(output) * 1024


def main():
    scripts = {"bare": "", "ours": "require 'kvcodable'", "cjson": "require 'cjson'",
               "typed": "local kv = require 'kvcodable' kv.encode({ 1 }, '[Int]')"}
    times = {name: [] for name in scripts}
    for _ in range(RUNS):
        # In another order each time: a process is slower behind one that has used much memory.
        for name in random.sample(list(scripts), len(scripts)):
            times[name].append(seconds(scripts[name]))
    sizes = {name: [private(script) for _ in range(RUNS // 4)] for name, script in scripts.items()}
    bare, size = statistics.median(times["bare"]), statistics.median(sizes["bare"])
    over = {name: (statistics.median(times[name]) - bare, statistics.median(sizes[name]) - size) for name in scripts}
    print(f"row\trequire, over bare lua5.4\tms\t{over['ours'][0] * 1e3:.3f}\trequire of lua-cjson={over['cjson'][0] * 1e3:.3f}")
    print(f"row\trequire and a first typed value\tms\t{over['typed'][0] * 1e3:.3f}")
    print(f"row\tprivate memory of require, over bare lua5.4\tMB\t{over['ours'][1] / 1e6:.2f}\t"
          f"require of lua-cjson={over['cjson'][1] / 1e6:.2f}")


if __name__ == "__main__":
    main()
