#!/usr/bin/env python3
"""Builds and tests the provider for swift-configuration, a package of its own, and runs its example. Prints TAP."""
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from packages import commented
from tap import ROOT, SWIFT, check, environment, finish, forget_other_sources, run

PACKAGE = ROOT / "Configuration"
BUILT = ROOT / ".build-configuration"
PRINTED = """7
now 7
now 3
3 ["/srv/music"]
[string: <REDACTED>]
Expected Int at volume, found String
"""


def tests():
    report = BUILT / "tests.xml"
    good, output = run(SWIFT, "test", "--package-path", PACKAGE, "--scratch-path", BUILT, "--xunit-output", report)
    report = report.with_name("tests-swift-testing.xml")
    cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    for case in cases:
        failure = case.find("failure")
        check(failure is None, case.get("name"), "" if failure is None else failure.get("message"))
    check(good and len(cases) > 10, "the package is built and tested", output)


def example(folder):
    home = environment(XDG_CONFIG_HOME=folder / "config", XDG_DATA_HOME=folder / "data", XDG_DATA_DIRS=folder)
    good, output = run(BUILT / "debug/Example", env=home)
    check(good and output == PRINTED, "the example runs, and prints what it says", output)
    shown = (PACKAGE / "README.md").read_text().split("```swift\n")[1].split("```")[0]
    program = (PACKAGE / "Example/main.swift").read_text()
    check(shown == program, "and is what the README shows")
    blocks = [block for path in (PACKAGE / "Sources").rglob("*.swift") for block in commented(path)]
    lines = {line for block in blocks for line in block.splitlines()}
    others = lines - set(program.splitlines())
    check(lines and not others, f"and has the {len(blocks)} examples of the sources' comments", "\n".join(others))


def main():
    forget_other_sources(BUILT)
    folder = Path(tempfile.mkdtemp())
    try:
        tests()
        example(folder)
    finally:
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
