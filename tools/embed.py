#!/usr/bin/env python3
"""Writes Lua files as a C array: embed.py types.lua words.lua sugar.lua sugar.h.

The array is one chunk, which runs the files in their order, each with the
chunk's argument and a table that they share, and returns what the last gives.

It is compiled at each `require`, so lines of comments are left empty, and none
begins with spaces: no long string may go over several lines in these files.
"""
import re
import sys

*sources, target = sys.argv[1:]
names = ", ".join(source.rsplit("/", 1)[-1] for source in sources)
data = b"local kv, shared = ..., {} "
for source in sources:
    data += b"return " if source == sources[-1] else b""
    text = open(source, "rb").read()
    if re.search(rb"\[=*\[", text):
        sys.exit(f"{source}: a long string or comment cannot be embedded")
    data += b"(function(...) " + re.sub(rb"^[ \t]*(?:--.*)?", b"", text, flags=re.M) + b"end)(kv, shared);"
lines = [f"/* Made from {names} by embed.py. Do not edit. */",
         "static const unsigned char sugar[] = {"]
for start in range(0, len(data), 18):
    lines.append("  " + ",".join(str(byte) for byte in data[start:start + 18]) + ",")
lines.append("};")
open(target, "w").write("\n".join(lines) + "\n")
