#!/usr/bin/env python3
"""Writes the Lua files of the module as C arrays: embed.py chunks.h.

Each array is a chunk, which runs its files in their order, each with the chunk's
arguments, and returns what the last one returns.

A chunk's first argument is a table of globals, which become locals of its files.
They are compiled in each Lua state, so lines of comments are left empty, and
none begins with spaces: no long string may go over several lines in these files.
A line there is a line here, so that a change of one is one.
"""
import pathlib
import re
import sys

CHUNKS = {"sugar": ["sugar"], "types": ["types", "words", "converters", "declarations", "compiling"]}
GLOBALS = ["error", "getmetatable", "ipairs", "math", "next", "pairs", "pcall", "rawget", "select", "setmetatable",
           "string", "table", "tostring", "type"]
FOLDER = pathlib.Path(__file__).parent.parent / "lua/embedded"


def chunk(names):
    """The files' text, with what runs them."""
    parts = []
    for name in names:
        text = (FOLDER / f"{name}.lua").read_bytes()
        if re.search(rb"\[=*\[", text):
            sys.exit(f"{name}.lua: a long string or comment cannot be embedded")
        parts.append(b"(function(...) " + re.sub(rb"^[ \t]*(?:--.*)?", b"", text, flags=re.M) + b"end)(...);")
    given = ",".join("_." + name for name in GLOBALS)
    head = f"local _ = ... local {','.join(GLOBALS)} = {given} return (function(_, ...) "
    return head.encode() + b"".join(parts[:-1]) + b"return " + parts[-1] + b" end)(...)"


lines = ["/* Made from the Lua files of lua/embedded by embed.py. Do not edit. */"]
for name, files in CHUNKS.items():
    data = chunk(files)
    lines.append(f"static const unsigned char {name}_chunk[] = {{")
    lines += ["  " + ",".join(map(str, line)) + "," for line in data.splitlines(keepends=True)]
    lines.append("};")
pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
