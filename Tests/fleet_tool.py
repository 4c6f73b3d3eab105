#!/usr/bin/env python3
"""The command line on stores of a fleet, with a real PostgreSQL server: its verbs, the tables that it makes, history, undo,
what machines report, and the rights of real roles.

    fleet_tool.py [ROW ...]

Prints TAP.
"""
import getpass
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from servers.postgresql import Server, free_port
from tap import ROOT, check, environment, finish, run, skip

TOOL = ROOT / "build/kvdefaults"
ROLES = ("owner", "operator", "berliner", "device_1", "device_2", "stranger")
TYPES = """root Settings
struct Settings {
    limits: Limits?
    token: String? @secret
}
struct Limits {
    burst: Int(1...100) = 10
    rate: Int?
}
"""


class Fleet:
    """A server, a service file with a service for each role, and commands."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.server = Server(folder)
        # Over loopback, so that a server that is stopped is a port that refuses.
        services = "".join(f"[{name}]\nhost=127.0.0.1\nport={self.server.port}\nuser={role}\ndbname=fleet\n"
                           "sslmode=disable\n" for name, role in [*zip(ROLES, ROLES), ("fleet", "device_1")])
        (self.folder / "services").write_text(services)
        self.data = self.folder / "share"
        (self.data / "kvcodable/types").mkdir(parents=True, mode=0o700)
        self.environment = environment(
            PGSERVICEFILE=self.folder / "services", XDG_CONFIG_HOME=self.folder / "config", XDG_DATA_HOME=self.data,
            XDG_DATA_DIRS=self.folder / "none", XDG_CACHE_HOME=self.folder / "cache", HOME=self.folder, LC_ALL="C.UTF-8",
            PATH=f"{TOOL.parent}:{os.environ['PATH']}")
        self.sql("CREATE DATABASE fleet", database="postgres")
        self.sql("CREATE ROLE stranger LOGIN; CREATE ROLE operator LOGIN; CREATE ROLE reader; "
                 "CREATE ROLE berliner LOGIN IN ROLE reader; CREATE ROLE devices; CREATE ROLE berlin; "
                 "CREATE ROLE device_1 LOGIN IN ROLE devices, berlin; CREATE ROLE device_2 LOGIN IN ROLE devices")
        (self.folder / "config").mkdir(mode=0o700)

    def sql(self, text, user="owner", database="fleet"):
        return self.server.sql(text, user=user, database=database)

    def refuses(self, text, user):
        """The server's words for a statement that it refuses; nothing where it was run."""
        try:
            self.sql(text, user)
        except RuntimeError as error:
            return str(error)
        return ""

    def run(self, *words, given="", **changes):
        """Status, output and errors of kvdefaults."""
        result = subprocess.run([str(TOOL), *words], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.folder, env={**self.environment, **changes}, timeout=60)
        return result.returncode, result.stdout, result.stderr

    def at(self, text, role="owner", **changes):
        """A command with --server behind it, from the words of a text."""
        return self.run(*text.split(), "--server", role, **changes)

    def same(self, text, output="", error="", status=0, role="owner", **changes):
        """Checks what a command prints, says and ends with."""
        found = self.at(text, role, **changes)
        return check(found == (status, output, error), f"kvdefaults {text}", f"{found}")


def eventually(condition, seconds=8):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


ROWS = []


def row(body):
    ROWS.append(body)
    return body


@row
def tables(fleet):
    """`fleet init` makes the tables once, and leaves newer ones alone."""
    status, output, error = fleet.run("get", "all", "x", "--server", "service=owner")
    check(status == 2 and "no tables of a fleet" in error, "without tables that is told", error)
    status, output, error = fleet.run("fleet", "init", "owner")
    check((status, output, error) == (0, "The tables are made, of version 1.\n", ""), "fleet init makes them", error)
    fleet.at("set all before 1")
    before = fleet.sql("SELECT * FROM kv_store; SELECT * FROM kv_value; SELECT * FROM kv_change")
    status, output, error = fleet.run("fleet", "init", "owner")
    check(status == 0 and "were there" in output and "no data" in output, "again it says that they were there", output)
    check(fleet.sql("SELECT * FROM kv_store; SELECT * FROM kv_value; SELECT * FROM kv_change") == before != "",
          "and changes no data")
    script = (ROOT / "share/kvcodable/fleet.sql").read_text()
    check("kv_report" in script and fleet.sql("SELECT count(*) FROM pg_proc WHERE proname = 'kv_report'") == "1",
          "they are those of fleet.sql")
    status, _, error = fleet.run("fleet", "init", "stranger")
    check(status == 2 and "The server does not allow it" in error, "who does not own the tables may not", error)
    fleet.sql("CREATE SCHEMA owner")
    status, output, error = fleet.run("fleet", "init", "owner")
    check(status == 0 and "were there" in output and fleet.sql("SELECT count(*) FROM pg_class WHERE relname = 'kv_format'") == "1",
          "no second ones are made in a schema of the role's own name", output + error)
    fleet.sql("DROP SCHEMA owner")
    fleet.sql("UPDATE kv_format SET version = 2")
    status, _, error = fleet.run("fleet", "init", "owner")
    check(status == 2 and error == "kvdefaults: fleet: The tables of the fleet are of version 2: this library knows "
                                   "version 1\n", "tables of a newer version are refused", error)
    fleet.sql("DROP FUNCTION kv_report")
    told = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(fleet.folder), "-p",
                           str(fleet.server.port), "-U", "owner", "-f", str(ROOT / "share/kvcodable/fleet.sql"), "fleet"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(told.returncode != 0 and "version 2" in told.stdout and
          fleet.sql("SELECT count(*) FROM pg_proc WHERE proname = 'kv_report'") == "0",
          "by psql, too, and nothing is made", told.stdout)
    fleet.sql("UPDATE kv_format SET version = 1")
    check(fleet.run("fleet", "init", "owner")[0] == 0 and
          fleet.sql("SELECT count(*) FROM pg_proc WHERE proname = 'kv_report'") == "1", "what is missing is made")
    status, _, error = fleet.run("fleet", "init", "host=192.0.2.1 dbname=fleet")
    check(status == 2 and "verify-full" in error, "a server elsewhere has to prove who it is", error)
    fleet.at("unset all before")


@row
def verbs(fleet):
    """Every verb takes a store on a server, and leaves files alone."""
    fleet.same("list all", "", "kvdefaults: all: There is no such store\n", 1)
    fleet.same("set all limits.burst 50 limits.rate 7 greeting hello")
    fleet.same("get all limits.burst", "50\n")
    fleet.same("get all greeting --origin", "hello\nuser\n")
    fleet.same("get all none", "", "kvdefaults: all: There is no value at none\n", 1)
    fleet.same("list all", 'greeting\t"hello"\t\tuser\nlimits\t{"burst":50,"rate":7}\t\tuser\n')
    fleet.same("list", "all\n")
    fleet.same("print all limits", '{\n  "burst": 50,\n  "rate": 7\n}\n')
    fleet.same("export all --format commands",
               "kvdefaults set --type Any --server owner -- all greeting '\"hello\"'\n"
               "kvdefaults set --type Any --server owner -- all limits '{\"burst\":50,\"rate\":7}'\n")
    commands = fleet.at("export all --format commands")[1].replace("-- all", "-- again")
    good = subprocess.run(["sh", "-e", "-c", commands], env=fleet.environment, cwd=fleet.folder).returncode == 0
    check(good and fleet.at("diff all again") == (0, "", ""), "the commands make an equal store")
    fleet.same("unset again limits.rate")
    fleet.same("unset again limits.rate", "", "kvdefaults: again: There is no value at limits.rate\n", 1)
    fleet.same("diff all again", "- limits.rate = 7\n", "", 1)
    (fleet.folder / "more.json").write_text('{"more": [1, 2]}')
    fleet.same("import again more.json")
    fleet.same("get again more", "[1,2]\n")
    fleet.same("edit again limits", "1 setting changed.\n", EDITOR="sed -i s/50/60/")
    fleet.same("get again limits.burst", "60\n")
    fleet.same("lint again")
    # A name is a store there, a path is a file.
    fleet.same("copy again ./copy.plist")
    check(fleet.run("get", "./copy.plist", "limits.burst")[1] == "60\n", "a store becomes a file")
    fleet.same("copy ./copy.plist third")
    check(fleet.at("diff again third") == (0, "", "") == fleet.at("diff again ./copy.plist"), "and a file a store")
    fleet.same("copy nothing third", "", "kvdefaults: nothing: There is no such store\n", 1)
    status, _, error = fleet.at("copy again fourth --sqlite")
    check(status == 2 and "Expected --sqlite, or a name with --server" in error, "of a server no database is made", error)
    status, _, error = fleet.at("get ./copy.plist x")
    check(status == 2 and "Expected the name of a store with --server, found the path ./copy.plist" in error,
          "a path is no store on a server", error)
    status, _, error = fleet.run("set", "all", "x", "1", "--note", "why")
    check(status == 2 and "Expected --server with --note" in error, "a note needs a server", error)
    status, output, _ = fleet.run("list")
    check((status, output) == (0, "") and not list((fleet.folder / "config").glob("**/*.*")), "no file has been made", output)
    with subprocess.Popen([str(TOOL), "watch", "all", "--count", "2", "--server", "owner"],
                          stdout=subprocess.PIPE, text=True, env=fleet.environment) as watch:
        for number in range(100):
            fleet.at(f"set all count {number}")
            if watch.poll() is not None:
                break
            time.sleep(0.1)
        lines = watch.stdout.read().splitlines()
        watch.kill()
    check(len(lines) == 2 and all(line.startswith("count = ") for line in lines), "watch prints what others change",
          str(lines))


@row
def typed(fleet):
    """A type that this machine publishes under the store's name checks it, and hides its secrets."""
    types = fleet.data / "kvcodable/types/typed.kvtypes"
    types.write_text(TYPES)
    fleet.same("set typed limits.burst 0", "", "kvdefaults: typed: Expected 1...100 at limits.burst, found 0\n", 2)
    fleet.same("set typed token hunter2 limits.burst 20")
    fleet.same("get typed token", "", "kvdefaults: typed: token is a secret, which is not shown\n", 2)
    fleet.same("list typed", 'limits\t{"burst":20}\tLimits?\tuser\ntoken\t(secret)\tString?\tuser\n')
    fleet.sql("""UPDATE kv_value SET value = (SELECT value FROM kv_value WHERE store = 'all' AND key = 'greeting')
                 WHERE store = 'typed' AND key = 'limits'; """)
    shutil.rmtree(fleet.folder / "cache")
    status, output, _ = fleet.at("lint typed")
    check(status == 2 and output.startswith("typed: Expected "), "lint tells what others have written", output)
    fleet.same("set typed limits {\"burst\":30}")
    status, output, _ = fleet.at("fleet log typed --values")
    check(status == 0 and "hunter2" not in output and "token\t(secret)\t" in output, "the history hides secrets", output)
    status, output, _ = fleet.at("fleet log typed --values --json")
    check(status == 0 and "hunter2" not in output and '"(secret)"' in output, "as JSON, too", output)
    fleet.same("set typed token other")
    status, output, error = fleet.at("fleet undo 1 typed")
    check(status == 2 and "hunter2" not in error and "other" not in error and "at token" in error,
          "and so does a conflict", error)
    types.unlink()


@row
def away(fleet):
    """While the server is away what was seen last is shown, and nothing is changed."""
    fleet.same("set far value 1")
    # A thread of the library keeps what was seen: a command may have ended before.
    kept = eventually(lambda: fleet.at("get far value")[1] == "1\n" and [*(fleet.folder / "cache").rglob("far.plist")])
    check(bool(kept), "what was seen is kept")
    fleet.server.stop()
    try:
        status, output, error = fleet.at("get far value")
        check((status, output) == (0, "1\n"), "get shows what was seen last", f"{status} {output}")
        check("cannot be reached" in error and "what was seen last is shown" in error, "and says so", error)
        status, output, error = fleet.at("set far value 2")
        check(status == 2 and "cannot be reached" in error, "set fails", error)
        status, output, error = fleet.at("fleet log far")
        check(status == 2 and "cannot be reached" in error, "and so does the history", error)
        status, output, error = fleet.at("get unseen value")
        check(status == 2 and "cannot be reached" in error, "of a store that was never seen nothing is shown", error)
    finally:
        fleet.server.start()
    fleet.same("get far value", "1\n")


@row
def history(fleet):
    """Who changed what, and when, and why."""
    fleet.sql("INSERT INTO kv_right VALUES ('operator', 'history', true)")
    fleet.same("fleet log history", "", "kvdefaults: history: There is no such store\n", 1)
    fleet.run("set", "history", "a.b", "1", "c", "2", "--note", "first\tand best", "--server", "owner")
    fleet.same("get history a.b", "1\n")
    fleet.same("set history a.b 3", role="operator")
    fleet.same("get history a.b", "3\n")
    fleet.same("unset history c", role="operator")
    status, output, _ = fleet.at("fleet log history --values")
    cells = [line.split("\t") for line in output.splitlines()]
    when = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ"
    check(status == 0 and all(re.fullmatch(when, line[4]) for line in cells), "the log says when", output)
    wanted = [["3", "c", "removed", "operator", ""], ["2", "a", '{"b":3}', "operator", ""],
              ["1", "a", '{"b":1}', "owner", "first and best"], ["1", "c", "2", "owner", "first and best"]]
    check([line[:4] + line[5:] for line in cells] == wanted, "what, by whom and why, the latest first", output)
    status, output, _ = fleet.at("fleet log history --count 2")
    cells = [line.split("\t") for line in output.splitlines()]
    check([line[:3] for line in cells] == [["3", "c", "operator"], ["2", "a", "operator"]], "without values, the latest two",
          output)
    status, output, _ = fleet.at("fleet log history --values --json --count 1")
    entry = json.loads(output)[0]
    check(re.fullmatch(when, entry.pop("when")) and
          entry == {"revision": 3, "key": "c", "who": "operator", "removed": True}, "JSON says the same", output)
    entries = json.loads(fleet.at("fleet log history --values --json")[1])
    check(entries[-1]["note"] == "first\tand best" and entries[-1]["value"] == 2 and len(entries) == 4,
          "with notes and values", str(entries))
    status, _, error = fleet.run("fleet", "log", "./history.plist", "--server", "owner")
    check(status == 2 and "Expected the name of a store, found the path" in error, "a file has no history", error)
    status, _, error = fleet.run("fleet", "log", "history")
    check(status == 2 and "--server" in error, "a server is needed", error)


def stored(fleet, name):
    return json.loads(fleet.at(f"get {name}")[1])


@row
def undo(fleet):
    """A revision is undone by path, as a new one; where that would undo another person's change, nothing is."""
    fleet.at("set undo limits.burst 10 limits.rate 1 other 1")                    # 1
    fleet.at("set undo limits.burst 50 new.x 1")                                  # 2
    fleet.at("set undo limits.rate 2")                                            # 3
    fleet.same("fleet undo 2 undo")
    check(stored(fleet, "undo") == {"limits": {"burst": 10, "rate": 2}, "other": 1},
          "what the revision changed is as before, and later changes beside it stay", str(stored(fleet, "undo")))
    log = json.loads(fleet.at("fleet log undo --json --count 1")[1])
    check([entry["revision"] for entry in log] == [4, 4] and {entry["note"] for entry in log} == {"undo of revision 2"},
          "it is a revision of its own, with a note", str(log))
    fleet.same("fleet undo 2 undo")
    check(fleet.sql("SELECT head FROM kv_store WHERE name = 'undo'") == "4", "what is undone already makes no revision")
    fleet.run("fleet", "undo", "4", "undo", "--note", "back again", "--server", "owner")
    check(stored(fleet, "undo") == {"limits": {"burst": 50, "rate": 2}, "other": 1, "new": {"x": 1}} and
          "back again" in fleet.at("fleet log undo --count 1")[1], "an undoing is undone, with a note of its own")
    fleet.at("set undo limits.burst 70 new.y 2")                                  # 6
    before = fleet.sql("SELECT * FROM kv_value; SELECT * FROM kv_change")
    fleet.same("fleet undo 5 undo", "",
               "kvdefaults: undo: Expected 50 at limits.burst, as revision 5 left it, found 70\n"
               "kvdefaults: undo: Nothing is undone; --force does it all the same\n", 2)
    check(fleet.sql("SELECT * FROM kv_value; SELECT * FROM kv_change") == before != "", "and nothing is undone")
    fleet.same("fleet undo 5 undo --force")
    check(stored(fleet, "undo") == {"limits": {"burst": 10, "rate": 2}, "other": 1, "new": {"y": 2}},
          "with --force it is, and what others have put into its dictionary stays", str(stored(fleet, "undo")))
    fleet.at("unset undo other")                                                  # 8
    fleet.same("fleet undo 8 undo")
    check(stored(fleet, "undo")["other"] == 1, "a key that was removed comes back")
    fleet.same("fleet undo 99 undo", "", "kvdefaults: undo: There is no revision 99 in its history\n", 1)
    fleet.same("fleet undo 1 nothing", "", "kvdefaults: nothing: There is no revision 1 in its history\n", 1)
    undo_refused(fleet)


def undo_refused(fleet):
    """What is not restored: what the type refuses, what somebody may not write, and what was pruned."""
    (fleet.data / "kvcodable/types/undo.kvtypes").write_text("root S\nstruct S { limits: L? }\nstruct L { burst: Int(50...100) }\n")
    fleet.at("set undo limits.burst 60")                                          # 10
    status, _, error = fleet.at("fleet undo 10 undo")
    check(status == 2 and "Expected 50...100 at limits.burst, found 10" in error and stored(fleet, "undo")["limits"]["burst"] == 60,
          "the published type must accept it", error)
    (fleet.data / "kvcodable/types/undo.kvtypes").unlink()
    # Somebody who may read and not write.
    fleet.sql("INSERT INTO kv_right VALUES ('reader', 'undo', false)")
    status, _, error = fleet.at("fleet undo 10 undo", role="berliner")
    check(status == 2 and "does not allow" in error, "who may not write undoes nothing", error)
    fleet.sql("UPDATE kv_change SET at = at - interval '1 day' WHERE store = 'undo' AND revision <= 6; "
              "SELECT kv_prune('1 hour')")
    status, _, error = fleet.at("fleet undo 8 undo")
    check(status == 2 and "no longer has the values from before the revision 8" in error,
          "what was pruned cannot be restored", error)


@row
def undo_in_place(fleet):
    """Others have put something else into the place of the dictionary: what is refused, and what is left alone."""
    fleet.at("set undot server.host a")                                           # 1
    fleet.at("set undot server 5")                                                # 2
    fleet.same("fleet undo 1 undot")
    check(stored(fleet, "undot") == {"server": 5}, "a value in the place of the dictionary stays", str(stored(fleet, "undot")))
    fleet.same("fleet undo 2 undot")                                              # 3
    fleet.at("unset undot server")                                                # 4
    fleet.at("set undot server [1]")                                              # 5
    fleet.same("fleet undo 4 undot", "",
               "kvdefaults: undot: Expected none at server, as revision 4 left it, found [1]\n"
               "kvdefaults: undot: Nothing is undone; --force does it all the same\n", 2)
    fleet.same("fleet undo 4 undot --force")
    check(stored(fleet, "undot") == {"server": {"host": "a"}}, "but with --force", str(stored(fleet, "undot")))
    fleet.same("set undok \u00e9.a 1 e\u0301.a 2")                                  # 1
    fleet.same("fleet undo 1 undok")
    check(fleet.sql("SELECT count(*), count(value) FROM kv_value WHERE store = 'undok'") == "2|0",
          "keys that print alike are two", fleet.sql("SELECT key, value FROM kv_value WHERE store = 'undok'"))


@row
def reports(fleet):
    """Machines say what they run, each for itself; who looks after the store sees all."""
    fleet.sql("INSERT INTO kv_right VALUES ('devices', 'fleet', false), ('operator', 'fleet', true)")
    fleet.at("set fleet limits.burst 50")
    fleet.at("set fleet limits.burst 0")
    fleet.same("fleet status fleet", "", "kvdefaults: fleet: No machine has told what it runs\n", 1)
    fleet.sql("SELECT kv_report('fleet', 'kiosk-1', 'com.example.app', 2)", "device_1")
    fleet.sql("SELECT kv_report('fleet', 'kiosk-2', 'com.example.app', 2)", "device_2")

    def lines(role, status=0):
        found = fleet.at("fleet status fleet", role)
        check(found[0] == status, f"the status that {role} sees ends with {status}", str(found))
        return [line.split("\t")[:5] for line in found[1].splitlines()]

    check(lines("operator") == [["kiosk-1", "com.example.app", "device_1", "2", "current"],
                                ["kiosk-2", "com.example.app", "device_2", "2", "current"]], "both are current")
    fleet.sql("SELECT kv_report('fleet', 'kiosk-2', 'com.example.app', 1, 2, 'limits.burst', "
              "'Expected 1...100 at limits.burst, found 0')", "device_2")
    wanted = "refuses 2: limits.burst: Expected 1...100 at limits.burst, found 0"
    check(lines("operator", 1)[1] == ["kiosk-2", "com.example.app", "device_2", "1", wanted], "one refuses a revision")
    entry = json.loads(fleet.at("fleet status fleet --json", "operator")[1])[1]
    entry.pop("when")
    check(entry == {"machine": "kiosk-2", "program": "com.example.app", "role": "device_2", "revision": 1, "head": 2,
                    "refused": 2, "path": "limits.burst", "message": "Expected 1...100 at limits.burst, found 0"},
          "as JSON, too", str(entry))
    check([line[0] for line in lines("device_1")] == ["kiosk-1"], "a device sees its own row alone")
    fleet.at("set fleet limits.burst 20")
    fleet.sql("SELECT kv_report('fleet', 'kiosk-2', 'com.example.app', 3)", "device_2")
    check([line[4] for line in lines("owner")] == ["behind", "current"], "a later revision mends it")
    fleet.sql("UPDATE kv_machine SET at = at - interval '1 day' WHERE who = 'device_2'")
    fleet.sql("SELECT kv_report('fleet', 'kiosk-2', 'com.example.app', 3)", "device_2")
    check(fleet.sql("SELECT string_agg(machine, ' ') FROM kv_machine WHERE who = 'device_2' AND at > now() - interval '1 hour'")
          == "kiosk-2", "a report has the time at which it was told last")
    # Forgery
    fleet.sql("SELECT kv_report('fleet', 'kiosk-1', 'com.example.app', 3)", "device_2")
    check([line[:4] for line in lines("owner")][:2] == [["kiosk-1", "com.example.app", "device_1", "2"],
                                                        ["kiosk-1", "com.example.app", "device_2", "3"]],
          "who takes another's name is found by the role, and changes no row of the other")
    for what, statement in {
        "forge the role": "INSERT INTO kv_machine (store, who, machine, program, revision) "
                          "VALUES ('fleet', 'device_1', 'x', 'x', 1)",
        "take a row over": "UPDATE kv_machine SET who = 'device_1'",
        "remove a row": "DELETE FROM kv_machine",
        "say when": "UPDATE kv_machine SET at = at + interval '1 year'",
        "report on a store that it may not read": "SELECT kv_report('undo', 'kiosk-2', 'x', 1)",
    }.items():
        error = fleet.refuses(statement, "device_2")
        check("permission denied" in error or "row-level security" in error, f"a device cannot {what}", error)
    before = fleet.sql("SELECT * FROM kv_machine WHERE who = 'device_1'")
    fleet.sql("UPDATE kv_machine SET revision = 99", "device_2")
    check(fleet.sql("SELECT * FROM kv_machine WHERE who = 'device_1'") == before != "", "nor change another's row")
    fleet.sql("UPDATE kv_machine SET at = at - interval '1 day' WHERE who = 'device_2'; SELECT kv_prune('1 hour')")
    check([line[0] for line in lines("owner")] == ["kiosk-1"], "machines that are gone are forgotten with old history")


@row
def rights(fleet):
    """A device reads `all`, its groups and itself; an operator writes some stores; no role forges history."""
    fleet.sql("DELETE FROM kv_right; INSERT INTO kv_right VALUES ('devices', 'everyone', false), "
              "('berlin', 'berlin', false), ('device_1', 'device-1', true), ('device_2', 'device-2', false), "
              "('operator', 'everyone', true), ('operator', 'berlin', true)")
    for name in ("everyone", "berlin", "device-1", "device-2"):
        fleet.same(f"set {name} from owner")
    for role, allowed in {"device_1": ["berlin", "device-1", "everyone"], "device_2": ["device-2", "everyone"],
                          "stranger": []}.items():
        fleet.same("list", "".join(f"{name}\n" for name in allowed), role=role)
        seen = fleet.sql("SELECT DISTINCT store FROM kv UNION SELECT store FROM kv_change UNION SELECT store FROM kv_value "
                         "UNION SELECT name FROM kv_store ORDER BY 1", role).split()
        check(seen == allowed, f"{role} reads {' '.join(allowed) or 'nothing'}, by no table more", str(seen))
        for name in ("everyone", "berlin", "device-1", "device-2"):
            found = fleet.at(f"get {name} from", role, XDG_CACHE_HOME=str(fleet.folder / role))
            check(found[1] == ("owner\n" if name in allowed else ""), f"{role} and the store {name}", str(found))
    for role, writable in {"device_1": ["device-1"], "device_2": [], "stranger": [], "operator": ["everyone", "berlin"]}.items():
        for name in ("everyone", "berlin", "device-1", "device-2", "unborn"):
            status, _, error = fleet.at(f"set {name} by {role}", role, XDG_CACHE_HOME=str(fleet.folder / role))
            good = (status, error) == (0, "") if name in writable else status == 2 and "does not allow" in error
            check(good, f"{role} {'writes' if name in writable else 'cannot write'} {name}", f"{status} {error}")
    who = fleet.sql("SELECT string_agg(store || ' ' || who, ', ' ORDER BY store) FROM kv_change WHERE key = 'by'")
    check(who == "berlin operator, device-1 device_1, everyone operator", "the history has their names", who)
    # By hand, past every program
    key = "'k', 'v', gen_random_uuid()"
    for role, what, statement in [
        ("operator", "write in another's name", "INSERT INTO kv_change (store, revision, key, value, token, who) "
                                                f"VALUES ('berlin', 9, {key}, 'owner')"),
        ("operator", "say when", f"INSERT INTO kv_change (store, revision, key, value, token, at) VALUES ('berlin', 9, {key}, now())"),
        ("operator", "rewrite history", "UPDATE kv_change SET note = 'x'"),
        ("operator", "remove history", "DELETE FROM kv_change"),
        ("operator", "change a store's identity", "UPDATE kv_store SET identity = gen_random_uuid()"),
        ("operator", "give itself rights", "INSERT INTO kv_right VALUES ('operator', '*', true)"),
        ("operator", "prune", "SELECT kv_prune('0 days')"),
        ("device_1", "write rows of a store that it reads",
         "SELECT kv_write('everyone', 3, gen_random_uuid(), ARRAY['k'::bytea], ARRAY['v'::bytea], NULL)"),
        ("device_1", "write history of a store that it reads",
         f"INSERT INTO kv_change (store, revision, key, value, token) VALUES ('everyone', 3, {key})"),
        ("device_1", "make a store", "INSERT INTO kv_store (name) VALUES ('mine')"),
    ]:
        error = fleet.refuses(statement, role)
        check("permission denied" in error or "row-level security" in error, f"{role} cannot {what}", error)
    before = fleet.sql("SELECT * FROM kv_store")
    fleet.refuses("UPDATE kv_store SET head = 0", "device_2")
    check(fleet.sql("SELECT * FROM kv_store") == before != "", "device_2 cannot put a store back")


@row
def completion(fleet):
    """The shell offers servers, and stores and settings of the one that is named."""
    script = fleet.run("--generate-completion-script", "bash")[1]
    (fleet.folder / "completion.bash").write_text(script)

    def bash(line):
        words = line.split(" ")
        script = (f"source completion.bash; COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({line}); "
                  f"COMP_WORDS[{len(words) - 1}]='{words[-1]}'; COMP_CWORD={len(words) - 1}; COMP_TYPE=9; COMP_KEY=9; "
                  f"_kvdefaults kvdefaults '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        return sorted(subprocess.run(["bash", "--norc", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     text=True, env=fleet.environment, cwd=fleet.folder).stdout.split())

    fleet.at("set berlin limits.burst 1 limits.rate 2")
    found = bash("kvdefaults get --server dev")
    check(found == ["device_1", "device_2"], "services", str(found))
    found = bash("kvdefaults get --server owner berl")
    check(found == ["berlin"], "stores of the server", str(found))
    found = bash("kvdefaults get --server owner berlin limits.")
    check(found == ["limits.burst", "limits.rate"], "settings of a store", str(found))
    found = bash("kvdefaults fleet log --server owner berl")
    check(found == ["berlin"], "stores behind a verb of a fleet", str(found))
    found = bash("kvdefaults fleet ")
    check({"init", "log", "undo", "status"} <= {*found}, "the verbs of a fleet", str(found))


@row
def page(fleet):
    """The settings page shows a store on a server, and changes it."""
    types = fleet.data / "kvcodable/types/paged.kvtypes"
    types.write_text(TYPES)
    fleet.at("set paged limits.burst 42")
    with subprocess.Popen([str(TOOL), "page", "paged", "--server", "owner"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=fleet.environment) as process:
        address = process.stdout.readline().strip()
        good = address.startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        error = process.stderr.read()
    check(good, "the page of a store on a server is served", address + error)
    types.unlink()


# ---- The example


EXAMPLE = ROOT / "lua/examples/fleet"


class Gateway:
    """nginx with the example's configuration, at a port that is free."""

    def __init__(self, fleet):
        self.folder = fleet.folder / "gateway"
        self.folder.mkdir(exist_ok=True)
        self.port = free_port()
        text = (EXAMPLE / "nginx.conf").read_text().replace("127.0.0.1:8090", f"127.0.0.1:{self.port}")
        (self.folder / "nginx.conf").write_text(text)
        shutil.copy(EXAMPLE / "gateway.lua", self.folder)
        self.process = subprocess.Popen(
            ["nginx", "-p", self.folder, "-c", "nginx.conf", "-e", "error.log", "-g",
             f"daemon off; user {getpass.getuser()};"],
            env={**fleet.environment, "LUA_CPATH": f"{ROOT}/build/lua/luajit/?.so;;"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: self.ask("/") is not None)

    def ask(self, path, value=None):
        """Status and answer; None where no server answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET" if value is None else "PUT", path, value)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except OSError:
            return None
        finally:
            connection.close()

    def answers(self):
        """What both workers answer, by their process numbers: the system spreads connections over them."""
        found = {}
        for _ in range(100):
            status, answer = self.ask("/")
            found[answer.pop("worker")] = answer
            if len(found) == 2:
                break
        return [*found.values()]

    def becomes(self, burst):
        return eventually(lambda: self.answers() == [{"burst": burst, "message": "welcome"}] * 2)

    def log(self):
        return (self.folder / "error.log").read_text()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
        return self.process.wait(20)


class Host:
    """The example's program in C, and the lines that it has printed."""

    def __init__(self, fleet, program):
        self.output = fleet.folder / "host.txt"
        self.process = subprocess.Popen([program, "60"], env=fleet.environment, stdout=open(self.output, "w"))

    def says(self, line):
        return eventually(lambda: line in self.output.read_text().splitlines())

    def stop(self):
        self.process.kill()
        self.process.wait()


@row
def example(fleet):
    """The example: a gateway in nginx and a program in C go by central limits, also while the server is away."""
    good, output = run(ROOT / "tools/require.sh", "nginx-light", "libnginx-mod-http-lua")
    if not good:
        return skip(f"skipped: nginx is not installed, and cannot be: {output.strip()}")
    fleet.sql("INSERT INTO kv_right VALUES ('devices', 'gateway', false) ON CONFLICT DO NOTHING")
    program = fleet.folder / "host"
    good, output = run("gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                       EXAMPLE / "host.c", "-o", program, f"-L{ROOT}/build", "-lkvcodable", f"-Wl,-rpath,{ROOT}/build")
    check(good, "the example in C compiles", output)
    fleet.same("set gateway burst 50")
    gateway, host = Gateway(fleet), Host(fleet, program)
    try:
        check(gateway.becomes(50) and host.says("burst 50, welcome"), "two workers and a host have the central limits",
              f"{gateway.answers()} {gateway.log()} {host.output.read_text()}")
        found = gateway.ask("/limits/burst", "99")
        check(found[0] == 403 and gateway.becomes(50), "which are locked on the machine", str(found))
        fleet.same("set gateway burst 0")
        problem = "Expected 1...100 at burst, found 0"
        check(host.says(f"refused: {problem}") and eventually(lambda: gateway.log().count(problem) == 2),
              "one that does not fit is refused by all three, with its place", gateway.log() + host.output.read_text())
        check(gateway.becomes(50), "and the last that did goes on")
        fleet.same("set gateway burst 60")
        check(gateway.becomes(60) and host.says("burst 60, welcome"), "one that mends it is taken up",
              f"{gateway.answers()} {host.output.read_text()} {host.process.poll()}")
        # The values are kept for the time without the server once a second.
        cached = eventually(lambda: any(b"burst" in path.read_bytes() and b"\x10\x3c" in path.read_bytes()
                                        for path in (fleet.folder / "cache").rglob("gateway.plist")))
        check(cached, "what was seen is kept")
        fleet.server.stop()
        check(gateway.becomes(60), "while the server is away the gateway goes on")
        check(gateway.stop() == 0, "it ends")
        host.stop()
        gateway, host = Gateway(fleet), Host(fleet, program)
        check(gateway.becomes(60) and host.says("burst 60, welcome"), "and both start without the server",
              f"{gateway.answers()} {gateway.log()} {host.output.read_text()}")
        fleet.server.start()
        fleet.same("set gateway burst 70")
        check(gateway.becomes(70) and host.says("burst 70, welcome"), "when it is back they take up what was set meanwhile",
              f"{gateway.answers()} {gateway.log()}")
    finally:
        status = gateway.stop()
        host.stop()
    check(status == 0, "the gateway ends", gateway.log())


def main():
    chosen = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="kvfleettool-")
    os.chmod(folder, 0o755)
    fleet = None
    try:
        fleet = Fleet(folder)
        for body in ROWS:
            if chosen and body.__name__ not in (*chosen, "tables"):
                continue
            start = time.monotonic()
            try:
                body(fleet)
            except Exception as error:  # whatever it is, the other rows run
                check(False, f"{body.__name__}: {type(error).__name__}", str(error))
            print(f"# {body.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    finally:
        if fleet:
            fleet.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    finish()


main()
