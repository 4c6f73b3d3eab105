#!/usr/bin/env python3
"""Compares docs/guarantees.md with the tests that prove it, and docs/architecture.md with the files that it names.

    guarantees.py [--renumber]

A test names what it proves in a comment of its own: `proves: G3, G12`. Each guarantee needs such a test, each comment
needs its guarantee, and the guarantees have the numbers from 1 on in the order of the page. `--renumber` gives them
those numbers and changes the tests' comments as well: so a new guarantee can have any free number at first.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/guarantees.md"
TESTS = ("Tests", "lua/spec", "Page", "Fleet", "Configuration")
LANGUAGES = (".swift", ".lua", ".c", ".cpp", ".py")
GUARANTEE = re.compile(r"(?<=^- \*\*G)\d+(?=\.\*\* )", re.M)
# A comment that names guarantees, and the form that it must have.
TAG = re.compile(r"^[ \t]*(?://+|--|#|/\*)[ \t]*proves\b.*$", re.M)
FORM = re.compile(r"\s*(?://+|--|#|/\*) proves: G\d+(, G\d+)*( \*/)?")
# Where the architecture's files are looked for.
TOPS = ("Sources", "Tests", "include", "lua", "tools")


def tests():
    """The files of tests, without what SwiftPM builds."""
    for top in TESTS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in LANGUAGES and ".build" not in path.parts and path.is_file():
                yield path


def wrong_guarantees():
    found = [int(number) for number in GUARANTEE.findall(PAGE.read_text())]
    for number in sorted({number for number in found if found.count(number) > 1}):
        yield f"docs/guarantees.md: G{number} is used twice"
    for number in sorted(set(range(1, len(found) + 1)) - set(found)):
        yield f"docs/guarantees.md: G{number} is missing"
    if found != sorted(found):
        yield "docs/guarantees.md: the numbers are out of order; tools/guarantees.py --renumber sorts them"
    proved = set()
    for path in tests():
        text = path.read_text()
        for tag in TAG.finditer(text):
            place = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, tag.start()) + 1}"
            if not FORM.fullmatch(tag[0]):
                yield f"{place}: write the comment as `proves: G1, G2`"
            numbers = {int(number) for number in re.findall(r"G(\d+)", tag[0])}
            proved |= numbers
            for number in sorted(numbers - set(found)):
                yield f"{place}: docs/guarantees.md has no G{number}"
    for number in sorted(set(found) - proved):
        yield f"docs/guarantees.md: no test proves G{number}"


def renumber():
    new = {old: str(number) for number, old in enumerate(GUARANTEE.findall(PAGE.read_text()), 1)}

    def renamed(match):
        return "G" + new.get(match[0][1:], match[0][1:])

    PAGE.write_text(re.sub(r"\bG\d+", renamed, PAGE.read_text()))
    for path in tests():
        text = path.read_text()
        changed = TAG.sub(lambda tag: re.sub(r"\bG\d+", renamed, tag[0]), text)
        if changed != text:
            path.write_text(changed)


def missing_files():
    """The files that docs/architecture.md names by the end of their path, and that are not there."""
    text = (ROOT / "docs/architecture.md").read_text()
    for name in re.findall(r"`([\w/+.-]+\.(?:swift|c|h|hpp|lua|py|json|txt|md|1))`", text):
        if not (ROOT / name).is_file() and not any(path.is_file() for top in TOPS for path in (ROOT / top).rglob(name)):
            yield f"docs/architecture.md: no file {name}"


def main():
    if sys.argv[1:] == ["--renumber"]:
        renumber()
    faults = [*wrong_guarantees(), *missing_files()]
    print("\n".join(faults) or "Each guarantee has its test, and docs/architecture.md names files that exist")
    sys.exit(1 if faults else 0)


main()
