#!/usr/bin/env python3
"""Checks that the C API has a file for each section of the headers, under its name, with its functions in their order."""
import re
import sys

import header

API = header.ROOT / "Sources/KVCodableABI/API"


def declared():
    """The functions of each section, by the name of its file: "Whole stores" are in WholeStores.swift."""
    return {"".join(word[0].upper() + word[1:] for word in name.split()) + ".swift": [one.name for one in functions]
            for name, functions in header.sections().items()}


def implemented():
    found = {path.name: path.read_text() for path in API.glob("*.swift")}
    return {name: re.findall(r"^@c @implementation public func (\w+)", text, flags=re.M) for name, text in found.items()}


def faults(file, expected, found):
    for name in expected:
        if name not in found:
            yield f"{file}: no {name}, which the header has in that section"
    for name in found:
        if name not in expected:
            yield f"{file}: {name}, which the header does not have in that section"
    if expected != found and sorted(expected) == sorted(found):
        yield f"{file}: not in the header's order, which is {', '.join(expected)}"


def main():
    sections, files = declared(), implemented()
    found = [fault for file in sorted({*sections, *files})
             for fault in faults(file, sections.get(file, []), files.get(file, []))]
    print("\n".join(found) or f"{len(sections)} sections, each with its file")
    sys.exit(1 if found else 0)


main()
