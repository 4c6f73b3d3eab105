#!/usr/bin/env python3
"""Writes Lua files as a C array: embed.py types.lua words.lua sugar.lua sugar.h.

The array is one chunk, which runs the files in their order, each with the
chunk's argument and a table that they share, and returns what the last gives.
"""
import sys

*sources, target = sys.argv[1:]
names = ", ".join(source.rsplit("/", 1)[-1] for source in sources)
data = b"local kv, shared = ..., {} "
for source in sources:
    data += b"return " if source == sources[-1] else b""
    data += b"(function(...) " + open(source, "rb").read() + b"end)(kv, shared);"
lines = [f"/* Made from {names} by embed.py. Do not edit. */",
         "static const unsigned char sugar[] = {"]
for start in range(0, len(data), 18):
    lines.append("  " + ",".join(str(byte) for byte in data[start:start + 18]) + ",")
lines.append("};")
open(target, "w").write("\n".join(lines) + "\n")
