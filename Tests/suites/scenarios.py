#!/usr/bin/env python3
"""Runs the scenarios of Tests/Scenarios with kvdefaults. Each step is a command of its own, so that every program is
another process. Prints TAP."""
import json
import os
import plistlib
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tap  # noqa: E402

TOOL = tap.ROOT / "build/kvdefaults"
FOLDER = tap.ROOT / "Tests/Scenarios"
NAME = "com.example.scenario"
# The editor tells that the file is open, and ends when the changed file is there.
EDITOR = """#!/bin/sh
echo "$1" > opening
mv opening opened
tries=0
while ! [ -e edited ] && [ $((tries += 1)) -lt 2000 ]; do sleep 0.01; done
mv edited "$1"
"""


KEYS = {"name", "in", "engines", "schema", "start", "steps", "stored", "global", "administrator", "managed"}


class Failed(Exception):
    """What a command printed as its error."""


def text(value):
    """A value as one text, in which 1 differs from true."""
    return json.dumps(value, sort_keys=True)


def place(path):
    """A path as people write it."""
    words = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(words).removeprefix(".")


class Run:
    """One scenario with one engine, in a folder of its own."""

    def __init__(self, scenario, engine):
        self.scenario, self.engine = scenario, engine
        self.folder = Path(tempfile.mkdtemp(prefix="scenario-"))
        self.file = self.folder / "config" / f"{NAME}.{'sqlite' if engine == 'sqlite' else 'plist'}"
        self.file.parent.mkdir(mode=0o700)
        types = self.folder / f"data/kvcodable/types/{NAME}.kvtypes"
        if "schema" in scenario:
            types.parent.mkdir(parents=True, mode=0o700)
            types.write_text(f"root {scenario['schema']}\n" + (FOLDER / "types.kvtypes").read_text())
        editor = self.folder / "editor"
        editor.write_text(EDITOR)
        editor.chmod(0o755)
        self.write_layers()
        self.environment = tap.environment(
            KVCODABLE_DEFAULTS_DIR=self.folder / "defaults",
            XDG_CONFIG_HOME=self.file.parent, XDG_DATA_HOME=self.folder / "data", XDG_DATA_DIRS=self.folder / "none",
            HOME=self.folder, TMPDIR=self.folder, EDITOR=editor, VISUAL="", LC_ALL="C.UTF-8")

    def write_layers(self):
        """Writes the files of the layers that kvdefaults looks at: it registers no defaults, and has no suites."""
        unknown = set(self.scenario) - KEYS
        assert not unknown, f"unknown keys {unknown}"
        for key, name in (("global", "config/.GlobalPreferences"), ("administrator", f"defaults/{NAME}"),
                          ("managed", f"etc/kvcodable/managed/{NAME}")):
            if key in self.scenario:
                file = self.folder / f"{name}.plist"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(plistlib.dumps(self.scenario[key]))

    def words(self):
        """The words in front of a command: with a managed file it has a folder /etc of its own."""
        if "managed" not in self.scenario:
            return [str(TOOL)]
        others = [] if os.geteuid() == 0 else ["--map-root-user"]
        script = f"mount --bind '{self.folder}/etc' /etc && exec \"$@\""
        return ["unshare", *others, "--mount", "sh", "-c", script, "sh", str(TOOL)]

    def command(self, *words):
        """What a command prints; Failed where it fails for another reason than an absent value."""
        result = subprocess.run([*self.words(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL, cwd=self.folder, env=self.environment, timeout=60)
        if result.returncode > 1:
            raise Failed(result.stderr)
        return result.stdout

    @staticmethod
    def compare(what, expected, found):
        assert text(expected) == text(found), f"{what}: expected {text(expected)}, found {text(found)}"

    # ---- Steps

    def take(self, step):
        expected = step.get("fails", {})
        try:
            self.write(step["write"]) if step.get("by") == "foreign" else self.take_own(step)
        except Failed as failure:
            assert "fails" in step and place(expected.get("path", [])) in str(failure), failure
            if "message" in expected:
                self.compare("error", f"kvdefaults: {NAME}: {expected['message']}\n", str(failure))
            return
        assert "fails" not in step, f"no failure of {step}"

    def take_own(self, step):
        if "set" in step:
            self.set([step])
        elif "remove" in step:
            self.command("unset", NAME, place(step["remove"]))
        elif "reset" in step:
            self.command("reset", NAME, place(step["reset"]))
        elif "get" in step:
            found = json.loads(self.command("get", NAME, place(step["get"]), "--json") or "null")
            self.compare(place(step["get"]), step.get("is"), found)
        elif "transaction" in step:
            self.set(step["transaction"])
        elif "edit" in step:
            self.edit(step)
        elif "file" in step:
            self.compare("file", self.own(step["file"]), self.own(self.stored()))
        else:
            assert {"sync", "close", "reopen"} & set(step), f"unknown step {step}"

    def set(self, steps):
        words = [word for step in steps for word in (place(step["set"]), json.dumps(step["to"]))]
        self.command("set", NAME, "--", *words)

    def edit(self, step):
        editing = subprocess.Popen([str(TOOL), "edit", NAME, place(step["edit"])], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment)
        opened, deadline = self.folder / "opened", time.monotonic() + 20
        while not opened.exists() and editing.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        lines = Path(opened.read_text().strip()).read_text().splitlines()
        value = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
        for inner in step.get("meanwhile", []):
            self.take(inner)
        value.update(step.get("with", {}))
        for key in step.get("without", []):
            del value[key]
        (self.folder / "new").write_text(json.dumps(value))
        (self.folder / "new").rename(self.folder / "edited")
        _, error = editing.communicate(timeout=20)
        assert editing.returncode == 0, error

    # ---- The file

    def write(self, value):
        """Replaces the file as a program that does not know the library does. A JSON file keeps its format."""
        if value is None and self.engine == "json":
            value = {}
        if value is None:
            return
        new = self.folder / "new.plist"
        new.write_bytes(plistlib.dumps(value) if self.engine == "xml" else json.dumps(value).encode())
        if self.engine == "sqlite":
            self.command("copy", str(new), str(self.file), "--sqlite")
        else:
            new.rename(self.file)

    def run(self):
        self.write(self.scenario.get("start"))
        for step in self.scenario["steps"]:
            self.take(step)
        self.compare("stored", self.own(self.scenario["stored"]), self.own(self.stored()))

    def stored(self):
        """What the file holds."""
        if self.engine == "sqlite":
            return json.loads(self.command("export", NAME, "--format", "json") or "{}")
        content = self.file.read_bytes() if self.file.exists() else b"{}"
        return json.loads(content) if content.startswith(b"{") else plistlib.loads(content)

    def own(self, values):
        """What the file is compared by: the order of unset paths does not count, and what is read through the store
        has none."""
        paths = values.get("KVUnset")
        values = {key: value for key, value in values.items() if key != "KVUnset"}
        if paths is not None and self.engine != "sqlite":
            values["KVUnset"] = sorted(map(text, paths)) if isinstance(paths, list) else paths
        return values


def runs(scenario, content, engine):
    allowed = scenario.get("in", content.get("in", ["kvdefaults"]))
    is_foreign = '"by": "foreign"' in json.dumps(scenario)
    return "kvdefaults" in allowed and engine in scenario.get("engines", [engine]) \
        and not (is_foreign and engine == "sqlite")


def main():
    for file in sorted(FOLDER.glob("*.json")):
        content = json.loads(file.read_text())
        for scenario in content["scenarios"]:
            for engine in [name for name in ("xml", "json", "sqlite") if runs(scenario, content, name)]:
                run, problem = None, ""
                try:
                    run = Run(scenario, engine)
                    run.run()
                except (AssertionError, Failed, OSError, subprocess.TimeoutExpired, ValueError) as error:
                    problem = f"{type(error).__name__}: {error}"
                tap.check(not problem, f"{scenario['name']} ({engine})", problem)
                if run:
                    shutil.rmtree(run.folder)
    tap.finish()


main()
