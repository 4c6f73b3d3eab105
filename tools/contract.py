#!/usr/bin/env python3
"""Keeps the record of the C contract: functions, inline ones too, layouts of structs with the types of their members,
values of constants.

    contract.py           compares the headers with include/contract.txt
    contract.py --write   records them; refuses a break without a raised version

A program that was built against the recorded contract runs with this one as long as every recorded line still holds.
New lines may be added; an options struct, which begins with its size, may grow at its end. Anything else breaks
programs: it needs a higher KV_ABI_VERSION, for kvcodable_nodes.h a higher
KV_NODES_VERSION, for kvcodable_fields.h a higher KV_FIELDS_VERSION.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import header

RECORD = header.INCLUDE / "contract.txt"
VERSIONS = {"kvcodable.h": "KV_ABI_VERSION", "kvcodable_lua.h": "KV_ABI_VERSION",
            "kvcodable_nodes.h": "KV_NODES_VERSION", "kvcodable_fields.h": "KV_FIELDS_VERSION"}


def measuring_program(name):
    """A C program that prints each constant's value and each struct's layout."""
    lines = [f'#include "{name}"', "#include <stdio.h>", "int main(void) {"]
    constants = [one for group in header.enums([name]).values() for one in group] + header.flags([name])
    for constant in dict.fromkeys([*constants, VERSIONS[name]]):
        lines.append(f'printf("{constant} = %lld\\n", (long long)({constant}));')
    for struct, members in header.structs([name]).items():
        lines.append(f'printf("{struct} %zu:", sizeof({struct}));')
        for mark, (kind, member) in zip([""] + [","] * len(members), members):
            lines.append(f'printf("{mark} {kind} {member} %zu+%zu", offsetof({struct}, {member}), '
                         f"sizeof((({struct} *)0)->{member}));")
        lines.append('printf("\\n");')
    return "\n".join(lines + ["return 0;", "}"])


def current(name):
    """The contract of one header, a line for each promise."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "measure.c", Path(folder) / "measure"
        source.write_text(measuring_program(name))
        subprocess.run(["gcc", "-std=c11", f"-I{header.INCLUDE}", source, "-o", program], check=True)
        measured = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    lines = [function.prototype for function in header.functions([name]) + header.inlines([name])]
    callbacks = re.findall(r"typedef (\w+ \(\*\w+\)\([^;]*\));", header.code(name))
    return lines + [" ".join(one.split()) for one in callbacks] + measured


def recorded():
    result = {}
    for line in RECORD.read_text().splitlines() if RECORD.exists() else []:
        if line.startswith("# "):
            lines = result.setdefault(line[2:], [])
        elif line:
            lines.append(line)
    return result


def holds(old, new):
    """Whether a recorded line still holds: it is there, or it is an options struct that grew at its end."""
    if old in new:
        return True
    found = re.match(r"(\w+) \d+:( size_t size 0\+8, .*)", old)
    return found is not None and any(
        re.match(rf"{found[1]} \d+:{re.escape(found[2])}, ", line) for line in new)


def is_version(line):
    return line.split(" ")[0] in VERSIONS.values()


def compare(name, old, new):
    """The lines that no longer hold and those that are new; and whether the version was raised."""
    broken = [line for line in old if not is_version(line) and not holds(line, new)]
    added = [line for line in new if not is_version(line) and line not in old]
    version = [next((line for line in lines if is_version(line)), "") for lines in (old, new)]
    return broken, added, version[0] != version[1]


def report(name, broken, added, raised):
    for line in broken:
        print(f"{name}: no longer so: {line}")
    for line in added:
        print(f"{name}: new: {line}")
    if broken and not raised:
        print(f"Programs built against the old {name} break. Keep what was, or raise {VERSIONS[name]} (and, for "
              "kvcodable.h, the library's soname), say so under Breaking in CHANGELOG.md, and run "
              "tools/contract.py --write.")
    elif broken or added or raised:
        print(f"{name} differs from its record. Say so in CHANGELOG.md, and run tools/contract.py --write.")


def main():
    writes = sys.argv[1:] == ["--write"]
    if sys.argv[1:] and not writes:
        sys.exit(__doc__)
    record, contract, failed = recorded(), {name: current(name) for name in VERSIONS}, False
    for name, lines in contract.items():
        broken, added, raised = compare(name, record.get(name, []), lines)
        refused = bool(broken) and not raised
        if refused or not writes:
            report(name, broken, added, raised)
            failed = failed or refused or bool(broken or added or raised)
    if writes and not failed:
        RECORD.write_text("\n\n".join("\n".join([f"# {name}", *lines]) for name, lines in contract.items()) + "\n")
    if not failed:
        print(f"{sum(map(len, contract.values()))} lines of contract hold")
    sys.exit(1 if failed else 0)


main()
