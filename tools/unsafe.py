#!/usr/bin/env python3
"""Compares the unsafe constructs of Sources, and what tells the optimiser its work, with the table in CONTRIBUTING.md;
fails where one is missing or too much."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRUCTS = ("unsafeBitCast", "unsafeDowncast", "_withUnsafeGuaranteedRef", "@exclusivity(unchecked)", "Unmanaged",
              "unowned(unsafe)", "nonisolated(unsafe)", "withMemoryRebound", "assumingMemoryBound", "Mirror(",
              "_typeByName", "@_",
              "@inline(__always)")
# Where memory is worked with, and the names that one module gives on of another.
MEMORY = ("PropertyLists/Memory/", "PropertyLists/Value/Document.swift", "PropertyLists/Building/", "KVCodableABI/",
          "KVCodable/Exports.swift", "KeyValueCoder/KeyValueCoder.swift")


def found():
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        name = path.relative_to(ROOT / "Sources").as_posix()
        if name.startswith(MEMORY):
            continue
        code = "\n".join(line.split("//")[0] for line in path.read_text().splitlines())
        yield from ((name, construct) for construct in CONSTRUCTS if construct in code)


def listed():
    return set(re.findall(r"^\| `(\S+\.swift)` \| `([^`]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.M))


code, table = set(found()), listed()
for where, what in sorted(code - table):
    print(f"{where}: {what} is not in CONTRIBUTING.md")
for where, what in sorted(table - code):
    print(f"CONTRIBUTING.md names {what} in {where}, which has none")
sys.exit(code != table)
