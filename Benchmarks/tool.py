#!/usr/bin/env python3
"""What kvdefaults takes as a process, beside other programs that do the same. Prints rows (report.py)."""
import json
import os
import plistlib
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = str(ROOT / "build/kvdefaults")
SCHEMA = """<schemalist><schema id="com.example.bench" path="/com/example/bench/">{keys}</schema></schemalist>"""


def seconds(command, environment):
    start = time.perf_counter()
    result = subprocess.run(command, env=environment, capture_output=True, check=True)
    return time.perf_counter() - start, result.stdout.decode().strip()


def medians(commands, environment, runs):
    """Seconds of each command, run in turn: a process is slower behind one that has used much memory."""
    times = {name: [] for name in commands}
    answers = {}
    for _ in range(runs):
        for name in random.sample(list(commands), len(commands)):
            took, answers[name] = seconds(commands[name], environment)
            times[name].append(took)
    return {name: statistics.median(list_) for name, list_ in times.items()}, answers


def row(name, times):
    peers = "".join(f"\t{peer}={took * 1e3:.3f}" for peer, took in times.items() if peer != "ours")
    print(f"row\t{name}\tms\t{times['ours'] * 1e3:.3f}{peers}")


def get(folder, environment):
    values = {f"key-{number}": number for number in range(1000)}
    (folder / "com.example.bench.plist").write_bytes(plistlib.dumps(values))
    schemas = folder / "schemas"
    schemas.mkdir()
    keys = "".join(f'<key name="{key}" type="i"><default>{value}</default></key>' for key, value in values.items())
    (schemas / "bench.gschema.xml").write_text(SCHEMA.format(keys=keys))
    subprocess.run(["glib-compile-schemas", str(schemas)], check=True)
    environment = {**environment, "GSETTINGS_SCHEMA_DIR": str(schemas), "GSETTINGS_BACKEND": "keyfile"}
    times, answers = medians({
        "ours": [TOOL, "get", "com.example.bench", "key-500"],
        "gsettings": ["gsettings", "get", "com.example.bench", "key-500"],
        "plistutil": ["plistutil", "-i", str(folder / "com.example.bench.plist"), "-f", "bin", "-o", "/dev/null"],
        "python plistlib": ["python3", "-c", "import plistlib, sys\n"
                            "print(plistlib.load(open(sys.argv[1], 'rb'))['key-500'])",
                            str(folder / "com.example.bench.plist")],
    }, environment, 40)
    assert answers["ours"] == answers["gsettings"] == answers["python plistlib"] == "500", answers
    row("get of a number, 1,000 keys", times)


def lint(folder, environment):
    records, size = [], 0
    while size < 10_000_000:
        number = len(records)
        records.append({"name": f"record {number}", "width": number, "ratio": number / 7, "tags": ["a", "b"], "on": True})
        size += 260
    files = {"XML": folder / "large.plist", "JSON": folder / "large.json"}
    files["XML"].write_bytes(plistlib.dumps({"records": records}))
    files["JSON"].write_text(json.dumps({"records": records * 3}))
    peers = {"XML": {"plistutil": ["plistutil", "-i", str(files["XML"]), "-f", "bin", "-o", "/dev/null"]},
             "JSON": {"python3 -m json.tool": ["python3", "-m", "json.tool", str(files["JSON"]), "/dev/null"]}}
    for kind, file in files.items():
        megabytes = file.stat().st_size / 1e6
        times, _ = medians({"ours": [TOOL, "lint", str(file)], **peers[kind]}, environment, 7)
        # To the size that the row names.
        row(f"lint, 10 MB of {kind}", {name: took * 10 / megabytes for name, took in times.items()})


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "XDG_CONFIG_HOME": name, "XDG_DATA_HOME": name, "HOME": name}
        get(folder, environment)
        lint(folder, environment)


if __name__ == "__main__":
    main()
