#!/usr/bin/env python3
"""Prints the path of every value where two property lists differ: plist_difference.py OLD NEW."""
import plistlib
import sys


def differences(old, new, path="root"):
    if type(old) is not type(new):
        yield f"{path}: {old!r} -> {new!r}"
    elif isinstance(old, dict):
        for key in sorted(old.keys() | new.keys()):
            inner = f"{path}[{key!r}]"
            if key not in old:
                yield f"{inner}: added {new[key]!r}"
            elif key not in new:
                yield f"{inner}: removed {old[key]!r}"
            else:
                yield from differences(old[key], new[key], inner)
    elif isinstance(old, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new)):
            yield from differences(left, right, f"{path}[{index}]")
    elif old != new:
        yield f"{path}: {old!r} -> {new!r}"


def main():
    old, new = (plistlib.load(open(path, "rb")) for path in sys.argv[1:])
    found = list(differences(old, new))
    print("\n".join(found) if found else "nothing")


main()
