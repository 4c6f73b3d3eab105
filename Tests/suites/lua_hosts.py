#!/usr/bin/env python3
"""Neovim and nginx run the module: the examples of lua/examples, as they stand. Prints TAP.

Both embed LuaJIT. Neovim's loop is woken through libuv; of nginx two workers, each with a Lua and a store of its own,
see each other's changes by their watches.
"""
import getpass
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from examples import commands
from tap import ROOT, check, environment, finish, run

EXAMPLES = ROOT / "lua/examples"
LUAJIT = environment(LUA_CPATH=f"{ROOT}/build/lua/luajit/?.so;;")
SECONDS = 15  # for whatever is waited for; it takes a tenth of one


def set_lua(folder):
    """A program that other programs take for Lua 5.4 with the module."""
    script = folder / "lua"
    script.write_text(f'#!/bin/sh\nLUA_CPATH="{ROOT}/build/?.so;;" exec lua5.4 "$@"\n')
    script.chmod(0o755)
    return script


# proves: G94
def neovim(folder):
    notes = folder / "notes.json"
    options = folder / "nvim/margin.json"
    given = {**LUAJIT, "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), "NOTES": str(notes),
             "OTHER_LUA": str(set_lua(folder)), "SET_LUA": str(EXAMPLES / "neovim/set.lua")}
    good, output = run("timeout", "60", "nvim", "--headless", "--clean", "--cmd",
                       f"set runtimepath^={EXAMPLES}/neovim", "-c", f"luafile {ROOT}/Tests/Support/neovim.lua",
                       "-c", "cquit", env=given)
    if not check(good and notes.exists(), "Neovim runs the plug-in and ends", output):
        return
    noted = json.loads(notes.read_text())

    def expect(name, value, what):
        check(noted.get(name) == value, f"Neovim: {what}", f"{noted}\n{output}")

    expect("default", "80", "an option that is not set has its default")
    expect("set", "100", "what a command sets is shown when libuv wakes the loop")
    expect("nested", "60", "an option inside of another is set by its place")
    expect("refused", ["margin: Expected Int at column, found String",
                       "margin: Expected 1...500 at filetypes.lua, found 1000"], "wrong options are told, with places")
    expect("kept", "100", "a wrong option changes nothing")
    expect("arrived", "72", "what another program sets arrives")
    expect("wrong", ["Expected Int at column, found String"], "what another program set wrongly is told, once")
    expect("still", "72", "and what was right before is kept")
    expect("removed", "80", "an option that is taken away has its default again")
    check(len(noted["typo"]) == 1 and "(line 2, column 10)" in noted["typo"][0], "Neovim: a typo is told with its line",
          str(noted["typo"]))
    expect("late", "90", "what is set while its user is asked something arrives after that")
    check(noted["pumps"] < 10, "Neovim: the poll rests until it was pumped", f"{noted['pumps']} pumps")
    check(json.loads(options.read_text()) == {"filetypes": {"lua": 60}, "column": 90},
          "Neovim: the file holds what was set", options.read_text())


# ---- nginx


class Nginx:
    """The example's configuration in a folder, at a port that is free."""

    def __init__(self, folder):
        self.folder = folder
        text = (EXAMPLES / "nginx/nginx.conf").read_text()
        shutil.copy(EXAMPLES / "nginx/settings.lua", folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "nginx.conf").write_text(text.replace("127.0.0.1:8089", f"127.0.0.1:{self.port}"))
        self.process = subprocess.Popen(
            ["nginx", "-p", folder, "-c", "nginx.conf", "-e", "error.log", "-g",
             f"daemon off; user {getpass.getuser()};"],
            env=LUAJIT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def log(self):
        path = self.folder / "error.log"
        return path.read_text() if path.exists() else "no log"

    def connected(self):
        """A connection; its requests all go to the worker that took it."""
        deadline = time.monotonic() + SECONDS
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
            try:
                connection.connect()
                return connection
            except ConnectionRefusedError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def workers(self):
        """A connection to each of the two workers, by process number: the system spreads connections over them."""
        found = {}
        for _ in range(200):
            connection = self.connected()
            worker = ask(connection, "/told")[1]["worker"]
            if worker in found:
                connection.close()
            else:
                found[worker] = connection
            if len(found) == 2:
                break
        return found

    def stop(self):
        """Ends it as its administrator does; gives its status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def ask(connection, path, value=None):
    """The status and the answer; with a value it is put."""
    connection.request("GET" if value is None else "PUT", path, None if value is None else json.dumps(value))
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def becomes(connection, path, expected):
    """What is answered, as soon as it is what is expected, and at last."""
    deadline = time.monotonic() + SECONDS
    while True:
        status, answer = ask(connection, path)
        answer.pop("worker")
        if (status, answer) == expected or time.monotonic() > deadline:
            return status, answer
        time.sleep(0.01)


def typed(one, other):
    for name, connection in (("one worker", one), ("the other", other)):
        status, answer = ask(connection, "/settings/limit")
        check((status, answer.get("value")) == (200, 10), f"nginx: {name} gives a default", str(answer))
    status, answer = ask(one, "/settings/limit", 20)
    check((status, answer.get("value")) == (200, 20), "nginx: a worker sets a setting", str(answer))
    found = becomes(other, "/settings/limit", (200, {"value": 20}))
    check(found == (200, {"value": 20}), "nginx: the other gives it", str(found))
    for path, value, message in (("/settings/limit", 1000, "Expected 1...100 at limit, found 1000"),
                                 ("/settings/limit", "20", "Expected Int at limit, found String"),
                                 ("/settings/blocked", ["eve", 5], "Expected String at blocked[2], found Int")):
        status, answer = ask(other, path, value)
        check((status, answer.get("error")) == (422, message), f"nginx: refuses {value!r}, with its place", str(answer))
    answers = [ask(connection, "/?name=Ada") for connection in (one, other) for _ in range(100)]
    check(all(status == 200 and answer["text"] == "Hello, Ada" for status, answer in answers),
          "nginx: 200 requests each get a typed setting", str(answers[-1]))


def watched(one, other):
    """Names are blocked by what a watch's function made, and by nothing else."""
    greeted, blocked = (200, {"text": "Hello, eve"}), (403, {"error": "blocked"})
    for connection in (one, other):
        check(becomes(connection, "/?name=eve", greeted) == greeted, "nginx: nobody is blocked at first")
    ask(one, "/settings/blocked", ["eve", "mallory"])
    for name, connection in (("who set it", one), ("the other", other)):
        check(becomes(connection, "/?name=eve", blocked) == blocked, f"nginx: {name} is told by its watch")
        check(becomes(connection, "/told", (200, {"told": 1})) == (200, {"told": 1}), f"nginx: {name} is told once")
    ask(other, "/settings/blocked", [])
    check(becomes(one, "/?name=eve", greeted) == greeted, "nginx: and the one by what the other set")


def from_outside(folder, nginx, connections):
    """Another program, which knows nothing of the types, sets what is wrong and then what is right."""
    script = folder / "outside.lua"
    script.write_text("""local kv = require "kvcodable"
      local store <close> = assert(kv.open_file(arg[1], { durability = "immediate" }))
      store:set("blocked", assert(kv.decode(arg[2], nil, { format = "json" })))""")
    settings = folder / "settings.json"
    # Each worker has been told of its two changes before the next comes.
    for connection in connections:
        becomes(connection, "/told", (200, {"told": 2}))
    problem = "Expected Array at blocked, found Dictionary"

    def write(value):
        good, output = run(set_lua(folder), script, settings, value)
        check(good, f"nginx: another program writes {value}", output)

    def answers(expected):
        for connection in connections:
            found = becomes(connection, "/settings/blocked", expected)
            check(found == expected, f"nginx: a worker answers {expected[0]}", str(found))

    write('{"eve": true}')
    answers((500, {"error": problem}))
    deadline = time.monotonic() + SECONDS
    while nginx.log().count(problem) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    check(nginx.log().count(problem) == 2, "nginx: each worker's log says what was wrong, once", nginx.log())
    write('["trent"]')
    answers((200, {"value": ["trent"]}))
    for connection in connections:
        found = becomes(connection, "/?name=trent", (403, {"error": "blocked"}))
        check(found[0] == 403, "nginx: a worker is told of what another program set", str(found))


def killed(nginx, workers):
    """A worker that dies takes nothing with it: nginx starts another, which opens the store."""
    victim = min(workers)
    before = set(workers)
    os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + SECONDS
    fresh = {}
    while time.monotonic() < deadline and (len(fresh) < 2 or victim in fresh):
        try:
            fresh = nginx.workers()
        except (ConnectionError, http.client.HTTPException):
            time.sleep(0.02)
    check(len(set(fresh) - before) == 1, "nginx: a worker that was killed has a successor", str(fresh))
    for connection in fresh.values():
        found = becomes(connection, "/?name=trent", (403, {"error": "blocked"}))
        check(found[0] == 403, "nginx: what was set is in force in both", str(found))


# proves: G94
def nginx(folder):
    server = Nginx(folder)
    try:
        workers = server.workers()
        if not check(len(workers) == 2, "nginx: both workers answer", server.log()):
            return
        connections = list(workers.values())
        typed(*connections)
        watched(*connections)
        from_outside(folder, server, connections)
        killed(server, workers)
    except (OSError, http.client.HTTPException) as problem:
        check(False, f"nginx answers: {problem}", server.log())
    finally:
        status = server.stop()
    check(status == 0, "nginx ends", server.log())
    check(json.loads((folder / "settings.json").read_text()) == {"limit": 20, "blocked": ["trent"]},
          "nginx: the file holds what was set")
    check(not list(folder.glob("settings.json.unsaved-*")), "nginx: no worker left anything unsaved")


def main():
    commands(of_places=True)
    for example in (neovim, nginx):
        folder = Path(tempfile.mkdtemp())
        try:
            example(folder)
        finally:
            shutil.rmtree(folder)
    finish()


main()
