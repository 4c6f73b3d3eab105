#!/usr/bin/env python3
"""Checks that every public name of the Swift modules has a doc comment, and every public type an example.

Public are declarations marked so, the cases of public enumerations and the
requirements of public protocols. What a type has because a protocol asks for it
is told by the protocol; the functions of the C API are told by the headers.

The example of a type, or of another name for one, is a block of Swift in its doc
comment. A type inside another one may stand in the example of that one, where it
is named. Tests/suites/packages.py compiles those of Sources, but for any with an ellipsis,
which is none here; Tests/suites/configuration.py holds those of Configuration to the program
that it runs.
"""
import re
import sys
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODIFIERS = r"(?:(?:@\w+(?:\([^)]*\))?|\w+\(set\)|public|open|package|internal|private|fileprivate|final|static" \
            r"|indirect|mutating|nonmutating|consuming|borrowing|convenience|required|override|lazy|weak|unowned" \
            r"|nonisolated|class(?=\s+(?:func|var)))\s+)*"
KINDS = "actor|associatedtype|case|class|enum|extension|func|init|let|macro|protocol|struct|subscript|typealias|var"
DECLARATION = re.compile(rf"\s*(?P<modifiers>{MODIFIERS})(?P<text>(?P<kind>{KINDS})\b.*)")
TYPES = {"actor", "class", "enum", "protocol", "struct", "typealias"}
# Asked for by protocols of the standard library, by Codable, and by DefaultSource.
WITNESS = re.compile(
    r"var (?:debugDescription|description|errorDescription|hashValue|intValue|stringValue|startIndex|endIndex"
    r"|underestimatedCount|defaultValue)\b"
    r"|func (?:==|<) ?\(|func (?:hash\(into|index\((?:after|before)|makeIterator\(|next\(|encode\(to) ?"
    r"|subscript\(position"
    r"|init\??\((?:from|\w+Literal|intValue: Int|stringValue: String)")


def without_texts(line):
    """The line without comments and the contents of one-line strings, so that its braces count."""
    return re.sub(r"//.*", "", re.sub(r'#*"(?:\\.|[^"\\])*"#*', '""', line))


def is_public(declaration, scope):
    words = declaration["modifiers"].split()
    if "public" in words or "open" in words:
        return True
    if not scope.is_shown:
        return False
    return scope.kind == "protocol" or scope.kind == "enum" and declaration["kind"] == "case"


# A scope of the source: of a declaration of that kind, shown to other modules or not, under its comment.
Scope = namedtuple("Scope", "kind is_shown comment", defaults=[False, ""])
# A name that other modules see, and the comments of the declarations around it.
Name = namedtuple("Name", "place text kind comment around")


def public_names(path):
    scopes = [Scope("file")]
    opened, in_text, comment = None, False, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.count('"""') % 2:
            in_text = not in_text
        if in_text:
            continue
        bare = without_texts(line)
        found = DECLARATION.match(bare)
        if found:
            opened = Scope(found["kind"], is_public(found, scopes[-1]), comment)
            if opened.is_shown and found["kind"] != "extension":
                yield Name(f"{path.relative_to(ROOT)}:{number}: {line.strip()}", found["text"], found["kind"], comment,
                           [scope.comment for scope in scopes])
        for brace in re.findall(r"[{}]", bare):
            if brace == "{":
                scopes.append(opened or Scope("code"))
                opened = None
            elif len(scopes) > 1:
                scopes.pop()
        if line.strip().startswith("///"):
            comment += re.sub(r"^ *///? ?", "", line) + "\n"
        elif not re.fullmatch(r"\s*@\w+(?:\(.*\))?\s*", bare):
            # An attribute may stand between a comment and what it is about.
            comment = ""


def examples(comment):
    """The blocks of Swift in a comment that are compiled."""
    return [code for code in re.findall(r"^```swift\n(.*?)^```", comment, flags=re.M | re.S) if "…" not in code]


def has_example(name):
    word = re.match(r"\w+ (\w+)", name.text)[1]
    return examples(name.comment) or any(
        re.search(rf"\b{word}\b", code) for comment in name.around for code in examples(comment))


def report(what, faults):
    """Prints the faults of one kind, and is whether there are none."""
    if faults:
        print(f"{what}:", *faults, sep="\n")
    return not faults


def main():
    sources = [*(ROOT / "Sources").rglob("*.swift"), *(ROOT / "Configuration/Sources").rglob("*.swift")]
    files = [file for file in sorted(sources) if "KVCodableABI" not in file.parts]
    names = [name for file in files for name in public_names(file)]
    types = [name for name in names if name.kind in TYPES]
    told = report("no doc comment", [name.place for name in names if not name.comment and not WITNESS.match(name.text)])
    shown = report("no example", [name.place for name in types if not has_example(name)])
    if told and shown:
        print(f"every public name in {len(files)} files has a doc comment, and each of {len(types)} types an example")
    sys.exit(0 if told and shown else 1)


main()
