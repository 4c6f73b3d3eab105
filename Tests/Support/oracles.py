"""Reads property lists with plistlib and plistutil and prints what they see, a JSON object for each file.

oracles.py LIST: LIST is a file with a path on each line.
"""
import datetime
import json
import plistlib
import shutil
import subprocess
import sys

REFERENCE = datetime.datetime(2001, 1, 1)


def quoted(text):
    result = ""
    for character in text:
        if character in '"\\':
            result += "\\" + character
        elif ord(character) < 0x20 or ord(character) == 0x7F:
            result += "\\u%04x" % ord(character)
        else:
            result += character
    return '"' + result + '"'


def notation(value):
    """The notation of Tests/Vectors/README.md."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) + ("u" if value > (1 << 63) - 1 else "")
    if isinstance(value, float):
        return "real " + ("nan" if value != value else "%.17g" % value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (bytes, bytearray)):
        return "<" + value.hex() + ">"
    if isinstance(value, datetime.datetime):
        return "date %.17g" % (value - REFERENCE).total_seconds()
    if isinstance(value, plistlib.UID):
        return "uid %d" % value.data
    if isinstance(value, list):
        return "[" + ", ".join(map(notation, value)) + "]"
    items = sorted(value.items(), key=lambda item: item[0].encode("utf-8"))
    return "{" + ", ".join(quoted(key) + ": " + notation(item) for key, item in items) + "}"


def by_plistlib(path):
    with open(path, "rb") as file:
        try:
            return notation(plistlib.load(file))
        except Exception:
            return "error"


def by_libplist(path):
    """What plistutil makes of the file, in the other of the two formats, in hexadecimal.

    In the same format it may hand the file through unread.
    """
    if shutil.which("plistutil") is None:
        return None
    done = subprocess.run(["plistutil", "-i", path], capture_output=True, timeout=20)
    return done.stdout.hex() if done.returncode == 0 and done.stdout else "error"


with open(sys.argv[1], encoding="utf-8") as names:
    for name in names.read().splitlines():
        print(json.dumps({"file": name, "plistlib": by_plistlib(name), "libplist": by_libplist(name)}))
