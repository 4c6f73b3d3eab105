"""What the rows share: the program that they run, readers that are not ours, and checks of the files."""
import glob
import os
import pathlib
import plistlib
import random
import sqlite3
import stat
import subprocess

import tap

ENGINES = ("plist", "sqlite")


class Broken(Exception):
    """A promise that did not hold."""


def read_store(path):
    """The store's dictionary, by another reader than ours; {} for none."""
    if not os.path.exists(path):
        return {}
    if path.endswith(".plist"):
        with open(path, "rb") as file:
            return plistlib.load(file)
    database = sqlite3.connect(path)
    try:
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise Broken("integrity_check failed")
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name='defaults'").fetchone():
            return {}
        rows = database.execute("SELECT key, value FROM defaults WHERE value IS NOT NULL")
        return {key: plistlib.loads(value) for key, value in rows}
    finally:
        database.close()


def check_modes(folder):
    for path in glob.glob(folder + "/*") + glob.glob(folder + "/.*"):
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        if os.path.isfile(path) and mode != 0o600:
            raise Broken(f"{path} has mode {mode:o}")


class Proofs:
    """How the rows are to run: how long, with which program, from which seed."""

    def __init__(self, helper, is_full, seed, scratch, interposer=None):
        self.helper = os.path.abspath(helper)
        self.is_full = is_full
        self.random = random.Random(seed)
        self.scratch = scratch
        self.interposer = interposer or self.compiled("interpose.c")

    def size(self, short, full):
        return full if self.is_full else short

    def compiled(self, source):
        """A program of Tests/Support as a library to be loaded before others."""
        return tap.preloaded(source, self.scratch)

    def run(self, *command, timeout=120, **environment):
        return subprocess.run(
            [self.helper, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **environment}, timeout=timeout, text=True)

    def start(self, *command, **options):
        return subprocess.Popen(
            [self.helper, *map(str, command)], stdout=subprocess.PIPE, text=True, bufsize=1, **options)
