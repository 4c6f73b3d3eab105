#!/usr/bin/env python3
"""Checks that no function has more than 60 lines.

A function of Python ends where its parser says. One of the other languages, whose
layout their formatters fix, ends at the first line that closes and stands as far left
as its first one.
"""
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("Benchmarks", "Configuration", "Fleet", "Page", "Sources", "Tests", "Tool", "include", "lua", "tools")
MOST = 60
C = re.compile(r"(?! *(?:#|//|typedef|struct|class|enum|namespace|return|if|for|while|switch|else|do)\b)( *)\w[^;=]*\(.*")
STARTS = {".swift": re.compile(r"( *)(?:[\w@.]+(?:\(.*?\))? )*(?:func|init|deinit|subscript|var|get|set)\b.*"),
          ".lua": re.compile(r"( *)(?:local )?function \w.*|( *)local \w+ = function.*"),
          ".c": C, ".h": C, ".cpp": C, ".hpp": C}
# What may stand as far left as a function's first line inside of it: its parameters' end, directives, labels, texts.
INSIDE = re.compile(r'[){#]|"""|\w+:$|$')


def spans(path):
    """The first line of each function, and its number of lines."""
    text = path.read_text()
    if path.suffix == ".py":
        yield from ((node.lineno, node.end_lineno - node.lineno + 1) for node in ast.walk(ast.parse(text))
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        return
    lines = text.splitlines()
    for first, line in enumerate(lines):
        if not (found := STARTS[path.suffix].fullmatch(line)):
            continue
        left = len(line) - len(line.lstrip())
        for last in range(first + 1, len(lines)):
            inner = lines[last].lstrip()
            if len(lines[last]) - len(inner) > left or INSIDE.match(inner):
                continue
            if inner.startswith(("}", "end")):
                yield first + 1, last - first + 1
            break


def main():
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".py", *STARTS) and not {".build", "build"} & set(path.parts[len(ROOT.parts):])]
    found = [(path, *span) for path in files for span in spans(path)]
    long = [f"{path.relative_to(ROOT)}:{line}: {length} lines" for path, line, length in found if length > MOST]
    print("\n".join(long) or f"none of {len(found)} functions in {len(files)} files has more than {MOST} lines")
    sys.exit(1 if long else 0)


main()
