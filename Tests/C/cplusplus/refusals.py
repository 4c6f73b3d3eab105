#!/usr/bin/env python3
"""What kvcodable.hpp refuses when it is compiled, and in which words. Prints TAP."""
# proves: G106
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "suites"))
from tap import ROOT, check, finish, run  # noqa: E402

VIEW = "would point into what is freed: read a std::string"
OPTIONAL = "A std::optional is no value"
REFUSED = {
    'store.get<std::string_view>("a");': VIEW,
    'store.get<const char *>("a");': VIEW,
    'store.get<std::vector<std::string_view>>("a");': VIEW,
    'store.get<std::map<std::string, const char *>>("a");': VIEW,
    'store.snapshot().get<std::string_view>("a");': VIEW,
    'store.get<std::optional<int>>("a");': OPTIONAL,
    'store.set("a", std::optional<int>(5));': OPTIONAL,
    'store.get_or("a", std::optional<int>());': OPTIONAL,
    'store.set("a", std::vector<std::optional<int>>());': OPTIONAL,
    'store.set("a", __int128(5));': "Integers have 64 bits at most",
    'store.get<unsigned __int128>("a");': "Integers have 64 bits at most",
    'store.get<int>({"a", __int128(5)});': "Integers have 64 bits at most",
    'store.get_or("a", nullptr);': "no matching",
}
# What stands beside it, and is taken.
TAKEN = """store.get_or("a", std::string_view("b"));
store.set("a", std::vector<std::string_view>{"b"});
store.get<std::vector<std::string>>({"a", std::size_t(0)});"""


def compiled(compiler, line):
    text = f'#include <kvcodable.hpp>\nvoid use(kvcodable::store &store) {{\n{line}\n}}\n'
    program = ["bash", "-c", f'printf %s "$0" | {compiler} -x c++ -std=gnu++17 -I"$1" -fsyntax-only -', text,
               ROOT / "include"]
    return run(*program)


for compiler in ("g++", "clang++"):
    good, output = compiled(compiler, TAKEN)
    check(good, f"{compiler} takes what is no view of what is read", output)
    for line, words in REFUSED.items():
        good, output = compiled(compiler, line)
        check(not good and words in output, f"{compiler} refuses {line}", output)
finish()
