"""What a role may do, and what it may not, by any statement."""
import time

from fleet import check, row

STORES = ("everyone", "berlin", "device-1", "device-2")


def roles(fleet):
    """Devices that read all stores of theirs, and operators who write some."""
    if fleet.server.sql("SELECT count(*) FROM pg_roles WHERE rolname = 'devices'") == "0":
        fleet.server.sql("CREATE ROLE stranger LOGIN; CREATE ROLE operator LOGIN; CREATE ROLE devices; CREATE ROLE berliners; "
                         "CREATE ROLE device_1 LOGIN IN ROLE devices, berliners; CREATE ROLE device_2 LOGIN IN ROLE devices")
    fleet.server.sql("DELETE FROM kv_right; INSERT INTO kv_right VALUES ('devices', 'everyone', false), "
                     "('berliners', 'berlin', false), ('device_1', 'device-1', true), ('device_2', 'device-2', false), "
                     "('operator', 'everyone', true), ('operator', 'berlin', true)")
    owner = fleet.program()
    for name in STORES:
        owner.read(name)
        owner.writes(name, a="owner")
    return owner


def programs(fleet):
    return {role: fleet.program(fleet.server.text(user=role)) for role in ("device_1", "device_2", "operator", "stranger")}


@row
def reading_rights(fleet):
    """A device reads the stores that it may, and no others."""
    roles(fleet)
    found = programs(fleet)
    for role, allowed in {"device_1": ["berlin", "device-1", "everyone"], "device_2": ["device-2", "everyone"],
                          "operator": ["berlin", "everyone"], "stranger": []}.items():
        seen = fleet.server.sql("SELECT DISTINCT store FROM kv UNION SELECT store FROM kv_change UNION SELECT store FROM "
                                "kv_value UNION SELECT name FROM kv_store ORDER BY 1", role).split()
        check(seen == allowed, f"{role} reads {' '.join(allowed) or 'nothing'}, by any table", str(seen))
        for name in STORES:
            code, rest = found[role].call("read", name)
            good = code == "ok" if name in allowed else code == "access_denied" and name in rest
            check(good, f"{role} {'reads' if name in allowed else 'cannot read'} {name}", f"{code} {rest}")
    seen = [fleet.server.sql("SELECT string_agg(DISTINCT role, ' ' ORDER BY role) FROM kv_right", user=user)
            for user in ("stranger", "device_1", "operator")]
    check(seen == ["", "berliners device_1 devices", "operator"], "a role sees only the rights of its own", str(seen))


@row
def writing_rights(fleet):
    """A role writes the stores that it may, and no others."""
    roles(fleet)
    found = programs(fleet)
    for role, writable in {"device_1": ["device-1"], "device_2": [], "stranger": [], "operator": ["everyone", "berlin"]}.items():
        for name in (*STORES, "unborn"):
            found[role].call("read", name)
            code, rest = found[role].write(name, by=role)
            good = code == "ok" if name in writable else code == "access_denied" and found[role].value("alive") == "true"
            check(good, f"{role} {'writes' if name in writable else 'cannot write'} {name}", f"{code} {rest}")
    who = fleet.server.sql("SELECT DISTINCT store || ' ' || who FROM kv_change WHERE key = 'by' ORDER BY 1")
    check(who == "berlin operator\ndevice-1 device_1\neveryone operator", "the history has their names", who)


@row
def forgery(fleet):
    """What no role may do by hand."""
    roles(fleet)
    key = "'k', 'v', gen_random_uuid()"
    for role, what, statement in [
        ("operator", "write history in another's name", "INSERT INTO kv_change (store, revision, key, value, token, who) "
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
        error = fleet.server.refuses(statement, role)
        check("permission denied" in error or "row-level security" in error, f"{role} cannot {what}", error)
    before = fleet.server.sql("SELECT * FROM kv_store ORDER BY name")
    fleet.server.refuses("UPDATE kv_store SET head = head + 1", "device_2")
    check(fleet.server.sql("SELECT * FROM kv_store ORDER BY name") == before != "", "device_2 advances no store")
    for head in ("head + 2", "9223372036854775806", "-1", "head", "0"):
        said = fleet.server.refuses(f"UPDATE kv_store SET head = {head} WHERE name = 'berlin'", "operator")
        check("is not" in said, f"operator cannot set a revision to {head}", said)
    for revision in ("head", "head + 2"):
        said = fleet.server.refuses(f"SELECT kv_finish('berlin', (SELECT {revision} FROM kv_store WHERE name = 'berlin'), "
                                    "gen_random_uuid())", "operator")
        check("is not at revision" in said, f"nor finish the revision {revision}", said)
    for table in ("kv_value", "kv_store", "kv_change", "kv_machine", "kv_right", "kv_format"):
        for role in ("stranger", "operator"):
            said = fleet.server.refuses(f"BEGIN; LOCK TABLE {table} IN ROW EXCLUSIVE MODE NOWAIT; COMMIT", role)
            check("permission denied" in said, f"{role} cannot lock {table}", said)


@row
def functions(fleet):
    """Functions of other roles learn nothing, and replace nothing."""
    roles(fleet)
    # PostgreSQL asks cheap functions first.
    leak = ("CREATE FUNCTION pg_temp.leak(text, bigint) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS "
            "$$ BEGIN RAISE EXCEPTION 'seen: %', $1; END $$; SELECT count(*) FROM kv WHERE pg_temp.leak(store, revision)")
    seen = fleet.server.refuses(leak, "stranger")
    check(seen == "", "a stranger's function is called for no row", seen)
    fleet.server.sql("CREATE FUNCTION public.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
    found = fleet.server.sql("SELECT count(*) FROM kv", user="stranger")
    check(found == "0", "the server's functions come before others of their names", found)
    fleet.server.sql("DROP FUNCTION public.pg_has_role(name, oid, text); GRANT CREATE ON SCHEMA public TO PUBLIC")
    code, output = fleet.server.make_tables()
    fleet.server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    check(code != 0 and "REVOKE CREATE ON SCHEMA public FROM PUBLIC" in output,
          "no tables are made in a schema in which everybody may make functions", output)


@row
def taken_rights(fleet):
    """A right that was taken is an error, and not an empty store."""
    owner = roles(fleet)
    text = fleet.server.text(user="device_1")
    device = fleet.program(text)
    device.read("everyone")
    device.value("listen", 0, "everyone")
    device.value("wait", 0)
    fleet.server.sql("CREATE ROLE \"Inner One\" LOGIN IN ROLE device_1")
    inner = fleet.program(fleet.server.text(user="Inner One"))
    check(inner.read("everyone").entries["a"] == "owner", "a member of a member reads, too")
    fleet.server.sql("REVOKE devices FROM device_1")
    for name, program in (("the member", device), ("its own member", inner)):
        for how in ("since", "whole"):
            code, rest = program.call("read", "everyone", how)
            check(code == "access_denied" and "everyone" in rest, f"{name} is refused: {how}", f"{code} {rest}")
    owner.read("everyone")
    owner.writes("everyone", a="meanwhile")
    check(device.value("wait", 5000) == "everyone", "it is woken, and finds out by reading")
    fleet.server.sql("GRANT devices TO device_1")
    found = device.read("everyone", "since")
    check((found.extent, found.entries.get("a")) == ("changes", "meanwhile"), "and reads on with the right", str(found))
    fleet.server.sql("REVOKE ALL ON kv_value FROM PUBLIC")
    try:
        code, rest = device.call("read", "everyone", "since")
        check(code == "access_denied" and device.value("alive") == "true", "a table's right that was revoked", f"{code} {rest}")
    finally:
        fleet.server.make_tables()
    check(device.call("read", "everyone", "since")[0] == "ok", "and given back by the tables' file")


@row
def reports(fleet):
    """A machine reports for itself alone; who may write a store sees the reports of all machines."""
    roles(fleet)
    found = programs(fleet)

    def rows(role="owner"):
        text = fleet.server.sql("SELECT machine || '|' || who || '|' || revision || '|' || coalesce(refused || '|' || path || '|' "
                                "|| message, '') FROM kv_machine WHERE store = 'everyone' ORDER BY machine, who", role)
        return text.splitlines()

    found["device_1"].value("report", "everyone", "kiosk-1", "app", 2)
    found["device_2"].value("report", "everyone", "kiosk-2", "app", 1, 2, "limits.burst", "Expected 1...100, found 0")
    both = ["kiosk-1|device_1|2|", "kiosk-2|device_2|1|2|limits.burst|Expected 1...100, found 0"]
    check(rows() == rows("operator") == both, "a report, and a refusal", str(rows()))
    check(rows("device_1") == both[:1] and rows("stranger") == [], "a device sees its own report", str(rows("device_1")))
    fleet.server.sql("UPDATE kv_machine SET at = at - interval '1 day'")
    found["device_2"].value("report", "everyone", "kiosk-2", "app", 2)
    check(rows()[1] == "kiosk-2|device_2|2|", "a later report replaces it", str(rows()))
    recent = fleet.server.sql("SELECT string_agg(machine, ' ') FROM kv_machine WHERE at > now() - interval '1 hour'")
    check(recent == "kiosk-2", "the server says when it came", recent)
    found["device_2"].value("report", "everyone", "kiosk-1", "app", 9)
    check(rows()[:2] == ["kiosk-1|device_1|2|", "kiosk-1|device_2|9|"],
          "a report with another machine's name has the reporter's role", str(rows()))
    code, rest = found["device_2"].call("report", "berlin", "kiosk-2", "app", 1)
    check(code == "access_denied", "no report on a store that the role may not read", f"{code} {rest}")
    for what, statement in {
        "forge the role": "INSERT INTO kv_machine (store, who, machine, program, revision) "
                          "VALUES ('everyone', 'device_1', 'x', 'x', 1)",
        "take a row over": "UPDATE kv_machine SET who = 'device_1'",
        "remove a row": "DELETE FROM kv_machine",
        "say when": "UPDATE kv_machine SET at = at + interval '1 year'",
    }.items():
        error = fleet.server.refuses(statement, "device_2")
        check("permission denied" in error or "row-level security" in error, f"a device cannot {what}", error)
    before = fleet.server.sql("SELECT * FROM kv_machine WHERE who = 'device_1'")
    fleet.server.sql("UPDATE kv_machine SET revision = 99", "device_2")
    check(fleet.server.sql("SELECT * FROM kv_machine WHERE who = 'device_1'") == before != "", "nor change another's row")
    fleet.server.sql("SELECT kv_prune('1 hour')")
    check([line.split("|")[1] for line in rows()] == ["device_2", "device_2"], "silent machines are pruned", str(rows()))


@row
def many_roles(fleet):
    """A role's rights are found as fast among many roles as among few."""
    store, count, sql = fleet.store(), 5000, fleet.server.sql
    sql(f"CREATE ROLE kiosks; CREATE ROLE kiosk LOGIN IN ROLE kiosks; INSERT INTO kv_right VALUES ('kiosks', '{store}', false); "
        f"INSERT INTO kv_store (name) VALUES ('{store}')")
    reading = f"DO $$ BEGIN FOR i IN 1..1000 LOOP PERFORM head FROM kv_store WHERE name = '{store}'; END LOOP; END $$"

    def seconds():
        times = []
        for _ in range(5):
            start = time.monotonic()
            sql(reading, user="kiosk")
            times.append(time.monotonic() - start)
        return min(times)

    few = seconds()
    sql(f"DO $$ BEGIN FOR i IN 1..{count} LOOP EXECUTE 'CREATE ROLE kiosk' || i || ' IN ROLE kiosks'; END LOOP; END $$; "
        f"INSERT INTO kv_right SELECT 'kiosk' || i, 'kiosk-' || i, true FROM generate_series(1, {count}) i; ANALYZE kv_right")
    many = seconds()
    check(sql("SELECT string_agg(store, ' ') FROM kv_right", user="kiosk") == store, "a role among many has its own rights")
    sql("DELETE FROM kv_right WHERE store LIKE 'kiosk-%'; ANALYZE kv_right; "
        f"DO $$ BEGIN FOR i IN 1..{count} LOOP EXECUTE 'DROP ROLE kiosk' || i; END LOOP; END $$")
    check(many < 2 * few + 0.02, f"1,000 reads take {few * 1000:.0f} ms among few roles, {many * 1000:.0f} ms among {count}")
