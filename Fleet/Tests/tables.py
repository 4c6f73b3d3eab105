"""The tables: made once, and readable by people."""
import json
import plistlib
import time
from datetime import datetime

from fleet import Program, check, row

DATA = "SELECT * FROM kv_store ORDER BY name; SELECT * FROM kv_value; SELECT * FROM kv_change"


@row
def making(fleet):
    """The tables are made once. A later run changes no data, and newer tables are left alone."""
    fleet.server.sql("CREATE DATABASE fresh")
    text = fleet.server.text(database="fresh")

    def sql(statement):
        return fleet.server.sql(statement, database="fresh")

    program = Program(fleet)
    code, rest = program.call("connect", text)
    check(code == "unsupported" and "fleet.sql" in rest, "a database without tables", f"{code} {rest}")
    check(program.call("tables", text) == ("ok", "made"), "they are made")
    program.value("connect", text)
    program.writes("all", before="1")
    before = sql(DATA)
    check(program.call("tables", text) == ("ok", "kept"), "and made again")
    check(sql(DATA) == before != "", "which changes no data")
    sql("CREATE SCHEMA owner")
    check(program.call("tables", text) == ("ok", "kept") and
          sql("SELECT count(*) FROM pg_class WHERE relname = 'kv_format'") == "1", "a schema of the role's name gets no others")
    sql("DROP SCHEMA owner; DROP FUNCTION kv_report; CREATE ROLE visitor LOGIN")
    code, rest = program.call("tables", fleet.server.text(database="fresh", user="visitor"))
    check(code == "access_denied", "only the owner makes them", f"{code} {rest}")
    check(program.call("tables", text)[0] == "ok" and sql("SELECT count(*) FROM pg_proc WHERE proname = 'kv_report'") == "1",
          "what is missing is made")
    sql("UPDATE kv_format SET version = 2; DROP FUNCTION kv_report")
    for verb in ("connect", "tables"):
        code, rest = program.call(verb, text)
        check(code == "unsupported" and "version 2" in rest and "version 1" in rest, f"newer tables: {verb}", f"{code} {rest}")
    status, output = fleet.server.make_tables("fresh")
    check(status != 0 and "version 2" in output and sql("SELECT count(*) FROM pg_proc WHERE proname = 'kv_report'") == "0",
          "psql makes nothing of an older file, either", output)


def put(fleet, store, entries):
    """Writes values as any program can, without this package."""
    keys = ", ".join(f"'\\x{key.hex()}'::bytea" for key in entries)
    values = ", ".join(f"'\\x{value.hex()}'::bytea" for value in entries.values())
    fleet.server.sql(f"BEGIN; SELECT FROM kv_lock('{store}', -1, NULL, 1000, 1000); "
                     f"SELECT kv_write('{store}', 1, gen_random_uuid(), ARRAY[{keys}], ARRAY[{values}], 'by hand'), "
                     f"kv_finish('{store}', 1, gen_random_uuid()); COMMIT")


@row
def values(fleet):
    """People see values as JSON, with author and note."""
    store = fleet.store()
    given = {"burst": 5, "ratio": 0.5, "names": ["a", "ü", "🙂", ""], "on": True, "off": False, "data": b"\x00\xff",
             "date": datetime(2026, 1, 2, 3, 4, 5), "large": 2 ** 62, "below": -1, "many": list(range(20)), "none": {}}
    put(fleet, store, {b"limits": plistlib.dumps(given, fmt=plistlib.FMT_BINARY), b"broken": b"bplist00", b"\xff": b"",
                       b"number": plistlib.dumps(7, fmt=plistlib.FMT_BINARY)})

    def seen(key, column="value"):
        return fleet.server.sql(f"SELECT {column} FROM kv WHERE store = '{store}' AND key = '{key}'")

    wanted = {**given, "data": "AP8=", "date": "2026-01-02T03:04:05.000Z"}
    check(json.loads(seen("limits")) == wanted, "a dictionary of every kind of value", seen("limits"))
    check(seen("number") == "7", "a number")
    check(seen("limits", "who || ' ' || note || ' ' || revision") == "owner by hand 1", "who wrote it, and why")
    check(seen("broken", "value IS NULL") == "t", "bytes that are no property list are NULL")
    check(seen("\\377", "value IS NULL") == "t", "a key that is not UTF-8 has escapes", seen("\\377", "key"))
    found = fleet.program().call("read", store)
    check(found[0] == "ok" and "ff=" in found[1].split(), "and all of them are read", str(found))


@row
def bombs(fleet):
    """A small value that would grow without end."""
    # Each array has two references to the next one: 2^60 objects.
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
    spent = time.monotonic() - start
    check(found == "t" and spent < 60, f"is NULL after {spent:.1f} s, and ends", found)
