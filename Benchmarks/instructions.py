#!/usr/bin/env python3
"""Counts the instructions of a set and get from Lua, and of the floor, for the shapes that take a few microseconds.

    instructions.py SHAPE…     prints a row for each (report.py)

By valgrind: the difference between two numbers of calls, so that nothing is counted that happens once.
"""
import re
import subprocess
import sys

CALLS = (1000, 5000)


def instructions(shape, who, count):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "lua5.4",
               "Benchmarks/lua/tables.lua", shape, who, str(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stdout).group(1))


for shape in sys.argv[1:]:
    ours, floor = ((instructions(shape, who, CALLS[1]) - instructions(shape, who, CALLS[0])) / (CALLS[1] - CALLS[0])
                   for who in ("ours", "floor"))
    print(f"row\t{shape}, instructions\tinstructions\t{ours:.0f}\tfloor={floor:.0f}", flush=True)
