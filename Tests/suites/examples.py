#!/usr/bin/env python3
"""Runs the demonstration, the examples and the pages' snippets; checks their commands and links. Prints TAP."""
import itertools
import os
import plistlib
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from tap import ROOT, SWIFT, check, environment, finish, run, version

ENVIRONMENT = environment(LUA_CPATH=f"{ROOT}/build/?.so;;")


DIFFERENCE = "root['Target Applications'][1]['Bundle Identifier']: 'org.example.browser' -> 'org.example.navigator'"
REFUSAL = "refused\tExpected String at Target Applications[1].bundleIdentifier, found Int"


def demonstration():
    good, output = run(ROOT / "Tests/demo.sh", cwd=ROOT, env=ENVIRONMENT)
    lines = output.splitlines()
    changes = lines[lines.index("What changed, as Python's plistlib reads it:") + 1:] if good else []
    check(good and REFUSAL in lines, "the demonstration refuses a wrong value, with its path", output)
    check(changes == [DIFFERENCE], "the demonstration changes exactly one value", output)
    shown = re.findall(r"^```text demo\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.M | re.S)
    check(shown == [output], "and prints what the README shows", output)


def demo_command(folder):
    """What make demo says while there is something to compile, and that it does not compile when there is not."""
    steps = "printf '[1/2] Compiling A\\nwarning: x\\n[2/2] Linking B\\nBuild complete!\\n'"
    good, output = run("bash", "-c", f"{steps} | tools/quiet.sh", cwd=ROOT)
    check(good and output == "[1/2] Compiling A\n[2/2] Linking B\nBuild complete!\n", "a build shows its steps", output)
    good, output = run("bash", "-c", "printf '[1/2] A\\nx: error: y\\n' | tools/quiet.sh", cwd=ROOT)
    check(not good and "x: error: y" in output, "and all of it where it fails", output)
    tree = folder / "tree"
    for name in ("tools", "Sources", "include", "lua/src", "lua/embedded", "build"):
        (tree / name).mkdir(parents=True)
    for name in ("Package.swift", "Makefile", "build/kvcodable.so"):
        (tree / name).touch()
    shutil.copy(ROOT / "tools/current.sh", tree / "tools")
    check(not run(tree / "tools/current.sh")[0], "what was never compiled is compiled")
    (tree / "build/compiled").touch()
    check(run(tree / "tools/current.sh")[0], "what is compiled is not compiled again")
    os.utime(tree / "build/compiled", (1, 1))
    check(not run(tree / "tools/current.sh")[0], "but where a source is newer")
    good, output = run("make", "-n", "demo", cwd=ROOT)
    check(good and "takes some minutes" in output, "make demo says how long it takes", output)


# What each example prints last, run without arguments.
LAST_SETTING = "refused\tExpected Dictionary at window.width, found Int"
UNAIDED = {"settings.lua": LAST_SETTING, "printer.lua": "- 1.5", "people.lua": "2026-11-21T08:00:00Z", "preferences.lua": "window\t1600\tPreferences",
           "products.lua": "Cafe\t7.25\t1", "shape.lua": "saved\t0.5", "target_applications.lua": REFUSAL}


def unaided(folder):
    """Each example runs without arguments, on a sample that comes with it, which stays as it is."""
    names = {path.name for path in (ROOT / "lua/examples").glob("*.lua")} - {"sample.lua", "ffi.lua"}
    check(names == set(UNAIDED), "each example is run without arguments", str(names))
    samples = {path: path.read_bytes() for path in (ROOT / "lua/examples/samples").iterdir()}
    (folder / "copies").mkdir()
    for version in LUAS:
        program, given = lua_of(version)
        for name, last in UNAIDED.items():
            good, output = run(program, ROOT / "lua/examples" / name, cwd=folder,
                               env={**given, "TMPDIR": str(folder / "copies")})
            check(good and output.rstrip("\n").endswith(last), f"{name} runs without arguments in {program}", output)
    check(samples == {path: path.read_bytes() for path in samples}, "and the samples are as they were")


def absent_key(folder):
    path = folder / "other.plist"
    path.write_text('<plist version="1.0"><dict><key>a</key><integer>1</integer></dict></plist>')
    good, output = run("lua5.4", ROOT / "lua/examples/target_applications.lua", path, env=ENVIRONMENT)
    check(good and output == "no target applications\n", "an absent key gives nil and not a crash", output)


# ---- The stories, told in Lua


def story(what, script, *arguments, expected):
    good, output = run("lua5.4", ROOT / "lua/examples" / script, *arguments, env=ENVIRONMENT)
    check(good and output == expected, what, output)


def shape(folder):
    mine = folder / "myShape.plist"
    story("story 1 in Lua reads a shape, changes it and saves it", "shape.lua", ROOT / "Tests/Data/DefaultShape.plist",
          mine, expected="read\t200.0\t120.0\t0.8\t1.0\tnil\nsaved\t0.5\n")
    expected = {"width": 300.0, "height": 150.0, "borderWidth": 2.5, "cornerRadius": 12.0, "isVisible": True,
                "backgroundColorValues": [255.0, 0.0, 0.0, 0.5], "borderColorValues": [0.0, 51.0, 255.0, 1.0]}
    check(plistlib.loads(mine.read_bytes()) == expected, "the file holds numbers for colours, and no key for no image",
          mine.read_text())
    odd = folder / "oddShape.plist"
    odd.write_bytes(plistlib.dumps({"width": 1.0, "height": 2.0, "borderWidth": 0.0, "cornerRadius": 0.0,
                                    "isVisible": True, "backgroundColorValues": [10.0, 20.0, 30.0],
                                    "patternImageData": b""}))
    story("story 1 in Lua takes its default for what is no colour, and nothing for no image", "shape.lua", odd, mine,
          expected="read\t1.0\t2.0\t0.0\t1.0\tnil\nsaved\t0.5\n")
    check("patternImageData" not in plistlib.loads(mine.read_bytes()), "and leaves out the key of an image that is none")


PEOPLE = """stored\tanna\tof the keys\tusername
read\tanna
stored\tAda\tKing Lovelace
read\tAda King Lovelace
read\tTea\tEUR
refused\tThe converter failed: Expected a catalogue as context
read\t48.1\t2.0\t2026-11-21T08:00:00Z
"""

PREFERENCES = """absent\tnil
default\t7\tdark
refused\tExpected String at window.tags[2], found Int
refused\tExpected 1...16384 at window.width, found 0
refused\tWindow at window has no field widht; did you mean width?
window\t1600\tPreferences
"""


def preferences(folder):
    path = folder / "preferences.plist"
    story("story 4 in Lua keeps typed values in preferences", "preferences.lua", path, expected=PREFERENCES)
    values = plistlib.loads(path.read_bytes())
    check(values["window"] == {"width": 1600, "height": 600, "title": "Preferences"} and values["theme"] == "light"
          and values["level"] == 10 and values["limits"] == {"small": 1, "large": 1000},
          "a person can read what story 4 stored", str(values))


def products(folder):
    archive, path = folder / "products", folder / "shop.plist"
    bytes = (ROOT / "Tests/Data/products.archive.plist").read_bytes()
    archive.write_bytes(bytes)
    path.write_bytes(plistlib.dumps({"products": bytes, "window": "{{0, 0}, {640, 480}}"}))
    rows = "Tea\t4.5\t2\nCafe\t7.25\t1\n"
    for migrated in ("true", "false"):
        story("story 5 in Lua reads products, archived or not", "products.lua", archive, path,
              expected=f"{rows}an archive\tfalse\nmigrated\t{migrated}\nmigrated\tfalse\n{rows}")
    check(plistlib.loads(path.read_bytes())["window"] == "{{0, 0}, {640, 480}}", "story 5 touches nothing else")
    archive.write_bytes(bytes[:200])
    good, output = run("lua5.4", ROOT / "lua/examples/products.lua", archive, path, env=ENVIRONMENT)
    check(not good and output.startswith("cannot read the products: Expected "),
          "a damaged archive is an error that story 5 shows", output)


# ---- The pages

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "lua/README.md", ROOT / "Configuration/README.md",
         ROOT / "Page/README.md", *sorted((ROOT / "docs").glob("*.md")),
         *sorted((ROOT / "lua/examples").glob("*/README.md"))]


def snippets(language):
    """Each page's code in a language, with a name for it."""
    for page in PAGES:
        found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)
        for number, code in enumerate(found, 1):
            yield f"{page.relative_to(ROOT)}: {language} snippet {number}", code


# Each Lua whose module is built, but 5.5, which has no package.
LUAS = [path.name for path in sorted((ROOT / "build/lua").glob("*")) if path.name != "5.5"]


def lua_of(version):
    """The program and the environment of a Lua."""
    return (version if version == "luajit" else f"lua{version}",
            environment(LUA_CPATH=f"{ROOT}/build/lua/{version}/?.so;;"))


# proves: G113
def lua_snippets(folder):
    for version in LUAS:
        program, environment = lua_of(version)
        home = folder / f"snippets-{version}"
        home.mkdir()
        for name, code in snippets("lua"):
            script = home / "snippet.lua"
            script.write_text(code)
            good, output = run(program, script, cwd=home, env={**environment, "XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data")})
            promised = re.findall(r"--> (.*)$", code, flags=re.M)
            check(good and (not promised or output.splitlines() == promised),
                  f"{name} runs with {program}, and prints what it says", output)


def from_ffi(folder):
    """The example of LuaJIT's FFI runs, and declares what the header declares."""
    script = ROOT / "lua/examples/ffi.lua"
    if shutil.which("luajit"):
        file = folder / "ffi.plist"
        expected = "false\tExpected Dictionary at ui.width, found Int\nstored\t1000\tin "
        good, output = run("luajit", script, ROOT / "build/libkvcodable.so", file, cwd=folder)
        check(good and output == f"{expected}{file}\n", "the example of LuaJIT's FFI stores and reads", output)
        good, output = run("luajit", script, cwd=folder)
        check(good and output.startswith(expected), "and runs without arguments", output)
    header = " ".join((ROOT / "include/kvcodable.h").read_text().split())
    declared = re.search(r"ffi\.cdef \[\[(.*?)\]\]", script.read_text(), flags=re.S)[1]
    lost = [name for name in re.findall(r"^[^;{}]*\([^;]*\);$", declared, flags=re.M)
            if " ".join(name.split()) not in header]
    check(not lost and declared.count("(") >= 7, "and declares functions as the header does", "\n".join(lost))


C_COMPILERS = {"c": ("gcc", "-std=c11"), "cpp": ("g++", "-std=c++17")}


# proves: G113
def c_snippets(folder, language):
    for name, code in snippets(language):
        source, program = folder / f"snippet.{language}", folder / "snippet"
        source.write_text(code)
        good, output = run(*C_COMPILERS[language], "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", source,
                           "-o", program, f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
        check(good, f"{name} compiles", output)
        good, output = run(program, cwd=folder, env=environment(XDG_CONFIG_HOME=folder / "config"))
        check(good, f"{name} runs", output)


# The Swift modules behind KVCodable, and the C ones.
MODULES = ("KVCodable", "CodableTypes", "DefaultsStorage", "KeyValueCoding", "KeyedArchives", "PropertyLists", "CKVSystem",
           "CKVSQLite")


def build_swift(source, program):
    """Builds a Swift program with the modules of the debug build, as a package would."""
    good, output = run(SWIFT, "build", "--target", "KVCodable", cwd=ROOT)
    built = ROOT / ".build/debug"
    # A build leaves the objects of sources that are gone.
    sources = {path.name for path in (ROOT / "Sources").rglob("*.*")}
    objects = [str(path) for module in MODULES for path in (built / f"{module}.build").rglob("*.o")
               if path.stem in sources]
    maps = [word for path in built.glob("CKV*.build/module.modulemap") for word in ("-Xcc", f"-fmodule-map-file={path}")]
    compiler = Path(shutil.which(SWIFT) or "").with_name("swiftc")
    return (good, output) if not good else run(
        str(compiler), "-swift-version", "6", "-I", built / "Modules", "-I", ROOT / "include", *maps, source, *objects,
        "-o", program)


# proves: G113
def orders(folder):
    """The README's programs change one file: in each order each of them runs and finds what it expects."""
    place = folder / "orders"
    place.mkdir()
    code = {language: next(code for name, code in snippets(language) if name.startswith("README.md: "))
            for language in ("lua", "c", "cpp", "swift")}
    commands = {"lua": ["lua5.4", str(place / "main.lua")]}
    for language in code:
        source, program = place / f"main.{language}", str(place / f"{language}-program")
        source.write_text(code[language])
        if language == "lua":
            continue
        commands[language] = [program]
        good, output = build_swift(source, program) if language == "swift" else run(
            *C_COMPILERS[language], f"-I{ROOT}/include", source, "-o", program, f"-L{ROOT}/build", "-lkvcodable",
            f"-Wl,-rpath,{ROOT}/build")
        check(good, f"the README's program in {language} compiles", output)
    for order in itertools.permutations(commands):
        home = place / "-".join(order)
        home.mkdir(mode=0o700)
        outcomes = [(language, *run(*commands[language], cwd=home, env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(home)}))
                    for language in order]
        bad = [f"{language}: {output}" for language, good, output in outcomes if not good]
        check(not bad, f"the README's programs run on one file: {', '.join(order)}", "\n".join(bad))


# Names that the examples of the headers and of the annotations take for given.
C_GIVEN = {"store": "kv_store *store", "tree": "const kv_tree *tree", "L": "lua_State *L"}
LUA_GIVEN = {"kv": 'local kv = require "kvcodable"',
             "store": 'local store = assert(kv.open_file("given", { engine = "memory" }))'}


def c_program(example, header):
    """The example as the body of a function, with its own functions before it."""
    functions, body = re.fullmatch(r"((?:static .*?^}\n+)*)(.*)", example, flags=re.M | re.S).groups()
    given = [parameter for name, parameter in C_GIVEN.items()
             if re.search(rf"\b{name}\b", body) and not re.search(rf"\*{name}\b", body)]
    includes = f'#include <lua.h>\n#include <stdio.h>\n#include "{header}"\n'
    return f"{includes}{functions}void example({', '.join(given) or 'void'}) {{\n{body}}}\n"


def cpp_program(example):
    """The same in C++, with its own types, too, before it."""
    own = r"(?:static|struct|template) .*?^};?\n+"
    outside, body = re.fullmatch(rf"((?:{own})*)(.*)", example, flags=re.M | re.S).groups()
    given = "" if "auto store =" in body else "kvcodable::store &store"
    includes = "#include <cstdio>\n#include <ctime>\n#include <kvcodable.hpp>\n"
    return f"{includes}{outside}void example({given}) {{\n{body}}}\n"


def c_types(text):
    """The types of a header, each with the words that show it: its name, the constants of an enum, and the functions and
    members that take a callback."""
    for name in re.findall(r"^typedef struct (\w+)", text, flags=re.M):
        yield name, {name}
    for name, body in re.findall(r"^typedef enum (\w+) \{(.*?)^\}", text, flags=re.M | re.S):
        yield name, {name, *re.findall(r"^  (KV_\w+) =", body, flags=re.M)}
    for name in re.findall(r"^typedef \w+ \(\*(\w+)\)", text, flags=re.M):
        takers = re.findall(rf"^\w+ (\w+)\([^;]*\b{name} \w+[^;]*\);|^  {name} (\w+);", text, flags=re.M)
        yield name, {name, *(function or member for function, member in takers)}


def c_headers(folder):
    """Each type of a header is in an example, and the examples compile."""
    flags = run("pkg-config", "--cflags", "lua5.4")[1].split()
    for header in sorted((ROOT / "include").glob("*.h")):
        text, source = header.read_text(), folder / "example.c"
        examples = [re.sub(r"^ \*(?:   )?", "", code, flags=re.M)
                    for code in re.findall(r"^ \* Example:\n \*\n((?: \*(?:   .*)?\n)+)", text, flags=re.M)]
        for number, example in enumerate(examples, 1):
            source.write_text(c_program(example, header.name))
            good, output = run("gcc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                               *flags, source)
            check(good, f"include/{header.name}: example {number} compiles", output)
        words = set(re.findall(r"\w+", "".join(examples)))
        lost = [name for name, shown in c_types(text) if not words & shown]
        check(examples and not lost, f"include/{header.name}: each type has an example", ", ".join(lost))


def cpp_header(folder):
    """Each class and other type of the header for C++ is in an example, and the examples compile."""
    text, source = (ROOT / "include/kvcodable.hpp").read_text(), folder / "example.cpp"
    examples = [re.sub(r"^//(?:   )?", "", code, flags=re.M)
                for code in re.findall(r"^// Example:\n//\n((?://(?:   .*)?\n)+)", text, flags=re.M)]
    for number, example in enumerate(examples, 1):
        source.write_text(cpp_program(example))
        good, output = run("g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", "-Werror",
                           f"-I{ROOT}/include", source)
        check(good, f"include/kvcodable.hpp: example {number} compiles", output)
    public = re.sub(r"^namespace detail \{.*?^\}  // namespace detail", "", text, flags=re.M | re.S)
    names = set(re.findall(r"^(?:class|struct|using) (\w+)\b(?!<)", public, flags=re.M))
    lost = {name for name in names if not any(re.search(rf"\bkvcodable::{name}\b", code) for code in examples)}
    check(examples and not lost, "include/kvcodable.hpp: each type has an example", ", ".join(sorted(lost)))


def annotations(folder):
    """The example above each class that the annotations for editors declare runs."""
    text, script = (ROOT / "lua/kvcodable.d.lua").read_text(), folder / "example.lua"
    examples = re.findall(r"^---```lua\n((?:---.*\n)+?)---```\n---@class ([\w.]+)", text, flags=re.M)
    lost = set(re.findall(r"^---@class ([\w.]+)", text, flags=re.M)) - {name for _, name in examples}
    check(examples and not lost, "each class of the annotations has an example", ", ".join(sorted(lost)))
    for code, name in examples:
        code = re.sub("^---", "", code, flags=re.M)
        given = [line for word, line in LUA_GIVEN.items() if f"local {word} " not in code]
        script.write_text("\n".join([*given, code]))
        good, output = run("lua5.4", script, cwd=folder,
                           env={**ENVIRONMENT, "XDG_CONFIG_HOME": str(folder / "config")})
        check(good, f"the example of {name} runs", output)


def is_there(word):
    """A file that a command names, as far as it names one of ours."""
    return not re.match(r"(Tests|tools|Benchmarks|Page|Fleet|Sources|lua|docs|include)/\S", word) or any(ROOT.glob(word))


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


OPERATORS = ROOT / "docs/operators.md"


# proves: G113
def operators(folder):
    """The commands of the operators' page, in their order, in the home of a user who has the stores that it names."""
    home = folder / "operator"
    (home / ".config").mkdir(parents=True)
    script = folder / "stores.lua"
    script.write_text("""local kv = require "kvcodable"
      local app <close> = assert(kv.open("com.example.app", { durability = "immediate" }))
      app:set("theme", "bright")
      app:set("theme", "dark")
      local cache <close> = assert(kv.open("com.example.cache", { engine = "sqlite" }))
      cache:set("theme", "dark")""")
    given = environment(LUA_CPATH=f"{ROOT}/build/?.so;;", HOME=str(home), XDG_CONFIG_HOME=None)
    good, output = run("lua5.4", script, cwd=home, env=given)
    check(good, "an operator has stores", output)
    blocks = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text printed\n(.*?)^```)?", OPERATORS.read_text(),
                        flags=re.M | re.S)
    for number, (code, printed) in enumerate(blocks, 1):
        good, output = run("bash", "-euo", "pipefail", "-c", code, cwd=home, env=given)
        check(good and output.strip() == printed.strip(),
              f"docs/operators.md: commands {number} do what they say", output)


# Pages whose commands need nginx or Neovim: lua_hosts.py checks them.
PLACES = ("lua/examples/neovim/", "lua/examples/nginx/")


def commands(of_places=False):
    for name, code in snippets("sh"):
        if name.startswith("docs/operators.md") or name.startswith(PLACES) != of_places:
            continue  # the operators' commands are run
        problems = [f"{line}: {problem}" for line in code.splitlines() if line.strip() and (problem := command(line))]
        check(not problems, f"{name} names what there is", "\n".join(problems))


def paths():
    """What the pages name between backquotes as a file or folder of ours is there."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        words = [word for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()]
        lost = [word for word in words if not is_there(word.strip(",:;"))]
        check(not lost, f"{page.relative_to(ROOT)}: names files that are there", ", ".join(lost))


def versions():
    check(f'from: "{version()}"' in (ROOT / "docs/installing.md").read_text(), "the page on installing names the version")
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    check(headings[:1] == [version()], "the changelog begins with the version")


def links():
    for page in PAGES:
        targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
        lost = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
        check(not lost, f"{page.relative_to(ROOT)}: links lead somewhere", ", ".join(lost))


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        demonstration()
        demo_command(folder)
        unaided(folder)
        absent_key(folder)
        shape(folder)
        story("story 2 in Lua renames, joins and makes with a context", "people.lua", expected=PEOPLE)
        preferences(folder)
        products(folder)
        lua_snippets(folder)
        from_ffi(folder)
        c_snippets(folder, "c")
        c_snippets(folder, "cpp")
        orders(folder)
        c_headers(folder)
        cpp_header(folder)
        annotations(folder)
        commands()
        links()
        paths()
        operators(folder)
        versions()
    finally:
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
