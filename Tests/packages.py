#!/usr/bin/env python3
"""Builds and runs a Swift package that depends on this one. Prints TAP.

    packages.py         by path; the README's Swift is built with it
    packages.py --tag   by a file URL and a tag, of a clone made for it
"""
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from tap import ROOT, SWIFT, check, environment, finish, run, version


def prepare(package):
    """A copy of the consumer, so that nothing is built among the sources."""
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
