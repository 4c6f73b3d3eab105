#!/usr/bin/env python3
"""Checks that header, export list, library and C tests name the same functions.

    exports.py --write   makes include/kvcodable.map from the headers
    exports.py LIBRARY   compares the four, and fails where they differ
"""
import re
import subprocess
import sys

import header

MAP = header.INCLUDE / "kvcodable.map"


def declared():
    return {function.name for function in header.functions()}


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


def called():
    """The functions that a C test calls by name; what is generated for NULLs does not count."""
    text = "".join(path.read_text() for path in (header.ROOT / "Tests/C").glob("*.c"))
    return set(re.findall(r"\b(kv_\w+)\(", text))


def write():
    lines = ["/* The functions of the headers, and nothing else. */", "KVCODABLE_1 {", "  global:"]
    lines += [f"    {name};" for name in sorted(declared())]
    lines += ["  local:", "    *;", "};"]
    MAP.write_text("\n".join(lines) + "\n")


def compare(library):
    sets = {"headers": declared(), "kvcodable.map": listed(), library: exported(library)}
    everything = set().union(*sets.values())
    sets["any C test"] = called()
    failed = False
    for name in sorted(everything):
        absent = [where for where, names in sets.items() if name not in names]
        if absent:
            failed = True
            print(f"{name}: not in {', '.join(absent)}")
    print(f"{len(everything)} functions" + ("" if failed else ", the same in headers, export list, library and tests"))
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    elif len(sys.argv) == 2:
        sys.exit(compare(sys.argv[1]))
    else:
        sys.exit(__doc__)
