#!/usr/bin/env python3
"""The recorded contract, and that what breaks it is refused, in a copy of the tree's headers and C API. Prints TAP."""
import re
import shutil
import tempfile
from pathlib import Path

from tap import ROOT, check, finish, run

HEADER = (ROOT / "include/kvcodable.h").read_text()
# What breaks programs: a header, what is replaced in it and by what, and what the refusal names.
BREAKS = [
    ("kvcodable.h", "  int64_t index;\n} kv_step;", "  int32_t index;\n} kv_step;", "kv_step 24:"),
    ("kvcodable.h", "  int64_t index;\n} kv_step;", "  double index;\n} kv_step;", "kv_step 24:"),
    ("kvcodable.h", "  kv_str key;\n  int64_t index;", "  int64_t index;\n  kv_str key;", "kv_step 24:"),
    ("kvcodable.h", "  uint64_t position;\n", "  uint64_t position, more;\n", "kv_cursor 16:"),
    ("kvcodable.h", "  int read_only;\n", "  int read_only;\n  int added;\n", "kv_store_options "),
    ("kvcodable.h", "  const kv_tree *arguments;", "  kv_tree *const arguments;", "kv_store_options "),
    ("kvcodable_lua.h", "  uint32_t policy;\n", "  uint64_t policy;\n", "kv_lua_options "),
    ("kvcodable_nodes.h", "  uint32_t head; ", "  uint64_t head; ", "kv_node 16:"),
    ("kvcodable_fields.h", "  size_t field_count;\n", "", "kv_field 128:"),
    ("kvcodable.h", "KV_ABSENT = 1,", "KV_ABSENT = 2,", "KV_ABSENT = 1"),
    ("kvcodable.h", "  KV_REFUSED = -18, ", "", "KV_REFUSED = -18"),
    ("kvcodable.h", "#define KV_KEEP_OLD 2u", "#define KV_KEEP_OLD 8u", "KV_KEEP_OLD = 2"),
    ("kvcodable.h", "void kv_tree_free(kv_tree *tree);", "", "void kv_tree_free(kv_tree*)"),
    ("kvcodable.h", "size_t kv_cursor_count(", "int64_t kv_cursor_count(", "size_t kv_cursor_count("),
    ("kvcodable.h", "int kv_tree_equal(const kv_tree *left,", "int kv_tree_equal(kv_tree *left,", "int kv_tree_equal("),
    ("kvcodable.h", "int (*kv_check)(void *context,", "int (*kv_check)(int context,", "int (*kv_check)("),
    ("kvcodable_lua.h", "int luaopen_kvcodable(struct lua_State *L);", "", "int luaopen_kvcodable("),
    # Functions that are compiled into programs, from their source.
    ("kvcodable.h", "static inline kv_step kv_index(int64_t", "static inline kv_step kv_place(int64_t",
     "static inline kv_step kv_index(int64_t)"),
    ("kvcodable.h", "static inline kv_str kv_string(const char *text) {", "static inline kv_str kv_string(char *text) {",
     "static inline kv_str kv_string(const char*)"),
    ("kvcodable.h", re.search(r"static inline double kv_store_get_real_or.*?\n}\n", HEADER, flags=re.S)[0], "",
     "static inline double kv_store_get_real_or("),
]
# What may be added; it has to be recorded all the same.
ADDITIONS = [
    ("kvcodable.h", "/* Memory that the caller owns:", "static inline int kv_more(void) { return 1; }\n/* Memory that the caller owns:"),
    ("kvcodable.h", "#define KV_KEEP_OLD 2u", "#define KV_KEEP_OLD 2u\n#define KV_KEEP_MORE 8u"),
    ("kvcodable.h", "void kv_tree_free(kv_tree *tree);", "void kv_tree_free(kv_tree *tree);\nint kv_more(void);"),
    ("kvcodable.h", "  double settle_time;\n} kv_store_options;", "  double settle_time;\n  int added;\n} kv_store_options;"),
    ("kvcodable_lua.h", "  uint64_t quota;\n} kv_lua_options;", "  uint64_t quota;\n  int added;\n} kv_lua_options;"),
]
LIBRARIES = [ROOT / "build/libkvcodable.so", ROOT / "build/kvcodable.so"]
VERSIONS = {"kvcodable.h": "KV_ABI_VERSION", "kvcodable_nodes.h": "KV_NODES_VERSION",
            "kvcodable_fields.h": "KV_FIELDS_VERSION"}


class Tree:
    """A copy of what the tools read."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("include", "tools", "Tests/C", "Sources/KVCodableABI/API"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))

    def change(self, name, old, new):
        path = self.folder / "include" / name
        text = path.read_text()
        found = text.count(old) == 1
        path.write_text(text.replace(old, new))
        return found

    def contract(self, *arguments):
        return run("python3", self.folder / "tools/contract.py", *arguments)

    def restore(self):
        shutil.copytree(ROOT / "include", self.folder / "include", dirs_exist_ok=True)

    def record(self):
        return (self.folder / "include/contract.txt").read_text()


# proves: G107
def breaks(tree):
    for name, old, new, told in BREAKS:
        found = tree.change(name, old, new)
        what = " ".join(told.split())
        for arguments in ([], ["--write"]):
            before = tree.record()
            good, output = tree.contract(*arguments)
            check(found and not good and f"no longer so: {told}" in output and tree.record() == before,
                  f"a change of {what} is refused {' '.join(arguments)}", output)
        tree.restore()


# proves: G107
def raised(tree):
    """With a raised version, a break may be recorded, and must be."""
    for name, version in VERSIONS.items():
        _, old, new, told = next(one for one in BREAKS if one[0] == name)
        tree.change(name, old, new)
        now = int(re.search(rf"#define {version} (\d+)", (ROOT / "include" / name).read_text())[1])
        tree.change(name, f"#define {version} {now}", f"#define {version} {now + 1}")
        good, output = tree.contract()
        check(not good and "differs from its record" in output, f"a break of {told} has to be recorded", output)
        good, output = tree.contract("--write")
        check(good and tree.contract()[0], "and may be where the version is raised", output)
        tree.restore()


def additions(tree):
    for name, old, new in ADDITIONS:
        found = tree.change(name, old, new)
        what = re.sub(r"\s+", " ", new)
        good, output = tree.contract()
        check(found and not good and "no longer so" not in output, f"has to be recorded: {what}", output)
        good, output = tree.contract("--write")
        check(good and tree.contract()[0], "and may be, with the version as it is", output)
        tree.restore()


def names():
    """A program finds no library of another version of the contract."""
    abi = re.search(r"#define KV_ABI_VERSION (\d+)", (ROOT / "include/kvcodable.h").read_text())[1]
    for library, name in zip(LIBRARIES, ("libkvcodable", "libkvcodable_lua")):
        _, output = run("objdump", "-p", library)
        check(re.search(rf"SONAME +{name}\.so\.{abi}\n", output), f"{name} has the contract's version in its name",
              output)


def exports(tree):
    def compare():
        return run("python3", tree.folder / "tools/exports.py", *LIBRARIES)

    good, output = compare()
    check(good, "headers, export list, libraries and C tests name the same functions", output)
    for name, line in {"kvcodable.h": "int kv_more(void);", "kvcodable_lua.h": "int kv_lua_more(void);"}.items():
        tree.change(name, "#ifdef __cplusplus\n}", f"{line}\n#ifdef __cplusplus\n}}")
        good, output = compare()
        check(not good and "_more: not in " in output, f"a function of {name} that is nowhere else is found", output)
        tree.restore()


def sections(tree):
    """The functions of the C API stand in the files of their sections, in the header's order."""
    def refuses(told, what):
        good, output = run("python3", tree.folder / "tools/sections.py")
        check(not good and told in output, f"{what} is refused", output)

    good, output = run("python3", tree.folder / "tools/sections.py")
    check(good, "each section of the headers has its file, with its functions", output)
    file = tree.folder / "Sources/KVCodableABI/API/Version.swift"
    text = file.read_text()
    before, last = text.rsplit("\n\n", 1)
    other = file.with_name("Trees.swift")
    file.write_text(f"{before}\n")
    other.write_text(f"{other.read_text()}\n{last}")
    refuses("Trees.swift: kv_version, which", "a function in the file of another section")
    shutil.copy(ROOT / "Sources/KVCodableABI/API/Trees.swift", other)
    file.write_text(f"{last}\n{before}\n")
    refuses("Version.swift: not in the header's order", "another order than the header's")
    file.write_text(text)
    tree.change("kvcodable.h", "/* Frees a type. */", "/* ---- Ends: of types */\n\n/* Frees a type. */")
    refuses("Ends.swift: no kv_type_free", "a section without a file")
    tree.restore()


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        tree = Tree(folder / "tree")
        good, output = tree.contract()
        check(good, "the headers are what the record says", output)
        breaks(tree)
        raised(tree)
        additions(tree)
        exports(tree)
        sections(tree)
        names()
    finally:
        shutil.rmtree(folder)
    finish()


main()
