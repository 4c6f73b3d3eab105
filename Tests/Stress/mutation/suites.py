"""The parts: whose code is changed, how it is built, and what may see it."""
import re
import shutil
import subprocess
from dataclasses import dataclass

from mutation import clang, swift


@dataclass
class Suite:
    name: str
    command: list
    is_timed: bool = False


class Store:
    """DefaultsStorage, in a package that has no more targets than its tests need."""
    language = "swift"
    rooms = ("DefaultsStorage",)
    without = ("PropertyLists", "KeyValueCoding", "KeyValueCoder", "CodableTypes")
    program = ".build/debug/kvcodablePackageTests.xctest"
    # Not those that mount or are another user's, and so could leave something behind, nor those that count memory.
    rows = ("fork", "lock", "outcome", "replaced", "foreign", "meanwhile", "quarantine", "database", "network", "hostile", "power", "codes", "updates", "opening",
            "watch", "polling", "kill", "faults", "unsaved", "limits")
    # Of stores on servers.
    fleet_rows = ("values", "watch", "away", "cache", "cache_of_many", "layers", "accepts", "accepted_of_programs",
                  "restored", "answer_lost", "cut_after", "stuck", "warned", "fork", "sandbox")
    # C programs and specs that measure time or memory.
    measuring = {"growth", "invalid", "limits", "stack", "growth_spec"}
    # Tests that take longer than all others of their suite; each stands for itself.
    long = {"StoreLimitTests": ("boundsOperations", "readsBack", "sharedByOlder")}
    timed = {"EventTests", "DurabilityTests", "WatchTests", "ThreadTests", "watch", "polling", "updates", "opening",
             "faults"}

    @property
    def sources(self):
        return [f"Sources/{room}/**/*.swift" for room in self.rooms]

    def prepare(self, tree, _root):
        text = (tree / "Package.swift").read_text()
        for name in self.without:
            text = re.sub(r'\n        tests\("%s"[^\n]*' % name, "", text)
        for room in self.rooms:
            text = re.sub(r'( room\("%s", \[)(?!.*"CKVSystem")' % room, r'\1"CKVSystem", ', text)
        text = text.replace("    .treatAllWarnings(as: .error),\n", "")
        write(tree / "Package.swift", text)
        write(tree / "Sources/CKVSystem/mutants.c", clang.RUNTIME.replace('__attribute__((visibility("hidden"))) ', ""))
        for room in self.rooms:
            write(tree / f"Sources/{room}/Mutants.swift", swift.RUNTIME)

    def head(self, text):
        return text

    def compiled_lines(self, _root, _name):
        return None

    def compile(self, tree, _sources):
        """The lines with errors of each file; nothing where there are none, and what was said."""
        result = subprocess.run(["nice", "swift", "build", "--target", self.rooms[-1]],
                                cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return errors_in(result, r"^%s/(Sources/\S+?):(\d+):\d+: error" % re.escape(str(tree)))

    def build(self, tree):
        subprocess.run(["nice", "swift", "build", "--build-tests"], cwd=tree, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", ".build/interpose.so", "Tests/Support/interpose.c",
                        "-ldl"], cwd=tree, check=True)
        # The library and the Lua module, for the tests in C and Lua.
        subprocess.run(["nice", "swift", "build", "--product", "kvcodable"], cwd=tree, check=True,
                       stdout=subprocess.DEVNULL)
        (tree / "build").mkdir(exist_ok=True)
        shutil.copy2(tree / ".build/debug/libkvcodable.so", tree / "build/libkvcodable.so")
        link(tree / "build/libkvcodable.so.1", "libkvcodable.so")
        link_module(tree, ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-fPIC", "-fvisibility=hidden", "-Iinclude",
                           "-I/usr/include/lua5.4"], "")
        programs = [f"{tree}/build/c-tests/{name}" for name in self.c_programs(tree)]
        subprocess.run(["make", "-s", "-C", "Tests/C", *programs], cwd=tree, check=True)

    def c_programs(self, tree):
        names = {path.stem for path in (tree / "Tests/C").rglob("*.c")} - self.measuring
        return sorted(name for name in names if not name.startswith("lua_"))

    def programs(self, tree):
        """The tests in C and Lua."""
        result = [Suite(f"C {name}", [f"build/c-tests/{name}"], name in ("threads", "races"))
                  for name in self.c_programs(tree)]
        return result + [suite for suite in specs(tree) if suite.name not in self.measuring]

    def swift(self, name, pattern, long=()):
        skipped = ["--skip", rf"/({'|'.join(long)})\("] if long else []
        return Suite(name, [self.program, "--testing-library", "swift-testing", "--filter", pattern, *skipped],
                     name in self.timed)

    def suites(self, tree):
        names = []
        for file in sorted((tree / "Tests/DefaultsStorageTests").rglob("*.swift")):
            # But for those that need a server.
            names += re.findall(r"@Suite\S* struct (\w+)", file.read_text())
        result = [self.swift(name, rf"DefaultsStorageTests\.{name}/", self.long.get(name, ())) for name in names]
        result += [self.swift(f"{name} {test}", rf"DefaultsStorageTests\.{name}/{test}\(")
                   for name, tests in self.long.items() for test in tests]
        result += [self.swift(name, rf"{name}\.") for name in ("KVCodableTests", "StoryTests")]
        result += self.programs(tree)
        for row in self.rows:
            result.append(Suite(row, ["python3", "Tests/Stress/store.py", "--interposer", ".build/interpose.so",
                                      "--seed", "1", row], row in self.timed))
        result += [Suite(f"fleet {row}", ["python3", "Tests/fleet.py", row], True) for row in self.fleet_rows]
        return result


class Coding(Store):
    """The coders and the types."""
    rooms = ("KeyValueCoding", "CodableTypes")
    without = ("PropertyLists", "DefaultsStorage")
    tested = (*rooms, "KeyValueCoder", "KVCodable")

    def suites(self, tree):
        result = []
        for room in self.tested:
            for file in sorted((tree / f"Tests/{room}Tests").rglob("*.swift")):
                names = re.findall(r"^@Suite(?:.*\n)??.*\b(?:struct|class) (\w+)", file.read_text(), flags=re.M)
                result += [self.swift(f"{room} {name}", rf"{room}Tests\.{name}/") for name in names]
        result.append(self.swift("StoryTests", r"StoryTests\."))
        return result + self.programs(tree)


class Lists(Coding):
    """The trees, their readers and writers."""
    rooms = ("PropertyLists",)
    without = ("DefaultsStorage", "KeyValueCoder")
    tested = ("PropertyLists", "KeyValueCoding", "CodableTypes", "KVCodable")


class Lua:
    """The C of the Lua module, on the library as `make lib` has made it."""
    language = "c"
    sources = ["lua/src/**/*.c"]
    flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-g", "-fPIC", "-fvisibility=hidden", "-Iinclude",
             "-I/usr/include/lua5.4", "-w"]
    fleet_rows = ("values", "layers", "sandbox")

    def prepare(self, tree, root):
        (tree / "build").mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / "build/libkvcodable.so", tree / "build/libkvcodable.so")
        link(tree / "build/libkvcodable.so.1", "libkvcodable.so")
        write(tree / "include/mutant.h", clang.HEADER)
        write(tree / "lua/mutants.c", clang.RUNTIME)

    def head(self, text):
        return '#include "mutant.h"\n#line 1\n' + text

    def compiled_lines(self, root, name):
        """Those of the file that 5.4 compiles: others are left out by `#if`."""
        text = subprocess.run(["gcc", *self.flags, "-E", name], cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout
        lines, file, number = set(), None, 0
        for line in text.splitlines():
            if marker := re.match(r'# (\d+) "([^"]*)"', line):
                number, file = int(marker[1]), marker[2]
                continue
            if file == name and line.strip():
                lines.add(number)
            number += 1
        return lines

    def compile(self, tree, sources):
        found, log = {}, ""
        for name in sources:
            result = subprocess.run(["gcc", *self.flags, "-fsyntax-only", name], cwd=tree, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
            errors, said = errors_in(result, r"^(lua/src/\S+?):(\d+):\d+: error")
            found.update(errors or {})
            log += said if errors is not None else ""
        return (found or None), log

    def build(self, tree):
        link_module(tree, self.flags, "lua/mutants.c")
        programs = [f"{tree}/build/c-tests/{path.stem}" for path in sorted((tree / "Tests/C/lua").glob("*.c"))]
        subprocess.run(["make", "-s", "-C", "Tests/C", *programs], cwd=tree, check=True)

    def suites(self, tree):
        result = specs(tree)
        result += [Suite(path.stem, [f"build/c-tests/{path.stem}"]) for path in sorted((tree / "Tests/C/lua").glob("*.c"))]
        result.append(Suite("all specs", [*BUSTED, "lua/spec"], True))
        result += [Suite(f"fleet {row}", ["python3", "Tests/fleet.py", row], True) for row in self.fleet_rows]
        return result


BUSTED = ["busted", "--lua=/usr/bin/lua5.4", "--cpath=build/?.so", "-o", "plainTerminal"]


def specs(tree):
    return [Suite(path.stem, [*BUSTED, str(path.relative_to(tree))], path.stem == "watch_spec")
            for path in sorted((tree / "lua/spec").rglob("*_spec.lua")) if not path.stem.startswith("zz")]


def link_module(tree, flags, more):
    subprocess.run(["sh", "-c", f"gcc {' '.join(flags)} -shared -o build/kvcodable.so lua/src/*.c lua/src/*/*.c {more} "
                    "-Lbuild -lkvcodable -Wl,-soname,libkvcodable_lua.so.1 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN'"],
                   cwd=tree, check=True)
    for name in ("libkvcodable_lua.so.1", "libkvcodable_lua.so"):
        link(tree / "build" / name, "kvcodable.so")


PARTS = {"store": Store(), "coding": Coding(), "lists": Lists(), "lua": Lua()}


def errors_in(result, pattern):
    found = {}
    for name, line in re.findall(pattern, result.stdout, flags=re.M):
        found.setdefault(name, set()).add(int(line))
    return (None if result.returncode == 0 else found), result.stdout


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def link(path, target):
    path.unlink(missing_ok=True)
    path.symlink_to(target)
