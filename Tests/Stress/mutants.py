#!/usr/bin/env python3
"""Puts small faults into the code, one after the other, and lists those that no test sees.

    mutants.py [--part lists|coding|store|lua] [--every N] [--jobs N] [--file TEXT] [--without SUITES | --only SUITES]
               [--again] [--fresh] [--list]

The faults are made mechanically: a statement left out, the error of a call swallowed, a condition inverted, a bound
moved by one, a binding that finds nothing, two lists joined the other way round. All of a part are written at once into
a copy of the tree in build/mutants, each chosen by the environment variable KVCODABLE_MUTANT when a program starts, and
built once; those that do not compile are left out. Each suite then runs once without a fault and notes which ones it
reaches, and after that for each fault the suites that reach it, the likeliest and quickest first, until one fails. A
suite that hangs has failed.

What is known is in build/mutants/PART/results.jsonl, and is not tried again: a run that was stopped goes on. --again
tries those that nothing had seen (as --only with what takes long after a run --without it); --fresh makes the copy anew, which a
changed test or line needs (results stay); --every takes a sample. Faults that mutants.txt explains are neither tried
again nor listed. Ends with the counts. Not part of `make stress`: a part takes one or two hours.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from mutation import clang, swift
from mutation.source import Source
from mutation.suites import PARTS

ROOT = Path(__file__).resolve().parent.parent.parent
EXPLAINED = Path(__file__).parent / "mutants.txt"


class Part:
    """One room's mutants, in a copy of the tree."""

    def __init__(self, name):
        self.setup = PARTS[name]
        self.folder = ROOT / "build/mutants" / name
        self.tree = self.folder / "tree"
        self.language = swift if self.setup.language == "swift" else clang
        self.sources = sorted(path.relative_to(ROOT).as_posix() for pattern in self.setup.sources
                              for path in ROOT.glob(pattern))
        self.results_file = self.folder / "results.jsonl"

    # ---- The copy

    def copy(self):
        """The tree as it is in the folder, commits or not; files that did not change keep their time."""
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE,
                               text=True, check=True).stdout.splitlines()
        for name in files:
            target = self.tree / name
            if name in self.sources or not (ROOT / name).is_file():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            write(target, (ROOT / name).read_bytes())
            shutil.copymode(ROOT / name, target)
        for path in [path for room in ("Sources", "Tests", "include", "lua") for path in (self.tree / room).rglob("*")]:
            if path.is_file() and path.relative_to(self.tree).as_posix() not in files and "__pycache__" not in path.parts:
                path.unlink()
        self.setup.prepare(self.tree, ROOT)

    def make(self):
        """Writes the mutants, and builds; leaves out those that do not compile."""
        self.copy()
        found = {name: self.language.find((ROOT / name).read_text()) for name in self.sources}
        alive = {name: source.finish(mutants, name) for name, (source, mutants) in found.items()}
        for name, mutants in alive.items():
            lines = self.setup.compiled_lines(ROOT, name)
            mutants[:] = [mutant for mutant in mutants if lines is None or found[name][0].line(mutant.start) in lines]
        total = sum(map(len, alive.values()))
        # What did not compile last time will not now.
        memory = self.folder / "dropped.json"
        known = set(json.loads(memory.read_text())) if memory.exists() else set()
        keys = {mutant.key for mutants in alive.values() for mutant in mutants}
        for mutants in alive.values():
            mutants[:] = [mutant for mutant in mutants if mutant.key not in known]
        while True:
            number = 0
            for name, (source, _) in found.items():
                for mutant in alive[name]:
                    number += 1
                    mutant.number = number
                write(self.tree / name, self.setup.head(source.mutated(alive[name])).encode())
            errors, log = self.setup.compile(self.tree, self.sources)
            if errors is None:
                break
            # An error in a closure may be told of the line on which that begins, or of another in its function.
            for around in (lambda _, line: [line], lambda _, line: range(line, line + 4), Source.function):
                dropped = sum(drop(found[name][0], alive[name], {n for line in lines for n in around(found[name][0], line)})
                              for name, lines in errors.items() if name in alive)
                if dropped:
                    break
            else:
                sys.exit(log[-6000:])
            print(f"{dropped} that do not compile", flush=True)
            memory.write_text(json.dumps(sorted(keys - {mutant.key for mutants in alive.values() for mutant in mutants})))
        self.setup.build(self.tree)
        mutants = [mutant for name in self.sources for mutant in alive[name]]
        (self.folder / "mutants.json").write_text(json.dumps([vars(mutant) | {"key": mutant.key} for mutant in mutants]))
        print(f"{len(mutants)} mutants, {total - len(mutants)} that do not compile", flush=True)

    def load(self):
        return json.loads((self.folder / "mutants.json").read_text())

    # ---- Running

    def run(self, suite, number, seconds, reach=None):
        """Whether a suite passes with a mutant, and how long it took; a hang has failed."""
        scratch = self.folder / f"scratch/{threading.get_ident()}"
        scratch.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "KVCODABLE_MUTANT": str(number), "TMPDIR": str(scratch), "HOME": str(scratch)}
        if reach:
            environment["KVCODABLE_MUTANT_REACH"] = str(reach)
        start = time.monotonic()
        process = subprocess.Popen(suite.command, cwd=self.tree, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                   preexec_fn=lambda: bounded(int(seconds)))
        try:
            output, _ = process.communicate(timeout=4 * seconds)
            passed = process.returncode == 0
        except subprocess.TimeoutExpired:
            output, passed = b"", False
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            shutil.rmtree(scratch, ignore_errors=True)
        return passed, time.monotonic() - start, output

    def baseline(self, count):
        """For each suite how long it takes, and which mutants it reaches."""
        known = self.folder / "baseline.json"
        result = json.loads(known.read_text()) if known.exists() else {}
        for suite in [suite for suite in self.setup.suites(self.tree) if suite.name not in result]:
            reach = self.folder / "reach"
            for attempt in range(3):
                reach.write_bytes(bytes(count + 1))
                reach.chmod(0o666)
                passed, seconds, output = self.run(suite, 0, 600, reach)
                if passed:
                    break
            else:
                print(output.decode(errors="replace")[-3000:])
                sys.exit(f"{suite.name} fails without a fault")
            found = [number for number, byte in enumerate(reach.read_bytes()) if byte]
            result[suite.name] = {"seconds": seconds, "reached": found}
            print(f"  {suite.name}: {seconds:.1f} s, reaches {len(found)}", flush=True)
        known.write_text(json.dumps(result))
        return result

    def judge(self, mutant, suites, baseline, chances):
        """The suite that sees a mutant; nothing for none."""
        reaching = [suite for suite in suites if mutant["number"] in baseline[suite.name]["reached"]]
        # What is likely to see it for little time comes first.
        reaching.sort(key=lambda suite: baseline[suite.name]["seconds"] / chances.of(mutant["file"], suite.name))
        for suite in reaching:
            limit = max(8, 4 * baseline[suite.name]["seconds"])
            passed = self.run(suite, mutant["number"], limit)[0]
            # What goes by the clock may fail on a busy machine without a fault.
            if not passed and suite.is_timed:
                passed = self.run(suite, mutant["number"], limit)[0]
            chances.note(mutant["file"], suite.name, not passed)
            if not passed:
                return suite.name
        return ""

    def results(self):
        if not self.results_file.exists():
            return {}
        lines = (json.loads(line) for line in self.results_file.read_text().splitlines())
        return {line["key"]: line for line in lines}

    def judge_all(self, mutants, baseline, jobs, is_wanted):
        suites = [suite for suite in self.setup.suites(self.tree) if is_wanted(suite.name)]
        chances = Chances()
        files = {mutant["key"]: mutant["file"] for mutant in self.load()}
        for line in self.results().values():
            if line["key"] in files and line["seen"] not in ("", "unreached"):
                chances.note(files[line["key"]], line["seen"], True)
        for entry in baseline.values():
            entry["reached"] = set(entry["reached"])
        reached = set().union(*(entry["reached"] for entry in baseline.values()))
        lock = threading.Lock()
        done = 0

        def work(mutant):
            nonlocal done
            seen = self.judge(mutant, suites, baseline, chances) if mutant["number"] in reached else "unreached"
            with lock, self.results_file.open("a") as file:
                file.write(json.dumps({"key": mutant["key"], "seen": seen}) + "\n")
                done += 1
                if not seen or done % 100 == 0:
                    print(f"[{done}/{len(mutants)}] {mutant['file']}:{mutant['line']} {mutant['kind']} "
                          f"{mutant['code'][:80]}: {seen or 'NOT SEEN'}", flush=True)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for future in [pool.submit(work, mutant) for mutant in mutants]:
                future.result()


class Chances:
    """How often each suite has seen a fault in a file, as far as is known."""

    def __init__(self):
        self.tried, self.seen = collections.Counter(), collections.Counter()

    def note(self, file, suite, was_seen):
        for key in (suite, (file, suite)):
            self.tried[key] += 1
            self.seen[key] += was_seen

    def of(self, file, suite):
        everywhere = (self.seen[suite] + 1) / (self.tried[suite] + 4)
        return (self.seen[file, suite] + 2 * everywhere) / (self.tried[file, suite] + 2)


def bounded(seconds):
    """A fault may ask for all memory, and run without end: on a busy machine the processor's time tells. The limit of a
    file's size is the tests' own."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def write(path, data):
    """Only where it is something else, so that it is not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def drop(source, mutants, lines):
    """Leaves out the mutants that make these lines an error: those that begin or end there, else the one around."""
    dropped = set()
    for line in lines:
        spans = [(mutant, source.line(mutant.start), source.line(mutant.end)) for mutant in mutants]
        for kinds in (("delete", "swallow"), ("unbind", "boundary", "swap"), ("invert",)):
            hit = [mutant for mutant, first, last in spans if line in (first, last) and mutant.kind in kinds]
            if hit:
                break
        if not hit:
            hit = [mutant for mutant, first, last in spans if first <= line <= last][-1:]
        dropped |= {id(mutant) for mutant in hit}
    mutants[:] = [mutant for mutant in mutants if id(mutant) not in dropped]
    return len(dropped)


def explained():
    """The faults that are none, with their reasons: `file | kind | code | reason` in each line."""
    if not EXPLAINED.exists():
        return {}
    lines = [line for line in EXPLAINED.read_text().splitlines() if line and not line.startswith("#")]
    result = {}
    for line in lines:
        file, kind, code, reason = (field.strip() for field in line.split("|", 3))
        result[file, kind, code] = reason
    return result


def reason_of(mutant, reasons):
    name = mutant["file"].rsplit("/", 1)[-1]
    return reasons.get((name, mutant["kind"], mutant["code"])) or reasons.get((name, mutant["kind"], "*"))


def report(mutants, results, reasons):
    counts, left = collections.Counter(), []
    for mutant in mutants:
        seen = results.get(mutant["key"], {}).get("seen")
        reason = reason_of(mutant, reasons)
        if seen is None:
            counts["not tried"] += 1
        elif seen and seen != "unreached":
            counts["seen"] += 1
        elif reason:
            counts["explained"] += 1
        else:
            counts[seen or "not seen"] += 1
            left.append((mutant, seen or "not seen"))
    for mutant, outcome in left:
        print(f"{outcome}: {mutant['file']}:{mutant['line']}: {mutant['kind']}: {mutant['code']}")
    print(f"{len(mutants)} mutants: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return len(left)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=sorted(PARTS), action="append")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", default="", help="a pattern of their names")
    parser.add_argument("--without", default="", help="suites to leave out, with commas between them")
    parser.add_argument("--only", default="", help="suites to run, with commas between them")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    left, reasons = 0, explained()
    for name in arguments.part or sorted(PARTS):
        part = Part(name)
        part.folder.mkdir(parents=True, exist_ok=True)
        if arguments.fresh or not (part.folder / "mutants.json").exists():
            (part.folder / "baseline.json").unlink(missing_ok=True)
            part.make()
        mutants = part.load()
        if not arguments.list:
            baseline = part.baseline(len(mutants))
            results = part.results()
            wanted = [mutant for mutant in mutants[::arguments.every] if re.search(arguments.file, mutant["file"])]
            open_ones = [mutant for mutant in wanted if mutant["key"] not in results or arguments.again
                         and results[mutant["key"]]["seen"] in ("", "unreached") and not reason_of(mutant, reasons)]
            # Those that are explained are the slowest to judge, and the least likely to be seen.
            open_ones.sort(key=lambda mutant: reason_of(mutant, reasons) is not None)
            without, only = arguments.without.split(","), arguments.only.split(",")
            part.judge_all(open_ones, baseline, arguments.jobs,
                           lambda suite: suite not in without and (only == [""] or suite in only))
        left += report(mutants, part.results(), reasons)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
