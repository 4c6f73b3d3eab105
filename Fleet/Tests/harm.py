"""Harm to a connection, at each of its messages, and to a commit."""
import os
import pwd
import subprocess

from fleet import check, digits, eventually, row
from servers.postgresql import USER, Server


def attempt(program, text, store, value):
    """Connects, reads and writes; the code of the first call that fails."""
    code, rest = program.call("connect", text)
    if code == "ok":
        code, rest = program.call("read", store)
    if code == "ok":
        code, rest = program.write(store, n=value)
    return code, rest


def outcome(fleet, program, store, code):
    """What happened to a write, as the program finds out; None if it cannot."""
    if code != "outcome_unknown":
        return code == "ok"
    fleet.proxy.plan.harm = lambda *_: "pass"
    if not program.connects(fleet.far()):
        return None
    # The server keeps the store locked until it notices the break.
    program.value("patience", 10000)
    found = program.value("settle", store)
    program.value("patience", 1000)
    return {"true": True, "false": False}.get(found)


def harm_at_each(fleet, action, what, step=1):
    """Does the harm at one message after the other of a connection that reads and writes."""
    store = fleet.store()
    program = fleet.program(fleet.far())
    program.value("patience", 1000)
    program.writes(store, n="0")
    before, codes = "0", {}
    attempt(program, fleet.far(), store, before)
    total = len(fleet.proxy.connections[-1].messages)
    numbers = [number for number in range(1, total + 3) if number % step == 0 or number > total - 3]
    for number in numbers:
        state = {"armed": True}

        def harm(connection, message, count):
            if not state["armed"] or count != number:
                return "pass"
            state["armed"] = False
            return action

        fleet.proxy.plan.harm = harm
        code, rest = attempt(program, fleet.far(), store, str(number))
        state["armed"] = False
        codes[code] = codes.get(code, 0) + 1
        happened = outcome(fleet, program, store, code)
        stored = fleet.stored(store, "n")
        if happened is None or stored != (str(number) if happened else before):
            return check(False, f"{what} at message {number}", f"{code} {rest}: {happened}, {stored} stored, {before} before")
        before = stored
    return check(set(codes) == {"ok", "unreachable", "outcome_unknown"},
                 f"{what}, at {len(numbers)} of {total} messages: each outcome is found out, {codes}", str(codes))


@row
def cut(fleet):
    """The connection breaks before any message."""
    harm_at_each(fleet, "cut", "a break before a message")


@row
def cut_after(fleet):
    """The connection breaks after any message."""
    harm_at_each(fleet, "cut-after", "a break after a message")


@row
def swallow(fleet):
    """All that follows a message vanishes, and nothing closes."""
    harm_at_each(fleet, "swallow", "silence from a message on", step=5)


@row
def never_known(fleet):
    """The history no longer says whether a commit was made."""
    store = fleet.store()
    program, other = fleet.program(fleet.far()), fleet.program()
    other.writes(store, n="0")
    program.read(store)
    seen = {}

    def harm(connection, message, count):
        # The answers to the commit are lost.
        seen["writes"] = seen.get("writes") or message == ">B" and digits("here") in connection.message.hex()
        return "cut" if seen["writes"] and message.startswith("<") else "pass"

    program.value("connect", fleet.far())
    fleet.proxy.connections[-1].plan.harm = harm
    code, rest = program.write(store, n="here")
    check(code == "outcome_unknown" and "may have been made" in rest, "a commit without an answer", f"{code} {rest}")
    fleet.proxy.plan.harm = lambda *_: "pass"
    code = program.call("settle", store)[0]
    check(code == "unreachable", "is not known without a connection", code)
    check(eventually(lambda: fleet.stored(store, "n") == "here"), "it was made")
    other.read(store)
    other.writes(store, n="1")
    fleet.server.sql("SELECT kv_prune('0 seconds')")
    program.value("connect", fleet.far())
    code, rest = program.call("settle", store)
    check((code, rest) == ("ok", "unknown"), "nor after its history was pruned", f"{code} {rest}")


@row
def warned(fleet):
    """An administrator ends the wait for a standby: the commit may not be on any standby."""
    store = fleet.store()
    program = fleet.program()
    program.writes(store, n="1")
    fleet.server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    fleet.server.sql("SELECT pg_reload_conf()")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    try:
        check(eventually(lambda: fleet.server.sql("SHOW synchronous_standby_names") == "nobody"), "a standby that is away")
        program.value("patience", 30000)
        program.send("write", store, "", f"{digits('n')}={digits('2')}")
        check(eventually(lambda: fleet.server.sql(waiting) == "1"), "a commit waits for it")
        fleet.server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        code, rest = program.receive()
        check(code == "outcome_unknown" and "standby" in rest, "a wait that was ended", f"{code} {rest}")
    finally:
        fleet.server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        fleet.server.sql("SELECT pg_reload_conf()")
    check(program.value("settle", store) == "true", "the primary has the commit")


@row
def full_disk(fleet):
    """The server's disk is full."""
    if os.geteuid():
        return check(True, "skipped: only root makes a small disk")
    store, small = fleet.store(), fleet.folder / "small"
    small.mkdir(mode=0o777)
    # Only the server sees the disk, which goes away with it.
    server = Server(fleet.folder, "full", wrapper=[
        "unshare", "-m", "sh", "-c",
        f'mount -t tmpfs -o size=8m,mode=777,uid={pwd.getpwnam(USER).pw_uid} none {small} && exec "$@"', "sh"])
    try:
        server.make_tables()
        server.sql(f"CREATE TABLESPACE small LOCATION '{small}'")
        server.sql("ALTER TABLE kv_value SET TABLESPACE small")
        inside = ["nsenter", "-t", str(server.postmaster), "-m"]
        program = fleet.program(server.text())
        program.writes(store, small="1")
        subprocess.run([*inside, "dd", "if=/dev/zero", f"of={small}/filler", "bs=16k"], stderr=subprocess.DEVNULL)
        big = f"{digits('big')}=*3000000"
        code, rest = program.call("write", store, "", big)
        check(code == "no_space", "a write is refused", f"{code} {rest}")
        check(program.read(store).entries == {"small": "1"}, "and nothing of it is stored")
        subprocess.run([*inside, "rm", f"{small}/filler"], check=True)
        check(program.call("write", store, "", big)[0] == "ok", "it succeeds with room, over the same connection")
    finally:
        server.stop()
    return True
