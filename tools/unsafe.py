#!/usr/bin/env python3
"""Compares the unsafe constructs in Swift and C, and what tells the optimiser its work, with the tables in
CONTRIBUTING.md. Fails if a construct is missing there or is not in the code. A construct that stands several times in a
file has their number behind it, as ` × 2`."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What is listed wherever it stands.
EVERYWHERE = ("unsafeBitCast", "@exclusivity(unchecked)", "_typeByName", "@inline(never)", "@inline(__always)")
CONSTRUCTS = EVERYWHERE + (
    "unsafeDowncast", "_withUnsafeGuaranteedRef", "Unmanaged", "unowned(unsafe)", "nonisolated(unsafe)",
    "withMemoryRebound", "assumingMemoryBound", "Mirror(", "@_", "unsafelyUnwrapped")
# Where memory is worked with, and the names that one module gives on of another: only the first list counts here.
MEMORY = ("PropertyLists/Memory/", "PropertyLists/Value/Document.swift", "PropertyLists/Building/", "KVCodableABI/",
          "KVCodable/Exports.swift", "KeyValueCoder/KeyValueCoder.swift")
# In C: what leaves the standard, or what it leaves to the compiler.
C_CONSTRUCTS = ("__asm__", "__builtin_", "#pragma", "uintptr_t", "alloca(", "setjmp(", "union {", "dlsym(")
C_FOLDERS = ("Sources", "Fleet/Sources", "include", "lua/src")


def found():
    for folder in C_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            name = path.relative_to(ROOT).as_posix()
            yield from ((name, construct, code.count(construct)) for construct in C_CONSTRUCTS if construct in code)
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        name = path.relative_to(ROOT / "Sources").as_posix()
        code = "\n".join(line.split("//")[0] for line in path.read_text().splitlines())
        constructs = EVERYWHERE if name.startswith(MEMORY) else CONSTRUCTS
        yield from ((name, construct, code.count(construct)) for construct in constructs if construct in code)


def listed():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| `(\S+\.(?:swift|[ch]))` \| `([^`]+)`(?: × (\d+))? \|", text, flags=re.M)
    return {(name, construct, int(count or 1)) for name, construct, count in rows}


code, table = set(found()), listed()
for where, what, count in sorted(code - table):
    print(f"{where}: {what}, {count} times, is not in CONTRIBUTING.md")
for where, what, count in sorted(table - code):
    print(f"CONTRIBUTING.md names {what}, {count} times, in {where}, which does not have it so often")
sys.exit(code != table)
