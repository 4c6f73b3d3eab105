"""Reading and writing revisions, and waiting for them."""
import threading
import time

from fleet import check, digits, eventually, row
from servers.postgresql import Server


@row
def reading(fleet):
    """A store is read as a whole, or what changed since a revision."""
    store = fleet.store()
    one, other = fleet.program(), fleet.program()
    found = one.read(store)
    check((found.extent, found.number, found.entries) == ("whole", 0, {}), "a store that was never written", str(found))
    check(one.writes(store, "first", a="1", b="2", empty="") == 1, "the first revision")
    found = other.read(store)
    check((found.extent, found.number, found.entries) == ("whole", 1, {"a": "1", "b": "2", "empty": ""}), "all of it", str(found))
    check(one.writes(store, b=None, c="ü") == 2, "the second revision")
    found = other.read(store, "since")
    check((found.extent, found.number, found.entries) == ("changes", 2, {"b": None, "c": "ü"}),
          "changes and removals since the first", str(found))
    found = other.read(store, "since")
    check((found.extent, found.number, found.entries) == ("changes", 2, {}), "nothing since the second", str(found))
    check(other.read(store).entries == {"a": "1", "c": "ü", "empty": ""}, "a whole store has no removed keys")
    code, rest = other.call("read", store, "whole", "5")
    check(code == "limit_exceeded" and "at most 5 bytes" in rest and store in rest, "a store above the limit", f"{code} {rest}")
    pairs = [f"{digits(f'large{i}')}=*3000000" for i in range(7)]
    one.value("patience", 60000)
    other.value("patience", 60000)
    found = one.call("write", store, "", *pairs)
    check(found == ("ok", "3"), "a revision of 21 MB, in several statements", str(found))
    found = other.value("read", store, "since").split()
    check(found == ["changes", "3", *pairs], "is read as one", str(found))


@row
def history(fleet):
    """Every revision is in the history: who made it, when and why."""
    store = fleet.store()
    program = fleet.program()
    for number, note in enumerate(("", "why", "tab\\and 'quote'"), 1):
        program.writes(store, note, a=str(number))
    found = fleet.server.sql(f"SELECT revision || ':' || who || ':' || coalesce(note, '-') FROM kv_change "
                             f"WHERE store = '{store}' AND at > now() - interval '1 minute' ORDER BY revision")
    check(found == "1:owner:-\n2:owner:why\n3:owner:tab\\and 'quote'", "revision, author and note", found)


@row
def conflicts(fleet):
    """A write over a revision that is not the latest one is refused, and nothing is written."""
    store = fleet.store()
    one, other = fleet.program(), fleet.program()
    one.writes(store, a="1")
    code, rest = other.write(store, a="2")
    check(code == "conflict" and "revision 1" in rest, "over a store that was new", f"{code} {rest}")
    other.read(store)
    check(other.writes(store, a="2") == 2, "after it was read")
    code, rest = one.write(store, a="3")
    check(code == "conflict" and fleet.stored(store, "a") == "2", "over an old revision", f"{code} {rest}")
    fleet.server.sql(f"UPDATE kv_store SET token = gen_random_uuid() WHERE name = '{store}'")
    code, rest = other.write(store, a="4")
    check(code == "conflict" and fleet.stored(store, "a") == "2", "over another revision of the same number", f"{code} {rest}")
    fleet.server.sql(f"UPDATE kv_store SET head = 9223372036854775806 WHERE name = '{store}'")
    one.read(store)
    code, rest = one.write(store, a="5")
    check(code == "limit_exceeded" and "last possible revision" in rest, "over the last possible revision", f"{code} {rest}")


@row
def counting(fleet):
    """Eight processes add to one number."""
    store, each = fleet.store(), 40
    programs = [fleet.program() for _ in range(8)]
    for program in programs:
        program.send("add", store, digits("count"), each)
    answers = [program.receive() for program in programs]
    found = fleet.stored(store, "count")
    check(answers == [("ok", "")] * 8 and found == str(8 * each), f"none of {8 * each} updates is lost", f"{answers} {found}")
    found = fleet.server.sql(f"SELECT count(DISTINCT revision) || ' ' || max(revision) FROM kv_change WHERE store = '{store}'")
    check(found == f"{8 * each} {8 * each}", "no revision is skipped", found)


@row
def locked(fleet):
    """A store that another program keeps locked."""
    store = fleet.store()
    holder, program = fleet.program(), fleet.program()
    program.writes(store, a="1")
    holder.value("sql", "BEGIN")
    holder.value("sql", f"SELECT name FROM kv_store WHERE name = '{store}' FOR UPDATE")
    program.value("patience", 500)
    code, rest = program.write(store, a="2")
    check(code == "timed_out" and program.value("alive") == "true", "a write that waits too long", f"{code} {rest}")
    check(program.read(store).entries == {"a": "1"}, "does not disturb a read")
    program.value("patience", 10000)
    program.send("write", store, "", f"{digits('a')}={digits('2')}")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    check(eventually(lambda: fleet.server.sql(waiting) == "1"), "a write waits")
    holder.value("sql", "ROLLBACK")
    check(program.receive() == ("ok", "2"), "until the store is free")


@row
def gone(fleet):
    """The server frees a store whose program is gone, in whatever state the role's settings are."""
    store = fleet.store()
    # Over TCP: a socket has no keepalives.
    holder, program = fleet.program(fleet.server.text(port=fleet.server.port)), fleet.program()
    program.writes(store, a="1")
    fleet.server.sql("ALTER ROLE owner SET synchronous_commit = off")
    holder.value("connect", fleet.server.text(port=fleet.server.port))
    fleet.server.sql("ALTER ROLE owner RESET synchronous_commit")
    holder.value("sql", "BEGIN")
    holder.value("sql", f"SELECT out_head FROM kv_lock('{store}', 1, NULL, 1000, 700)")
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "synchronous_commit")
    found = [holder.value("sql", f"SHOW {name}") for name in names]
    check(found == ["10", "5", "3", "on"], "TCP notices a dead machine, and a commit waits for the disk", str(found))
    start = time.monotonic()
    code, rest = program.write(store, a="2")
    spent = time.monotonic() - start
    check(code == "ok" and 0.3 < spent < 5, f"a program that says nothing loses its lock: {spent:.1f} s", f"{code} {rest}")
    code, rest = holder.call("sql", "SELECT 1")
    check(code == "unreachable", "and its connection", f"{code} {rest}")


@row
def listening(fleet):
    """The server notifies; a break of the connection misses nothing."""
    store, quiet = fleet.store(), fleet.store()
    writer, reader = fleet.program(), fleet.program(fleet.far())
    writer.writes(store, n="0")
    writer.writes(quiet, n="0")
    check(reader.value("listen", 0, store, quiet, "unborn") == "notified", "a server notifies")
    check(sorted(reader.value("wait", 5000).split()) == sorted([store, quiet]), "the first answer names all stores")
    start = time.monotonic()
    found = reader.value("wait", 300)
    check(found == "" and time.monotonic() - start >= 0.3, "nothing new: an empty answer at the deadline", found)
    reader.send("wait", 20000)
    start = time.monotonic()
    writer.writes(store, n="1")
    code, found = reader.receive()
    spent = time.monotonic() - start
    check((code, found) == ("ok", store) and spent < 2, f"a commit is announced in {spent * 1000:.0f} ms", f"{code} {found}")
    writer.writes("unborn", n="1")
    check(reader.value("wait", 5000) == "unborn", "a new store, too")
    fleet.server.sql("CREATE ROLE forger LOGIN")
    channel = fleet.server.sql(f"SELECT kv_channel('{store}')")
    for text in ("1", "99", ""):
        fleet.server.sql(f"NOTIFY {channel}, '{text}'", user="forger")
    writer.writes(store, n="2")
    fleet.server.sql(f"NOTIFY {channel}, '2'", user="forger")
    check(reader.value("wait", 5000) == store, "forged notifications hide nothing")
    check(reader.value("wait", 300) == "", "and announce nothing")
    breaks(fleet, store, writer, reader)


def breaks(fleet, store, writer, reader):
    missed, rounds = [], 24
    for number in range(1, rounds + 1):
        action, left = ("cut", "cut-after")[number % 2], [3 * number]

        def harm(connection, message, count):
            left[0] -= 1
            return action if left[0] == 0 else "pass"

        fleet.proxy.plan.harm = harm
        fleet.proxy.cut()
        fleet.proxy.join()
        writer.writes(store, n=f"{number}a")
        writer.writes(store, n=f"{number}b")
        if not reader.follows(store, {"n": f"{number}b"}, fleet.far()):
            missed.append((number, action, reader.call("read", store)))
    check(not missed, f"the last of two commits is seen through each of {rounds} breaks", str(missed))


@row
def pruned(fleet):
    """A program that was away for longer than the history goes back."""
    store = fleet.store()
    writer, reader = fleet.program(), fleet.program()
    writer.writes(store, a="1", b="1")
    reader.read(store)
    writer.writes(store, a=None)
    for number in range(5):
        writer.writes(store, c=str(number))
    fleet.server.sql("SELECT kv_prune('0 seconds')")
    found = reader.read(store, "since")
    check((found.extent, found.entries) == ("whole", {"b": "1", "c": "4"}), "reads everything, and is not alarmed", str(found))
    found = fleet.server.sql(f"SELECT string_agg(revision::text, ' ') FROM kv_change WHERE store = '{store}'")
    check(found == "7", "the newest revision stays in the history", found)
    writer.writes(store, c="6")
    found = reader.read(store, "since")
    check((found.extent, found.entries) == ("changes", {"c": "6"}), "and reads changes from then on", str(found))


@row
def restored(fleet):
    """The server goes back to a backup, and is written on."""
    store = fleet.store()
    text = fleet.server.text()
    writer, reader = fleet.program(), fleet.program()
    writer.writes(store, a="kept", b="old")
    fleet.server.stop()
    fleet.server.copy("backup")
    fleet.server.start()
    writer.value("connect", text)
    writer.writes(store, b="lost")
    writer.writes(store, c="lost")
    reader.value("connect", text)
    check(reader.read(store).number == 3, "a reader has the newest revision")
    fleet.server.stop()
    check(reader.call("read", store, "since")[0] == "unreachable", "a server that was stopped")
    fleet.server.restore("backup")
    fleet.server.start()
    reader.value("connect", text)
    found = reader.read(store, "since")
    check((found.extent, found.entries) == ("restored", {"a": "kept", "b": "old"}), "a restored server is noticed", str(found))
    code, rest = writer.call("connect", text)
    code, rest = writer.write(store, c="again")
    check(code == "conflict", "a write over a lost revision is refused", f"{code} {rest}")
    # As many commits as were lost, so that the number alone says nothing.
    reader.writes(store, d="1")
    reader.writes(store, d="2")
    found = writer.read(store, "since")
    check((found.extent, found.number, found.entries) == ("restored", 3, {"a": "kept", "b": "old", "d": "2"}),
          "also if it has a revision of the same number", str(found))
    reader.writes(store, d="3")
    found = writer.read(store, "since")
    check((found.extent, found.entries) == ("changes", {"d": "3"}), "changes are read from then on", str(found))
    fleet.server.sql(f"DELETE FROM kv_value WHERE store = '{store}'; DELETE FROM kv_change WHERE store = '{store}'; "
                     f"DELETE FROM kv_store WHERE name = '{store}'")
    found = writer.read(store, "since")
    check((found.extent, found.number, found.entries) == ("restored", 0, {}), "a store that was removed", str(found))


class Counter(threading.Thread):
    """Adds to a number until the server is lost."""

    def __init__(self, program, store):
        super().__init__()
        self.program, self.store, self.acknowledged, self.code = program, store, 0, "ok"
        self.start()

    def run(self):
        while self.code == "ok":
            self.code, _ = self.program.call("add", self.store, digits("count"), 1)
            self.acknowledged += self.code == "ok"

    def is_consistent(self, text, before, stored):
        """Connects again; whether each acknowledged change is there, and the unknown one as the program finds it."""
        if not self.program.connects(text):
            return False
        extra = 1 if self.code == "outcome_unknown" and self.program.value("settle", self.store) == "true" else 0
        return stored() == before + self.acknowledged + extra


@row
def killed(fleet):
    """The server is killed amid commits, and started again."""
    store = fleet.store()
    program, wrong, total = fleet.program(), [], 0
    for _ in range(3):
        counter = Counter(program, store)
        eventually(lambda: counter.acknowledged >= 30, 60)
        fleet.server.kill()
        counter.join()
        code = program.call("connect", fleet.server.text())[0]
        fleet.server.start()
        if code != "unreachable" or not counter.is_consistent(
                fleet.server.text(), total, lambda: int(fleet.stored(store, "count"))):
            wrong.append(f"{counter.acknowledged} {counter.code} {code} {fleet.stored(store, 'count')} after {total}")
        total = int(fleet.stored(store, "count"))
    check(not wrong and total >= 90, f"3 kills of the server: none of {total} acknowledged changes is lost", str(wrong))


@row
def failover(fleet):
    """The primary is killed amid commits, and its synchronous standby is promoted."""
    store = fleet.store()
    primary = Server(fleet.folder, "primary")
    primary.make_tables()
    second = Server(fleet.folder, "second", standby_of=primary)
    try:
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        check(eventually(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync"), "a synchronous standby")
        text = (f"host=127.0.0.1,127.0.0.1 port={primary.port},{second.port} user=owner dbname=postgres sslmode=disable "
                "gssencmode=disable target_session_attrs=read-write")
        counter = Counter(fleet.program(text), store)
        eventually(lambda: counter.acknowledged >= 30, 60)
        primary.kill()
        second.promote()
        counter.join()
        good = counter.is_consistent(text, 0, lambda: int(fleet.stored(store, "count", second)))
        check(good, f"the program goes on with it; none of {counter.acknowledged} acknowledged changes is lost",
              f"{counter.code} {fleet.stored(store, 'count', second)}")
        found = counter.program.read(store, "since")
        check(found.extent == "changes", "and the history is the same", str(found))
    finally:
        primary.stop()
        second.stop()
