#!/usr/bin/env python3
"""Checks that header, export list and library name the same functions.

    exports.py --write   makes include/kvcodable.map from the headers
    exports.py LIBRARY   compares the three, and fails where they differ
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAP = ROOT / "include/kvcodable.map"


def declared():
    names = set()
    for header in ("kvcodable.h", "kvcodable_nodes.h"):
        text = (ROOT / "include" / header).read_text()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        text = re.sub(r"static inline.*?\n}", "", text, flags=re.S)
        text = re.sub(r"typedef[^;{]*\([^;]*;", "", text)
        names |= set(re.findall(r"\b(kv_\w+)\s*\(", text))
    return names


def listed():
    return set(re.findall(r"^\s+(kv_\w+);", MAP.read_text(), flags=re.M))


def exported(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                            capture_output=True, text=True).stdout
    names = set()
    for line in output.splitlines():
        kind, name = line.split()[-2:]
        if kind == "T":
            names.add(name.split("@")[0])
    return names


def write():
    lines = ["/* The functions of the headers, and nothing else. */", "KVCODABLE_1 {", "  global:"]
    lines += [f"    {name};" for name in sorted(declared())]
    lines += ["  local:", "    *;", "};"]
    MAP.write_text("\n".join(lines) + "\n")


def compare(library):
    sets = {"headers": declared(), "kvcodable.map": listed(), library: exported(library)}
    everything = set().union(*sets.values())
    failed = False
    for name in sorted(everything):
        absent = [where for where, names in sets.items() if name not in names]
        if absent:
            failed = True
            print(f"{name}: not in {', '.join(absent)}")
    print(f"{len(everything)} functions" + ("" if failed else ", the same in headers, export list and library"))
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    elif len(sys.argv) == 2:
        sys.exit(compare(sys.argv[1]))
    else:
        sys.exit(__doc__)
