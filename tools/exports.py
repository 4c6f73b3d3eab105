#!/usr/bin/env python3
"""Checks that headers, export list, library and C tests name the same functions, and so do the Lua module and its.

    exports.py --write          makes include/kvcodable.map from the headers
    exports.py LIBRARY MODULE   compares them, and fails where they differ
"""
import re
import subprocess
import sys

import header

MAP = header.INCLUDE / "kvcodable.map"


def declared(headers=header.EXPORTED):
    return {function.name for function in header.functions(headers)}


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
    text = "".join(path.read_text() for path in (header.ROOT / "Tests/C").rglob("*.c"))
    return set(re.findall(r"\b(kv_\w+|luaopen_\w+)\(", text))


def write():
    lines = ["/* The functions of the headers, and nothing else. */", "KVCODABLE_1 {", "  global:"]
    lines += [f"    {name};" for name in sorted(declared())]
    lines += ["  local:", "    *;", "};"]
    MAP.write_text("\n".join(lines) + "\n")


def compare(sets):
    """Whether the sets of names of several files are the same, and all of them are called by C tests."""
    everything = set().union(*sets.values())
    sets["any C test"] = called()
    absent = {name: [where for where, names in sets.items() if name not in names] for name in sorted(everything)}
    for name, files in absent.items():
        if files:
            print(f"{name}: not in {', '.join(files)}")
    are_same = not any(absent.values())
    print(f"{len(everything)} functions" + (f", the same in {', '.join(sets)}" if are_same else ""))
    return are_same


def compare_all(library, module):
    are_same = compare({"headers": declared(), "kvcodable.map": listed(), library: exported(library)})
    return compare({"kvcodable_lua.h": declared(["kvcodable_lua.h"]), module: exported(module)}) and are_same


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    elif len(sys.argv) == 3:
        sys.exit(0 if compare_all(*sys.argv[1:]) else 1)
    else:
        sys.exit(__doc__)
