#!/usr/bin/env python3
"""The command line where things go wrong: secrets, full disks, pipes, files that are
not there yet. Prints TAP.
"""
import fcntl
import json
import os
import re
import select
import shutil
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tap  # noqa: E402
from tool import PLAIN, PLAYER, Place, TOOL, in_terminal, slow_terminal, wait_for_inotify  # noqa: E402

LISTS = """root S
struct S { list: [I] = []; name: String = "x"; login: Login?; by_name: [String: [I]] = [:]
  theme: Theme = light; both: Pair = ["key": "d3fault", "width": 2]; code: Int @secret = 4711
  numbers: [Int(0...9)] = []; "com.example.key": Int?; "it's": Int?; title: String? @key(window_title) }
struct I { secret: String? @secret; width: Int = 1 }
struct Login { user: String; password: String @secret; id: UUID? @secret; since: Date? @secret }
struct Pair { key: String? @secret; width: Int = 1 }
enum Theme: String { light, dark }
"""
NAME = "com.example.lists"


def check(found, expected, name):
    """A result of `Place.run`, compared with its status, output and error; None stands for anything."""
    tap.check(all(want is None or want == have for want, have in zip(expected, found)), name,
              f"expected {expected}\nfound    {found}")


class Lists(Place):
    """A place with a type of lists, and an editor."""

    def __init__(self):
        super().__init__()
        (self.data / f"kvcodable/types/{NAME}.kvtypes").write_text(LISTS)
        (self.folder / "temporary").mkdir()

    def stored(self, name=NAME):
        """What the file has, secrets too."""
        return json.loads(self.run("export", name, "--format", "json")[1])

    def edit(self, script, *arguments, **changes):
        editor = self.write("editor.sh", f"#!/bin/sh\n{script}\n")
        editor.chmod(0o755)
        return self.run("edit", NAME, *arguments, **{"EDITOR": str(editor), "VISUAL": "",
                                                     "TMPDIR": str(self.folder / "temporary"), **changes})

    def kept(self):
        return sorted((self.folder / "temporary").iterdir())


# ---- Secrets

# proves: G112
def try_secrets_of_lists():
    place = Lists()
    values = [{"secret": "S1", "width": 1}, {"secret": "S2", "width": 2}]
    place.run("set", NAME, "list", json.dumps(values), "by_name.a", json.dumps(values), "name", "one")
    result = place.edit('cp "$1" seen; sed -i \'s/"width": 1/"width": 9/; s/"one"/"two"/\' "$1"')
    seen = (place.folder / "seen").read_text()
    found = place.stored()
    check(result, (0, "1 setting changed.\n", ""), "edit changes what is shown alone, and tells of no other change")
    tap.check(found["list"] == values and found["by_name"] == {"a": values} and found["name"] == "two",
              "secrets inside of arrays outlive an edit", str(found))
    tap.check("S1" not in seen and "// list holds secrets, which are not shown.\n" in seen
              and f"// An element: kvdefaults edit {NAME} 'list[0]'\n" in seen, "the text says that a list was left out", seen)
    check(place.edit("true", "list"), (2, "", f"kvdefaults: {NAME}: list holds secrets, which are not shown; kvdefaults edit "
                                       "opens an element, such as list[0]\n"), "an array with secrets is not edited as a whole")
    result = place.edit('cp "$1" seen; sed -i \'s/"width": 2/"width": 7/\' "$1"', "list[1]")
    seen, found = (place.folder / "seen").read_text(), place.stored()["list"]
    tap.check(result[0] == 0 and found == [values[0], {"secret": "S2", "width": 7}] and "S2" not in seen,
              "an element is edited by itself", str((result, found, seen)))
    place.run("set", NAME, "login", '{"user":"u","password":"p4ss"}')
    result = place.edit('cp "$1" seen; sed -i \'s/"user": "u"/"user": "v"/\' "$1"')
    found = place.stored()["login"]
    tap.check(result == (0, "1 setting changed.\n", "") and found == {"user": "v", "password": "p4ss"}
              and "p4ss" not in (place.folder / "seen").read_text(), "a struct with a required secret is edited",
              str((result, found)))
    text = (place.folder / "seen").read_text()
    tap.check(re.search(r'"theme": "light",\n', text) is not None and '"name": "two",\n' in text,
              "what stands in comments follows a comma", text)
    result = place.edit('sed -i \'s/.. "theme": "light",/"theme": "dark",/\' "$1"')
    tap.check(result == (0, "1 setting changed.\n", "") and place.stored()["theme"] == "dark", "a comment is made a setting",
              str(result))
    place.close()


def watched(place, options, *commands):
    """The lines that a watch prints for commands, one for each."""
    watch = subprocess.Popen([str(TOOL), "watch", *options], stdout=subprocess.PIPE, text=True, env=place.environment)
    wait_for_inotify(watch.pid)
    lines = []
    for command in commands:
        place.run(*command)
        lines.append(watch.stdout.readline() if select.select([watch.stdout], [], [], 20)[0] else "")
    watch.terminate()
    watch.wait()
    return lines


# proves: G112
def try_secrets_in_words():
    place = Lists()
    place.run("set", NAME, "name", "one")
    lines = watched(place, [NAME, "--commands"], ("set", NAME, "list", '[{"secret":"S1"}]'), ("set", NAME, "name", "two"),
                    ("set", NAME, "list", "[]"), ("unset", NAME, "name"))
    tap.check(lines == [f"# {NAME}: list holds secrets, and was changed\n", f"kvdefaults set --type Any -- {NAME} name '\"two\"'\n",
                        f"# {NAME}: list holds secrets, and was changed\n", f"kvdefaults unset -- {NAME} name\n"],
              "watch prints no command that would put words in the place of secrets", str(lines))
    missing = f"kvdefaults: {NAME}: Expected "
    for value, path, error in (
            ("hunter2", "login.id", "UUID at login.id"), ("hunter2", "login.since", "a date such as 2026-11-21T08:00:00Z at login.since"),
            ("hunter2", "code", "Int at code")):
        place.run("set", NAME, "login", '{"user":"u","password":"p"}')
        check(place.run("set", NAME, path, value), (2, "", f"{missing}{error}\n"), f"a wrong secret is not told: {path}")
    place.write("secret.json", '{"login": {"user": "u", "password": "p", "id": "hunter2"}}')
    check(place.run("import", NAME, "secret.json"), (2, "", f"{missing}UUID at login.id\n"), "nor one of a file")
    place.run("set", NAME, "name", "one")
    place.run("import", "com.example.wrong", "secret.json")
    published = place.data / "kvcodable/types/com.example.wrong.kvtypes"
    published.write_text(LISTS)
    result = place.run("lint", "com.example.wrong")
    tap.check(result[0] == 2 and "Expected UUID at login.id (line" in result[1] and "hunter2" not in result[1], "nor a stored one",
              str(result))
    for options in (["--json-schema"], ["--markdown"], ["--annotations"]):
        text = place.run("types", NAME, *options)[1]
        tap.check("d3fault" not in text and "4711" not in text and text, f"types {options[0]} has no default of a secret", text)
    text = place.run("describe", NAME)[1] + place.run("describe", NAME, "--json")[1]
    tap.check("d3fault" not in text and "4711" not in text, "nor has describe", text)
    place.edit('cp "$1" seen')
    text = (place.folder / "seen").read_text()
    tap.check("d3fault" not in text and "4711" not in text, "nor the text that is edited", text)
    # The file of a store, by its path
    place.run("set", NAME, "code", "815")
    for path in (f"{place.config}/{NAME}.plist", f"config/{NAME}.plist", f"./config/../config/{NAME}.plist"):
        check(place.run("get", path, "code"), (2, "", f"kvdefaults: {path}: code is a secret, which is not shown\n"),
              f"the path of a store's file is the store: {path.replace(str(place.config), '')}")
    found = place.run("print", f"config/{NAME}.plist", "code")
    check(found, (0, '"(secret)"\n', ""), "print shows no secret of it")
    check(place.run("set", f"config/{NAME}.plist", "theme", "drak"),
          (2, "", f'kvdefaults: config/{NAME}.plist: Expected light or dark at theme, found "drak"; did you mean dark?\n'),
          "set checks what is set by the path")
    place.run("copy", NAME, f"./{NAME}.plist")
    check(place.run("get", f"./{NAME}.plist", "code"), (0, "815\n", ""), "a file of that name elsewhere is another one")
    place.close()


# ---- Output that goes nowhere

# proves: G110
def try_output():
    place = Lists()
    place.run("set", NAME, "name", "one")
    place.write("one.json", '{"a": 1}')
    for command in ("list", f"get {NAME} name", f"get {NAME}", f"export {NAME}", "convert one.json --to xml", f"types {NAME}",
                    "print one.json", "--help"):
        with open("/dev/full", "w") as full:
            result = subprocess.run([str(TOOL), *command.split()], stdout=full, stderr=subprocess.PIPE, text=True,
                                    cwd=place.folder, env=place.environment, timeout=60)
        check((result.returncode, result.stderr), (2, "kvdefaults: standard output: No space left on device\n"),
              f"a full disk is told: {command}")
    result = subprocess.run(["/bin/sh", "-c", f'"{TOOL}" get {NAME} name >&-'], stderr=subprocess.PIPE, text=True,
                            env=place.environment, timeout=60)
    check((result.returncode, result.stderr), (2, "kvdefaults: standard output: Bad file descriptor\n"), "and a closed output")
    place.write("large.json", json.dumps({f"key{number}": "x" * 100 for number in range(5000)}))
    whole = place.run("print", "large.json")[1]
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    process = subprocess.Popen([str(TOOL), "print", "large.json"], stdout=theirs, cwd=place.folder, env=place.environment)
    os.close(theirs)
    time.sleep(0.5)
    output = b""
    while part := os.read(ours, 4096):
        output += part
    tap.check(process.wait(timeout=60) == 0 and output.decode() == whole, "a pipe that does not wait gets all of it",
              f"{len(output)} of {len(whole)}")
    result = subprocess.run(["/bin/sh", "-c", f'"{TOOL}" print large.json | head -c 10'], capture_output=True, text=True,
                            cwd=place.folder, env=place.environment, timeout=60)
    tap.check(result.stdout == whole[:10] and result.stderr == "", "a reader that has enough ends it without a word", str(result))
    place.close()


def with_little_space(place, command, folder, size):
    """Runs a command of a shell where a folder is a small disk of its own, in a mount namespace."""
    script = f"mount -t tmpfs -o size={size} none {folder} && {command}"
    return subprocess.run(["unshare", "-m", "/bin/sh", "-c", script], capture_output=True, text=True, cwd=place.folder,
                          env=place.environment, timeout=60)


# proves: G110
def try_full_disks():
    place = Lists()
    (place.folder / "small").mkdir()
    place.write("large.json", json.dumps({f"key{number}": "x" * 100 for number in range(5000)}))
    place.run("import", PLAIN, "large.json")
    command = f'echo old > small/out; "{TOOL}" export {PLAIN} small/out --format commands; echo $?; cat small/out'
    result = with_little_space(place, command, "small", "64k")
    tap.check(result.stdout == "2\nold\n" and "No space left" in result.stderr, "an exported file stays where the new one has no room",
              str(result)[-500:])
    result = with_little_space(place, f'TMPDIR=small EDITOR=true "{TOOL}" edit {PLAIN}; echo $?; ls small', "small", "64k")
    tap.check(result.stdout == "2\n" and "No space left" in result.stderr, "an editor is not given half of a text", str(result)[-500:])
    place.close()


# ---- What was typed

def try_kept_texts():
    place = Lists()
    place.run("set", NAME, "name", "one")
    change = 'sed -i \'s/"one"/"typed"/\' "$1"'

    def kept(result, message, name):
        files = place.kept()
        tap.check(result[0] == 2 and message in result[2] and len(files) == 1 and "typed" in files[0].read_text()
                  and f"kvdefaults: {NAME}: The text is kept in {files[0]}\n" in result[2], name, str((result, files)))
        for file in files:
            file.unlink()

    kept(place.edit(change + "; exit 3"), "The editor", "what was typed is kept where the editor fails")
    kept(place.edit('sed -i \'s/"one"/"typed"]/\' "$1"'), "Expected", "and where a fault stays")
    file = place.config / f"{NAME}.plist"
    stored = file.read_bytes()
    kept(place.edit(f"{change}; echo '<broken' > {file}"), str(file), "and where the store cannot be changed")
    file.write_bytes(stored)
    check(place.edit("exit 3")[:1], (2,), "nothing is kept where nothing was typed")
    tap.check(place.kept() == [], "no file is left then", str(place.kept()))
    result = place.edit('dirname "$1" > where', TMPDIR="")
    tap.check((place.folder / "where").read_text() == "/tmp\n", "an empty TMPDIR is none", str(result))
    place.close()


# ---- Keys that look like options

def try_minus():
    place = Lists()
    place.write("minus.json", '{"-dash": 1, "--help": "-x", "plain": -1}')
    place.run("import", PLAIN, "minus.json")
    commands = place.run("export", PLAIN, "--format", "commands")[1]
    status = subprocess.run(["/bin/sh", "-e"], input=commands.replace(PLAIN, "com.example.again"), text=True,
                            stdout=subprocess.PIPE, env=place.environment).returncode
    tap.check(status == 0 and place.run("diff", PLAIN, "com.example.again")[0] == 0, "keys that begin with a minus are exported",
              commands)
    lines = watched(place, [PLAIN, "--commands"], ("set", PLAIN, "--", "-dash", "2"), ("unset", PLAIN, "--", "-dash"))
    tap.check(lines == [f"kvdefaults set --type Any -- {PLAIN} -dash 2\n", f"kvdefaults unset -- {PLAIN} -dash\n"],
              "and watched", str(lines))
    place.close()


# ---- What is not there yet

def try_watching_what_comes():
    place = Lists()
    os.rename(place.config, place.folder / "later")

    def lines_of(name, make, change):
        """What a watch that began before prints of what is made, and then changed."""
        watch = subprocess.Popen([str(TOOL), "watch", name], stdout=subprocess.PIPE, text=True, env=place.environment)
        time.sleep(0.3)
        lines = []
        for number, command in enumerate((make, change)):
            command()
            lines.append(watch.stdout.readline() if select.select([watch.stdout], [], [], 20)[0] else "")
            if number == 0:
                wait_for_inotify(watch.pid)
        watch.terminate()
        watch.wait()
        return lines

    lines = lines_of(PLAIN, lambda: place.run("set", PLAIN, "a", "1"), lambda: place.run("set", PLAIN, "a", "2"))
    tap.check(lines[0].startswith("a = 1, was absent") and lines[1] == "a = 2, was 1\n", "a watch waits for the folder of stores",
              str(lines))
    lines = lines_of("acme/settings", lambda: place.run("set", "acme/settings", "a", "1"),
                     lambda: place.run("set", "acme/settings", "a", "2"))
    tap.check(lines == ["a = 1, was absent\n", "a = 2, was 1\n"], "and for a folder in it", str(lines))
    lines = lines_of("com.example.base", lambda: place.run("copy", PLAIN, "com.example.base", "--sqlite"),
                     lambda: place.run("set", "com.example.base", "a", "5"))
    tap.check(lines == ["a = 2, was absent\n", "a = 5, was 2\n"], "and for a database", str(lines))
    check(place.run("copy", "acme/settings", PLAIN, "--sqlite"),
          (2, "", f"kvdefaults: {PLAIN}: Expected no other file of that name, found {place.config}/{PLAIN}.plist, "
           "which would still be read\n"), "a database beside a property list is refused")
    place.close()


def try_absence():
    place = Lists()
    none = "com.example.none"
    absent = f"kvdefaults: {none}: There is no such store or file\n"
    check(place.run("print", none), (1, "", absent), "print of an absent store is 1")
    check(place.run("diff", none, PLAYER), (1, "", absent), "and diff")
    check(place.run("lint", none), (1, f"{none}: There is no such store or file\n", ""), "and lint")
    check(place.run("get", none), (1, "", f"kvdefaults: {none}: There is no such store\n"), "and get")
    place.write("broken.json", "{")
    tap.check(place.run("lint", none, "broken.json")[0] == 2, "a fault is 2 beside it")
    for verb, output in (("lint", ""), ("print", "{}\n"), ("list", None), ("get", None)):
        check(place.run(verb, PLAYER), (0, output, ""), f"a published type makes a store: {verb}")
    place.write("wrong.json", '{"volume": 11}')
    place.run("import", PLAIN, "wrong.json")
    check(place.run("copy", PLAIN, PLAYER), (2, "", f"kvdefaults: {PLAYER}: Expected 0...10 at volume, found 11\n"),
          "copy checks as import does")
    place.run("set", PLAIN, "volume", "3")
    place.run("set", PLAYER, "speed", "2")
    check(place.run("copy", PLAIN, PLAYER), (0, "", ""), "and copies what is right")
    check(place.run("export", PLAYER, "--format", "json"), (0, '{\n  "volume": 3\n}\n', ""), "in the place of what was there")
    place.close()


# ---- Checking

def try_checking():
    place = Lists()
    place.write("wrong.json", '{"list": [{"width": "a"},\n {"width": "b"}],\n "numbers": [1, 10, 2, 11],\n'
                '"login": {"password": 5},\n "theme": "drak"}')
    expected = ["Expected Int at list[0].width, found String (line 1, column 21)",
                "Expected Int at list[1].width, found String (line 2, column 12)",
                "Expected 0...9 at numbers[1], found 10 (line 3, column 17)", "Expected 0...9 at numbers[3], found 11 (line 3, column 24)"]
    status, output, _ = place.run("lint", "wrong.json", "--types", NAME)
    lines = [line.removeprefix("wrong.json: ") for line in output.splitlines()]
    tap.check(status == 2 and all(line in lines for line in expected) and "Expected String at login.password (line 4, column 23)" in lines
              and any(line.startswith("Expected String at login.user, found nothing") for line in lines) and len(lines) == 7,
              "lint has a line for each fault", output)
    found = json.loads(place.run("lint", "wrong.json", "--types", NAME, "--json")[1])
    tap.check({"file": "wrong.json", "message": expected[3], "path": "numbers[3]", "line": 3, "column": 24} in found,
              "and says its place in JSON", str(found))
    found = json.loads(place.run("lint", "broken.json", "--json")[1] or "[]") if place.write("broken.json", '{"a":\n 1 2}') else []
    tap.check(found and (found[0].get("line"), found[0].get("column"), found[0].get("path")) == (2, 4, "a"), "also of a damaged file",
              str(found))
    result = place.run("lint", "-", "--types", NAME, given='{"numbers":\n [11]}')
    check(result, (2, "-: Expected 0...9 at numbers[0], found 11 (line 2, column 3)\n", ""), "standard input has lines")
    for command, output in (("lint <(echo '{}')", ""), ("print <(echo '{\"a\":1}')", '{\n  "a": 1\n}\n'),
                            ("print /dev/stdin <<< '[1]'", "[1]\n"), ("diff <(echo '[1]') <(echo '[1]')", "")):
        result = subprocess.run(["bash", "-c", f'"{TOOL}" {command}'], capture_output=True, text=True, cwd=place.folder,
                                env=place.environment, timeout=60)
        check((result.returncode, result.stdout, result.stderr), (0, output, ""), f"what a shell gives for a file is read: {command}")
    (place.folder / "folder.kvtypes").mkdir()
    check(place.run("lint", "folder.kvtypes"), (2, "folder.kvtypes: Is a directory\n", ""), "a folder is no text of types")
    text = place.write("root.kvtypes", "root T\nenum T: String { light, dark }\n")
    check(place.run("lint", str(text)), (2, f"{text}: Expected a struct or a dictionary as a store's schema, found T\n", ""),
          "nor can an enum be a root")
    place.write("case.kvtypes", "root S\nstruct S { shape: Shape }\nenum Shape { circle(r: Int), square(s: Int) }\n")
    place.write("case.json", '{"shape": {"circl": {"r": 1}}}')
    tap.check("Shape has no shape.circl; did you mean circle?" in place.run("lint", "case.json", "--types", "case.kvtypes")[1],
              "a misspelt case has a suggestion")
    check(place.run("set", NAME, "title", "x"), (2, "", f"kvdefaults: {NAME}: S has no title; did you mean window_title?\n"),
          "the name of a renamed field suggests its key")
    for command in ("get D a --json --xml", "get D a --xml --origin", "watch D --json --commands", "types D --json --markdown"):
        result = place.run(*command.replace("D", NAME).split())
        tap.check(result[0] == 2 and "Expected " in result[2] and "found" in result[2], f"options that exclude one another: {command}",
                  str(result))
    check(place.run("print", "-", "--json", given="[1]"), (0, "[1]\n", ""), "print takes --json")
    tap.check(place.run("types", NAME, "--json") == place.run("types", NAME, "--json-schema"), "and types")
    place.close()


def try_cost():
    """The time of a check goes by the size of the file, and not by that of the type as well."""
    place = Lists()
    fields = "; ".join(f"setting_number_{number}: Int?" for number in range(2000))
    (place.data / "kvcodable/types/com.example.large.kvtypes").write_text(f"root S\nstruct S {{ {fields} }}\n")
    place.write("known.json", json.dumps({f"setting_number_{number}": 1 for number in range(2000)}))
    # Some names have too few letters in common to be compared, and others have not.
    place.write("unknown.json", json.dumps({f"k{number:05}": number for number in range(20000)}))
    place.write("alike.json", json.dumps({f"sett{number:05}.umb{number * 7919 % 100000:05}": number for number in range(20000)}))
    for file, most in (("known.json", 2.0), ("unknown.json", 4.0), ("alike.json", 8.0)):
        start = time.monotonic()
        status, output, _ = place.run("lint", file, "--types", "com.example.large")
        seconds = time.monotonic() - start
        tap.check(status == 0 and seconds < most, f"lint of {file} beside 2,000 fields takes under {most} s", f"{seconds} {output[:200]}")
    place.close()


def try_progress():
    place = Lists()
    place.run("set", NAME, "name", "one")
    status, text = slow_terminal(place, f'(sleep 1.6; echo \'{{"name": "two"}}\') | "{TOOL}" import {NAME} -')
    tap.check(status == 0 and re.search(r"\rImporting \[\.*######\.*\] 1 s\x1b", text) and place.stored()["name"] == "two", "import shows that it runs", repr(text))
    # Another program has the store locked: that takes as long.
    with open(place.config / f".{PLAIN}.plist.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(1.6, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
        status, text = slow_terminal(place, f'"{TOOL}" copy {NAME} {PLAIN}')
    tap.check(status == 0 and re.search(r"\rCopying \[\.*######\.*\] 1 s\x1b", text) and place.stored(PLAIN)["name"] == "two", "and copy", repr(text))
    place.close()


def try_replaced():
    """Another program puts a new file in the place of one that is being read, and was written long ago."""
    place = Lists()
    file = place.config / f"{NAME}.plist"
    place.run("set", NAME, "name", "new")
    file.rename(f"{file}.new")
    place.run("set", NAME, "name", "old")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    found = place.run("get", NAME, "name", LD_PRELOAD=tap.preloaded("refuse.c", place.folder), REFUSE="read")
    tap.check(not Path(f"{file}.new").exists(), "the file is replaced while it is read")
    tap.check(found in ((0, "old\n", ""), (0, "new\n", "")), "what was read is whole", str(found))
    check(place.run("get", NAME, "name"), (0, "new\n", ""), "and the next program reads the new one")
    place.close()


# ---- A program that is not installed

PAGE = "#!/bin/sh\necho \"$0: $*\"\n"


def try_page():
    """The settings page is another program, which `kvdefaults page` starts if it is installed."""
    place = Place()
    bin, libexec = (place.folder.resolve() / "usr" / name for name in ("bin", "libexec"))
    for folder in (bin, libexec):
        folder.mkdir(parents=True)
    program = shutil.copy(TOOL, bin)

    def page(*words):
        return tap.run(program, "page", *words, env=place.environment)

    def install(folder):
        (folder / "kvdefaults-page").write_text(PAGE)
        (folder / "kvdefaults-page").chmod(0o755)

    result = subprocess.run([program, "page", PLAYER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=place.environment, timeout=60)
    check((result.returncode, result.stdout, result.stderr), (2, "", f"kvdefaults: There is no program kvdefaults-page in "
          f"{bin} or {libexec}; install the package kvdefaults-page, or make page and make install-page\n"),
          "page says which package has the settings page if it is not installed")
    packages = re.findall(r"^Package: (.*)$", (tap.ROOT / "packaging/debian/control").read_text(), flags=re.M)
    tap.check("kvdefaults-page" in packages, "and make dist makes that package", str(packages))
    install(libexec)
    found = page(PLAYER, "--read-only")
    tap.check(found == (True, f"{libexec}/kvdefaults-page: {PLAYER} --read-only\n"), "page starts it in libexec", str(found))
    install(bin)
    found = page(PLAYER)
    tap.check(found == (True, f"{bin}/kvdefaults-page: {PLAYER}\n"), "or beside kvdefaults, which comes first", str(found))
    (bin / "kvdefaults-page").chmod(0o644)
    found = page(PLAYER)
    tap.check(found == (False, f"kvdefaults: {bin}/kvdefaults-page: Permission denied\n"),
              "and says why it cannot be started", str(found))
    place.close()


def main():
    for run in (try_secrets_of_lists, try_secrets_in_words, try_output, try_full_disks, try_kept_texts, try_minus,
                try_watching_what_comes, try_absence, try_checking, try_cost, try_progress, try_replaced,
                try_page):
        try:
            run()
        except Exception:  # A file that was not made, an answer that is no JSON: the other checks go on.
            tap.check(False, run.__name__, traceback.format_exc())
    tap.finish()


if __name__ == "__main__":
    main()
