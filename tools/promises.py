#!/usr/bin/env python3
"""Checks that docs/promises.md names tests that exist, and docs/architecture.md files.

In the promises' tables "line by line" a test is written `X/File` name, name or "title";
the letter stands for the folder that the text above the table gives, in which, or in
a folder of which, the file is; a name for a function of the file, and a title for a
test's own words. What has several words is prose.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Where the architecture's files are looked for.
TOPS = ("Sources", "Tests", "include", "lua", "tools")
ENDINGS = ["", ".swift", ".lua", ".c", ".py"]


def sections(text):
    """The folders by their letters, and the rows, of each section that says so."""
    for section in re.split(r"^### ", text, flags=re.M):
        if section.split("\n", 1)[0].endswith("line by line"):
            folders = dict(re.findall(r"`(\w)`\s+(?:is\s+)?`([\w/]+)`", section))
            yield folders, re.findall(r"^\|.*\|(.*)\|$", section, flags=re.M)


def file_of(name, folders):
    letter, _, rest = name.partition("/")
    if letter in folders:
        found = (path for end in ENDINGS for path in (ROOT / folders[letter]).rglob(rest + end))
    else:
        found = (ROOT / (name + end) for end in ENDINGS)
    return next((path for path in found if path.is_file()), None)


def faults(row, folders):
    """The names of a row that are not there: files, and the names and titles that follow each, before the next `;`."""
    for part in row.split(";"):
        file = None
        for name, title, word in re.findall(r"`([^`]+)`|\"([^\"]+)\"|(?<![\w ] )(?<!\w)(\w+)(?= *(?:,|$))", part):
            if name and "/" in name:
                file = file_of(name, folders)
                if not file:
                    yield f"no file {name}"
            elif title and file and title not in file.read_text():
                yield f"{file.name} has no test \"{title}\""
            elif word and file and file.suffix == ".swift" and not re.search(rf"func {word}\b", file.read_text()):
                yield f"{file.name} has no {word}()"


def missing_files():
    """The files that docs/architecture.md names by the end of their path, and that are not there."""
    text = (ROOT / "docs/architecture.md").read_text()
    for name in re.findall(r"`([\w/+.-]+\.(?:swift|c|h|hpp|lua|py|json|txt|md|1))`", text):
        if not (ROOT / name).is_file() and not any(path.is_file() for top in TOPS for path in (ROOT / top).rglob(name)):
            yield f"docs/architecture.md: no file {name}"


def main():
    tables = list(sections((ROOT / "docs/promises.md").read_text()))
    found = [fault for folders, rows in tables for row in rows for fault in faults(row, folders)]
    if not sum(len(rows) for _, rows in tables):
        found = ["docs/promises.md has no table line by line"]
    found += missing_files()
    print("\n".join(found) or "docs/promises.md and docs/architecture.md name what exists")
    sys.exit(1 if found else 0)


main()
