#!/usr/bin/env python3
"""Stores of a fleet, proved on real PostgreSQL servers.

    fleet.py [--full] [ROW ...]

Servers, a pooler and a proxy that does harm at any message run in a folder of the test's own, by a user that is not root,
and are ended by their process ids. The programs are Lua processes; the oracle is the server itself, asked by psql. Short by
default, with --full the full figures. Prints TAP.
"""
import argparse
import json
import os
import plistlib
import pwd
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from servers.proxy import Plan, Proxy
from servers.postgresql import USER, Pooler, Server, free_port
from tap import ROOT, SWIFT, check, environment, finish, preloaded, run, skip

DRIVER = ROOT / "Tests/Support/fleet.lua"


class Program:
    """A Lua process on the driver's lines."""

    def __init__(self, fleet, prefix=(), **changes):
        usual = {"LUA_CPATH": f"{ROOT}/build/?.so;;", "XDG_CACHE_HOME": f"{fleet.folder}/cache",
                 "XDG_CONFIG_HOME": f"{fleet.folder}/config"}
        self.environment = environment(**{**usual, **changes})
        self.process = subprocess.Popen([*prefix, "lua5.4", str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=self.environment, text=True, bufsize=1)
        fleet.programs.append(self)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self, seconds=60):
        """The answer's first word and the rest; None where none comes in time."""
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return None, f"no answer in {seconds} s"
        line = self.process.stdout.readline()
        if not line:
            return None, f"the program is gone: {self.process.stderr.read()[-800:]}"
        code, _, rest = line.rstrip("\n").partition(" ")
        return code, rest

    def call(self, line, seconds=60):
        self.send(line)
        return self.receive(seconds)

    def value(self, line, seconds=60):
        """What a line gives that must go well."""
        code, rest = self.call(line, seconds)
        if code != "ok":
            raise AssertionError(f"{line}: {code} {rest}")
        return rest

    def end(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait()

    def close(self, seconds=20):
        """Ends the program as one that comes to its end; what it wrote to standard error."""
        self.process.stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
            return "did not end"
        return self.process.stderr.read()


class Fleet:
    """A server, a proxy before it, and programs."""

    def __init__(self, folder, full):
        self.folder, self.full = folder, full
        self.programs = []
        self.count = 0
        self.server = Server(folder)
        self.server.make_tables()
        self.proxy = Proxy(path=f"{folder}/.s.PGSQL.{self.server.port}")

    def store(self):
        """A name that no other row has."""
        self.count += 1
        return f"store{self.count}"

    def options(self, text=None, **more):
        """The options of a store, as Lua."""
        options = {"engine": "postgresql", "server": text or self.server.text(), "timeout": 5, **more}
        return "{" + ", ".join(f"{name} = {json.dumps(value)}" for name, value in options.items()) + "}"

    def open(self, name, text=None, program=None, cache=None, **more):
        program = program or Program(self, **({"XDG_CACHE_HOME": cache} if cache else {}))
        program.value(f"return open({json.dumps(name)}, {self.options(text, **more)})")
        return program

    def far(self):
        """The server by way of the proxy."""
        return self.server.text(port=self.proxy.port)

    def stored(self, name, key):
        """What the server has, as JSON."""
        text = self.server.sql(f"SELECT value FROM kv WHERE store = '{name}' AND key = '{key}'")
        return json.loads(text) if text else None

    def clear(self):
        for program in self.programs:
            program.end()
        self.programs = []
        self.proxy.join()
        self.proxy.plan = Plan()


ROWS = []


def row(body):
    ROWS.append(body)
    return body


def eventually(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


# ---- Values


@row
def values(fleet):
    """What one machine sets another reads, also people with psql."""
    name = fleet.store()
    one, other = fleet.open(name), fleet.open(name, durability="immediate", note="why")
    one.value("s:set('limits', { burst = 5, names = { 'a', 'b' }, ratio = 0.5, on = true }) return sync()")
    check(fleet.stored(name, "limits") == {"burst": 5, "names": ["a", "b"], "ratio": 0.5, "on": True},
          "values are there as JSON for people")
    check(other.value("return await(5, function() return s:get{'limits', 'burst'} == 5 end)") == "true",
          "another machine sees them")
    other.value("s:set({'limits', 'burst'}, 6)")
    one.value("s:set({'limits', 'on'}, false) return sync()")
    check(fleet.stored(name, "limits")["burst"] == 6 and fleet.stored(name, "limits")["on"] is False,
          "changes of two machines inside one value are merged by path")
    other.value("s:remove 'limits'")
    check(fleet.stored(name, "limits") is None and
          one.value("return await(5, function() return s:get 'limits' == nil end)") == "true",
          "a removal is seen, too")
    who = fleet.server.sql(f"SELECT string_agg(revision || ':' || who, ' ' ORDER BY revision) FROM kv_change WHERE store = '{name}'")
    check(who == "1:owner 2:owner 3:owner 4:owner", "the history says who", who)
    notes = fleet.server.sql(f"SELECT string_agg(coalesce(note, '-'), ' ' ORDER BY revision) FROM kv_change WHERE store = '{name}'")
    check(notes == "- why - why", "and why", notes)
    check(one.value("return s:file()") == "nil", "the store has no file")
    code, rest = one.call(f"return error(select(2, kv.open('{name}', {fleet.options()[:-1]}, note = 'a\\0b' }})))")
    check(code == "misuse" and "without NUL" in rest, "a note is a text that the server can hold", f"{code} {rest}")
    fresh = fleet.open(fleet.store())
    check(fresh.value("return pcall(s.update, s, 'a', function() error 'not today' end)") == "false"
          and fresh.value("s:set('a', 1) sync() kv.pump() return told 'stale'") == "nil",
          "a first transaction that is rolled back leaves the store as it was")
    one.value("s:set('last', 1)")
    check(one.close() == "" and fleet.stored(name, "last") == 1, "what waits is written when the program ends")


@row
def watch(fleet):
    """A commit is told to the others by the time that it takes to read it."""
    name = fleet.store()
    one, other = fleet.open(name, durability="immediate"), fleet.open(name)
    other.value("seen = {} s:watch('n', function(_, new) seen[#seen + 1] = new end)")
    count = 200 if fleet.full else 40
    other.send(f"return await(20, function() return s:get 'n' == {count} end)")
    start = time.monotonic()
    for i in range(1, count + 1):
        one.value(f"s:set('n', {i})")
    check(other.receive(25) == ("ok", "true"), f"{count} commits are taken up")
    spent = time.monotonic() - start
    check(other.value("for i = 2, #seen do if seen[i] <= seen[i - 1] then return i end end return 'sorted'") == "sorted",
          f"in their order ({spent / count * 1000:.2f} ms for each commit and its call)")


@row
def between(fleet):
    """A change that is written while another is being read is not left lying."""
    name = fleet.store()
    writer = fleet.open(name, durability="immediate")
    reader = fleet.open(name, text=fleet.far())
    writer.value("s:set('n', 0)")
    reader.value("return await(10, function() return s:get 'n' == 0 end)")
    fleet.proxy.plan.delay = 0.01
    slow = []
    rounds = 200 if fleet.full else 20
    for i in range(rounds):
        writer.value(f"s:set('n', {2 * i + 1})")
        time.sleep(random.uniform(0, 0.15))
        writer.value(f"s:set('n', {2 * i + 2})")
        start = time.monotonic()
        if reader.value(f"return await(20, function() return s:get 'n' == {2 * i + 2} end)", 60) != "true":
            slow.append("never")
        elif time.monotonic() - start > 2:
            slow.append(f"{time.monotonic() - start:.1f} s")
    check(not slow, f"{rounds} changes amid the reading of others are there at once, on a slow network", str(slow))


@row
def updates(fleet):
    """Eight processes count under one key."""
    name, each = fleet.store(), 1000 if fleet.full else 40
    programs = [fleet.open(name, cache=f"{fleet.folder}/cache{i}", timeout=60) for i in range(8)]
    for i, program in enumerate(programs):
        program.send(f"for i = 1, {each} do add('count') s:set({{'own', 'p{i}'}}, i) end return sync()")
    answers = [program.receive(300) for program in programs]
    check(all(answer == ("ok", "true") for answer in answers), f"8 processes, {each} updates each", str(answers))
    check(fleet.stored(name, "count") == 8 * each, f"none of {8 * each} updates is lost",
          str(fleet.stored(name, "count")))
    check(fleet.stored(name, "own") == {f"p{i}": each for i in range(8)}, "nor one of the sets beside them",
          str(fleet.stored(name, "own")))


# ---- Harm


def settled(fleet, name, program, before, told):
    """After harm: the counter is what was acknowledged, and one more where that was left unknown and has happened."""
    count = int(program.value("sync() return s:get 'count' or 0", 30)) if told == "ok" else None
    if count is None:
        code, rest = program.call("local ok, e = s:sync() if not ok then error(e, 0) end return s:get 'count' or 0", 30)
        if code != "ok":
            return None
        count = int(rest)
    stored = fleet.stored(name, "count") or 0
    if count != stored:
        return None
    if told == "ok":
        return stored if stored == before + 1 else None
    if told == "outcome_unknown":
        return stored if stored in (before, before + 1) else None
    return stored if stored == before else None


def messages_of_update(fleet, name):
    """The number of messages of an update over a new connection, without a look that may come between."""
    program = fleet.open(name, text=fleet.far(), durability="immediate")
    fleet.proxy.cut()
    fleet.proxy.join()
    program.value("return await(10, function() return pcall(sync) end)")
    found = []
    for _ in range(4):
        fleet.proxy.cut()
        fleet.proxy.join()
        program.value("return await(10, function() return pcall(add, 'count') end)")
        time.sleep(0.2)
        # The connection may have become the one that listens.
        found.append(max(each.before_listening if each.listens else len(each.messages) for each in fleet.proxy.connections))
    program.end()
    return min(found)


def harm_at_each(fleet, action, what, share=1):
    """Does the harm at each message of an immediate update, one after the other, or at some of them, with the last ones
    among them always; without a share at a few."""
    name = fleet.store()
    total = messages_of_update(fleet, name)
    program = fleet.open(name, text=fleet.far(), timeout=1.5, durability="immediate")
    program.value("return await(10, function() return pcall(sync) end)")
    before, outcomes = fleet.stored(name, "count"), {}
    if share:
        numbers = [number for number in range(1, total + 3) if number % share == 0 or number > total - 10]
    else:
        # Amid the lock, amid the request to commit, and amid its answer.
        numbers = [total // 3, total - 20, total - 14, total - 8, total - 4, total]
    for number in numbers:
        state = {"left": number, "armed": True}

        def harm(connection, message, _):
            if not state["armed"] or connection.listens:
                return "pass"
            state["left"] -= 1
            if state["left"] > 0:
                return "pass"
            state["armed"] = False
            return action

        # Over a new connection each time: its first messages are a part of it.
        fleet.proxy.cut()
        fleet.proxy.join()
        fleet.proxy.plan.harm = harm
        code, rest = program.call("add('count') return true", 30)
        state["armed"] = False
        fleet.proxy.join()
        if code is None:
            return check(False, f"{what} at message {number}: an answer comes", rest)
        found = None
        # The server frees the row of a machine that it hears nothing of after half a minute.
        deadline = time.monotonic() + 50
        while found is None and time.monotonic() < deadline:
            found = settled(fleet, name, program, before, code)
            if found is None:
                time.sleep(0.1)
        if found is None:
            return check(False, f"{what} at message {number}: told {code}, from {before}",
                         f"{rest}; stored {fleet.stored(name, 'count')}, {program.call('return s:get [[count]]')}")
        outcomes[code] = outcomes.get(code, 0) + 1
        before = found
    wanted = {"unreachable", "outcome_unknown"} | ({"ok"} if share else set())
    return check(wanted <= set(outcomes) <= {"ok", *wanted},
                 f"{what}, at {len(numbers)} of the {total} messages of an update: {outcomes}", str(outcomes))


@row
def cut(fleet):
    """The connection breaks at any message of a commit."""
    harm_at_each(fleet, "cut", "the connection breaks before a message", 1 if fleet.full else 2)


@row
def cut_after(fleet):
    """The connection breaks behind any message of a commit."""
    harm_at_each(fleet, "cut-after", "the connection breaks behind a message", 1 if fleet.full else 3)


@row
def swallow(fleet):
    """Bytes vanish at any message of a commit, and nothing closes."""
    harm_at_each(fleet, "swallow", "all that follows vanishes", 1 if fleet.full else None)


@row
def listener(fleet):
    """The connection that listens breaks at any of its messages, and misses nothing."""
    name, rounds = fleet.store(), 60 if fleet.full else 8
    writer = fleet.open(name, durability="immediate")
    reader = fleet.open(name, text=fleet.far(), timeout=2)
    # Without a sign the break is noticed after half a minute.
    actions = ["cut", "cut-after", "swallow"] if fleet.full else ["cut", "cut-after"]
    missed = []
    for i in range(1, rounds + 1):
        state = {"left": random.randrange(1, 60), "action": random.choice(actions)}

        def harm(connection, message, _):
            state["left"] -= 1
            return state["action"] if state["left"] == 0 else "pass"

        fleet.proxy.plan.harm = harm
        fleet.proxy.cut()
        fleet.proxy.join()
        for part in range(5):
            writer.value(f"s:set('n', {i * 5 + part})")
        # Without catching up at each connect, the next look would be half a minute away.
        seconds = 60 if fleet.full else 10
        if reader.value(f"return await({seconds}, function() return s:get 'n' == {i * 5 + 4} end)", 90) != "true":
            missed.append((i, state))
    check(not missed, f"{rounds * 5} commits are seen through {rounds * 2} breaks", str(missed))


@row
def killed(fleet):
    """The server is killed and started again, in the middle of commits; a writer, too."""
    name = fleet.store()
    rounds = 20 if fleet.full else 2
    acknowledged, unknown = 0, 0
    writer = fleet.open(name, timeout=10, durability="immediate")
    reader = fleet.open(name)
    writer.value("add('count')")
    acknowledged += 1
    wrong = []
    for _ in range(rounds):
        writer.send("n = 0 local ok, e repeat ok, e = pcall(add, 'count') if ok then n = n + 1 end until not ok "
                    "return n .. ' ' .. tostring(e.code)")
        time.sleep(random.uniform(0.05, 0.3))
        fleet.server.kill()
        code, rest = writer.receive(60)
        if code != "ok":
            wrong.append(rest)
            break
        done, status = rest.split()
        acknowledged += int(done)
        fleet.server.start()
        for _ in range(200):
            code, rest = writer.call("return sync()", 30)
            if code == "ok":
                break
            time.sleep(0.05)
        stored = fleet.stored(name, "count")
        extra = stored - acknowledged - unknown
        if extra not in ((0, 1) if status == "outcome_unknown" else (0,)):
            wrong.append(f"{stored} stored, {acknowledged} acknowledged, {unknown} unknown, told {status}")
        unknown += extra
        if reader.value(f"return await(40, function() return s:get 'count' == {stored} end)", 60) != "true":
            wrong.append(f"the reader has {reader.value('return s:get [[count]]')} of {stored}")
    check(not wrong, f"{rounds} kills of the server: {acknowledged} acknowledged, {unknown} more of those left unknown",
          "\n".join(wrong))
    total = fleet.stored(name, "count")
    for i in range(rounds * 2):
        victim = fleet.open(name, durability="immediate", cache=f"{fleet.folder}/victim")
        victim.send("while true do add('count') io.write('+') io.flush() end")
        time.sleep(random.uniform(0.01, 0.2))
        victim.end()
        counted = victim.process.stdout.read().count("+")
        # The server's process may be at the last commit still.
        time.sleep(0.1)
        writer.value("add('count')")
        stored = fleet.stored(name, "count")
        if stored - total - counted - 1 not in (0, 1):
            wrong.append(f"{stored} stored, {counted} acknowledged after {total}")
        total = stored
    check(not wrong, f"{rounds * 2} kills of a writer: nothing acknowledged is lost, its lock is free",
          "\n".join(wrong))


class CommitSeen:
    """Whether a message answers a commit that writes the key: looks and locks come between, and carry none."""

    def __init__(self, key):
        self.key, self.connection = key, None

    def is_answered(self, connection, message):
        if message == ">B" and self.key in connection.message:
            self.connection = connection
        return connection is self.connection and message.startswith("<")


@row
def answer_lost(fleet):
    """The answer to COMMIT is lost: the change is made once, though it is repeated."""
    name = fleet.store()
    program = fleet.open(name, text=fleet.far(), timeout=2)
    program.value("s:set('list', { 0 }) return sync()")
    rounds, wrong, told = (100 if fleet.full else 10), [], {}
    for i in range(1, rounds + 1):
        action = "cut" if i % 2 else "swallow"
        commit, harmed = CommitSeen(b"list"), []

        def harm(connection, message, _):
            if harmed or not commit.is_answered(connection, message):
                return "pass"
            harmed.append(message)
            return action

        fleet.proxy.plan.harm = harm
        code, rest = program.call(f"s:set({{'list', {i + 1}}}, {i}) return sync()", 30)
        told[code] = told.get(code, 0) + 1
        fleet.proxy.plan.harm = lambda *_: "pass"
        fleet.proxy.join()
        for _ in range(100):
            if program.call("return sync()", 30)[0] == "ok":
                break
            time.sleep(0.1)
        if fleet.stored(name, "list") != list(range(i + 1)):
            wrong.append(f"{i}: {code} {rest}: {fleet.stored(name, 'list')}")
            break
    check(not wrong, f"{rounds} appends whose answer was lost are there once ({told})", "\n".join(wrong))
    check(told.get("outcome_unknown", 0) > 0 and "unreachable" not in told, "and are told as unknown, never as undone",
          str(told))
    never_asked(fleet, name, program, rounds + 1)


def never_asked(fleet, name, program, number):
    """The answer is lost, and so is the server: its outcome stays unknown until the server can be asked."""
    def is_there():
        return eventually(lambda: program.call("return sync()", 30)[0] == "ok", 20)

    def without_answer(key, *calls):
        is_there()
        commit = CommitSeen(key)

        def harm(connection, message, _):
            if not commit.is_answered(connection, message):
                return "pass"
            fleet.proxy.is_closed = True
            return "cut"

        fleet.proxy.plan.harm = harm
        codes = [program.call(call, 30)[0] for call in calls]
        fleet.proxy.plan.harm = lambda *_: "pass"
        fleet.proxy.join()
        return codes, is_there()

    codes, is_back = without_answer(b"list", f"s:set({{'list', {number}}}, {number - 1}) return sync()",
                                    "s:set('more', 1) return sync()")
    check(is_back and fleet.stored(name, "list") == list(range(number)) and fleet.stored(name, "more") == 1,
          "they are there once, too, where the server was lost as well", str(fleet.stored(name, "list")))
    check(codes == ["outcome_unknown"] * 2, "and unknown until it is back", str(codes))
    fleet.proxy.cut()
    code = program.call("s:set('more', 2) return sync()", 30)[0]
    fleet.proxy.join()
    check(code == "unreachable", "what is known then is unknown no longer", code)
    fleet.open(name, text=fleet.far(), program=program, timeout=2, max_bytes=8000)
    codes, is_back = without_answer(b"large", "s:set('large', ('x'):rep(5000)) return sync()")
    code = program.call("s:set('larger', ('x'):rep(5000)) return sync()", 30)[0]
    check(is_back and (codes, code) == (["outcome_unknown"], "limit_exceeded"), "and counts as what is stored",
          f"{codes} {code}")
    left_alone(fleet, name)


def left_alone(fleet, name):
    """The connection is cut before a commit, which does not come to the server, and no call asks again."""
    def harm(connection, message, _):
        if message != ">B" or b"alone" not in connection.message:
            return "pass"
        fleet.proxy.is_closed = stays
        return "cut"

    program = fleet.open(name, text=fleet.far(), timeout=2, durability="immediate")
    for stays in (False, True):
        program.value("s:set('first', 1) return true")
        fleet.proxy.plan.harm = harm
        code, words = program.call("s:set('alone', 'here') return true", 30)
        fleet.proxy.plan.harm = lambda *_: "pass"
        check(code == "outcome_unknown" and "may have been made already" in words,
              "a commit that may have come there is unknown, and says so", f"{code} {words}")
        if not stays:
            # The library looks by itself what became of it.
            time.sleep(3)
            fleet.proxy.cut()
            code = program.call("return sync()", 30)[0]
            fleet.proxy.join()
            check(code == "unreachable", "and known soon after", code)
            eventually(lambda: program.call("s:set('first', 2) return true", 30)[0] == "ok", 20)
    words = program.close()
    fleet.proxy.join()
    check(words.count("kvcodable:") == 1 and "whether the last changes are stored is not known" in words,
          "who ends before that says so", words)


# ---- Away


@row
def away(fleet):
    """A machine is cut off, goes on, and comes back."""
    name = fleet.store()
    near, far = fleet.open(name, durability="immediate"), fleet.open(name, text=fleet.far(), timeout=2)
    far.value("s:set('limits', { burst = 1, rate = 1 }) return sync()")
    far.value("plain = assert(kv.open('plain'))")
    far.value(f"local keep = s open('{name}', {fleet.options(fleet.far(), timeout=0.3)}) quick = s s = keep")
    for how in ("cut", "block"):
        getattr(fleet.proxy, how)()
        far.value("s:set({'limits', 'burst'}, (s:get{'limits', 'burst'}) + 10)")
        start = time.monotonic()
        code, rest = far.call("return sync()")
        spent = time.monotonic() - start
        check(code == "unreachable" and spent < 4, f"{how}: sync is unreachable within its timeout ({spent:.1f} s)",
              f"{code} {rest}")
        code, rest = far.call("quick:update('limits', function(old) return old end)")
        check(code == "unreachable", f"{how}: also where another thread waits for the server", f"{code} {rest}")
        start = time.monotonic()
        code, rest = far.call("s:update('limits', function(old) return old end)")
        spent = time.monotonic() - start
        check(code in ("unreachable",) and spent < 4, f"{how}: so is a transaction ({spent:.1f} s)", f"{code} {rest}")
        got = far.value("local start = os.clock() for i = 1, 100000 do s:get 'limits' end return os.clock() - start")
        start = time.monotonic()
        far.value("for i = 1, 1000 do s:get 'limits' end")
        check(time.monotonic() - start < 1, f"{how}: gets wait for nothing ({float(got) * 10:.1f} us each)")
        check(far.value("return await(5, function() return told 'disconnected' ~= nil end)") == "true",
              f"{how}: an event says so")
        # Another store of the process is written in its time.
        stamp = far.value(f"plain:set('{how}', '{name}') return plain:file()")
        check(eventually(lambda: Path(stamp).exists() and how in Path(stamp).read_text(), 1),
              f"{how}: a store in a file is written meanwhile")
        near.value("s:set({'limits', 'rate'}, (s:get{'limits', 'rate'}) + 1)")
        fleet.proxy.join()
        check(far.value("return await(40, function() return told 'reconnected' ~= nil end)", 60) == "true",
              f"{how}: back, an event says so")
        wanted = {"burst": 11, "rate": 2} if how == "cut" else {"burst": 21, "rate": 3}
        check(eventually(lambda: fleet.stored(name, "limits") == wanted, 20),
              f"{how}: what waited is written, merged by path", str(fleet.stored(name, "limits")))
        check(far.value(f"return await(10, function() local l = s:get 'limits' return l.burst == {wanted['burst']} and "
                        f"l.rate == {wanted['rate']} end)", 20) == "true", f"{how}: and what others wrote is seen")


@row
def hung(fleet):
    """A server that says nothing any more makes no store in a file wait."""
    name = fleet.store()
    program = fleet.open(name, text=fleet.far(), timeout=10)
    program.value(f"away = s away:set('n', 0) plain = assert(kv.open('beside-{name}')) plain:set('n', 0) "
                  "return plain:sync() and away:sync()")
    path = Path(program.value("return plain:file()"))
    fleet.proxy.block()
    times = []
    for i in range(1, 21):
        start = time.monotonic()
        program.value(f"away:set('n', {i}) plain:set('n', {i})")
        written = eventually(lambda: f"<integer>{i}</integer>" in path.read_text(), 5)
        times.append(time.monotonic() - start if written else 5)
    # Half of them, since the machine may be busy: what waits for a server waits for seconds.
    middle = sorted(times)[len(times) // 2]
    check(middle < 0.2 and max(times) < 1.5, f"sets beside a server that hangs are on the disk in {middle * 1000:.0f} ms, "
          f"{max(times) * 1000:.0f} ms at most", str(times))
    check(fleet.stored(name, "n") == 0, "and those on the server wait")
    fleet.proxy.join()
    check(eventually(lambda: fleet.stored(name, "n") == 20, 40), "until it is back")


@row
def catch_up(fleet):
    """Changes from the time without a connection are taken up when it is back, not at the next look."""
    for what, more in (("told", {}), ("asked for each minute", {"poll_interval": 60})):
        name = fleet.store()
        writer = fleet.open(name, durability="immediate")
        reader = fleet.open(name, text=fleet.far(), timeout=2, **more)
        writer.value("s:set('n', 0)")
        reader.value("return await(3, function() return s:get 'n' == 0 end)")
        late = []
        for i in range(1, 6):
            fleet.proxy.cut()
            reader.value("return await(5, function() return told 'disconnected' end)")
            writer.value(f"s:set('n', {i})")
            fleet.proxy.join()
            if reader.value("return await(40, function() return told 'reconnected' end)", 60) != "true" or \
                    reader.value(f"return await(2, function() return s:get 'n' == {i} end)") != "true":
                late.append(f"{i}: {reader.value('return s:get [[n]]')}")
        check(not late, f"{what}: five times away, and caught up at once", "; ".join(late))


@row
def stuck(fleet):
    """A store that another machine keeps locked keeps no other one waiting."""
    name = fleet.store()
    program = fleet.open(name, timeout=1.5)
    program.value(f"one = s open('{name}b', {fleet.options(timeout=1.5)}) other = s one:set('a', 1) other:set('a', 1) "
                  "return one:sync() and other:sync()")
    holder = subprocess.Popen(
        ["psql", "-X", "-q", "-h", str(fleet.server.folder), "-p", str(fleet.server.port), "-U", "owner", "-c",
         f"BEGIN; SELECT FROM kv_store WHERE name = '{name}' FOR UPDATE; SELECT pg_sleep(6); COMMIT", "postgres"],
        stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    program.value("one:set('a', 2)")
    time.sleep(0.2)
    start = time.monotonic()
    program.value("other:set('a', 2)")
    check(eventually(lambda: fleet.stored(f"{name}b", "a") == 2, 4),
          f"another store is written meanwhile ({time.monotonic() - start:.1f} s)")
    check(fleet.stored(name, "a") == 1, "the locked one is not")
    code, rest = program.call(f"local s = one return s:update('a', function() return 3 end)")
    check(code == "timed_out", "a call that waits for it is told", f"{code} {rest}")
    holder.wait()
    check(eventually(lambda: fleet.stored(name, "a") == 2, 10), "and it is written when it is free")


@row
def cache(fleet):
    """A program starts without its server."""
    name = fleet.store()
    folder = f"{fleet.folder}/cache-{name}"
    program = fleet.open(name, text=fleet.far(), cache=folder)
    program.value("s:set('limits', { burst = 7 }) return sync()")
    def files():
        return list(Path(folder).rglob("*.plist"))

    check(eventually(lambda: files() and b"burst" in files()[0].read_bytes(), 10), "what was seen is kept")
    check(files()[0].stat().st_mode & 0o777 == 0o600, "for the user alone")
    program.end()
    fleet.proxy.cut()
    start = time.monotonic()
    again = fleet.open(name, text=fleet.far(), cache=folder, timeout=5)
    spent = time.monotonic() - start
    check(again.value("return s:get{'limits', 'burst'}") == "7", f"opened without the server ({spent * 1000:.0f} ms "
          "with the start of the program)")
    times = []
    for _ in range(5):
        fresh = Program(fleet, XDG_CACHE_HOME=folder)
        fresh.value("return 1")
        start = time.monotonic()
        fresh.value(f"return open('{name}', {fleet.options(fleet.far())})")
        times.append((time.monotonic() - start) * 1000)
        fresh.end()
    check(min(times) < 20, f"an opening takes {min(times):.1f} ms, with the loading of libpq")
    again.value("s:set('waiting', true)")
    check(fleet.stored(name, "waiting") is None, "a change waits")
    fleet.proxy.join()
    check(eventually(lambda: fleet.stored(name, "waiting") is True, 40), "and is written when the server is back")
    again.end()
    fleet.proxy.cut()
    without = Program(fleet, XDG_CACHE_HOME=f"{fleet.folder}/nothing")
    code, rest = without.call(f"return open('{name}', {fleet.options(fleet.far(), timeout=1)})")
    check(code == "unreachable", "without what was seen, opening fails", f"{code} {rest}")
    files()[0].chmod(0o666)
    without = Program(fleet, XDG_CACHE_HOME=folder)
    code, rest = without.call(f"return open('{name}', {fleet.options(fleet.far(), timeout=1)})")
    check(code == "unreachable" and not files(), "what everybody could have written does not count", f"{code} {rest}")
    fleet.proxy.join()
    deep = fleet.open(name, text=fleet.far(), cache=folder)
    deep.value("local v = 1 for i = 1, 511 do v = { v } end s:set('deep', v) return sync()")
    check(eventually(lambda: files() and b"deep" in files()[0].read_bytes()), "the deepest value is kept")
    deep.end()
    fleet.proxy.cut()
    deep = fleet.open(name, text=fleet.far(), cache=folder)
    check(deep.value("return type(s:get 'deep') .. tostring((told 'unreadable'))") == "tablenil", "and is there without the server")
    deep.end()
    files()[0].write_bytes(b"bplist00 torn")
    fleet.proxy.join()
    mended = fleet.open(name, text=fleet.far(), cache=folder)
    check(mended.value("return s:get{'limits', 'burst'}") == "7" and
          mended.value("return await(3, function() return told 'unreadable' ~= nil end)") == "true",
          "a torn one is thrown away, with an event")


@row
def cache_of_many(fleet):
    """Programs that share what was seen last: the newest is kept, and of a short program too."""
    name = fleet.store()
    folder = f"{fleet.folder}/cache-{name}"

    def kept():
        files = list(Path(folder).rglob("*.plist"))
        return plistlib.loads(files[0].read_bytes())["Values"].get("burst") if files else None

    def keeps(value):
        return eventually(lambda: kept() == value, 5)

    # The values are kept once a second: the slow one stops with 2, which it has not kept yet.
    slow, writer = fleet.open(name, cache=folder), fleet.open(name, durability="immediate", cache=f"{folder}-other")
    for burst in range(2, 200, 2):
        writer.value(f"s:set('burst', {burst - 1})")
        slow.value(f"return await(5, function() return s:get 'burst' == {burst - 1} end)")
        keeps(burst - 1)
        writer.value(f"s:set('burst', {burst})")
        slow.value(f"return await(5, function() return s:get 'burst' == {burst} end)")
        slow.process.send_signal(signal.SIGSTOP)
        if kept() == burst - 1:
            break
        slow.process.send_signal(signal.SIGCONT)
    fast = fleet.open(name, cache=folder)
    writer.value("s:set('burst', 1000)")
    check(keeps(1000), "what was seen is kept", str(kept()))
    fleet.server.stop()
    slow.process.send_signal(signal.SIGCONT)
    time.sleep(2)
    check(kept() == 1000, "a program that comes late does not take it back", str(kept()))
    fleet.server.start()
    fast.end()
    slow.end()
    for how in ("close", "exit"):
        short = fleet.open(name, cache=folder)
        # The first is kept at once, the second would be a second later.
        for value in (f"before {how}", how):
            writer.value(f"return await(20, function() return pcall(s.set, s, 'burst', '{value}') end)", 60)
            found = short.value(f"return await(20, function() return s:get 'burst' == '{value}' end)", 60)
        if how == "close":
            short.value("return s:close()")
            short.end()
        else:
            short.close()
        check(found == "true" and kept() == how, f"a program that is short keeps it: {how}", f"{found} {kept()}")
    writer.value("s:set('burst', 5)")
    short = fleet.open(name, cache=folder)
    check(short.value("sync() return s:get 'burst'") == "5", "one that must have the newest calls sync")


@row
def long_away(fleet):
    """A machine comes back after a thousand revisions."""
    name = fleet.store()
    revisions = 1000
    near, far = fleet.open(name, durability="immediate"), fleet.open(name, text=fleet.far(), timeout=5)
    near.value("s:set('first', true) s:set('gone', true)")
    far.value("return await(5, function() return s:get 'gone' end)")
    fleet.proxy.cut()
    far.value("s:set({'own', 'value'}, 1)")
    near.value(f"for i = 1, {revisions} do s:set('key' .. i % 300, i) end s:remove 'gone'", 60)
    start = time.monotonic()
    fleet.proxy.join()
    caught = far.value("return await(40, function() return s:get 'gone' == nil and #s >= 302 end)", 60)
    check(caught == "true", f"{revisions} revisions are caught up ({time.monotonic() - start:.1f} s, the backoff in it)")
    check(far.value(f"for i = 1, {revisions} do local v = s:get('key' .. i % 300) if v % 300 ~= i % 300 or v <= "
                    f"{revisions} - 300 then return v end end return 'same'") == "same", "with each key as it is")
    check(eventually(lambda: fleet.stored(name, "own") == {"value": 1}, 20), "and what waited is written")
    fleet.server.sql("SELECT kv_prune('0 seconds')")
    near.value("s:remove 'first'")
    check(far.value("return await(10, function() return s:get 'first' == nil end)", 20) == "true",
          "a pruned history is no obstacle")


@row
def pruned(fleet):
    """Removals that are forgotten are seen all the same."""
    name = fleet.store()
    folder = f"{fleet.folder}/cache-{name}"
    far = fleet.open(name, text=fleet.far(), cache=folder)
    far.value("s:set('a', 1) s:set('b', 2) return sync()")
    eventually(lambda: list(Path(folder).rglob("*.plist")))
    time.sleep(1.2)
    far.end()
    near = fleet.open(name, durability="immediate")
    near.value("s:remove 'a' for i = 1, 5 do s:set('c', i) end")
    fleet.server.sql("SELECT kv_prune('0 seconds')")
    back = fleet.open(name, text=fleet.far(), cache=folder)
    check(back.value("return await(10, function() return s:get 'a' == nil and s:get 'c' == 5 and s:get 'b' == 2 end)",
                     20) == "true", "a removal older than what the server remembers is taken up")
    check(back.value("return told 'stale'") == "nil", "without a false alarm")


# ---- Layers


def lua(value):
    """A value as Lua."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{json.dumps(key)}] = {lua(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(lua(each) for each in value) + "}"
    return json.dumps(value)


LAYERS = ["managed", "device", "everyone", "arguments", "application", "suite", "usual", "last", "global", "registered"]


class Layered:
    """A machine with a value in each layer, of which four are stores of the fleet."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.device, self.everyone, self.usual, self.last = [fleet.store() for _ in range(4)]
        self.config, self.cache = Path(fleet.folder) / "layers-config", f"{fleet.folder}/layers-cache"
        self.config.mkdir()
        # Each key is in all layers from one on: its value says which of them won.
        values = {layer: {f"k{key}": layer for key in range(place + 1)} for place, layer in enumerate(LAYERS)}
        for file, layer in (("lock", "managed"), ("app", "application"), ("suite", "suite"), (".GlobalPreferences", "global")):
            (self.config / f"{file}.plist").write_bytes(plistlib.dumps(values[layer]))
        self.writer = Program(fleet)
        for name, layer in ((self.device, "device"), (self.everyone, "everyone"), (self.usual, "usual"), (self.last, "last")):
            self.writer.value(f"return open('{name}', {fleet.options(durability='immediate')})")
            self.writer.value(f"s:set({{}}, {lua(values[layer])})")
        self.given = {"fleet": {"server": fleet.far(), "mandatory": [self.device, self.everyone],
                                "recommended": [self.usual, self.last]},
                      "managed_file": f"{self.config}/lock.plist", "arguments": values["arguments"], "suites": ["suite"],
                      "defaults": values["registered"], "timeout": 3}
        self.begin = f"return open('app', {lua(self.given)})"

    def program(self, cache=None):
        return Program(self.fleet, XDG_CONFIG_HOME=self.config, XDG_CACHE_HOME=cache or self.cache)


def winners(program):
    """The layer from which a program has each key."""
    return [program.value(f"return s:get 'k{key}'") for key in range(len(LAYERS))]


@row
def layers(fleet):
    """Stores of the fleet lie between a machine's own layers, locked or as defaults."""
    machine = Layered(fleet)
    program = machine.program()
    program.value(machine.begin)
    check(winners(program) == LAYERS, "each layer has its place", str(winners(program)))
    whole = json.loads(program.value("return s:get {}"))
    check([whole[f"k{key}"] for key in range(len(LAYERS))] == LAYERS, "in the whole dictionary, too", str(whole))
    locked_layers(program)
    layer_origins(machine, program)
    changed_layers(machine, program)
    layers_away(machine, program)
    fleet_options(fleet, machine.device, machine.last)


def locked_layers(program):
    forced = [program.value(f"return s:is_forced 'k{key}'") for key in range(len(LAYERS))]
    check(forced == ["true"] * 3 + ["false"] * 7, "mandatory keys are locked", str(forced))
    codes = [program.call(f"s:set('k{key}', 'mine')")[0] for key in range(4)]
    check(codes == ["forced"] * 3 + ["ok"], "and refused to a set", str(codes))
    words = [program.call(f"s:set('k{key}', 'mine')")[1] for key in range(3)]
    check("lock.plist" in words[0] and ".plist" not in words[1] + words[2], "which names the file that locks one", str(words))
    check(program.call("s:remove 'k1'")[0] == "forced", "and to a removal")


def layer_origins(machine, program):
    check(program.value("return s:layer('mandatory', 2).k2 .. s:layer('recommended').k6 .. #s:layer('mandatory', 3)") ==
          "everyoneusual0", "each is a layer by itself")
    origin = json.loads(program.value("return s:origin 'k2'"))
    check(origin == {"layer": "mandatory", "index": 2, "store": machine.everyone, "revision": 1, "author": "owner"},
          "the origin of a locked value has store, revision and author", str(origin))
    origin = json.loads(program.value("return s:origin 'k7'"))
    check(origin == {"layer": "recommended", "index": 2, "store": machine.last, "revision": 1, "author": "owner"},
          "and so has that of a default", str(origin))


def changed_layers(machine, program):
    writer = machine.writer
    program.value("seen = {} s:watch('k2', function(_, new) seen[#seen + 1] = new end)")
    options = machine.fleet.options(durability="immediate")
    writer.value(f"open('{machine.everyone}', {options}) s:set('k2', 'changed')")
    check(program.value("return await(5, function() return seen[1] == 'changed' end)") == "true",
          "a watch is told of a layer's change")
    writer.value("s:remove 'k2'")
    check(program.value("return await(5, function() return seen[2] == 'arguments' end)") == "true",
          "and of the value below a key that is removed")
    writer.value("s:set('k2', 'everyone')")
    check(program.value("return await(5, function() return s:get 'k2' == 'everyone' and not s:is_forced 'k9' end)") ==
          "true" and eventually(lambda: len(list(Path(machine.cache).rglob("*.plist"))) == 4), "what was seen is kept")


def layers_away(machine, program):
    """While the server is away, what was seen last counts, also for programs that start."""
    fleet = machine.fleet
    time.sleep(1.5)
    fleet.proxy.block()
    start = time.monotonic()
    code, rest = program.call("s:set('own', 1) return sync()")
    spent = time.monotonic() - start
    check(code == "ok" and spent < 1 and winners(program)[1:3] == LAYERS[1:3],
          f"while the server is away, the store works, and sync waits for nothing ({spent * 1000:.0f} ms)", f"{code} {rest}")
    fleet.proxy.join()
    fleet.proxy.cut()
    times = []
    for _ in range(3):
        again = machine.program()
        again.value("return 1")
        start = time.monotonic()
        again.value(machine.begin)
        times.append((time.monotonic() - start) * 1000)
    check(winners(again) == LAYERS and min(times) < 50, f"a program starts without it, in {min(times):.1f} ms",
          f"{winners(again)} {times}")
    origin = json.loads(again.value("await(5, function() return told 'disconnected' end) return s:origin 'k1'"))
    check(origin == {"layer": "mandatory", "index": 1, "store": machine.device}, "an origin has no revision then", str(origin))
    bare = machine.program(cache=f"{fleet.folder}/no-cache")
    code, rest = bare.call(machine.begin.replace('["timeout"] = 3', '["timeout"] = 1'))
    check(code == "unreachable", "without what was seen, locked values are not known: it does not open", f"{code} {rest}")
    machine.writer.value("s:set('k2', 'meanwhile')")
    fleet.proxy.join()
    check(again.value("return await(40, function() return s:get 'k2' == 'meanwhile' end)", 60) == "true",
          "what changed meanwhile comes with the server")
    code, rest = again.call(f"return open('other', {lua({**machine.given, 'server': 'service=x'})})")
    check("names a server already" in rest or "name a server already" in rest, "a server is named once", rest)


def fleet_options(fleet, device, last):
    """What else the options say, of a store on a server and of layers there."""
    elsewhere = "host=192.0.2.1 user=owner dbname=postgres connect_timeout=1"

    def both(text, store, **more):
        layered = lua({"fleet": {"server": text, "mandatory": [store], **more}, "timeout": 1})
        return f"return open('{store}', {fleet.options(text, timeout=1, **more)})", f"return open('other', {layered})"

    for more, expected in (({}, "unsafe_location"), ({"insecure": True}, "unreachable")):
        codes = [Program(fleet).call(opening, 30)[0] for opening in both(elsewhere, device, **more)]
        check(codes == [expected] * 2, f"a server elsewhere, with {more}, is {expected}", str(codes))
    fleet.clear()
    counts = []
    for seconds in (60, 0.1):
        for opening in both(fleet.far(), last, poll_interval=seconds):
            program = Program(fleet, XDG_CACHE_HOME=f"{fleet.folder}/asked")
            program.value(opening)
            time.sleep(1.5)
            fleet.proxy.plan.harm = lambda *_: counts.append(seconds) or "pass"
            counts.append(program)
            time.sleep(1)
            fleet.proxy.plan.harm = lambda *_: "pass"
            program.end()
    starts = [i for i, each in enumerate(counts) if isinstance(each, Program)] + [len(counts)]
    spans = [after - before - 1 for before, after in zip(starts, starts[1:])]
    check(max(spans[:2]) < 30 < min(spans[2:]), "the time between two questions is the one that is given", str(spans))
    code, rest = Program(fleet).call(f"return open('other', {lua({'fleet': {'server': elsewhere, 'mandatry': [device]}})})")
    check("mandatry" in rest, "what is misspelt is told", f"{code} {rest}")


@row
def layers_c(fleet):
    """The same from C."""
    program = f"{fleet.folder}/fleet_layers"
    good, output = run("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-Iinclude", "Tests/Support/fleet_layers.c",
                       "-o", program, "-Lbuild", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build", cwd=ROOT)
    if not check(good, "the program in C builds", output):
        return
    everyone, usual = fleet.store(), fleet.store()
    writer = fleet.open(everyone, durability="immediate")
    writer.value("s:set('burst', 5)")
    writer.value(f"open('{usual}', {fleet.options(durability='immediate')}) s:set('rate', 7) s:set('burst', 9)")
    good, output = run(program, fleet.far(), everyone, usual, timeout=30, env=environment(
        XDG_CACHE_HOME=f"{fleet.folder}/cache-c", XDG_CONFIG_HOME=f"{fleet.folder}/config"))
    check(good and output.split("\n") == [
        "burst 5 forced 1 layer 7 index 0 store 1 revision 1 author owner",
        "rate 7 forced 0 layer 8 index 0 store 2 revision 1 author owner",
        "set burst: forced", "set rate: 8 layer 2", "old size: 2", "without a server: invalid_argument", ""], "C has them", output)
    check(fleet.server.sql(f"SELECT note FROM kv_change WHERE store = '{usual}' AND who = 'owner' ORDER BY revision DESC "
                           "LIMIT 1") == "from C", "and says why in the history")


class Checked:
    """A layer on the server, a program whose schema it must fit, and one without a schema."""

    def __init__(self, fleet):
        self.fleet, self.everyone, self.cache = fleet, fleet.store(), f"{fleet.folder}/accepts-cache"
        self.writer = fleet.open(self.everyone, durability="immediate")
        self.writer.value("s:set('limits', { burst = 5 }) s:set('name', 'first')")
        given = {"fleet": {"server": fleet.server.text(), "mandatory": [self.everyone]}, "timeout": 5}
        self.options = (lua(given)[:-1] + ", schema = kv.struct 'Settings' { limits = kv.struct 'Limits' { "
                        "burst = kv.int:range(1, 100):default(1) }, name = kv.string:default('none') } }")
        self.program = Program(fleet, XDG_CACHE_HOME=self.cache)
        self.program.value(f"open('checked', {self.options}) name = nil s:watch('name', function(_, new) name = new end)")
        self.plain = Program(fleet, XDG_CACHE_HOME=self.cache)
        self.plain.value(f"return open('plain', {lua(given)})")

    def told(self, program):
        """What the server knows that a program runs: the revision, and which one it refuses, where and why."""
        return self.fleet.server.sql("SELECT revision, refused, path, message FROM kv_machine WHERE store = '"
                                     f"{self.everyone}' AND program = '{program}' AND machine = '{socket.gethostname()}'")

    def head(self):
        return int(self.fleet.server.sql(f"SELECT head FROM kv_store WHERE name = '{self.everyone}'"))

    def runs_head(self, program, seconds=10):
        """Whether the server comes to know that a program runs the latest revision, and refuses none."""
        return eventually(lambda: self.told(program) == f"{self.head()}|||", seconds)


def has(program, burst, name, seconds=5):
    return program.value(f"return await({seconds}, function() return s:get{{'limits', 'burst'}} == {burst} and "
                         f"s:get 'name' == '{name}' end)", 60) == "true"


@row
def accepts(fleet):
    """A revision that does not fit the schema reaches no handle that has one, until it is mended."""
    layer = Checked(fleet)
    check(has(layer.program, 5, "first"), "what fits is there")
    check(eventually(lambda: layer.told("checked") == layer.told("plain") == f"{layer.head()}|||"),
          "the server knows what the programs run", f"{layer.told('checked')} {layer.told('plain')}")
    last = refused_and_mended(layer, 100 if fleet.full else 5)
    refused_once(layer)
    taken_up_again(layer, *last)


def refused_and_mended(layer, rounds):
    """Gives what the last of the revisions that fit has."""
    program, plain, writer, wrong = layer.program, layer.plain, layer.writer, []

    def fitting(i):
        return 6 + i % 90

    for i in range(rounds):
        program.value("events = {}")
        # Of one revision nothing is taken, also what would fit.
        writer.value(f"s:set({{}}, {{ limits = {{ burst = 0 }}, name = 'refused {i}' }})")
        event = program.value("local e repeat kv.wait(0.02) e = told 'refused_revision' until e return e")
        if f"Revision {layer.head()} of {layer.everyone}" not in event or "1...100 at limits.burst, found 0" not in event:
            wrong.append(event)
        last = (5, "first") if i == 0 else (fitting(i - 1), f"mended {i - 1}")
        if not has(program, *last, seconds=0.3):
            wrong.append(f"{i}: {program.value('return s:get {}')}")
        if not has(plain, 0, f"refused {i}"):
            wrong.append(f"{i}: without a schema {plain.value('return s:get {}')}")
        writer.value(f"s:set({{}}, {{ limits = {{ burst = 0 }}, name = 'mended {i}' }})")
        writer.value(f"s:set({{'limits', 'burst'}}, {fitting(i)})")
        if not has(program, fitting(i), f"mended {i}") or program.value("kv.pump() return name") != f"mended {i}":
            wrong.append(f"{i}: not mended: {program.value('return s:get {}')}")
    check(not wrong, f"{rounds} revisions that do not fit are refused whole, and told; those that mend them are taken up",
          "\n".join(wrong))
    check(layer.fleet.stored(layer.everyone, "limits")["burst"] == fitting(rounds - 1), "the server has what was written")
    return fitting(rounds - 1), f"mended {rounds - 1}"


def refused_once(layer):
    program, told, head = layer.program, layer.told, layer.head
    program.value("events = {}")
    layer.writer.value("s:set({'limits', 'burst'}, 0)")
    program.value("return await(3, function() return #events > 0 end)")
    events = program.value("await(1, function() s:get 'name' return false end) return table.concat(events, ';')")
    check(events.count("refused_revision") == 1, "each is told once", events)
    refusal = f"{head() - 1}|{head()}|limits.burst|Expected 1...100 at limits.burst, found 0"
    check(eventually(lambda: told("checked") == refusal), "and the server knows of it", told("checked"))
    check(eventually(lambda: layer.plain.value("kv.pump()") and told("plain") == f"{head()}|||"),
          "other programs refuse nothing", told("plain"))
    origin = json.loads(program.value("return s:origin{'limits', 'burst'}"))
    check(origin["revision"] < head(),
          "an origin is that of the value which counts", str(origin))
    check(program.call("s:set({'limits', 'burst'}, 7)")[0] == "forced", "a key that is refused stays locked")
    check(eventually(lambda: list(Path(layer.cache).rglob("*.accepted"))), "the last state that fits is kept")


def taken_up_again(layer, burst, name):
    """By a program that starts while the last revision does not fit."""
    fleet, writer, told = layer.fleet, layer.writer, layer.told
    time.sleep(1.5)
    again = Program(fleet, XDG_CACHE_HOME=layer.cache)
    again.value(f"return open('checked', {layer.options})")
    check(has(again, burst, name) and again.value("kv.pump() return told 'refused_revision'") != "nil",
          "a program that starts meanwhile has it, and is told", again.value("return s:get {}"))
    writer.value("s:set({'limits', 'burst'}, 99)")
    check(has(again, 99, name), "and what mends it")
    check(layer.runs_head("checked"), "of which the server knows", told("checked"))
    # Programs that were there before the server are told of anew, on a new connection.
    fleet.server.sql("DELETE FROM kv_machine")
    fleet.server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    check(layer.runs_head("checked", 20), "it is told again with each connection", told("checked"))
    writer.value("s:set({'limits', 'burst'}, 0)")
    own = fleet.open(layer.everyone, cache=layer.cache)
    check(own.value("return await(5, function() return s:get{'limits', 'burst'} == 0 end)") == "true",
          "a fleet's store by itself refuses nothing")


class Accepted:
    """A layer on the server, and the programs of a user that accept its revisions, each by a schema of its own."""

    def __init__(self, fleet):
        self.fleet, self.name, self.cache = fleet, fleet.store(), f"{fleet.folder}/accepted-cache"
        self.given = lua({"fleet": {"server": fleet.server.text(), "mandatory": [self.name]}, "timeout": 5})

    def start(self, program, most):
        """A program whose schema accepts numbers up to `most`; without a schema where that is None."""
        found = Program(self.fleet, XDG_CACHE_HOME=self.cache)
        schema = "" if most is None else f", schema = kv.struct 'S{program}' {{ burst = kv.int:range(1, {most}):default(1) }}"
        found.value(f"return open('{program}', {self.given[:-1]}{schema} }})")
        return found

    def kept(self, suffix):
        """The values in the files that the programs share."""
        return {plistlib.loads(path.read_bytes())["Values"].get("burst") for path in Path(self.cache).rglob(f"*{suffix}")}


def burst(program):
    return program.value("kv.pump() return s:get 'burst' .. ' ' .. tostring(s:is_forced 'burst')")


@row
def accepted_of_programs(fleet):
    """Each program has what it has accepted last, whoever wrote into what the user's programs share."""
    layer = Accepted(fleet)
    accepted_by_schema(layer)
    accepted_later(layer)
    accepted_anew(layer)


def accepted_by_schema(layer):
    fleet, name, start, kept = layer.fleet, layer.name, layer.start, layer.kept
    writer = fleet.open(name, durability="immediate")
    writer.value("s:set('burst', 5)")
    quiet = start("strict", 100)
    check(eventually(lambda: kept(".accepted") == {5}), "what fits is kept", str(kept(".accepted")))
    # The program looks at nothing: the library does, for itself.
    writer.value("s:set('burst', 6)")
    check(eventually(lambda: kept(".accepted") == {6}), "also what comes later, of a program that does not look",
          str(kept(".accepted")))
    writer.value("s:set('burst', 500)")
    refusal = f"SELECT refused FROM kv_machine WHERE store = '{name}' AND program = 'strict'"
    check(eventually(lambda: fleet.server.sql(refusal) == "3"), "that one refuses what does not fit", fleet.server.sql(refusal))
    check(eventually(lambda: kept(".plist") == {500}), "which is what was seen last", str(kept(".plist")))
    quiet.end()
    check(burst(start("strict", 100)) == "6 true", "a program that is started again has what it accepted")
    wide = start("wide", 1000)
    check(burst(wide) == "500 true" and eventually(lambda: kept(".accepted") == {6, 500}), "another schema accepts more",
          str(kept(".accepted")))
    writer.value("s:set('burst', 5000)")
    check(eventually(lambda: kept(".plist") == {5000}), "what fits neither is seen", str(kept(".plist")))
    start("plain", None)
    check([burst(start("strict", 100)), burst(start("wide", 1000))] == ["6 true", "500 true"], "each has its own")
    fleet.server.stop()
    check([burst(start("strict", 100)), burst(start("wide", 1000)), burst(start("plain", None))] ==
          ["6 true", "500 true", "5000 true"], "and without the server")
    fleet.server.start()
    fleet.clear()


def accepted_later(layer):
    """A program that was away ends with what it had, after another of its name has taken up more."""
    fleet, start, kept = layer.fleet, layer.start, layer.kept
    fleet.server.stop()
    late = start("strict", 100)
    # Not amid a write, for which others would wait.
    time.sleep(1.5)
    late.process.send_signal(signal.SIGSTOP)
    fleet.server.start()
    writer = fleet.open(layer.name, durability="immediate")
    writer.value("s:set('burst', 7)")
    start("strict", 100)
    check(eventually(lambda: kept(".accepted") == {7, 500}), "what is accepted later is kept", str(kept(".accepted")))
    fleet.server.stop()
    late.process.send_signal(signal.SIGCONT)
    check(burst(late) == "6 true" and late.close() == "" and kept(".accepted") == {7, 500},
          "one that ends with less takes nothing back", str(kept(".accepted")))
    fleet.server.start()


def accepted_anew(layer):
    """Another revision of the same number, as after a backup was restored; and a second store of a process."""
    fleet, name, start, kept = layer.fleet, layer.name, layer.start, layer.kept
    writer = fleet.open(name, durability="immediate")
    start("strict", 100)
    time.sleep(1.5)
    writer.value(f"open('{name}-9', {fleet.options()}) s:set('burst', 9) return sync()")
    fleet.server.sql(f"UPDATE kv_value SET value = (SELECT value FROM kv_value WHERE store = '{name}-9') WHERE store = '{name}'; "
                     f"UPDATE kv_change SET token = gen_random_uuid() WHERE store = '{name}'; UPDATE kv_store s SET token = "
                     f"(SELECT token FROM kv_change WHERE store = s.name AND revision = s.head) WHERE name = '{name}'; "
                     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    check(eventually(lambda: kept(".accepted") == {9, 500}, 20), "what a restored server has counts", str(kept(".accepted")))
    # A second store of the process, when all is at rest.
    two = start("one", 100)
    time.sleep(2)
    two.value(f"other = kv.open('two', {layer.given[:-1]}, schema = kv.struct 'Stwo' {{ burst = kv.int:range(1, 100):default(1) }} }})")
    check(eventually(lambda: len(list(Path(layer.cache).rglob("*.accepted"))) == 4), "each store of a process keeps its own",
          str(list(Path(layer.cache).rglob("*.accepted"))))


# ---- Servers that are not what they were


@row
def hosts(fleet):
    """A server of two hosts, of which the first says nothing: a machine without power, or one that hangs."""
    name = fleet.store()
    good = fleet.server.port
    cases = [("target_session_attrs=read-write connect_timeout=1", 2.5, "silent good"),
             # libpq comes back to the first, since none is a standby.
             ("target_session_attrs=prefer-standby connect_timeout=1", 3.5, "good silent"),
             ("connect_timeout=1", 3.5, "silent refuses good")]
    if fleet.full:
        cases += [("target_session_attrs=read-write", 7, "silent good"),
                  ("target_session_attrs=prefer-standby connect_timeout=1", 3.5, "silent good"),
                  ("target_session_attrs=prefer-standby", 8, "good refuses silent")]
    for more, patience, order in cases:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            ports = {"silent": silent.getsockname()[1], "good": good, "refuses": free_port()}
            named = [str(ports[word]) for word in order.split()]
            text = fleet.server.text().replace(f"host={fleet.folder} port={good}", f"host={','.join(['127.0.0.1'] * len(named))} "
                                               f"port={','.join(named)}")
            program = Program(fleet, XDG_CACHE_HOME="/proc/none")
            options = fleet.options(f"{text} {more}", timeout=20, durability="immediate")
            start = time.monotonic()
            program.value(f"return open('{name}', {options})")
            opened = time.monotonic() - start
            check(opened < patience, f"{order}: there after {opened:.1f} s with \"{more}\"")
            # The connection that listens is the first: a commit makes another one, and does not wait for the first host again.
            program.value("kv.wait(1.2)")
            start = time.monotonic()
            program.value(f"s:set('a', '{more}') return sync()")
            spent = time.monotonic() - start
            check(spent < 0.9 and fleet.stored(name, "a") == more, f"and is the first to be tried then ({spent:.2f} s)")
            if "connect_timeout" not in more:
                program.end()
                continue
            status = subprocess.run([ROOT / "build/kvdefaults", "get", name, "a", "--server", f"{text} {more}"], text=True,
                                    env=program.environment, stdout=subprocess.PIPE, timeout=20).stdout.strip()
            check(status == more, "also for the command line", status)
            program.end()


@row
def forged(fleet):
    """Notifications of others, who may tell anything, hide none of the server's."""
    name = fleet.store()
    writer, reader = fleet.open(name, durability="immediate"), fleet.open(name)
    writer.value("s:set('n', 1)")
    check(reader.value("return await(5, function() return s:get 'n' == 1 end)") == "true", "a reader is at a revision")
    fleet.server.sql("CREATE ROLE forger LOGIN")
    channel = fleet.server.sql(f"SELECT kv_channel('{name}')")
    reader.process.send_signal(signal.SIGSTOP)
    writer.value("s:set('n', 2)")
    fleet.server.sql(f"NOTIFY {channel}, '1'", user="forger")
    reader.process.send_signal(signal.SIGCONT)
    check(reader.value("return await(5, function() return s:get 'n' == 2 end)") == "true",
          "and has the next, also where that is told again at once")


@row
def unreadable(fleet):
    """A row that cannot be read stays an error, also for a program that is started again, and is not written over."""
    name = fleet.store()
    owner = fleet.open(name, durability="immediate")
    owner.value("s:set('k', { x = 1 }) s:set('j', 1)")
    cache = f"{fleet.folder}/unreadable"
    fleet.server.sql(f"BEGIN; SELECT FROM kv_lock('{name}', 2, NULL, 1000, 1000); "
                     f"SELECT kv_write('{name}', 3, gen_random_uuid(), ARRAY['k'::bytea], ARRAY['bplist00'::bytea], NULL), "
                     f"kv_finish('{name}', 3, gen_random_uuid()); COMMIT")
    for when in ("when it comes", "when it is kept", "later"):
        program = fleet.open(name, cache=cache)
        program.value("return sync()")
        code, rest = program.call("return s:get { 'k', 'x' }")
        check(code == "corrupt" and "at k" in rest, f"the row is an error, {when}", f"{code} {rest}")
        code, rest = program.call("s:set({ 'k', 'y' }, 2) return sync()")
        check(fleet.server.sql(f"SELECT value FROM kv_value WHERE store = '{name}' AND key = 'k'") == "\\x" + b"bplist00".hex(),
              "and is not written over", f"{code} {rest}")
        check(program.value("return s:get 'j'") == "1", "the others are read")
        program.close()
    owner.value("s:set('k', 5)")
    check(fleet.open(name, cache=cache).value("sync() return s:get 'k'") == "5", "a later value is read again")


@row
def half_sent(fleet):
    """The system takes a COMMIT but for the message behind it: it may have happened."""
    name = fleet.store()
    fleet.open(name, durability="immediate").value("s:set('n', 2)")
    program = Program(fleet, LD_PRELOAD=preloaded("refuse.c", fleet.folder), REFUSE="sync", REFUSE_LOG=f"{fleet.folder}/refused")
    fleet.open(name, program=program, timeout=2)
    code, rest = program.call("return s:update('n', function(n) return n + 1 end)")
    check(code == "outcome_unknown", "a commit whose end was not taken is of unknown outcome", f"{code} {rest}")
    check(Path(f"{fleet.folder}/refused").exists(), "the system has refused it")
    check(eventually(lambda: fleet.stored(name, "n") == 3), "since it has happened")


@row
def warned(fleet):
    """An administrator ends the wait for a standby: a commit that no standby has is not told as made."""
    name = fleet.store()
    program = fleet.open(name, durability="immediate")
    program.value("s:set('n', 1)")
    fleet.server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    fleet.server.stop()
    fleet.server.start()
    try:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        program.send("return s:update('n', function(n) return n + 1 end)")
        check(eventually(lambda: fleet.server.sql(waiting) == "1"), "a commit waits for a standby")
        fleet.server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        code, rest = program.receive()
        check(code == "outcome_unknown" and "standby" in rest, "its wait is ended: the outcome is not known", f"{code} {rest}")
    finally:
        fleet.server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        fleet.server.sql("SELECT pg_reload_conf()")
    program.value("return await(10, function() return pcall(s.update, s, 'n', function(n) return n + 1 end) end)")
    check(fleet.stored(name, "n") == 3, "it is found, and not made again")


@row
def abused(fleet):
    """The reach of a role beside its rights: it locks no other out, skips no revision, and burns no time of others."""
    name = fleet.store()
    owner = fleet.open(name, durability="immediate")
    owner.value("s:set('n', 1)")
    fleet.server.sql(f"CREATE ROLE guest LOGIN; CREATE ROLE writer LOGIN; INSERT INTO kv_right VALUES ('writer', '{name}', true)")

    def refused(text, user):
        try:
            fleet.server.sql(text, user=user)
        except RuntimeError as problem:
            return str(problem)
        return ""

    for table in ("kv_value", "kv_store", "kv_change", "kv_machine", "kv_right", "kv_format"):
        for user in ("guest", "writer"):
            said = refused(f"BEGIN; LOCK TABLE {table} IN ROW EXCLUSIVE MODE NOWAIT; COMMIT", user)
            check("permission denied" in said, f"{user} may not lock {table}", said)
    for head in ("head + 2", "9223372036854775806", "-1", "head"):
        said = refused(f"UPDATE kv_store SET head = {head} WHERE name = '{name}'", "writer")
        check("is not" in said, f"a writer may not set a revision to {head}", said)
    # Arrays of two references each to the next: 2^60 objects.
    objects = [bytes([0xA2, number + 1, number + 1]) for number in range(60)] + [b"\x10\x01"]
    data, offsets = b"bplist00", []
    for each in objects:
        offsets.append(len(data))
        data += each
    table = len(data)
    data += b"".join(offset.to_bytes(2, "big") for offset in offsets) + bytes(6) + b"\x02\x01"
    data += len(objects).to_bytes(8, "big") + bytes(8) + table.to_bytes(8, "big")
    start = time.monotonic()
    found = fleet.server.sql(f"SELECT kv_json('\\x{data.hex()}') IS NULL")
    check(found == "t" and time.monotonic() - start < 15, f"a value that grows is none for people ({time.monotonic() - start:.1f} s)", found)
    fleet.server.sql(f"UPDATE kv_store SET head = 9223372036854775806 WHERE name = '{name}'")
    code, rest = fleet.open(name, cache=f"{fleet.folder}/abused", durability="immediate").call("s:set('n', 2)")
    check(code == "limit_exceeded" and "last revision" in rest, "no revision is made behind the last", f"{code} {rest}")


@row
def leaving(fleet):
    """A program ends while its server hangs: soon after its timeout, and with one word of what is lost."""
    name = fleet.store()
    for how in ("", "s:close()") if fleet.full else ("",):
        program = fleet.open(name, text=fleet.far(), timeout=3)
        program.value("s:set('a', 1) return sync()")
        fleet.proxy.block()
        start = time.monotonic()
        program.send(f"s:set('a', 2) {how}")
        words = program.close()
        spent = time.monotonic() - start
        check(spent < 7.5, f"it ends in {spent:.1f} s, {how or 'by itself'}")
        check(words.count("kvcodable:") == 1 and "last changes" in words, "and says what is lost, once", words)
        fleet.proxy.join()


@row
def restored(fleet):
    """The server goes back to a backup, and is written on."""
    name = fleet.store()
    reader, writer = fleet.open(name), fleet.open(name, durability="immediate")
    writer.value("s:set('a', 'kept') s:set('b', 'old')")
    fleet.server.stop()
    fleet.server.copy("backup")
    fleet.server.start()
    writer.value("return await(30, function() return pcall(s.set, s, 'b', 'lost') end)", 60)
    writer.value("s:set('c', 'lost')")
    check(reader.value("return await(30, function() return s:get 'c' == 'lost' end)", 60) == "true",
          "the reader has the newest")
    for overtakes in (False, True):
        fleet.server.stop()
        fleet.server.restore("backup")
        fleet.server.start()
        if overtakes:
            # More commits than were lost, so that the number of the revision says nothing.
            newcomer = fleet.open(name, durability="immediate", cache=f"{fleet.folder}/newcomer")
            newcomer.value("for i = 1, 30 do s:set('d', i) end")
        wanted = "s:get 'd' == 30 and s:get 'c' == nil" if overtakes else "s:get 'b' == 'old' and s:get 'c' == nil"
        found = reader.value(f"return await(40, function() return {wanted} end)", 60)
        check(found == "true", "the store follows a server that went back" + (" and has overtaken it" if overtakes else ""),
              reader.value("return s:get {}"))
        check(reader.value("return await(2, function() return told 'stale' ~= nil end)") == "true", "and tells of it")
        writer.value("return await(30, function() return pcall(s.set, s, 'c', 'lost') end)", 60)
        reader.value("return await(30, function() return s:get 'c' == 'lost' end)", 60)


def count_until(ended, writers):
    """Has each writer add to a count of its own until the file is there."""
    for i, writer in enumerate(writers):
        writer.send("local done, unknown = 0, 0 for _ = 1, 1e9 do "
                    f"local file = io.open('{ended}') "
                    "if file then file:close() return done .. ' ' .. unknown end "
                    f"local ok, e = pcall(add, 'count{i}') "
                    "if ok then done = done + 1 elseif e.code == 'outcome_unknown' then unknown = unknown + 1 "
                    "elseif e.code ~= 'unreachable' then error(e, 0) end end")


def counted(writers, server, name):
    """What was acknowledged to the writers, what they do not know, what of it is lost, and what is wrong."""
    acknowledged, unknown, lost, wrong = 0, 0, 0, []
    for i, writer in enumerate(writers):
        code, rest = writer.receive(60)
        if code != "ok":
            wrong.append(f"{i}: {code} {rest}")
            continue
        done, doubtful = map(int, rest.split())
        stored = int(writer.value(f"sync() return s:get 'count{i}'", 30))
        if json.loads(server.sql(f"SELECT value FROM kv WHERE store = '{name}' AND key = 'count{i}'")) != stored:
            wrong.append(f"{i}: {stored} in memory is not what the server has")
        lost += max(done - stored, 0)
        if stored > done + doubtful:
            wrong.append(f"{i}: {stored} stored, {done} acknowledged, {doubtful} unknown")
        acknowledged, unknown = acknowledged + done, unknown + doubtful
    return acknowledged, unknown, lost, wrong


def fail_over(fleet, is_synchronous):
    """The primary is killed amid commits, and replaced by the standby, to which the programs' text leads as well."""
    what = "synchronous" if is_synchronous else "asynchronous"
    name = fleet.store()
    primary = Server(fleet.folder, f"primary-{what}")
    primary.make_tables()
    standby = Server(fleet.folder, f"standby-{what}", standby_of=primary)
    try:
        if is_synchronous:
            primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            primary.sql("SELECT pg_reload_conf()")
            check(eventually(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync"),
                  "the standby is a synchronous one", primary.sql("SELECT * FROM pg_stat_replication"))
        text = (f"host=127.0.0.1,127.0.0.1 port={primary.port},{standby.port} user=owner dbname=postgres sslmode=disable "
                "gssencmode=disable target_session_attrs=read-write")
        writers = [fleet.open(name, text=text, durability="immediate", cache=f"{fleet.folder}/{what}{i}") for i in range(4)]
        reader = fleet.open(name, text=text, cache=f"{fleet.folder}/{what}-reader")
        ended = Path(fleet.folder) / f"ended-{what}"
        count_until(ended, writers)
        time.sleep(1.5)
        # What it then acknowledges no other server has.
        if not is_synchronous:
            standby.stop()
            time.sleep(0.5)
        primary.kill()
        if not is_synchronous:
            standby.start()
        standby.promote()
        head = f"SELECT head FROM kv_store WHERE name = '{name}'"
        promoted = int(standby.sql(head))
        check(eventually(lambda: int(standby.sql(head)) > promoted, 30), f"{what} standby: the writers go on with it",
              f"{standby.sql(head)} {promoted}")
        time.sleep(15 if fleet.full else 2)
        ended.touch()
        acknowledged, unknown, lost, wrong = counted(writers, standby, name)
        check(not wrong, f"{what} standby: {acknowledged} acknowledged and {unknown} unknown, {lost} lost", "\n".join(wrong))
        final = reader.value(f"return await(40, function() return s:get 'count0' == {writers[0].value('return s:get [[count0]]')} "
                             "end)", 60)
        check(final == "true", f"{what} standby: the reader follows it")
        tellers = [program.value("kv.pump() return tostring(told 'stale' ~= nil)") for program in (*writers, reader)]
        if is_synchronous:
            check(lost == 0 and "true" not in tellers, "nothing that was acknowledged is lost, and nobody says so", str(tellers))
        else:
            check(lost > 0 and set(tellers) == {"true"}, "what was lost is told to everybody", f"{lost} {tellers}")
    finally:
        fleet.clear()
        primary.stop()
        standby.stop()


@row
def failover(fleet):
    """The server fails, and its standby is promoted."""
    for is_synchronous in (True, False):
        fail_over(fleet, is_synchronous)


@row
def standby(fleet):
    """Machines that ask a standby see what is written to the primary, and cannot write."""
    name = fleet.store()
    standby = Server(fleet.folder, "standby", standby_of=fleet.server)
    try:
        text = fleet.server.text().replace(str(fleet.server.port), str(standby.port))
        near = fleet.open(name, durability="immediate")
        near.value("s:set('n', 1)")
        eventually(lambda: standby.sql(f"SELECT count(*) FROM kv_store WHERE name = '{name}' AND head > 0") == "1")
        far = fleet.open(name, text=text, durability="immediate", poll_interval=0.2, cache=f"{fleet.folder}/standing")
        check(far.value("return s:get 'n'") == "1", "a store is read from a standby")
        near.value("s:set('n', 2)")
        check(far.value("return await(5, function() return s:get 'n' == 2 end)") == "true", "a change is seen there")
        code, rest = far.call("s:set('n', 3)")
        check(code == "read_only" and fleet.stored(name, "n") == 2, "and none can be made", f"{code} {rest}")
    finally:
        standby.stop()


@row
def full_disk(fleet):
    """The server's disk is full."""
    if os.geteuid():
        return skip("skipped: only root makes a small disk")
    name, small = fleet.store(), Path(fleet.folder) / "small"
    small.mkdir(mode=0o777)
    # The disk is there for the server alone, and goes with it.
    server = Server(fleet.folder, "full", wrapper=[
        "unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=8m,mode=777,uid={pwd.getpwnam(USER).pw_uid} none {small} && exec "$@"', "sh"])
    try:
        server.make_tables()
        server.sql(f"CREATE TABLESPACE small LOCATION '{small}'")
        server.sql("ALTER TABLE kv_value SET TABLESPACE small")
        inside = ["nsenter", "-t", str(server.postmaster), "-m"]
        program = fleet.open(name, text=server.text(), durability="immediate", cache=f"{fleet.folder}/full-cache")
        program.value("s:set('small', 1)")
        program.value("big = {} for i = 1, 3000000 do big[i] = string.char(math.random(0, 255)) end big = kv.data(table.concat(big)) "
                      "return true")
        run(*inside, "dd", "if=/dev/zero", f"of={small}/filler", "bs=16k")
        code, rest = program.call("s:set('big', big)", 30)
        check(code == "no_space", "a set is refused with no_space", f"{code} {rest}")
        check(program.value("return s:get 'big' == nil and s:get 'small'") == "1" and
              server.sql("SELECT count(*) FROM kv") == "1", "nothing of it is stored, and what was there is")
        waiting = fleet.open(name, text=server.text(), cache=f"{fleet.folder}/full-cache")
        waiting.value("s:set('big', big or 'x') s:set('list', kv.data(('y'):rep(200000) .. tostring(s)))")
        waiting.value("big = {} for i = 1, 3000000 do big[i] = string.char(math.random(0, 255)) end "
                      "s:set('big', kv.data(table.concat(big)))")
        check(waiting.value("return await(5, function() return told 'flush_failed' ~= nil end)") == "true",
              "a coalesced one waits, and tells of it")
        run(*inside, "rm", f"{small}/filler")
        check(eventually(lambda: server.sql("SELECT string_agg(key, ' ' ORDER BY key) FROM kv") == "big list small", 40),
              "and is written when there is room", server.sql("SELECT key FROM kv"))
    finally:
        fleet.clear()
        server.stop()


@row
def tls(fleet):
    """A server elsewhere proves who it is, and a machine, too, by certificates."""
    folder = Path(fleet.folder) / "tls"
    folder.mkdir(mode=0o755)

    def openssl(*words):
        good, output = run("openssl", *words, cwd=folder)
        if not good:
            raise RuntimeError(output)

    def key(name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]

    for authority in ("ours", "theirs"):
        openssl("req", "-x509", *key(authority), "-days", "2", "-subj", f"/CN={authority}", "-out", f"{authority}.pem")
    for name, subject in (("server", "localhost"), ("kiosk", "kiosk")):
        openssl("req", "-new", *key(name), "-subj", f"/CN={subject}", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ours.pem", "-CAkey", "ours.key", "-CAcreateserial",
                "-days", "2", "-out", f"{name}.pem")
    if os.geteuid() == 0:
        shutil.chown(folder / "server.key", USER)
    (folder / "server.key").chmod(0o600)
    (folder / "kiosk.key").chmod(0o600)
    server = Server(fleet.folder, "secure")
    try:
        server.make_tables()
        server.sql("CREATE ROLE kiosk LOGIN; INSERT INTO kv_right VALUES ('kiosk', '*', true)")
        server.stop()
        hba = server.data / "pg_hba.conf"
        hba.write_text("hostssl all kiosk localhost cert clientcert=verify-full\nhost all kiosk all reject\n" + hba.read_text())
        server.start(("ssl", "on"), ("ssl_cert_file", folder / "server.pem"), ("ssl_key_file", folder / "server.key"),
                     ("ssl_ca_file", folder / "ours.pem"))
        text = f"port={server.port} dbname=postgres gssencmode=disable connect_timeout=5"

        def opening(words, user="owner", **more):
            name = fleet.store()
            program = Program(fleet, XDG_CACHE_HOME=f"{fleet.folder}/cache-{name}")
            code, rest = program.call(f"return open('{name}', {fleet.options(f'{text} user={user} {words}', **more)})", 30)
            if code == "ok":
                program.value("s:set('a', 1) return sync()")
            return code, rest

        ours, theirs = f"sslmode=verify-full sslrootcert={folder}/ours.pem", f"sslmode=verify-full sslrootcert={folder}/theirs.pem"
        found = opening(f"host=localhost {ours}")
        check(found[0] == "ok", "the server that is meant is trusted", str(found))
        check(server.sql("SELECT bool_or(ssl) FROM pg_stat_ssl") == "t", "what is said is encrypted")
        code, rest = opening(f"host=localhost {theirs}", timeout=2)
        check(code == "unreachable" and "certificate verify failed" in rest, "another authority's is not", f"{code} {rest}")
        code, rest = opening(f"host=127.0.0.1 {ours}", timeout=2)
        check(code == "unreachable" and "does not match host name" in rest, "nor one of another name", f"{code} {rest}")
        own = f"sslcert={folder}/kiosk.pem sslkey={folder}/kiosk.key"
        found = opening(f"host=localhost {ours} {own}", user="kiosk")
        check(found[0] == "ok", "a machine proves who it is by its own", str(found))
        code, rest = opening(f"host=localhost {ours}", user="kiosk", timeout=2)
        check(code == "access_denied", "and is refused without", f"{code} {rest}")
        code, rest = opening(f"host=localhost {ours} {own}", user="owner", timeout=2)
        check(code == "ok", "where the server asks for none, it does not matter", f"{code} {rest}")
    finally:
        fleet.clear()
        server.stop()


@row
def dead(fleet):
    """A machine is gone amid the message that commits: what it has locked is freed when TCP notices."""
    name = fleet.store()
    watched = fleet.open(name, text=fleet.server.text(port=fleet.server.port))
    connections = f"ss -tnoH state established sport = :{fleet.server.port}"
    found = watched.value(f"s:update('a', function() os.execute 'sleep 0.5' local p = io.popen '{connections}' timers = p:read 'a' p:close() return 1 "
                          "end) return (timers:gsub('%s+', ' '))")
    check(re.search(r"keepalive,\d+(\.\d+)?(ms|sec)", found), "TCP asks for a machine after ten seconds, where it has a lock", found)
    if not fleet.full:
        return
    server, space = Server(fleet.folder, "dead"), f"kvdead{os.getpid()}"
    go = Path(fleet.folder) / "go"
    try:
        server.make_tables()
        server.stop()
        hba = server.data / "pg_hba.conf"
        hba.write_text("host all all 10.231.7.0/30 trust\n" + hba.read_text())
        server.start(("listen_addresses", "*"))
        for words in (f"netns add {space}", f"link add {space}a type veth peer name {space}b netns {space}",
                      f"addr add 10.231.7.1/30 dev {space}a", f"link set {space}a up",
                      f"-n {space} addr add 10.231.7.2/30 dev {space}b", f"-n {space} link set {space}b up"):
            good, output = run("ip", *words.split())
            if not good:
                raise RuntimeError(f"ip {words}: {output}")
        program = Program(fleet, prefix=["ip", "netns", "exec", space], XDG_CACHE_HOME=f"{fleet.folder}/dead-cache")
        text = f"host=10.231.7.1 port={server.port} user=owner dbname=postgres sslmode=disable gssencmode=disable"
        program.value(f"open('{name}', {fleet.options(text, insecure=True)}) big = ('x'):rep(30000000) return true")
        # The server's process stands still until its machine is gone, so that it has a part of the message alone.
        program.send(f"s:update('big', function() while not io.open '{go}' do os.execute 'sleep 0.05' end return big end)")
        backend = None
        while not backend:
            backend = server.sql("SELECT pid FROM pg_stat_activity WHERE client_addr = '10.231.7.2' AND state = "
                                 "'idle in transaction'")
        os.kill(int(backend), signal.SIGSTOP)
        go.touch()
        time.sleep(2)
        run("ip", "link", "set", f"{space}a", "down")
        start = time.monotonic()
        os.kill(int(backend), signal.SIGCONT)
        other = fleet.open(name, text=server.text(), timeout=3, cache=f"{fleet.folder}/dead-other", durability="immediate")
        code, rest = other.call("s:set('b', 1)")
        check(code == "timed_out", "what it has locked is locked at first", f"{code} {rest}")
        found = other.value("return await(60, function() return pcall(s.set, s, 'b', 2) end)", 90)
        took = time.monotonic() - start
        check(found == "true" and took < 45, f"and free after {took:.0f} s", found)
        check(server.sql("SELECT string_agg(key, ' ') FROM kv") == "b", "nothing of what it wrote is there")
    finally:
        fleet.clear()
        run("ip", "netns", "del", space)
        server.stop()


@row
def pooler(fleet):
    """A pooler in transaction mode swallows LISTEN: the revision is asked for."""
    name = fleet.store()
    bouncer = Pooler(fleet.server)
    try:
        text = fleet.server.text(port=bouncer.port)
        one = fleet.open(name, text=text, durability="immediate", timeout=20)
        other = fleet.open(name, text=text, timeout=20)
        polling = fleet.open(name, text=text, poll_interval=0.2, timeout=20)
        # Until all have found that nothing is told, and have looked.
        time.sleep(4)
        start = time.monotonic()
        one.value("s:set('n', 1)")
        check(other.value("return await(8, function() return s:get 'n' == 1 end)", 30) == "true",
              f"a change is seen through a pooler ({time.monotonic() - start:.1f} s)")
        start = time.monotonic()
        one.value("s:set('n', 2)")
        check(polling.value("return await(5, function() return s:get 'n' == 2 end)", 30) == "true" and
              time.monotonic() - start < 3, f"sooner where it is asked for more often ({time.monotonic() - start:.1f} s)")
        programs = [fleet.open(name, text=text, timeout=60, cache=f"{fleet.folder}/pool{i}") for i in range(6)]
        each = 200 if fleet.full else 20
        for program in programs:
            program.send(f"for i = 1, {each} do add('count') end return true")
        check(all(program.receive(120) == ("ok", "true") for program in programs) and
              fleet.stored(name, "count") == 6 * each, f"{6 * each} updates of 6 programs over 4 connections: none lost")
    finally:
        bouncer.stop()


@row
def prepared(fleet):
    """Over a connection of its own the server reads each statement once; tables that are made anew meanwhile, or changed,
    are no error."""
    name = fleet.store()
    program = fleet.open(name, text=fleet.far(), durability="immediate")

    def readings():
        return sum(each.messages.count(">P") for each in fleet.proxy.connections)

    program.value("for i = 1, 5 do s:set('n', i) end")
    before = readings()
    program.value("for i = 1, 20 do s:set('n', i) end")
    # Of the sets it reads nothing again; a look or a report that comes meanwhile may be the first of its kind.
    check(before > 0 and readings() - before < 5, "the server reads a statement once for a connection",
          f"{readings() - before} more in 20 sets")
    fleet.server.make_tables()
    program.value("s:set('n', 21)")
    check(fleet.stored(name, "n") == 21, "the tables' file is run again under a program")
    # As a later file may have it: the statement gives another column.
    lock = re.search(r"CREATE OR REPLACE FUNCTION kv_lock.*?\n\$\$;", (ROOT / "share/kvcodable/fleet.sql").read_text(), re.S)
    later = lock[0].replace("out_value bytea\n", "out_value bytea, out_more integer\n").replace(
        "v.key, v.value\n", "v.key, v.value, 1\n")
    drop = "DROP FUNCTION kv_lock(text, bigint, uuid, bigint, bigint)"
    fleet.server.sql(f"BEGIN; {drop}; {later} COMMIT")
    try:
        code, rest = program.call("s:set('n', 22)")
        check(code == "ok" and fleet.stored(name, "n") == 22, "a statement that gives another column now", f"{code} {rest}")
    finally:
        fleet.server.sql(drop)
        fleet.server.make_tables()
    code, rest = program.call("s:set('n', 23)")
    check(code == "ok" and fleet.stored(name, "n") == 23, "and again the one before", f"{code} {rest}")


@row
def many_rights(fleet):
    """What a role may is found among its own rights, however many others have some."""
    store, count = fleet.store(), 5000
    sql = fleet.server.sql
    sql(f"CREATE ROLE kiosks; CREATE ROLE kiosk LOGIN IN ROLE kiosks; INSERT INTO kv_right VALUES ('kiosks', '{store}', false);"
        f" INSERT INTO kv_store (name) VALUES ('{store}')")
    reading = ("DO $$ BEGIN FOR i IN 1..1000 LOOP PERFORM head FROM kv_store WHERE name = '%s'; END LOOP; END $$" % store)

    def seconds():
        best = 1000
        for _ in range(5):
            start = time.monotonic()
            sql(reading, user="kiosk")
            best = min(best, time.monotonic() - start)
        return best

    few = seconds()
    sql(f"DO $$ BEGIN FOR i IN 1..{count} LOOP EXECUTE 'CREATE ROLE kiosk' || i || ' IN ROLE kiosks'; END LOOP; END $$; "
        f"INSERT INTO kv_right SELECT 'kiosk' || i, 'kiosk-' || i, true FROM generate_series(1, {count}) i; ANALYZE kv_right")
    many = seconds()
    sql("DELETE FROM kv_right WHERE store LIKE 'kiosk-%'; ANALYZE kv_right; "
        f"DO $$ BEGIN FOR i IN 1..{count} LOOP EXECUTE 'DROP ROLE kiosk' || i; END LOOP; END $$")
    check(many < 2 * few + 0.02, f"1,000 reads take {few * 1000:.0f} ms among few roles, {many * 1000:.0f} ms among {count}")


@row
def crowd(fleet):
    """Many machines start together, on a server that has a connection for each and no more; one waits for room."""
    folder = Path(fleet.folder) / "crowd"
    folder.mkdir()
    server, processes = Server(folder), []
    try:
        server.make_tables()
        server.sql("CREATE ROLE machine LOGIN; INSERT INTO kv_right VALUES ('machine', '*', true)")
        server.stop()
        count = 300 if fleet.full else 60
        # Three more are the superuser's, who writes and looks.
        server.start(("max_connections", count + 3), ("superuser_reserved_connections", 3))
        built, output = run("gcc", "-std=c11", "-O1", f"-I{ROOT}/include", ROOT / "Tests/Support/fleet_nodes.c", "-o",
                            f"{folder}/nodes", f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
        check(built, "many machines in a process are built", output)
        processes = [subprocess.Popen([folder / "nodes", server.text(user="machine"), "all", str(count // 6), "0", "1"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env=environment(XDG_CACHE_HOME="/proc/none")) for _ in range(6)]
        ready = [select.select([each.stdout], [], [], 60)[0] and each.stdout.readline() for each in processes]
        failed = [each.stderr.read() for each, line in zip(processes, ready) if line != "ready\n" and each.poll() is not None]
        check(ready == ["ready\n"] * 6, f"{count} machines that start together have the store", f"{ready} {failed}")
        late = Program(fleet, XDG_CACHE_HOME=f"{folder}/late")
        late.send(f"return open('all', {fleet.options(server.text(user='machine'), timeout=20)})")
        code, rest = late.receive(3)
        check(code is None, "one more waits for room", f"{code} {rest}")
        near = fleet.open("all", text=server.text(), durability="immediate", cache=f"{folder}/near")
        near.value("s:set('change', { n = 1, at = 0 })")
        counted = [each.communicate(timeout=60)[1].strip() for each in processes]
        check(all(each.returncode == 0 for each in processes), f"all take up a change", str(counted))
        code, rest = late.receive(20)
        check(code == "ok", "and there is room where machines are gone", f"{code} {rest}")
        check(late.value("s:set('a', 1) return sync() and s:get 'change'.n") == "1", "for all that it does")
        layered = Program(fleet, XDG_CACHE_HOME=f"{folder}/layered")
        text = server.text(user="machine") + " application_name=layered"
        layered.value(f"return open('local', {{ fleet = {{ server = '{text}', mandatory = {{ 'all', 'more' }} }} }})")
        near.value("s:set('change', { n = 2, at = 0 })")
        told = layered.value("return await(5, function() return s:get 'change'.n == 2 end)")
        count = server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'layered'")
        check(told == "true" and count == "1", "a program with two layers has one connection", f"{told} {count}")
    finally:
        for each in processes:
            each.kill()
            each.wait()
        server.stop()


@row
def rights(fleet):
    """Roles: who may read, who may write, and what is told to those who may not."""
    name = fleet.store()
    fleet.server.sql("CREATE ROLE devices; CREATE ROLE device LOGIN IN ROLE devices; CREATE ROLE stranger LOGIN; "
                     "CREATE ROLE operator LOGIN; "
                     f"INSERT INTO kv_right VALUES ('devices', '{name}', false), ('operator', '*', true)")
    operator = fleet.open(name, text=fleet.server.text(user="operator"), durability="immediate")
    operator.value("s:set('a', 1)")
    device = fleet.open(name, text=fleet.server.text(user="device"), durability="immediate")
    check(device.value("return s:get 'a'") == "1", "a device reads what its group may")
    code, rest = device.call("s:set('a', 2)")
    check(code == "access_denied", "and may not write it", f"{code} {rest}")
    operator.value("s:set('a', 3)")
    check(device.value("return await(5, function() return s:get 'a' == 3 end)") == "true", "it is told of changes")
    fleet.server.sql("CREATE ROLE \"Inner One\" LOGIN IN ROLE device")
    check(fleet.server.sql(f"SELECT count(*) FROM kv_value WHERE store = '{name}'", user="Inner One") == "1",
          "a member of a member reads it, too")
    fleet.server.sql("REVOKE devices FROM device")
    check(fleet.server.sql(f"SELECT count(*) FROM kv_value WHERE store = '{name}'", user="Inner One") == "0",
          "until the group is taken from it")
    fleet.server.sql("GRANT devices TO device")
    rights_of_strangers(fleet, name)
    rights_taken(fleet, name, operator, device)
    rights_revoked(fleet, name, operator, device)


def rights_of_strangers(fleet, name):
    stranger = fleet.open(name, text=fleet.server.text(user="stranger"), cache=f"{fleet.folder}/stranger")
    check(stranger.value("return s:get 'a'") == "nil", "a stranger sees nothing")
    check(fleet.server.sql("SELECT count(*) FROM kv", user="stranger") == "0", "nor in the view")
    seen = [fleet.server.sql("SELECT string_agg(role, ' ' ORDER BY role) FROM kv_right WHERE role IN ('devices', 'operator')",
                             user=user) for user in ("stranger", "device", "operator", "owner")]
    check(seen == ["", "devices", "operator", "devices operator"], "everybody sees the rights that are their own", str(seen))
    check(fleet.server.sql(f"SELECT who FROM kv_change WHERE store = '{name}' LIMIT 1") == "operator",
          "the history has the operator's name")
    # The cheaper a function, the sooner it is asked of a row.
    leak = ("CREATE FUNCTION pg_temp.leak(text, bigint) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS "
            "$$ BEGIN RAISE EXCEPTION 'seen: %', $1; END $$; SELECT count(*) FROM kv WHERE pg_temp.leak(store, revision)")
    try:
        seen = fleet.server.sql(leak, user="stranger")
    except RuntimeError as error:
        seen = str(error)
    check(seen.splitlines()[-1] == "0", "a stranger's function is asked of no row", seen)
    fleet.server.sql("CREATE FUNCTION public.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
    check(fleet.server.sql("SELECT count(*) FROM kv", user="stranger") == "0", "the server's own functions come before others of their names")
    fleet.server.sql("DROP FUNCTION public.pg_has_role(name, oid, text); GRANT CREATE ON SCHEMA public TO PUBLIC")
    made = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", fleet.server.folder, "-p", str(fleet.server.port), "-U",
                           "owner", "-f", str(ROOT / "share/kvcodable/fleet.sql"), "postgres"], stderr=subprocess.PIPE, text=True)
    fleet.server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    check(made.returncode != 0 and "REVOKE CREATE ON SCHEMA public FROM PUBLIC" in made.stderr,
          "no tables are made in a schema in which everybody may make functions", made.stderr)


def rights_taken(fleet, name, operator, device):
    fleet.server.sql("DELETE FROM kv_right WHERE role = 'devices'")
    operator.value("s:set('a', 3.5)")
    code, rest = device.call("return sync()")
    check(code == "access_denied" and "any more" in rest, "a right that was taken is told", f"{code} {rest}")
    check(device.value("return s:get 'a'") == "3", "and the values in memory count on")
    fleet.server.sql(f"INSERT INTO kv_right VALUES ('devices', '{name}', false)")
    check(device.value("return await(40, function() return pcall(sync) and s:get 'a' == 3.5 end)", 60) == "true", "until it is back")
    operator.value("s:set('a', 3)")
    check(device.value("return await(5, function() return s:get 'a' == 3 end)") == "true", "and it is told of changes again")


def rights_revoked(fleet, name, operator, device):
    asking = fleet.open(name, text=fleet.server.text(user="device"), poll_interval=0.3, cache=f"{fleet.folder}/asking")
    fleet.server.sql(f"REVOKE ALL ON kv_value FROM PUBLIC")
    try:
        operator.call("s:set('a', 4)")
        code, rest = device.call("return sync()")
        check(code == "access_denied", "rights that were revoked are told", f"{code} {rest}")
        check(device.value("return s:get 'a'") == "3", "and the values in memory count on")
        owner = fleet.open(name, durability="immediate", cache=f"{fleet.folder}/owner")
        owner.value("s:set('b', 5)")
        check(asking.value("return await(5, function() return told 'unreadable' ~= nil end)") == "true",
              "what cannot be looked at is told")
    finally:
        fleet.server.sql("GRANT SELECT, INSERT, UPDATE ON kv_value TO PUBLIC")
    check(device.value("return await(40, function() return pcall(sync) end)", 60) == "true", "until they are back")
    check(asking.value("return await(5, function() return s:get 'b' == 5 end)") == "true", "and is looked at again")


@row
def refused(fleet):
    """Servers and texts that are refused, in words that give nothing away."""
    name = fleet.store()
    program = Program(fleet)

    def opening(text, **more):
        return program.call(f"return open('{name}', {fleet.options(text, **more)})", 30)

    hba = fleet.server.data / "pg_hba.conf"
    old = hba.read_text()
    fleet.server.sql("CREATE ROLE secretive LOGIN PASSWORD 'right'")
    hba.write_text("host all secretive 127.0.0.1/32 scram-sha-256\n" + old)
    fleet.server.sql("SELECT pg_reload_conf()")
    time.sleep(0.2)
    text = fleet.server.text(port=fleet.server.port, user="secretive")
    passwords = Path(fleet.folder) / "pgpass"
    passwords.write_text("*:*:*:*:wrong-password\n")
    passwords.chmod(0o600)
    code, rest = opening(text + f" passfile={passwords}")
    check(code == "access_denied" and "wrong-password" not in rest, "a wrong password is told", f"{code} {rest}")
    passwords.write_text("*:*:*:*:right\n")
    fleet.server.sql("INSERT INTO kv_right VALUES ('secretive', '*', true)")
    code, rest = opening(text + f" passfile={passwords}")
    check(code == "ok", "the right one, in a file, opens", f"{code} {rest}")
    program.value("s:close()")
    code, rest = opening(text + " password=hunter2")
    check(code == "misuse" and "hunter2" not in rest, "a password in the text is refused", f"{code} {rest}")
    code, rest = opening("nonsense hunter2")
    check(code == "misuse" and "hunter2" not in rest, "a text that is none, without repeating it", f"{code} {rest}")
    code, rest = opening("host=fleet.example.com dbname=fleet")
    check(code == "unsafe_location" and "verify-full" in rest, "a server elsewhere has to prove who it is",
          f"{code} {rest}")
    service = Path(fleet.folder) / "services"
    service.write_text("[elsewhere]\nhost=192.0.2.1\nsslmode=require\n"
                       f"[here]\nhost={fleet.folder}\nport={fleet.server.port}\nuser=owner\ndbname=postgres\n")
    named = Program(fleet, PGSERVICEFILE=service)
    code, rest = named.call(f"return open('{name}', {fleet.options('service=elsewhere')})")
    check(code == "unsafe_location" and "verify-full" in rest, "also when a service file names it", f"{code} {rest}")
    code, rest = named.call(f"return open('{name}', {fleet.options('service=here')})")
    check(code == "ok", "a service file is the usual way", f"{code} {rest}")
    fleet.server.sql("CREATE DATABASE bare")
    code, rest = opening(fleet.server.text(database="bare"))
    check(code == "unsupported" and "fleet.sql" in rest, "a database without the tables", f"{code} {rest}")
    fleet.server.sql("CREATE DATABASE newer")
    fleet.server.make_tables("newer")
    fleet.server.sql("UPDATE kv_format SET version = 2", database="newer")
    code, rest = opening(fleet.server.text(database="newer"))
    check(code == "unsupported" and "version" in rest, "tables of a newer version", f"{code} {rest}")
    broken = Path(fleet.folder) / "libraries"
    broken.mkdir()
    (broken / "libpq.so.5").write_text("none")
    bare = Program(fleet, LD_LIBRARY_PATH=broken)
    code, rest = bare.call(f"return open('{name}', {fleet.options()})")
    check(code == "unsupported" and "libpq5" in rest, "without libpq the error names the package", f"{code} {rest}")
    code, rest = program.call("return open('" + name + "', {engine = 'postgresql'})")
    check(code == "misuse" and "server" in rest, "without a server", f"{code} {rest}")
    code, rest = program.call("local s, e = kv.open_file('/tmp/x', {engine = 'postgresql'}) error(e, 0)")
    check(code == "misuse", "a file on a server", f"{code} {rest}")


# ---- Size, and processes


@row
def swift(fleet):
    """The same in Swift, and random operations that must mean the same as on a dictionary."""
    good, output = run(SWIFT, "build", "--build-tests", cwd=ROOT)
    if not check(good, "the tests in Swift build", output[-2000:]):
        return
    good, output = run(".build/debug/kvcodablePackageTests.xctest", "--testing-library", "swift-testing", "--filter",
                       "ModelTests|FleetTests", cwd=ROOT, env=environment(
                           KVCODABLE_FLEET_SERVER=fleet.server.text(), XDG_CACHE_HOME=f"{fleet.folder}/cache-swift",
                           KVCODABLE_OPERATIONS=100000 if fleet.full else 6000))
    check(good, "layers, history and random operations", output[-3000:])
    found = fleet.server.sql("SELECT string_agg(DISTINCT regexp_replace(store, '-[0-9]+$', ''), ' ') FROM kv_change "
                             "WHERE store ~ '^(swift|model)-'")
    check(found == "model swift-all swift-history swift-usual", "the server has had them", found)


@row
def many(fleet):
    """100,000 keys: written, opened, followed."""
    name, keys = fleet.store(), 100000
    one = fleet.open(name, timeout=60)
    start = time.monotonic()
    one.value(f"local all = {{}} for i = 1, {keys} do all['key' .. i] = {{ number = i, text = 'value ' .. i }} end "
              "s:set({}, all) return sync()", 120)
    wrote = time.monotonic() - start
    start = time.monotonic()
    other = fleet.open(name, timeout=60, cache=f"{fleet.folder}/other")
    opened = time.monotonic() - start
    check(other.value("return #s") == str(keys), f"{keys} keys: written in {wrote:.1f} s, opened in {opened:.2f} s")
    count = fleet.server.sql(f"SELECT count(*) FROM kv_value WHERE store = '{name}'")
    check(count == str(keys), "all are on the server", count)
    start = time.monotonic()
    one.value("s:set({'key77', 'number'}, -1) return sync()")
    check(other.value("return await(10, function() return s:get{'key77', 'number'} == -1 end)") == "true",
          f"one of them is changed and seen in {(time.monotonic() - start) * 1000:.0f} ms")
    refused_key = one.call(f"s:set(('k'):rep(1001), 1)")
    check(refused_key[0] == "limit_exceeded", "a key that no index holds is refused by set", str(refused_key))
    one.value("s:set(('k'):rep(1000), 1) return sync()")
    check(fleet.server.sql(f"SELECT count(*) FROM kv_value WHERE store = '{name}'") == str(keys + 1),
          "the longest is written")


@row
def fork(fleet):
    """A process that forks: both go on, each over connections of its own."""
    program = f"{fleet.folder}/fleet_fork"
    good, output = run("gcc", "-std=c11", "-O1", "-Iinclude", "Tests/Support/fleet_fork.c", "-o", program, "-Lbuild",
                       "-lkvcodable", f"-Wl,-rpath,{ROOT}/build", cwd=ROOT)
    if not check(good, "the program in C builds", output):
        return
    rounds, each = (50, 100) if fleet.full else (5, 20)
    failures = []
    for _ in range(rounds):
        name = fleet.store()
        good, output = run(program, fleet.far(), name, str(each), timeout=60, env=environment(
            XDG_CACHE_HOME=f"{fleet.folder}/cache", XDG_CONFIG_HOME=f"{fleet.folder}/config"))
        if not good or fleet.stored(name, "count") != 2 * each or fleet.stored(name, "waiting") != 1:
            failures.append(f"{output} {fleet.stored(name, 'count')} {fleet.stored(name, 'waiting')}")
    check(not failures, f"{rounds} forks, {each} updates of each side: none lost, none made twice", "\n".join(failures))


@row
def sandbox(fleet):
    """A script in a sandbox names no server, and reads of none."""
    program = f"{fleet.folder}/fleet_sandbox"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "lua5.4"], stdout=subprocess.PIPE, text=True).stdout.split()
    good, output = run("gcc", "-std=c11", "-O1", "-Iinclude", "Tests/Support/fleet_sandbox.c", "-o", program, "-Lbuild",
                       "-lkvcodable_lua", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build", *flags, cwd=ROOT)
    if not check(good, "the host builds", output):
        return
    name = fleet.store()
    host = subprocess.Popen([program, fleet.far(), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True,
                            env=environment(XDG_CACHE_HOME=f"{fleet.folder}/cache",
                                            XDG_CONFIG_HOME=f"{fleet.folder}/config"))
    try:
        check(host.stdout.readline().strip() == "opened", "a host opens and pushes its store")
        origin = host.stdout.readline().split()
        check(origin[2:] == ["nil"] * 3, "an origin names neither file nor store nor author of a host's", str(origin))
        grown = int(host.stdout.readline())
        check(grown < 300, "asking where a value comes from, 15,000 times, takes no memory", f"{grown} KB")
        fleet.proxy.cut()
        output, _ = host.communicate("\n", timeout=30)
        lines = output.splitlines()
        check(lines[0] == "access_denied The host of this script allows no servers", "a script may not name a server",
              output)
        check(lines[1] == "access_denied The host of this script allows no files", "nor without files", output)
        check(lines[2].startswith("unreachable ") and str(fleet.proxy.port) not in lines[2] and
              "127.0.0.1" not in lines[2], "an error names no server", output)
    finally:
        host.kill()
        host.wait()


@row
def page(fleet):
    """The page on fleets: its SQL, Lua and C do what they say."""
    text = (ROOT / "docs/fleets.md").read_text()

    def block(language, mark="fleet"):
        return re.search(rf"^```{language} {mark}\n(.*?)^```", text, flags=re.M | re.S)[1]

    fleet.server.sql("CREATE DATABASE paged")
    fleet.server.make_tables("paged")
    rights = re.sub(r"\bdevices\b", "paged_devices", block("sql"))
    fleet.server.sql(rights, database="paged")
    check(fleet.server.sql("SELECT count(*) FROM kv_right", database="paged") == "3", "its rights are given")
    services = Path(fleet.folder) / "page.conf"
    services.write_text(f"[fleet]\nhost={fleet.folder}\nport={fleet.server.port}\nuser=owner\ndbname=paged\n")
    given = environment(PGSERVICEFILE=services, XDG_CACHE_HOME=f"{fleet.folder}/page",
                        XDG_CONFIG_HOME=f"{fleet.folder}/page", LUA_CPATH=f"{ROOT}/build/?.so;;")
    good, output = run("lua5.4", "-e", block("lua"), env=given, timeout=30)
    check(good, "its Lua runs", output)
    check(fleet.server.sql("SELECT string_agg(key || ' ' || value, ', ' ORDER BY key) FROM kv", database="paged") ==
          'deployments 1, limits {"burst": 50}', "and is seen in psql")
    fleet.server.sql("INSERT INTO kv_store (name) VALUES ('defaults')", database="paged")
    good, output = run("lua5.4", "-e", block("lua", "layers"), env=given, timeout=30)
    check(good, "so do its layers", output)
    source, program = f"{fleet.folder}/page.c", f"{fleet.folder}/page-c"
    Path(source).write_text(block("c"))
    good, output = run("gcc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", source, "-o", program,
                       f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
    check(good, "its C compiles", output)
    good, output = run(program, env=given, timeout=30)
    check(good and output == "50\n", "and reads what Lua has set", output)
    Path(source).write_text(block("c", "layers"))
    good, output = run("gcc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-c", source, "-o", f"{program}.o")
    check(good, "so does that of the layers", output)
    schema = fleet.server.sql("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'kv%'",
                              database="paged")
    fleet.server.make_tables("paged")
    check(fleet.server.sql("SELECT count(*) FROM kv", database="paged") == "2" and schema == "7",
          "making the tables again changes nothing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("rows", nargs="*")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="kvfleet-")
    os.chmod(folder, 0o755)
    fleet = None
    try:
        fleet = Fleet(folder, arguments.full)
        for body in ROWS:
            if arguments.rows and body.__name__ not in arguments.rows:
                continue
            start = time.monotonic()
            try:
                body(fleet)
            except Exception as error:  # whatever it is, the other rows run
                check(False, f"{body.__name__}: {type(error).__name__}", str(error))
            fleet.clear()
            print(f"# {body.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    finally:
        if fleet:
            fleet.clear()
            fleet.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    finish()


main()
