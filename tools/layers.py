#!/usr/bin/env python3
"""Checks that each C file of the Lua module calls only files above it in the list at the head of lua/src/module.h, which
names them all: so no two files call each other, over others or not. A file calls another where it has a name, kvl_...,
that the other defines; a header is one file with the C file of its name, and its inline functions count."""
import re
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "lua/src"
IGNORED = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
DEFINED = re.compile(r"^(?!static|extern|typedef)\w[^;{}=]*?\b(kvl_\w+)(?:\[\w*\])?\s*(?:\([^;{}]*\)\s*\{|=)", re.M)
INLINE = re.compile(r"^static inline [^;{}]*?\b(kvl_\w+)\([^;{}]*\)\s*(\{.*?^\})", re.M | re.S)


def listed():
    folder = ""
    for indent, name, end in re.findall(r"^ \*( +)(\w+)(/|\.[ch]) ", (SOURCES / "module.h").read_text(), re.M):
        if end == "/":
            folder = name + end
        else:
            yield (folder if len(indent) > 3 else "") + name


# Who defines each name, and the names that each file has.
owners, names = {}, {}
for path in sorted(SOURCES.rglob("*.[ch]")):
    file = path.relative_to(SOURCES).with_suffix("").as_posix()
    code = IGNORED.sub("", path.read_text())
    if path.suffix == ".h":
        inline = INLINE.findall(code)
        owners |= {name: file for name, _ in inline}
        code = " ".join(body for _, body in inline)
    owners |= {name: file for name in DEFINED.findall(code)}
    names.setdefault(file, set()).update(re.findall(r"\bkvl_\w+", code))

order = list(listed())
faults = [f"module.h lists {file}, which is not there" for file in order if file not in names]
faults += [f"module.h does not list {path.name}" for path in sorted(SOURCES.rglob("*.c"))
           if path.relative_to(SOURCES).with_suffix("").as_posix() not in order]
for file, used in names.items():
    above = order[:order.index(file)] if file in order else []
    faults += [f"{file} calls {name} of {owners[name]}, which is not above it in module.h" for name in sorted(used)
               if owners.get(name, file) not in (file, *above)]
print("\n".join(faults) or f"{len(order)} files, each of which calls those above it alone")
sys.exit(bool(faults))
