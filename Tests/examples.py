#!/usr/bin/env python3
"""Runs the demonstration, the examples and the pages' snippets; checks their commands and links. Prints TAP."""
import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from tap import ROOT, check, environment, finish, run

ENVIRONMENT = environment(LUA_CPATH=f"{ROOT}/build/?.so;;")


DIFFERENCE = "root['Target Applications'][1]['Bundle Identifier']: 'org.example.browser' -> 'org.example.navigator'"
REFUSAL = "refused\tExpected String at Target Applications[1].bundleIdentifier, found Int"


def demonstration():
    good, output = run(ROOT / "Tests/demo.sh", cwd=ROOT, env=ENVIRONMENT)
    lines = output.splitlines()
    changes = lines[lines.index("What changed, as Python's plistlib reads it:") + 1:] if good else []
    check(good and REFUSAL in lines, "the demonstration refuses a wrong value, with its path", output)
    check(changes == [DIFFERENCE], "the demonstration changes exactly one value", output)


def absent_key(folder):
    path = folder / "other.plist"
    path.write_text('<plist version="1.0"><dict><key>a</key><integer>1</integer></dict></plist>')
    good, output = run("lua5.4", ROOT / "lua/examples/target_applications.lua", path, env=ENVIRONMENT)
    check(good and output == "no target applications\n", "an absent key gives nil and not a crash", output)


# ---- The pages

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "lua/README.md", *sorted((ROOT / "docs").glob("*.md"))]


def snippets(language):
    """Each page's code in a language, with a name for it."""
    for page in PAGES:
        found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)
        for number, code in enumerate(found, 1):
            yield f"{page.relative_to(ROOT)}: {language} snippet {number}", code


def lua_snippets(folder):
    for name, code in snippets("lua"):
        script = folder / "snippet.lua"
        script.write_text(code)
        good, output = run("lua5.4", script, cwd=folder,
                           env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(folder / "config")})
        check(good, f"{name} runs", output)


def c_snippets(folder):
    for name, code in snippets("c"):
        source, program = folder / "snippet.c", folder / "snippet"
        source.write_text(code)
        good, output = run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", source,
                           "-o", program, f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
        check(good, f"{name} compiles", output)
        good, output = run(program, cwd=folder, env=environment(XDG_CONFIG_HOME=folder / "config"))
        check(good, f"{name} runs", output)


def is_there(word):
    """A file that a command names, as far as it names one of ours."""
    return not re.match(r"(Tests|tools|Benchmarks|Sources|lua|docs|include)/\S", word) or any(ROOT.glob(word))


def command(line):
    """What is wrong with a command of the pages, without running it; the empty string for nothing."""
    words = shlex.split(line, comments=True)
    variables = [word for word in words if re.match(r"[A-Z_]+=", word)]
    words = [word for word in words if word not in variables]
    if not shutil.which(words[0], path=f"{ROOT}:{os.environ['PATH']}") and not (ROOT / words[0]).exists():
        return f"no program {words[0]}"
    if words[0] == "make":
        good, output = run("make", "-n", *words[1:], *variables, cwd=ROOT)
        return "" if good else output
    if words[:2] == ["swift", "build"] and "--target" in words:
        target = words[words.index("--target") + 1]
        return "" if (ROOT / "Sources" / target).is_dir() else f"no target {target}"
    return "".join(f"no file {word} " for word in words if not is_there(word))


def commands():
    for name, code in snippets("sh"):
        problems = [f"{line}: {problem}" for line in code.splitlines() if line.strip() and (problem := command(line))]
        check(not problems, f"{name} names what there is", "\n".join(problems))


def links():
    for page in PAGES:
        targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
        lost = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
        check(not lost, f"{page.relative_to(ROOT)}: links lead somewhere", ", ".join(lost))


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        demonstration()
        absent_key(folder)
        lua_snippets(folder)
        c_snippets(folder)
        commands()
        links()
    finally:
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
