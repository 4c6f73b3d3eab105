#!/usr/bin/env python3
"""Writes sugar.lua as a C array: embed.py sugar.lua sugar.h."""
import sys

source, target = sys.argv[1:]
data = open(source, "rb").read()
lines = [f"/* Made from {source.rsplit('/', 1)[-1]} by embed.py. Do not edit. */",
         "static const unsigned char sugar[] = {"]
for start in range(0, len(data), 18):
    lines.append("  " + ",".join(str(byte) for byte in data[start:start + 18]) + ",")
lines.append("};")
open(target, "w").write("\n".join(lines) + "\n")
