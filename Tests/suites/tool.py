#!/usr/bin/env python3
"""The command line: a table of commands with what they print and their status, run
as processes; a terminal by a pseudo-terminal; completion in bash; several programs at
once. Prints TAP.

    tool.py [--seconds N]   how long programs change one store at the same time
"""
import functools
import json
import os
import plistlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tap  # noqa: E402

TOOL = tap.ROOT / "build/kvdefaults"
TYPES = """root Settings

/// The settings of a player.
struct Settings {
    /// How loud it is.
    volume: Int(0...10) = 7
    theme: Theme = light
    window: Window?
    /// Where to log in.
    token: String? @secret
    speed: Double = 1.0
    tags: [String] = []
    since: Date?
    old: Int? @deprecated("use volume")
}

struct Window {
    /// In pixels.
    width: Int(1...16384) = 640
    title: String? @key(window_title)
}

enum Theme: String { /// For the day.
    light, dark }
"""


class Place:
    """Folders of a test's own, and commands in them."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kvdefaults-"))
        self.config, self.data = self.folder / "config", self.folder / "data"
        for folder in (self.config, self.data / "kvcodable/types"):
            folder.mkdir(parents=True, mode=0o700)
        (self.data / "kvcodable/types/com.example.player.kvtypes").write_text(TYPES)
        self.environment = tap.environment(
            XDG_CONFIG_HOME=self.config, XDG_DATA_HOME=self.data, XDG_DATA_DIRS=self.folder / "none",
            HOME=self.folder, TERM="xterm", NO_COLOR=None, PATH=f"{TOOL.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8")

    def run(self, *arguments, given="", **changes):
        result = subprocess.run([str(TOOL), *arguments], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.folder, env={**self.environment, **changes}, timeout=60)
        return result.returncode, result.stdout, result.stderr

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def close(self):
        shutil.rmtree(self.folder)


# A command's words, what it prints, what it says as an error, and its status; one
# after the other in one place. None stands for anything.
PLAYER, PLAIN = "com.example.player", "com.example.plain"
TABLE = [
    # Values by the published type
    ("list", "com.example.player\n", "", 0),
    (f"get {PLAYER} volume", "7\n", "", 0),
    (f"get {PLAYER} volume --origin", "7\ndefault\n", "", 0),
    (f"get {PLAYER} volume --origin --json", '{\n  "layer": "default",\n  "value": 7\n}\n', "", 0),
    # Below a value that may be absent, and is, there is no default.
    (f"get {PLAYER} window.width", "", f"kvdefaults: {PLAYER}: There is no value at window.width\n", 1),
    (f"get {PLAYER} everywhere --origin", "true\nglobal\tCONFIG/.GlobalPreferences.plist\n", "", 0),
    (f"get {PLAYER}",
     '{\n  "everywhere": true,\n  "speed": 1.0,\n  "tags": [],\n  "theme": "light",\n  "volume": 7\n}\n', "", 0),
    (f"set {PLAYER} tags[0] x tags[1] y", "", "", 0),
    (f"get {PLAYER} tags", '["x","y"]\n', "", 0),
    (f"get {PLAYER} tags[0] --origin", "x\nuser\tCONFIG/com.example.player.plist\n", "", 0),
    (f"set {PLAYER} volume 9 theme dark window.width 800", "", "", 0),
    (f"get {PLAYER} volume", "9\n", "", 0),
    (f"get {PLAYER} theme", "dark\n", "", 0),
    (f"get {PLAYER} theme --json", '"dark"\n', "", 0),
    (f"get {PLAYER} window", '{\n  "width": 800\n}\n', "", 0),
    (f"get {PLAYER} window.width --origin", "800\nuser\tCONFIG/com.example.player.plist\n", "", 0),
    (f"get {PLAYER} window.window_title", "", f"kvdefaults: {PLAYER}: There is no value at window.window_title\n", 1),
    (f"set {PLAYER} speed 2", "", "", 0),
    (f"get {PLAYER} speed --xml",
     '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
     '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0">\n<real>2</real>\n</plist>\n', "", 0),
    (f"set {PLAYER} since 2026-11-21T08:00:00Z", "", "", 0),
    (f"get {PLAYER} since", '{\n  "$date": "2026-11-21T08:00:00Z"\n}\n', "", 0),
    (f"set {PLAYER} tags '[\"a\",\"b\"]'", "", "", 0),
    (f"get {PLAYER} tags[1]", "b\n", "", 0),
    # What is wrong, in one form
    (f"set {PLAYER} window.width 0", "", f"kvdefaults: {PLAYER}: Expected 1...16384 at window.width, found 0\n", 2),
    (f"set {PLAYER} volume 5 window.width 0", "",
     f"kvdefaults: {PLAYER}: Expected 1...16384 at window.width, found 0\n", 2),
    (f"get {PLAYER} volume", "9\n", "", 0),
    (f"set {PLAYER} volume -- -1", "", f"kvdefaults: {PLAYER}: Expected 0...10 at volume, found -1\n", 2),
    (f"set {PLAYER} theme drak", "",
     f'kvdefaults: {PLAYER}: Expected light or dark at theme, found "drak"; did you mean dark?\n', 2),
    (f"set {PLAYER} volume", "",
     "kvdefaults: Expected a value behind each path: kvdefaults set DOMAIN PATH VALUE\n"
     "Usage: kvdefaults set <domain> <assignments> ... [--type <type>]\n"
     "  See 'kvdefaults set --help' for more information.\n", 2),
    (f"set {PLAYER} volume=3 theme=dark", "",
     f"kvdefaults: {PLAYER}: Expected a path and its value as two words, volume 3, found volume=3\n", 2),
    (f"set {PLAYER} volme 3", "", f"kvdefaults: {PLAYER}: Settings has no volme; did you mean volume?\n", 2),
    (f"set {PLAYER} window.widht 3", "",
     f"kvdefaults: {PLAYER}: Window has no window.widht; did you mean width?\n", 2),
    (f"set {PLAYER} window '{{\"widht\":3}}'", "",
     f"kvdefaults: {PLAYER}: Window has no window.widht; did you mean width?\n", 2),
    (f"set {PLAYER} since tomorrow", "",
     f'kvdefaults: {PLAYER}: Expected a date such as 2026-11-21T08:00:00Z at since, found "tomorrow"\n', 2),
    # What is meant all the same
    (f"set {PLAYER} --type Any volme 3", "", "", 0),
    (f"set {PLAYER} volme 4", "", "", 0),
    (f"unset {PLAYER} volme", "", "", 0),
    (f"get {PLAYER} a..b", "",
     f'kvdefaults: {PLAYER}: Expected a key in the path, found "." (line 1, column 3)\n', 2),
    ("get ./ x", "", 'kvdefaults: ./: Expected the path of a file, found the folder "./"\n', 2),
    ("nothing", "", "kvdefaults: Unexpected argument 'nothing'\nUsage: kvdefaults <subcommand>\n"
     "  See 'kvdefaults --help' for more information.\n", 2),
    # Secrets
    (f"set {PLAYER} token s3cret", "", "", 0),
    (f"get {PLAYER} token", "", f"kvdefaults: {PLAYER}: token is a secret, which is not shown\n", 2),
    (f"list {PLAYER} --changed",
     'everywhere\ttrue\t\tglobal\nsince\t{"$date":"2026-11-21T08:00:00Z"}\tDate?\tuser\nspeed\t2.0\tDouble\tuser\n'
     'tags\t["a","b"]\t[String]\tuser\ntheme\t"dark"\tTheme\tuser\ntoken\t(secret)\tString?\tuser\n'
     'volume\t9\tInt(0...10)\tuser\nwindow\t{"width":800}\tWindow?\tuser\n', "", 0),
    (f"print {PLAYER} token", '"(secret)"\n', "", 0),
    (f"export {PLAYER} secrets.json", "", "", 0),
    ("import com.example.copied secrets.json", "", "", 0),
    (f"diff {PLAYER} com.example.copied", "", "", 0),
    ("set com.example.copied token other", "", "", 0),
    (f"diff com.example.copied {PLAYER}", '- token = "(secret)"\n+ token = "(secret)"\n', "", 1),
    ("unset com.example.copied tags theme since speed window token", "", "", 0),
    # Removing
    (f"unset {PLAYER} volume since", "", "", 0),
    (f"unset {PLAYER} volume", "", f"kvdefaults: {PLAYER}: There is no value at volume\n", 1),
    (f"get {PLAYER} volume", "7\n", "", 0),
    (f"unset {PLAYER} theme since", "", f"kvdefaults: {PLAYER}: There is no value at since\n", 1),
    (f"get {PLAYER} theme", "dark\n", "", 0),
    # What it means
    (f"describe {PLAYER} volume", "volume  Int(0...10)\n    How loud it is.\n    Default: 7\n", "", 0),
    (f"describe {PLAYER} window",
     "window  Window?\n  window.width  Int(1...16384)\n      In pixels.\n      Default: 640\n"
     "  window.window_title  String?\n", "", 0),
    (f"describe {PLAYER} theme", 'theme  Theme\n    Default: "light"\n    "light"  For the day.\n    "dark"\n', "", 0),
    (f"describe {PLAYER} old", "old  Int?\n    Deprecated: use volume\n", "", 0),
    (f"describe {PLAYER} token",
     "token  String?\n    Where to log in.\n    A secret: it is not shown. A keyring is the better place for it.\n", "", 0),
    (f"describe {PLAYER} theme --json", '{\n  "cases": ["light","dark"],\n  "default": "light",\n  "type": "Theme"\n}\n',
     "", 0),
    (f"describe {PLAYER} old --json", '{\n  "deprecated": "use volume",\n  "type": "Int?"\n}\n', "", 0),
    (f"describe {PLAYER} nothing", "", f"kvdefaults: {PLAYER}: Its type has no nothing\n", 1),
    (f"describe {PLAIN}", "", f"kvdefaults: {PLAIN}: No type is published for it\n", 1),
    # Without a type: JSON, and a word is a string
    (f"set {PLAIN} a 5 b text c '{{\"d\":[1,2.0,true]}}' '\"x.y\".z' 1.5", "", "", 0),
    (f"print {PLAIN}",
     '{\n  "a": 5,\n  "b": "text",\n  "c": {\n    "d": [1,2.0,true]\n  },\n  "x.y": {\n    "z": 1.5\n  }\n}\n', "", 0),
    (f"get {PLAIN} '\"x.y\".z'", "1.5\n", "", 0),
    (f"set {PLAIN} --type String a 5", "", "", 0),
    (f"get {PLAIN} a --json", '"5"\n', "", 0),
    (f"set {PLAIN} --type 'Int(0...3)' a 5", "", f"kvdefaults: {PLAIN}: Expected 0...3 at a, found 5\n", 2),
    (f"set {PLAIN} --type Nothing a 5", "", "kvdefaults: --type: No type is named Nothing (line 1, column 1)\n", 2),
    (f"set {PLAIN} a null", "",
     f"kvdefaults: {PLAIN}: Expected a value, found null; kvdefaults unset removes one\n", 2),
    ("list", "com.example.copied\ncom.example.plain\ncom.example.player\n", "", 0),
    ("list --json", '["com.example.copied","com.example.plain","com.example.player"]\n', "", 0),
    (f"list {PLAIN} --json",
     '{\n  "\\"x.y\\"": {\n    "layer": "user",\n    "value": {\n      "z": 1.5\n    }\n  },\n  "a": {\n    "layer": "user",\n    "value": "5"\n  },\n  "b": {\n    "layer": "user",\n    "value": "text"\n  },\n'
     '  "c": {\n    "layer": "user",\n    "value": {\n      "d": [1,2.0,true]\n    }\n  },\n  "everywhere": {\n'
     '    "layer": "global",\n    "value": true\n  }\n}\n', "", 0),
    ("list com.example.none", "", "kvdefaults: com.example.none: There is no such store\n", 1),
    # Moving
    (f"export {PLAIN} --format commands",
     f"kvdefaults set --type Any -- {PLAIN} a '\"5\"'\nkvdefaults set --type Any -- {PLAIN} b '\"text\"'\n"
     f"kvdefaults set --type Any -- {PLAIN} c '{{\"d\":[1,2.0,true]}}'\n"
     f"kvdefaults set --type Any -- {PLAIN} '\"x.y\"' '{{\"z\":1.5}}'\n", "", 0),
    (f"export {PLAIN} plain.json", "", "", 0),
    (f"import com.example.other plain.json", "", "", 0),
    (f"diff {PLAIN} com.example.other", "", "", 0),
    (f"diff {PLAIN} plain.json", "", "", 0),
    (f"set com.example.other a 6", "", "", 0),
    (f"diff {PLAIN} com.example.other", '- a = "5"\n+ a = 6\n', "", 1),
    # Keys that print alike are two.
    ("set com.example.alike \u00e9 1 e\u0301 2", "", "", 0),
    ("list --json com.example.alike",
     '{\n  "everywhere": {\n    "layer": "global",\n    "value": true\n  },\n  "e\u0301": {\n    "layer": "user",\n    "value": 2\n  },\n  "\u00e9": {\n    "layer": "user",\n    "value": 1\n  }\n}\n',
     "", 0),
    ("set com.example.one e\u0301 2", "", "", 0),
    ("diff com.example.alike com.example.one", "- \u00e9 = 1\n", "", 1),
    (f"diff --json {PLAIN} com.example.other", '[\n  {\n    "new": 6,\n    "old": "5",\n    "path": "a"\n  }\n]\n', "", 1),
    (f"copy {PLAIN} ./copy.sqlite", "", "", 0),
    ("get ./copy.sqlite c.d[2]", "true\n", "", 0),
    (f"diff {PLAIN} ./copy.sqlite", "", "", 0),
    (f"copy ./copy.sqlite com.example.moved --sqlite", "", "", 0),
    ("get com.example.moved b", "text\n", "", 0),
    ("convert plain.json plain.plist", "", "", 0),
    ("convert plain.plist --to binary plain.bin", "", "", 0),
    ("print plain.bin b", '"text"\n', "", 0),
    ("convert plain.bin --to json",
     '{\n  "a": "5",\n  "b": "text",\n  "c": {\n    "d": [1,2.0,true]\n  },\n  "x.y": {\n    "z": 1.5\n  }\n}\n', "", 0),
    (f"export {PLAIN} plain.sqlite", "",
     "kvdefaults: plain.sqlite: Expected --format, or a name that ends in .plist, .xml or .json\n", 2),
    (f"export {PLAIN} plain.out --format binary", "", "", 0),
    (f"diff {PLAIN} plain.out", "", "", 0),
    (f"copy {PLAIN} com.example.other", "", "", 0),
    (f"diff {PLAIN} com.example.other", "", "", 0),
    (f"import {PLAIN} list.json", "",
     "kvdefaults: list.json: Expected Dictionary as what is imported, found Array\n", 2),
    (f"import com.example.other more.json", "", "", 0),
    (f"diff {PLAIN} com.example.other", '+ more = {"$date":"2026-11-21T08:00:00Z"}\n', "", 1),
    ("copy com.example.none com.example.other", "", "kvdefaults: com.example.none: There is no such store\n", 1),
    ("convert plain.bin", "", "kvdefaults: plain.bin: Expected --to xml, --to binary or --to json\n", 2),
    ("convert none.plist --to xml", "", "kvdefaults: none.plist: There is no such file\n", 2),
    (f"export com.example.none", "", "kvdefaults: com.example.none: There is no such store\n", 1),
    (f"import {PLAYER} wrong.json", "", f"kvdefaults: {PLAYER}: Expected 0...10 at volume, found 11\n", 2),
    # Checking
    ("lint plain.json plain.plist plain.bin", "", "", 0),
    ("lint wrong.json", "", "", 0),
    (f"lint wrong.json --types {PLAYER}",
     "wrong.json: Expected 0...10 at volume, found 11 (line 2, column 13)\n"
     "wrong.json: Settings has no windw; did you mean window? (line 4, column 12)\n", "", 2),
    ("lint wrong.json --types player.kvtypes",
     "wrong.json: Expected 0...10 at volume, found 11 (line 2, column 13)\n"
     "wrong.json: Settings has no windw; did you mean window? (line 4, column 12)\n", "", 2),
    ("lint wrong.json --types player.kvtypes --json",
     '[\n  {\n    "column": 13,\n    "file": "wrong.json",\n    "line": 2,\n'
     '    "message": "Expected 0...10 at volume, found 11 (line 2, column 13)",\n    "path": "volume"\n  },\n  {\n'
     '    "column": 12,\n    "file": "wrong.json",\n    "line": 4,\n'
     '    "message": "Settings has no windw; did you mean window? (line 4, column 12)",\n    "path": "windw"\n  }\n]\n',
     "", 2),
    ("convert wrong.json wrong.plist", "", "", 0),
    (f"lint wrong.plist --types {PLAYER}",
     "wrong.plist: Expected 0...10 at volume, found 11 (line 8, column 2)\n"
     "wrong.plist: Settings has no windw; did you mean window? (line 10, column 2)\n", "", 2),
    (f"lint {PLAYER} {PLAIN}", "", "", 0),
    (f"set {PLAYER} --type Any volme 11", "", "", 0),
    (f"lint {PLAYER}", f"{PLAYER}: Settings has no volme; did you mean volume? (line 17, column 2)\n", "", 2),
    (f"unset {PLAYER} volme", "", "", 0),
    ("lint broken.json plain.json", 'broken.json: Expected , or } at a, found 2 (line 2, column 4)\n', "", 2),
    ("lint player.kvtypes", "", "", 0),
    ("lint broken.kvtypes", 'broken.kvtypes: Expected a type, found "}" (line 1, column 15)\n', "", 2),
    ("lint none.plist", "none.plist: There is no such file\n", "", 2),
    # Types
    (f"types {PLAIN}", "", f"kvdefaults: {PLAIN}: No type is published for it\n", 1),
    (f"types {PLAYER} --annotations",
     "---@meta\n\n--- The settings of a player.\n---@class (exact) Settings\n--- How loud it is.\n"
     "---@field volume? integer default 7; Int(0...10)\n---@field theme? Theme default \"light\"\n"
     "---@field window? Window\n--- Where to log in.\n---@field token? string secret\n"
     "---@field speed? number default 1.0\n---@field tags? string[] default []\n---@field since? kvcodable.date\n"
     "---@field old? integer deprecated: use volume\n\n---@alias Theme\n---| \"light\" # For the day.\n---| \"dark\"\n\n"
     "---@class (exact) Window\n--- In pixels.\n---@field width? integer default 640; Int(1...16384)\n"
     "---@field title? string\n", "", 0),
]


def words(text):
    import shlex
    return shlex.split(text)


# proves: G110
def try_table():
    place = Place()
    place.write("wrong.json", '{\n  "volume": 11,\n  "other": 1,\n  "windw": {}\n}\n')
    place.write("broken.json", '{"a":\n 1 2}')
    place.write("list.json", "[1]")
    place.write("more.json", '{"more": {"$date": "2026-11-21T08:00:00Z"}}')
    place.write("config/.GlobalPreferences.plist", '{"everywhere": true}')
    place.write("player.kvtypes", TYPES)
    place.write("broken.kvtypes", "struct A { x: }")
    for command, output, error, status in TABLE:
        found = place.run(*words(command))
        def shown(text):
            return None if text is None else text.replace("CONFIG", str(place.config))
        expected = (status, shown(output), shown(error))
        same = all(want is None or want == have for want, have in zip(expected, found))
        tap.check(same, f"kvdefaults {command}", f"expected {expected}\nfound    {found}")
    try_other_answers(place)
    place.close()


def try_other_answers(place):
    status, text, _ = place.run("types", PLAYER, "--json-schema")
    schema = json.loads(text)
    tap.check(schema["$ref"] == "#/$defs/Settings" and schema["$defs"]["Window"]["properties"]["width"]["maximum"] == 16384,
              "a JSON Schema of the published type")
    _, text, _ = place.run("types", PLAYER)
    again = place.write("again.kvtypes", text)
    tap.check(text.startswith("root Settings\n\n/// The settings of a player.\nstruct Settings {\n    /// How loud it is.\n"
                              "    volume: Int(0...10) = 7\n") and place.run("lint", str(again))[0] == 0,
              "the published type as text", text)
    status, text, _ = place.run("types", PLAYER, "--markdown")
    tap.check(text.startswith(f"# {PLAYER}\n\nThe settings of a player.\n") and "| `window.width` |" in text,
              "a page of all settings", text)
    for verb in ("--help", "help get", "--version"):
        status, text, error = place.run(*verb.split())
        tap.check(status == 0 and text and not error, f"kvdefaults {verb}", text + error)
    mode = (place.folder / "secrets.json").stat().st_mode & 0o777
    tap.check(mode == 0o600, "what is exported is the user's alone", oct(mode))
    (place.folder / "archive.plist").write_bytes(archive(["a", "b"]))
    tap.check(place.run("print", "archive.plist") == (0, '["a","b"]\n', "")
              and place.run("convert", "archive.plist", "--to", "json", "--unarchive") == (0, '["a","b"]\n', "")
              and '"$archiver": "NSKeyedArchiver"' in place.run("convert", "archive.plist", "--to", "json")[1]
              and '"$archiver": "NSKeyedArchiver"' in place.run("print", "archive.plist", "--raw")[1],
              "of a keyed archive the plain value, or the archive")
    (place.folder / "archive.plist").write_bytes(archive({"volume": 11, "other": 1}))
    result = place.run("lint", "archive.plist", "--types", PLAYER)
    tap.check(result == (2, "archive.plist: Expected 0...10 at volume, found 11\n", ""), "a keyed archive is checked as its value",
              str(result))
    date = place.run("convert", "-", "--to", "xml", given='{"a": {"$date": "2026-11-21T08:00:00Z"}}')[1]
    tap.check("<date>2026-11-21T08:00:00Z</date>" in date, "JSON from standard input has dates", date)
    tap.check(place.run("print", "-", given='{"a": 1}') == (0, '{\n  "a": 1\n}\n', "")
              and place.run("import", "com.example.given", "-", given='{"a": 1}')[0] == 0
              and place.run("get", "com.example.given", "a") == (0, "1\n", ""), "- is standard input")
    try_nested(place)
    # Commands that were printed make the same store.
    _, commands, _ = place.run("export", PLAIN, "--format", "commands")
    other = commands.replace(PLAIN, "com.example.again")
    good = subprocess.run(["/bin/sh", "-e"], input=other, text=True, env=place.environment).returncode == 0
    tap.check(good and place.run("diff", PLAIN, "com.example.again")[0] == 0, "commands that were exported make an equal store")
    # An administrator's file of types may be written by no user.
    published = place.data / "kvcodable/types/com.example.player.kvtypes"
    published.chmod(0o666)
    status, _, error = place.run("get", PLAYER, "volume")
    tap.check(status == 2 and "found what everybody may write" in error, "a type that everybody may write is refused", error)
    published.chmod(0o644)
    published.write_text("root A\nstruct A { x: }")
    status, _, error = place.run("get", PLAYER, "volume")
    tap.check(status == 2 and f'Expected a type, found "}}" (line 2, column 15) ({published})' in error,
              "a published text that is wrong says where", error)


# Answers over three layers, one command after the other.
LAYERED = [
    (f"set {PLAIN} window.width 800 only 1", "", "", 0),
    (f"get {PLAIN} window.width --origin", "800\nuser\tCONFIG/com.example.plain.plist\n", "", 0),
    (f"get {PLAIN} window.height --origin", "600\nadministrator\tDEFAULTS/com.example.plain.plist\n", "", 0),
    # A line for each layer's part of a dictionary
    (f"get {PLAIN} window --origin",
     '{\n  "frame": {\n    "x": 1,\n    "y": 2\n  },\n  "height": 600,\n  "title": "Shared",\n  "width": 800\n}\n'
     "window.frame\tadministrator\tDEFAULTS/com.example.plain.plist\n"
     "window.height\tadministrator\tDEFAULTS/com.example.plain.plist\n"
     "window.title\tglobal\tCONFIG/.GlobalPreferences.plist\nwindow.width\tuser\tCONFIG/com.example.plain.plist\n", "", 0),
    (f"get {PLAIN} window.frame --origin --json",
     '{\n  "file": "DEFAULTS/com.example.plain.plist",\n  "layer": "administrator",\n  "value": {\n    "x": 1,\n'
     '    "y": 2\n  }\n}\n', "", 0),
    (f"set {PLAIN} window.frame.x 5", "", "", 0),
    (f"get {PLAIN} window.frame --origin --json",
     '{\n  "origins": {\n    "window.frame.x": {\n      "file": "CONFIG/com.example.plain.plist",\n      "layer": "user"\n'
     '    },\n    "window.frame.y": {\n      "file": "DEFAULTS/com.example.plain.plist",\n'
     '      "layer": "administrator"\n    }\n  },\n  "value": {\n    "x": 5,\n    "y": 2\n  }\n}\n', "", 0),
    (f"list {PLAIN}",
     "only\t1\t\tuser\nvolume\t5\t\tadministrator\nwindow.frame.x\t5\t\tuser\nwindow.frame.y\t2\t\tadministrator\n"
     'window.height\t600\t\tadministrator\nwindow.title\t"Shared"\t\tglobal\nwindow.width\t800\t\tuser\n', "", 0),
    # An administrator's default is a default.
    (f"list {PLAIN} --changed",
     'only\t1\t\tuser\nwindow.frame.x\t5\t\tuser\nwindow.title\t"Shared"\t\tglobal\nwindow.width\t800\t\tuser\n', "", 0),
    (f"set {PLAIN} window.frame.x 1 volume 6", "", "", 0),
    (f"list {PLAIN} --changed",
     'only\t1\t\tuser\nvolume\t6\t\tuser\nwindow.title\t"Shared"\t\tglobal\nwindow.width\t800\t\tuser\n', "", 0),
    # A default can be removed, and comes back. What the file notes of it is no setting.
    (f"unset {PLAIN} window.height volume", "", "", 0),
    (f"get {PLAIN} window.height", "", f"kvdefaults: {PLAIN}: There is no value at window.height\n", 1),
    (f"get {PLAIN} volume", "5\n", "", 0),
    (f"list {PLAIN}",
     "only\t1\t\tuser\nvolume\t5\t\tadministrator\nwindow.frame.x\t1\t\tuser\nwindow.frame.y\t2\t\tadministrator\n"
     'window.title\t"Shared"\t\tglobal\nwindow.width\t800\t\tuser\n', "", 0),
    (f"unset {PLAIN} window.height", "", f"kvdefaults: {PLAIN}: There is no value at window.height\n", 1),
    (f"reset {PLAIN} window.height window.width", "", "", 0),
    (f"get {PLAIN} window.height", "600\n", "", 0),
    (f"get {PLAIN} window.width", "", f"kvdefaults: {PLAIN}: There is no value at window.width\n", 1),
    (f"reset {PLAIN} only window.height", "",
     f"kvdefaults: {PLAIN}: The user's file has nothing at window.height\n", 1),
    (f"reset {PLAIN} window only", "", "", 0),
    (f"list {PLAIN} --changed", 'window.title\t"Shared"\t\tglobal\n', "", 0),
    # A copy has the values of the file alone, and shows the layers of its own name.
    (f"set {PLAYER} speed 2", "", "", 0),
    (f"copy {PLAYER} {PLAIN}", "", "", 0),
    (f"get {PLAIN}",
     '{\n  "speed": 2.0,\n  "volume": 5,\n  "window": {\n    "frame": {\n      "x": 1,\n      "y": 2\n    },\n'
     '    "height": 600,\n    "title": "Shared"\n  }\n}\n', "", 0),
    # An import leaves out nothing of lower layers.
    (f"import {PLAIN} frame.json", "", "", 0),
    (f"get {PLAIN} window.frame", '{\n  "x": 7,\n  "y": 2\n}\n', "", 0),
    # A field's own default is part of what is shown.
    (f"set {PLAYER} window.window_title Main", "", "", 0),
    (f"list {PLAYER} --changed",
     'speed\t2.0\tDouble\tuser\nwindow.height\t1\t\tglobal\nwindow.title\t"Shared"\t\tglobal\nwindow.window_title\t"Main"\tString?\tuser\n', "", 0),
]


# proves: G110
def try_layers():
    place = Place()
    defaults = place.folder / "defaults"
    defaults.mkdir(mode=0o700)
    place.write("config/.GlobalPreferences.plist", '{"window": {"title": "Shared", "height": 1}}')
    place.write("frame.json", '{"window": {"frame": {"x": 7}}}')
    (defaults / f"{PLAIN}.plist").write_text('{"window": {"height": 600, "frame": {"x": 1, "y": 2}}, "volume": 5}')
    for command, output, error, status in LAYERED:
        found = place.run(*words(command), KVCODABLE_DEFAULTS_DIR=str(defaults))
        shown = output.replace("CONFIG", str(place.config)).replace("DEFAULTS", str(defaults))
        tap.check(found == (status, shown, error), f"kvdefaults {command}, with layers",
                  f"expected {(status, shown, error)}\nfound    {found}")
    place.close()


NESTED = """root Outer
struct Outer { list: [Inner]; by_name: [String: Inner] = ["none": [:]]; on: Bool?; bytes: Data?; name: String? }
struct Inner { key: String? @secret; width: Int? }
"""


def try_nested(place):
    """Values inside of arrays and dictionaries, and words of other types."""
    name = "com.example.nested"
    (place.data / f"kvcodable/types/{name}.kvtypes").write_text(NESTED)
    place.run("set", name, "list", '[{"key":"a","width":1},{"key":"b"}]', "by_name", '{"x":{"key":"c"}}')
    found = place.run("get", name)[1]
    shown = {key: json.loads(found)[key] for key in ("by_name", "list")}
    secret = {"key": "(secret)"}
    tap.check(shown == {"by_name": {"x": secret}, "list": [{**secret, "width": 1}, secret]},
              "secrets inside of arrays and dictionaries are not shown", found)
    place.write("nested.json", '{"list": [{"width": 1},\n {"widht": 2}]}')
    result = place.run("lint", "nested.json", "--types", name)
    tap.check(result == (2, "nested.json: Inner has no list[1].widht; did you mean width? (line 2, column 12)\n", ""),
              "keys inside of arrays are checked", str(result))
    for word, stored in (("yes", True), ("off", False), ("true", True), ("no", False), ("on", True)):
        place.run("set", name, "on", word)
        found = place.run("get", name, "on")[1]
        tap.check(found == json.dumps(stored) + "\n", f"{word} is a Bool", found)
    place.run("set", name, "bytes", "AAEC", "name", "it's")
    tap.check(place.run("get", name, "bytes")[1] == '{\n  "$data": "AAEC"\n}\n', "data is given in base64")
    result = place.run("set", name, "bytes", "?")
    tap.check(result == (2, "", f'kvdefaults: {name}: Expected bytes in base64 at bytes, found "?"\n'), "or refused", str(result))
    found = place.run("export", name, "--format", "commands")[1].splitlines()
    tap.check(f"kvdefaults set --type Any -- {name} name '\"it'\\''s\"'" in found, "a command's words are quoted", str(found))
    # A store that is in a database alone is opened as one.
    place.run("copy", name, "com.example.base", "--sqlite")
    place.run("set", "com.example.base", "name", "more")
    files = sorted(path.name for path in place.config.glob("com.example.base.*"))
    tap.check(files == ["com.example.base.sqlite"] and place.run("get", "com.example.base", "name")[1] == "more\n"
              and "com.example.base\n" in place.run("list")[1], "a database is found by its name", str(files))
    place.run("copy", PLAIN, "com.example.base")
    tap.check(place.run("diff", PLAIN, "com.example.base") == (0, "", ""), "a copy replaces what was there")
    place.run("copy", PLAIN, "new.json")
    tap.check((place.folder / "new.json").read_text().startswith('{\n  "a": "5"'), "a store in a file of JSON is one")


def archive(values):
    """A keyed archive of a list or a dictionary of scalars."""
    keys = list(values) if isinstance(values, dict) else []
    parts = [*keys, *(values.values() if keys else values)]
    uids = [plistlib.UID(number) for number in range(len(parts) + 3)]
    name, root = "NSArray", {"NS.objects": uids[2 + len(keys):-1], "$class": uids[-1]}
    if keys:
        name, root["NS.keys"] = "NSDictionary", uids[2:2 + len(keys)]
    objects = ["$null", root, *parts, {"$classname": name, "$classes": [name, "NSObject"]}]
    return plistlib.dumps({"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": uids[1]},
                           "$objects": objects}, fmt=plistlib.FMT_BINARY)


# ---- Editing

def edited(place, script, *arguments, name="editor.sh", **changes):
    """What edit gives with an editor that is a script."""
    editor = place.write(name, f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    (place.folder / "temporary").mkdir(exist_ok=True)
    variables = {"EDITOR": str(editor), "VISUAL": "", "TMPDIR": str(place.folder / "temporary"), **changes}
    return place.run("edit", PLAYER, *arguments, **variables)


def try_editing():
    place = Place()
    place.run("set", PLAYER, "volume", "5", "token", "s3cret")
    edit = functools.partial(edited, place)
    result = edit('cp "$1" seen; sed -i "s/\\"volume\\": 5/\\"volume\\": 6/" "$1"')
    seen = (place.folder / "seen").read_text()
    tap.check(result == (0, "1 setting changed.\n", ""), "edit changes what was edited", str(result))
    tap.check('  // How loud it is.\n  "volume": 5' in seen and '// "theme": "light",\n' in seen,
              "the text has the documentation, and absent settings with their defaults", seen)
    tap.check("s3cret" not in seen and "token is a secret" in seen, "the text has no secret", seen)
    tap.check(place.run("get", PLAYER, "volume")[1] == "6\n", "the edited value is stored")
    plist = (place.config / f"{PLAYER}.plist").read_text()
    tap.check("s3cret" in plist, "a secret stays as it was")
    tap.check(edit("true") == (0, "Nothing was changed.\n", ""), "edit changes nothing where nothing was edited")
    status, _, error = edit("exit 3")
    tap.check(status == 2 and "failed; nothing was changed" in error, "an editor that fails changes nothing", error)
    try_mending(place, edit)
    try_editing_meanwhile(place, edit)
    try_editors(place, edit)
    try_editing_one(place, edit)
    tap.check(not [name for name in os.listdir(place.folder / "temporary") if name.endswith(".json")], "no text is left behind")
    place.close()


def try_mending(place, edit):
    """A fault, then its mending: the editor opens again."""
    result = edit('if [ -e again ]; then sed -i "s/60/8/" "$1"; else touch again; sed -i "s/6/60/" "$1"; fi')
    tap.check(result[0] == 0 and result[2] == f"kvdefaults: {PLAYER}: Expected 0...10 at volume, found 60 (line 3, column 13)\n",
              "a fault is shown with its line, and mended in the next round", str(result))
    tap.check(place.run("get", PLAYER, "volume")[1] == "8\n", "what was mended is stored")
    result = edit('echo "}" >> "$1.x"; printf "{ \\"volume\\": }" > "$1"')
    tap.check(result[0] == 2 and result[2].count("(line 1, column 13)") == 2, "a fault that stays ends it", str(result))
    for path in (place.folder / "temporary").glob("*.json"):  # It is kept then, which tool_faults.py looks at.
        path.unlink()


# proves: G111
def try_editing_meanwhile(place, edit):
    """Another program changes another setting meanwhile, or the same one."""
    result = edit(f'"{TOOL}" set {PLAYER} theme dark speed 3; sed -i "s/\\"volume\\": 8/\\"volume\\": 9/" "$1"')
    values = [place.run("get", PLAYER, key)[1] for key in ("volume", "theme", "speed")]
    tap.check(result[0] == 0 and values == ["9\n", "dark\n", "3.0\n"], "what others changed meanwhile stays", str((result, values)))
    result = edit(f'"{TOOL}" set {PLAYER} volume 1; sed -i "s/9/2/" "$1"')
    tap.check("volume was changed meanwhile; yours counts" in result[2] and place.run("get", PLAYER, "volume")[1] == "2\n",
              "the same setting changed meanwhile is told", str(result))


def try_editors(place, edit):
    """An editor that takes a line is opened at the fault's."""
    result = edit(f'echo "$@" >> {place.folder}/opened; if [ $# = 2 ]; then sed -i "s/60/7/" "$2"; '
                  'else sed -i "s/: 2/: 60/" "$1"; fi', name="vi")
    opened = [line.split()[:-1] for line in (place.folder / "opened").read_text().splitlines()]
    line = re.search(r"\(line (\d+), column \d+\)", result[2])
    tap.check(result[0] == 0 and line and opened == [[], [f"+{line[1]}"]] and line[1] != "1",
              "an editor that takes a line opens at that of the fault", str((result, opened)))
    result = edit("exit 3", VISUAL="true")
    tap.check(result == (0, "Nothing was changed.\n", ""), "VISUAL comes before EDITOR", str(result))


# proves: G112
def try_editing_one(place, edit):
    result = edit('sed -i "s/800/900/" "$1"; cp "$1" seen', "window")
    tap.check(result[0] == 1, "a setting without a value is not edited", str(result))
    place.run("set", PLAYER, "window.width", "800")
    result = edit('cp "$1" seen; sed -i "s/800/900/" "$1"', "window")
    seen = (place.folder / "seen").read_text()
    tap.check(result == (0, "1 setting changed.\n", "") and place.run("get", PLAYER, "window.width")[1] == "900\n"
              and seen == '{\n  // In pixels.\n  "width": 800,\n  // "window_title": String?,\n}\n',
              "one setting is edited by itself", str(result) + seen)
    result = edit('printf "{\\"width\\": 5, // Narrow.\\n}\\n" > "$1"', "window")
    tap.check(result[0] == 0 and place.run("get", PLAYER, "window.width")[1] == "5\n",
              "comments and a comma at the end may stand in the text", str(result))
    result = edit("true", "token")
    tap.check(result[0] == 2 and "token is a secret, which is not shown" in result[2], "a secret is not edited", str(result))


# ---- Watching

def try_watching():
    place = Place()
    place.run("set", PLAYER, "volume", "5", "window.width", "640")
    for option, expected in (
            ([], "volume = 6, was 5\nwindow.width = 800, was 640\nvolume removed, was 6\n"),
            (["--commands"], f"kvdefaults set --type Any -- {PLAYER} volume 6\n"
             f"kvdefaults set --type Any -- {PLAYER} window.width 800\nkvdefaults unset -- {PLAYER} volume\n"),
            (["--json"], '{"new":6,"old":5,"path":"volume"}\n{"new":800,"old":640,"path":"window.width"}\n'
             '{"old":6,"path":"volume"}\n')):
        place.run("set", PLAYER, "volume", "5", "window.width", "640")
        watch = subprocess.Popen([str(TOOL), "watch", PLAYER, "--count", "3", *option], stdout=subprocess.PIPE, text=True,
                                 env=place.environment)
        wait_for_inotify(watch.pid)
        lines = []
        for command in (["set", PLAYER, "volume", "6"], ["set", PLAYER, "window.width", "800"], ["unset", PLAYER, "volume"]):
            place.run(*command)
            lines.append(watch.stdout.readline())
        status = watch.wait(timeout=20)
        tap.check(status == 0 and "".join(lines) == expected, f"watch {' '.join(option)} prints each change".replace("  ", " "),
                  "".join(lines))
    for option, expected in (
            (["window"], "window.width = 1, was 800\n"),
            (["token"], 'token = "(secret)", was absent\n'),
            (["--json", "token"], '{"new":"(secret)","path":"token"}\n'),
            (["--commands", "token"], f"# {PLAYER}: token is a secret, and was changed\n")):
        place.run("set", PLAYER, "window.width", "800")
        place.run("unset", PLAYER, "token")
        watch = subprocess.Popen([str(TOOL), "watch", PLAYER, "--count", "1", *option], stdout=subprocess.PIPE, text=True,
                                 env=place.environment)
        wait_for_inotify(watch.pid)
        place.run("set", PLAYER, "volume", "2")
        place.run("set", PLAYER, "token", "s3cret", "window.width", "1")
        found = watch.communicate(timeout=20)[0]
        tap.check(found == expected, f"watch {' '.join(option)} prints what it watches, and no secret", found)
        place.run("unset", PLAYER, "volume")
    place.close()


def wait_for_inotify(process):
    """Until the program watches: it has an inotify descriptor then."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        names = []
        try:
            names = [os.readlink(f"/proc/{process}/fd/{name}") for name in os.listdir(f"/proc/{process}/fd")]
        except OSError:
            pass
        if "anon_inode:inotify" in names:
            return
        time.sleep(0.01)


# ---- A terminal

def in_terminal(place, *arguments, **changes):
    """What a program prints to a terminal of 80 columns."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(place.folder)
        os.execve(str(TOOL), [str(TOOL), *arguments], {**place.environment, "COLUMNS": "80", **changes})
    output = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), output.decode().replace("\r\n", "\n")


def try_terminal():
    place = Place()
    place.run("set", PLAYER, "volume", "5")
    status, text = in_terminal(place, "list", PLAYER, "--changed")
    tap.check(text == "\x1b[1mkey     value  type         layer\x1b[0m\nvolume  5      Int(0...10)  user\n",
              "a terminal has a table with a bold head", repr(text))
    status, text = in_terminal(place, "list", PLAYER, "--changed", NO_COLOR="1")
    tap.check(text == "key     value  type         layer\nvolume  5      Int(0...10)  user\n", "NO_COLOR takes the colour away", repr(text))
    status, text = in_terminal(place, "list", PLAYER, "--changed", TERM="dumb")
    tap.check("\x1b" not in text, "a dumb terminal has no colour", repr(text))
    status, text = in_terminal(place, "list", PLAYER, "--changed", NO_COLOR="")
    tap.check(text.startswith("\x1b[1mkey"), "an empty NO_COLOR is none", repr(text))
    place.run("set", PLAYER, "speed", "1.0", "theme", "light", "tags", json.dumps(["a long text"] * 20))
    status, text = in_terminal(place, "list", PLAYER, "--changed", NO_COLOR="1")
    lines = text.splitlines()
    tap.check([line.split()[0] for line in lines] == ["key", "tags", "volume"] and all(len(line) <= 80 for line in lines)
              and "…" in lines[1], "a long value is cut, and one that is the default is not listed", text)
    status, text = in_terminal(place, "get", PLAYER, "volume")
    tap.check((status, text) == (0, "5\n"), "a value is the same in a terminal", repr(text))
    status, text = slow_conversion(place, 0.5)
    tap.check(status == 0 and text.startswith("<?xml"), "nothing is shown for what takes no second", repr(text))
    slow = subprocess.run(["/bin/sh", "-c", f"(sleep 1.3; echo '{{}}') | \"{TOOL}\" convert - --to json"], capture_output=True,
                          text=True, env=place.environment, timeout=60)
    tap.check((slow.returncode, slow.stdout, slow.stderr) == (0, "{}\n", ""), "nor where no person looks", str(slow))
    status, text = slow_conversion(place, 1.6)
    tap.check(status == 0 and re.search(r"\rConverting \[\.*######\.*\] 1 s\x1b", text) and "\r\x1b[K<?xml" in text and text.endswith("</plist>\n"), "the seconds are shown after one", repr(text))
    place.close()


def slow_conversion(place, seconds):
    return slow_terminal(place, f"(sleep {seconds}; echo '{{\"a\": 1}}') | \"{TOOL}\" convert - --to xml")


def slow_terminal(place, command):
    """What a command of a shell prints to a terminal."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(place.folder)
        os.execve("/bin/sh", ["sh", "-c", command], place.environment)
    output = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            output += os.read(terminal, 65536)
        except OSError:
            break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), output.decode().replace("\r\n", "\n")


# ---- Completion

# Lines, and the words that complete them in every shell.
COMPLETED = [
    ("kvdefaults unse", ["unset"]), ("kvdefaults rese", ["reset"]), ("kvdefaults get com.example.pla", [PLAIN, PLAYER]),
    (f"kvdefaults get {PLAYER} vol", ["volume"]), (f"kvdefaults get {PLAYER} window.wid", ["window.width"]),
    (f"kvdefaults set {PLAYER} theme da", ["dark"]), (f"kvdefaults get {PLAIN} al", ["alpha"]),
    ("kvdefaults set com.example.nested on t", ["true"]),
]


def place_for_completion(*shells):
    """A place with stores and types to complete, and the completion scripts of shells."""
    place = Place()
    place.run("set", PLAIN, "alpha", "1")
    (place.data / "kvcodable/types/com.example.nested.kvtypes").write_text(NESTED)
    (place.data / "kvcodable/types/com.example.keys.kvtypes").write_text(
        'root S\nstruct S { "com.example.key": Int?; "it\'s": Int?; "a b": Int? }\n')
    for shell in shells:
        status, script, _ = place.run("--generate-completion-script", shell)
        tap.check(status == 0 and "kvdefaults" in script, f"a completion script for {shell}")
        place.write(f"completion.{shell}", script)
    return place


def try_completion():
    place = place_for_completion("bash", "zsh", "fish")
    for line, wanted in COMPLETED:
        found = in_bash(place, line)
        tap.check(sorted(found) == wanted, f"bash completes {line!r}", str(found))
    # Where people find domains beside files, and arguments behind options
    (place.folder / "com.example.file").write_text("{}")
    (place.folder / "player.kvtypes").write_text(TYPES)
    for line, wanted in (
            ("kvdefaults print com.example.pla", [PLAIN, PLAYER]), ("kvdefaults diff com.example.fi", ["com.example.file"]),
            ("kvdefaults lint com.example.p", [PLAIN, PLAYER]), ("kvdefaults lint --types pla", ["player.kvtypes"]),
            ("kvdefaults lint --types com.example.play", [PLAYER]), (f"kvdefaults print {PLAYER} vol", ["volume"]),
            (f"kvdefaults set --type Int {PLAYER} vol", ["volume"]), ("kvdefaults convert --to x", ["xml"]),
            ("kvdefaults convert --to c", []), (f"kvdefaults set -- {PLAYER} theme da", ["dark"])):
        found = in_bash(place, line)
        tap.check(sorted(found) == wanted, f"bash completes {line!r}", str(found))
    try_quoted_keys(place, "bash", in_real_bash)
    place.close()


def try_quoted_keys(place, name, shell):
    """Completes keys that the shell must quote."""
    expected = "it\\'s"
    text = shell(place, "kvdefaults get com.example.keys it", expected)
    tap.check(expected in text, f"{name} quotes a key", repr(text))
    wanted = ['"com.example.key"', '"a b"']
    text = shell(place, "kvdefaults get com.example.keys ", *wanted)
    tap.check(all(word in text for word in wanted), f"{name} shows keys with dots and blanks", repr(text))


def in_bash(place, line):
    """The replies of bash's completion for a line, as readline asks for them."""
    count = len(line.split())
    script = (f"source completion.bash; COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({line}); "
              f"COMP_CWORD={count - 1}; COMP_TYPE=9; COMP_KEY=9; _kvdefaults kvdefaults {line.split()[-1]} {line.split()[-2]}; "
              'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "--norc", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            cwd=place.folder, env=place.environment, timeout=60)
    return [word.strip() for word in result.stdout.splitlines() if word.strip()]


def in_real_bash(place, line, *wanted):
    """As a person sees it: readline adds quotes where a word needs them."""
    setup = "bind 'set enable-bracketed-paste off'; bind 'set show-all-if-ambiguous on'; source completion.bash"
    return in_shell(place, ["bash", "--norc", "-i"], setup, line, wanted)


def in_shell(place, command, setup, line, wanted):
    """What a real shell in a terminal shows after a tab, until it has shown what is wanted."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(place.folder)
        os.execvpe(command[0], command, {**place.environment, "PS1": "%% ", "COLUMNS": "200", "LINES": "40"})

    def read_until(*marks, seconds=20):
        output, deadline = "", time.monotonic() + seconds
        while time.monotonic() < deadline and not all(mark in output for mark in marks):
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    output += os.read(terminal, 65536).decode(errors="replace")
                except OSError:
                    break
        return output

    os.write(terminal, f"{setup}; echo rea''dy\n".encode())
    read_until("ready")
    os.write(terminal, (line + "\t").encode())
    text = read_until(*wanted, seconds=5)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(terminal)
    return text


# ---- Several programs at once

SCRIPT = """
local kv = require "kvcodable"
local s = assert(kv.open "com.example.player")
local seconds, seen, n = tonumber(arg[1]), {}, 0
for _, name in ipairs { "set", "edit" } do
  s:watch({"counts", name}, function() seen[name] = s:get {"counts", name} end)
end
local start = os.time()
while os.time() - start < seconds do
  s:transaction(function() s:set({"counts", "script"}, (s:get({"counts", "script"}) or 0) + 1) end)
  n = n + 1
  kv.pump()
end
s:sync()
-- The others have ended when their last numbers come; what was seen of them until then is the answer.
local set, edit = io.read("n", "n")
local deadline = os.time() + 10
while os.time() < deadline and not (seen.set == set and seen.edit == edit) do kv.pump() end
print(n, seen.set, seen.edit, s:get {"counts", "script"})
s:close()
"""


def set_and_edit(place, seconds):
    """Counts up by set, and at once by edit; gives how far, and what went wrong."""
    counts, wrong = {"set": 0, "edit": 0}, []
    deadline = time.monotonic() + seconds

    def by_set():
        while time.monotonic() < deadline:
            counts["set"] += 1
            result = place.run("set", PLAYER, "counts.set", str(counts["set"]), f"kept.set{counts['set']}", "1")
            if result[0] != 0:
                wrong.append(result)

    def by_edit():
        while time.monotonic() < deadline:
            counts["edit"] += 1
            number = counts["edit"]
            if number == 1:
                place.run("set", PLAYER, "counts.edit", "0")
            editor = f"sed -i 's/\"edit\": {number - 1}/\"edit\": {number}, \"e{number}\": 1/'"
            result = place.run("edit", PLAYER, "counts", EDITOR=editor, VISUAL="")
            if result[0] != 0 or "meanwhile" in result[2]:
                wrong.append(result)

    threads = [threading.Thread(target=run) for run in (by_set, by_edit)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, wrong


# proves: G111
def try_at_once(seconds):
    place = Place()
    place.write("script.lua", SCRIPT)
    place.run("set", PLAYER, "volume", "5", "counts.start", "0")
    environment = {**place.environment, "LUA_CPATH": f"{tap.ROOT}/build/?.so;;"}
    watch = subprocess.Popen([str(TOOL), "watch", PLAYER, "counts", "--json"], stdout=subprocess.PIPE, text=True,
                             env=environment)
    wait_for_inotify(watch.pid)
    seen = {}

    def collect():
        for line in watch.stdout:
            change = json.loads(line)
            seen[change["path"]] = change.get("new")

    reader = threading.Thread(target=collect)
    reader.start()
    script = subprocess.Popen(["lua5.4", "script.lua", str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=place.folder, env=environment)
    counts, wrong = set_and_edit(place, seconds)
    output, error = script.communicate(f"{counts['set']} {counts['edit']}\n", timeout=120)
    tap.check(not wrong and script.returncode == 0, f"set, edit and a script change one store for {seconds} seconds",
              f"{wrong[:3]} {error}")
    made, saw_set, saw_edit, has = (output.split() + ["0"] * 4)[:4]
    stored = json.loads(place.run("print", PLAYER)[1])
    found = (stored["counts"]["script"], stored["counts"]["set"], stored["counts"]["edit"])
    tap.check(found == (int(made), counts["set"], counts["edit"]),
              f"nothing is lost: {made} changes of the script, {counts['set']} of set, {counts['edit']} of edit", str(found))
    tap.check(all(f"set{number}" in stored["kept"] for number in range(1, counts["set"] + 1))
              and all(f"e{number}" in stored["counts"] for number in range(1, counts["edit"] + 1)), "each change is there")
    tap.check((has, saw_set, saw_edit) == (made, str(counts["set"]), str(counts["edit"])),
              "the script saw the last change of each", f"{output} {counts}")
    last = {f"counts.{name}": number for name, number in zip(("script", "set", "edit"), found)}
    wait_until(lambda: all(seen.get(path) == number for path, number in last.items()))
    tap.check(all(seen.get(path) == number for path, number in last.items()), "watch saw the last change of each", str(seen)[-300:])
    watch.terminate()
    watch.wait()
    reader.join()
    place.close()


def wait_until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)


# ---- The page of the manual

def try_manual():
    page = (tap.ROOT / "Tool/kvdefaults.1").read_text().replace("\\-", "-")
    help_text = subprocess.run([str(TOOL), "--experimental-dump-help"], stdout=subprocess.PIPE, text=True).stdout
    root = json.loads(help_text)["command"]
    names = []
    for verb in root["subcommands"]:
        if verb["commandName"] == "help":
            continue
        names.append(verb["commandName"])
        for argument in verb.get("arguments", []):
            names += ["--" + name["name"] for name in argument.get("names", [])
                      if name["kind"] == "long" and name["name"] not in ("help", "version")]
    missing = sorted({name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page)})
    tap.check(not missing, f"the manual names every verb and option: {len(set(names))}", str(missing))
    good, output = tap.run("man", "--warnings", "-l", str(tap.ROOT / "Tool/kvdefaults.1"), env=tap.environment(MANWIDTH="80"))
    tap.check(good and "EXIT STATUS\n" in output and "troff:" not in output, "man shows the page, without a warning",
              output[:500])


def main():
    seconds = int(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 5
    for run in (try_table, try_layers, try_editing, try_watching, try_terminal, try_completion, try_manual):
        run()
    try_at_once(seconds)
    tap.finish()


if __name__ == "__main__":
    main()
