"""The public headers, read once for every check that needs them."""
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
# The headers whose functions the C API has, in Swift, and those whose functions the library exports. The Lua module
# exports those of kvcodable_lua.h.
IN_SWIFT = ("kvcodable.h", "kvcodable_nodes.h")
EXPORTED = (*IN_SWIFT, "kvcodable_fields.h")


class Parameter(NamedTuple):
    type: str
    name: str

    @property
    def is_pointer(self):
        return self.type.endswith("*") or self.type in CALLBACKS


class Function(NamedTuple):
    name: str
    result: str
    parameters: tuple

    @property
    def prototype(self):
        """The declaration without the names of its parameters, which bind no program."""
        return f"{self.result} {self.name}({', '.join(one.type for one in self.parameters) or 'void'})"


CALLBACKS = set()


def _code(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)


def code(name):
    """A header without comments and preprocessor lines."""
    return _code((INCLUDE / name).read_text())


def _parameter(text):
    found = re.fullmatch(r"(.*?)(\w+)(\[\w+\])?", " ".join(text.split()))
    return Parameter(found[1].replace(" *", "*").strip() + (found[3] or ""), found[2])


def _functions(text, end):
    result = []
    for kind, name, arguments in re.findall(r"([\w ]+?[\s*]+)\b((?:kv|luaopen)_\w+)\s*\(([^)]*)\)" + end, text):
        arguments = [] if arguments.strip() == "void" else arguments.split(",")
        kind = " ".join(kind.split()).replace(" *", "*")
        result.append(Function(name, kind, tuple(map(_parameter, arguments))))
    return result


def _exported(text):
    text = re.sub(r"static inline.*?\n}", "", text, flags=re.S)
    return _functions(re.sub(r"typedef[^;{]*\([^;]*;", "", text), ";")


def functions(headers=EXPORTED):
    """Every function that the headers declare and a library has, in their order."""
    result = []
    for header in headers:
        text = code(header)
        CALLBACKS.update(re.findall(r"typedef \w+ \(\*(\w+)\)", text))
        result += _exported(text)
    return result


# A comment that begins a section: `/* ---- Whole stores */`, with words behind a colon or without; or under a line.
HEADING = re.compile(r"^/\* -{4,}(?:\n \*)? (.+?)(?=:| \*/|$)", flags=re.M)


def sections(headers=IN_SWIFT):
    """The functions of each section with a heading, by its words; those of a header without any by the header's name."""
    result = {}
    for header in headers:
        # The heading goes before its comment, the rest of which stays one.
        text = _code(HEADING.sub(r"@\1@/*", (INCLUDE / header).read_text()))
        own, *parts = re.split("@(.+?)@", text)
        for name, part in [(header.removesuffix(".h").rpartition("_")[2], own), *zip(parts[::2], parts[1::2])]:
            result[name] = _exported(part)
    return {name: found for name, found in result.items() if found}


def inlines(headers=EXPORTED):
    """Every function that is compiled into the programs that call it."""
    heads = [head for header in headers for head in re.findall(r"static inline[^{;]*", code(header))]
    return [function for head in heads for function in _functions(" ".join(head.split()), "")]


def structs(headers=EXPORTED):
    """Every struct with members: its name, and their types and names."""
    result = {}
    for header in headers:
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", code(header), flags=re.S):
            result[name] = [_parameter(line) for line in body.split(";") if line.strip()]
    return result


def enums(headers=EXPORTED):
    """Every enum, those without a name by their prefix: its constants' names."""
    result = {}
    for header in headers:
        for body, name in re.findall(r"enum(?: \w+)? \{(.*?)\}\s*(\w*);", code(header), flags=re.S):
            constants = re.findall(r"\b(K\w+)\s*=", body)
            result[name or constants[0].rsplit("_", 1)[0].lower()] = constants
    return result


def flags(headers=EXPORTED):
    """The constants that are macros."""
    return [name for header in headers
            for name in re.findall(r"^#define (KV_\w+) \S", (INCLUDE / header).read_text(), flags=re.M)]
