#!/usr/bin/env python3
"""Checks that every public name of the Swift modules has a doc comment.

Public are declarations marked so, the cases of public enumerations and the
requirements of public protocols. What a type has because a protocol asks for it
is told by the protocol; the functions of the C API are told by the headers.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODIFIERS = r"(?:(?:@\w+(?:\([^)]*\))?|\w+\(set\)|public|open|package|internal|private|fileprivate|final|static" \
            r"|indirect|mutating|nonmutating|consuming|borrowing|convenience|required|override|lazy|weak|unowned" \
            r"|nonisolated|class(?=\s+(?:func|var)))\s+)*"
KINDS = "actor|associatedtype|case|class|enum|extension|func|init|let|macro|protocol|struct|subscript|typealias|var"
DECLARATION = re.compile(rf"\s*(?P<modifiers>{MODIFIERS})(?P<text>(?P<kind>{KINDS})\b.*)")
# Asked for by protocols of the standard library, by Codable, and by DefaultSource.
WITNESS = re.compile(
    r"var (?:debugDescription|description|errorDescription|hashValue|intValue|stringValue|startIndex|endIndex"
    r"|underestimatedCount|defaultValue)\b"
    r"|func (?:==|<) ?\(|func (?:hash\(into|index\((?:after|before)|makeIterator\(|next\(|encode\(to) ?"
    r"|subscript\(position"
    r"|init\??\((?:from|\w+Literal|intValue: Int|stringValue: String)")


def without_texts(line):
    """The line without comments and what is in one-line strings, so that its braces count."""
    return re.sub(r"//.*", "", re.sub(r'#*"(?:\\.|[^"\\])*"#*', '""', line))


def is_public(declaration, scope):
    kind, is_shown = scope
    words = declaration["modifiers"].split()
    if "public" in words or "open" in words:
        return True
    if not is_shown:
        return False
    return kind == "protocol" or kind == "enum" and declaration["kind"] == "case"


def undocumented(path):
    scopes = [("file", False)]
    opened, in_text, is_documented = None, False, False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.count('"""') % 2:
            in_text = not in_text
        if in_text:
            continue
        bare = without_texts(line)
        found = DECLARATION.match(bare)
        if found:
            is_shown = is_public(found, scopes[-1])
            opened = found["kind"], is_shown
            if is_shown and not is_documented and found["kind"] != "extension" and not WITNESS.match(found["text"]):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for brace in re.findall(r"[{}]", bare):
            if brace == "{":
                scopes.append(opened or ("code", False))
                opened = None
            elif len(scopes) > 1:
                scopes.pop()
        if line.strip().startswith("///"):
            is_documented = True
        elif not re.fullmatch(r"\s*@\w+(?:\(.*\))?\s*", bare):
            # An attribute may stand between a comment and what it is about.
            is_documented = False


def main():
    sources = [*(ROOT / "Sources").rglob("*.swift"), *(ROOT / "Configuration/Sources").rglob("*.swift")]
    files = [file for file in sorted(sources) if "KVCodableABI" not in file.parts]
    found = [fault for file in files for fault in undocumented(file)]
    print("\n".join(found) or f"every public name in {len(files)} files has a doc comment")
    sys.exit(1 if found else 0)


main()
