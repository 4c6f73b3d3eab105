#!/usr/bin/env python3
"""Builds and runs a Swift package that depends on this one. Prints TAP.

    packages.py         by path; the README's Swift is built with it, and the documentation's is checked; a host has LuaJIT
    packages.py --tag   by a file URL and a tag, of a clone made for it
"""
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from tap import ROOT, SWIFT, check, environment, finish, forget_other_sources, run, version


def prepare(package):
    """A copy of the consumer, so that nothing is built among the sources."""
    forget_other_sources(package)
    shutil.copytree(ROOT / "Tests/Packages/swift", package, dirs_exist_ok=True)


def build_and_run(package, program, what, folder, **variables):
    build = environment(**variables)
    good, output = run(SWIFT, "build", "--product", program, cwd=package, env=build)
    check(good, f"{what} builds", output)
    good, output = run(package / ".build/debug" / program, cwd=folder,
                       env=environment(XDG_CONFIG_HOME=folder / "config"))
    check(good, f"{what} runs", output)
    return output


def by_path(folder):
    package = ROOT / "build/packages/path"
    prepare(package)
    path = os.path.relpath(ROOT, package)
    output = build_and_run(package, "Consumer", "a package that depends on this one by path", folder,
                           KVCODABLE_PATH=path)
    check(output == f"kvcodable {version()}\n", "and has its version", output)
    snippets = re.findall(r"^```swift\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.M | re.S)
    check(snippets, "the README has Swift")
    for number, code in enumerate(snippets, 1):
        (package / "Sources/Readme/main.swift").write_text(code)
        build_and_run(package, "Readme", f"README: Swift snippet {number}", folder, KVCODABLE_PATH=path)
    check_documentation(package, folder)
    output = build_and_run(package, "LuaHost", "a host with another Lua", folder, KVCODABLE_PATH=path,
                           KVCODABLE_LUA="luajit")
    check(output.startswith("LuaJIT 2.1") and "Expected Int at window.width" in output
          and 'Window(width: 641, title: Optional("of Lua 5.1"))' in output, "and its scripts change Swift types", output)


# What the documentation's code takes for given, and need not say.
GIVEN = {
    "store": "let store = try DefaultsStore.open(\"org.example.given\")",
    "options": "var options = DefaultsStore.Options()",
    "stored": "let stored = PropertyList.emptyDictionary",
    "Book": "struct Book: Codable {}",
    "library": "let library = Library(books: [])",
}


def commented(source):
    """The blocks of Swift in the documentation comments of a source."""
    text = "".join(re.sub(r"^ *///? ?", "", line) if line.lstrip().startswith("///") else "\n"
                   for line in source.read_text().splitlines(keepends=True))
    return re.findall(r"^```swift\n(.*?)^```", text, flags=re.M | re.S)


def documentation():
    """The Swift of the modules' pages and comments, with where it stands."""
    for page in sorted((ROOT / "Sources").rglob("*.docc/*.md")):
        yield from ((page, code) for code in re.findall(r"^```swift\n(.*?)^```", page.read_text(), flags=re.M | re.S))
    for source in sorted((ROOT / "Sources").rglob("*.swift")):
        yield from ((source, code) for code in commented(source) if "…" not in code)


def complete(code):
    """The code, with the imports and names that its readers have."""
    named = [line for name, line in GIVEN.items() if re.search(rf"\b{name}\b", code)
             and not re.search(rf"\b(?:let|var|struct) {name}\b", code)]
    imports = "" if "import " in code else "import Foundation\nimport KVCodable\nimport KeyValueCoder\n"
    return imports + "\n".join(named + [code])


# proves: G113
def check_documentation(package, folder):
    """Checks the types of the code against the modules that the package has built."""
    built = package / ".build/debug"
    options = ["-swift-version", "6", "-I", built / "Modules", "-I", ROOT / "include"]
    for module in ["CKVSystem", "CKVSQLite"]:
        options += ["-Xcc", f"-fmodule-map-file={built}/{module}.build/module.modulemap"]
    for number, (page, code) in enumerate(documentation(), 1):
        source = folder / f"snippet{number}.swift"
        source.write_text(complete(code))
        good, output = run(SWIFT + "c", "-typecheck", *options, source)
        check(good and "warning:" not in output, f"{page.relative_to(ROOT)}: Swift snippet {number} compiles", output)


def by_tag(folder):
    clone, package = folder / "kvcodable", folder / "consumer"
    good, output = run("git", "clone", "--quiet", ROOT, clone)
    check(good, "the repository can be cloned", output)
    good, output = run("git", "-C", clone, "tag", version())
    check(good, f"and tagged {version()}", output)
    prepare(package)
    output = build_and_run(package, "Consumer", "a package that depends on this one by URL and tag", folder,
                           KVCODABLE_URL=f"file://{clone}", KVCODABLE_TAG=version())
    check(output == f"kvcodable {version()}\n", "and has its version", output)


def main():
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        by_tag(folder) if sys.argv[1:] == ["--tag"] else by_path(folder)
    finally:
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
