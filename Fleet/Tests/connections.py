"""Connecting: addresses, roles, hosts, certificates, poolers, and what is refused."""
import os
import shutil
import socket
import subprocess
import time

from fleet import Program, check, eventually, row
from servers.postgresql import USER, Pooler, Server, free_port


@row
def addresses(fleet):
    """A server is reached over a socket, over a port, and by a service's name."""
    services = fleet.folder / "services"
    services.write_text("[elsewhere]\nhost=192.0.2.1\nsslmode=require\n"
                        f"[here]\nhost={fleet.folder}\nport={fleet.server.port}\nuser=owner\ndbname=postgres\n")
    program = Program(fleet, PGSERVICEFILE=services)
    check(program.value("connect", fleet.server.text()) == "direct", "a socket")
    check(program.value("connect", fleet.server.text(port=fleet.server.port)) == "direct", "a port")
    check(program.value("connect", "service=here") == "direct", "a service file")
    check(program.value("alive") == "true", "the connection stands")
    name = program.value("sql", "SHOW application_name")
    check(name == "kvfleet", "the server knows the program's name", name)
    code, rest = program.call("connect", "service=elsewhere")
    check(code == "unsafe_location" and "verify-full" in rest,
          "a service on another machine has to prove who it is", f"{code} {rest}")
    code, rest = program.call("connect", "host=fleet.example.com dbname=fleet")
    check(code == "unsafe_location" and "verify-full" in rest, "so has a host in the text", f"{code} {rest}")
    code, rest = program.call("connect", "hostaddr=127.0.0.1,192.0.2.1 dbname=fleet")
    check(code == "unsafe_location", "and the second of two addresses", f"{code} {rest}")
    program.value("patience", 300)
    code, rest = program.call("connect", "host=192.0.2.1 dbname=fleet", "insecure")
    check(code == "unreachable", "unless the program does not want that", f"{code} {rest}")
    code, rest = program.call("connect", "nonsense hunter2")
    check(code == "misuse" and "hunter2" not in rest, "a wrong text is not repeated", f"{code} {rest}")
    code, rest = program.call("connect", fleet.server.text() + " password=hunter2")
    check(code == "misuse" and "hunter2" not in rest, "a text with a password is refused", f"{code} {rest}")


@row
def passwords(fleet):
    """A password comes from a file; a wrong one is refused."""
    hba = fleet.server.data / "pg_hba.conf"
    old = hba.read_text()
    fleet.server.sql("CREATE ROLE secretive LOGIN PASSWORD 'right'")
    hba.write_text("host all secretive 127.0.0.1/32 scram-sha-256\n" + old)
    fleet.server.sql("SELECT pg_reload_conf()")
    file = fleet.folder / "pgpass"
    file.touch(0o600)
    text = fleet.server.text(port=fleet.server.port, user="secretive") + f" passfile={file}"
    program = Program(fleet)
    file.write_text("*:*:*:*:wrong-password\n")
    eventually(lambda: program.call("connect", text)[0] != "ok")
    code, rest = program.call("connect", text)
    check(code == "access_denied" and "wrong-password" not in rest, "a wrong password", f"{code} {rest}")
    file.write_text("*:*:*:*:right\n")
    check(program.call("connect", text)[0] == "ok", "the right one")
    fleet.server.sql("ALTER ROLE secretive PASSWORD 'rotated'")
    code, rest = program.call("connect", text)
    check(code == "access_denied", "a password that was changed", f"{code} {rest}")
    file.write_text("*:*:*:*:rotated\n")
    check(program.call("connect", text)[0] == "ok", "and the file with the new one")
    code, rest = program.call("connect", fleet.server.text(user="nobody"))
    check(code == "access_denied" and "nobody" in rest, "a role that does not exist", f"{code} {rest}")
    hba.write_text(old)
    fleet.server.sql("SELECT pg_reload_conf()")


@row
def library(fleet):
    """Without libpq the error names the package to install."""
    folder = fleet.folder / "libraries"
    folder.mkdir()
    (folder / "libpq.so.5").write_text("not a library")
    code, rest = Program(fleet, LD_LIBRARY_PATH=folder).call("connect", fleet.server.text())
    check(code == "unsupported" and "not installed: install libpq5" in rest, "a missing library", f"{code} {rest}")
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", folder / "libpq.so.5"], check=True)
    code, rest = Program(fleet, LD_LIBRARY_PATH=folder).call("connect", fleet.server.text())
    check(code == "unsupported" and "older version" in rest, "a library without a function", f"{code} {rest}")


@row
def absent(fleet):
    """Servers that are not there, say nothing, or have no room."""
    program = Program(fleet)
    program.value("patience", 1000)
    code, rest = program.call("connect", fleet.server.text(port=free_port()))
    check(code == "unreachable" and "refused" in rest, "a port without a server", f"{code} {rest}")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        code, rest = program.call("connect", fleet.server.text(port=silent.getsockname()[1]))
        spent = time.monotonic() - start
    check(code == "unreachable" and 0.9 < spent < 3 and rest == "The server did not answer in time",
          f"a server that says nothing, for {spent:.1f} s", f"{code} {rest}")
    for verb in (["read", "x"], ["write", "x", "", "61=62"], ["listen", "0", "x"]):
        code, rest = program.call(*verb)
        check(code == "mistake", f"{verb[0]} without a connection")
    fleet.server.sql("CREATE ROLE guest LOGIN CONNECTION LIMIT 1")
    text = fleet.server.text(user="guest")
    first = fleet.program(text)
    code, rest = program.call("connect", text)
    check(code == "unreachable" and "too many connections" in rest, "a server without room", f"{code} {rest}")
    first.value("close")
    check(first.value("alive") == "false" and program.connects(text), "and with room again")


@row
def deadlines(fleet):
    """A call ends at its deadline."""
    program = fleet.program(fleet.far())
    program.value("patience", 500)
    start = time.monotonic()
    code, rest = program.call("sql", "SELECT pg_sleep(20)")
    spent = time.monotonic() - start
    check(code == "unreachable" and 0.4 < spent < 3, f"an answer that does not come, after {spent:.1f} s", f"{code} {rest}")
    check(program.value("alive") == "false", "breaks the connection: a later call would get that answer")
    check(program.call("sql", "SELECT 1")[0] == "unreachable", "which is not used any more")
    program.value("connect", fleet.far())
    fleet.proxy.block()
    start = time.monotonic()
    code, rest = program.call("read", "x")
    spent = time.monotonic() - start
    check(code == "unreachable" and 0.4 < spent < 3, f"a network that is silent, after {spent:.1f} s", f"{code} {rest}")
    fleet.proxy.join()
    # More than the socket's buffers hold, for a server that does not read.
    program.value("patience", 2000)
    program.value("connect", fleet.far())
    fleet.proxy.block()
    start = time.monotonic()
    code, rest = program.call("write", "x", "", "61=*30000000")
    spent = time.monotonic() - start
    check(code == "unreachable" and 1.9 < spent < 8, f"a message that cannot be sent, after {spent:.1f} s", f"{code} {rest}")


@row
def hosts(fleet):
    """A server of several hosts, one of which says nothing, as a machine without power."""
    good = fleet.server.port
    cases = [("target_session_attrs=read-write connect_timeout=1", 2.5, "silent good"),
             ("target_session_attrs=read-write", 7, "silent good"),
             # libpq comes back to the first host because no host is a standby.
             ("target_session_attrs=prefer-standby connect_timeout=1", 3.5, "good silent"),
             ("connect_timeout=1", 3.5, "silent refuses good")]
    for more, patience, order in cases:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            ports = {"silent": silent.getsockname()[1], "good": good, "refuses": free_port()}
            named = [str(ports[word]) for word in order.split()]
            text = (f"host={','.join(['127.0.0.1'] * len(named))} port={','.join(named)} user=owner dbname=postgres "
                    f"sslmode=disable gssencmode=disable {more}")
            program = Program(fleet)
            start = time.monotonic()
            found = program.call("connect", text)
            spent = time.monotonic() - start
            check(found == ("ok", "direct") and spent < patience, f"{order}, \"{more}\": {spent:.1f} s", str(found))
            start = time.monotonic()
            found = program.call("connect", text)
            spent = time.monotonic() - start
            check(found[0] == "ok" and spent < 0.9, f"the next connection skips the silent host: {spent:.2f} s", str(found))
    # The other way about: the host that was skipped is the only one left.
    back = socket.create_server(("127.0.0.1", 0))
    port, other = back.getsockname()[1], Server(fleet.folder, "other")
    text = (f"host=127.0.0.1,127.0.0.1 port={port},{other.port} user=owner dbname=postgres sslmode=disable "
            "gssencmode=disable connect_timeout=1")
    try:
        other.make_tables()
        program = Program(fleet)
        check(program.call("connect", text)[0] == "ok", "the second host answers")
        other.stop()
        back.close()
        other.port = port
        other.start()
        check(program.call("connect", text)[0] == "ok", "a skipped host is tried again when the others refuse")
    finally:
        other.stop()


@row
def standby(fleet):
    """A standby is chosen or avoided as the text says; it is polled, and cannot be written."""
    store = fleet.store()
    second = Server(fleet.folder, "standby", standby_of=fleet.server)
    try:
        text = (f"host={fleet.folder},{fleet.folder} port={second.port},{fleet.server.port} user=owner dbname=postgres "
                "sslmode=disable gssencmode=disable target_session_attrs=")
        writer, reader = fleet.program(text + "read-write"), fleet.program(text + "prefer-standby")
        check(writer.value("sql", "SHOW port") == str(fleet.server.port), "read-write is the primary")
        check(reader.value("sql", "SHOW port") == str(second.port), "prefer-standby is the standby")
        writer.writes(store, a="1")
        eventually(lambda: second.sql(f"SELECT count(*) FROM kv_value WHERE store = '{store}'") == "1")
        check(reader.read(store).entries == {"a": "1"}, "the standby is read")
        check(reader.value("listen", 0, store) == "polling", "it cannot notify, and is polled")
        reader.value("listen", 100, store)
        writer.writes(store, a="2")
        check(reader.follows(store, {"a": "2"}, text), "a change is seen there")
        code, rest = reader.write(store, a="3")
        check(code == "read_only", "and cannot be made there", f"{code} {rest}")
        code, rest = reader.call("report", store, "kiosk", "app", 1)
        check(code == "read_only", "nor a report", f"{code} {rest}")
    finally:
        second.stop()


@row
def pooler(fleet):
    """A pooler in transaction mode passes no notifications on: the revisions are polled."""
    store = fleet.store()
    bouncer = Pooler(fleet.server)
    try:
        text = fleet.server.text(port=bouncer.port)
        programs = [Program(fleet) for _ in range(6)]
        check([program.call("connect", text) for program in programs] == [("ok", "pooled")] * 6,
              "a pooler is noticed")
        reader = programs[0]
        check(reader.value("listen", 0, store) == "polling", "and polled")
        reader.value("listen", 100, store)
        reader.value("wait", 0)
        programs[1].writes(store, a="1")
        check(reader.follows(store, {"a": "1"}, text), "a change is seen through it")
        for program in programs:
            program.send("add", store, "636f756e74", 20)
        answers = [program.receive() for program in programs]
        check(answers == [("ok", "")] * 6 and fleet.stored(store, "count") == "120",
              "120 updates of 6 programs over 4 connections: none is lost", f"{answers} {fleet.stored(store, 'count')}")
    finally:
        bouncer.stop()


@row
def tls(fleet):
    """A server on another machine proves who it is by a certificate, and a machine can do so, too."""
    folder = fleet.folder / "tls"
    folder.mkdir(mode=0o755)

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

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
        server.sql("CREATE ROLE kiosk LOGIN")
        server.stop()
        hba = server.data / "pg_hba.conf"
        hba.write_text("hostssl all kiosk localhost cert clientcert=verify-full\nhost all kiosk all reject\n" + hba.read_text())
        server.start(("ssl", "on"), ("ssl_cert_file", folder / "server.pem"), ("ssl_key_file", folder / "server.key"),
                     ("ssl_ca_file", folder / "ours.pem"))
        program = Program(fleet)

        def connect(words, user="owner"):
            return program.call("connect", f"port={server.port} dbname=postgres gssencmode=disable user={user} {words}")

        ours, theirs = (f"sslmode=verify-full sslrootcert={folder}/{name}.pem" for name in ("ours", "theirs"))
        own = f"sslcert={folder}/kiosk.pem sslkey={folder}/kiosk.key"
        check(connect(f"host=localhost {ours}")[0] == "ok", "a certificate of the authority")
        check(program.value("sql", "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == "true",
              "the connection is encrypted")
        code, rest = connect(f"host=localhost {theirs}")
        check(code == "unreachable" and "certificate verify failed" in rest, "of another authority", f"{code} {rest}")
        code, rest = connect(f"host=127.0.0.1 {ours}")
        check(code == "unreachable" and "does not match host name" in rest, "of another name", f"{code} {rest}")
        found = connect(f"host=localhost {ours} {own}", user="kiosk")
        check(found[0] == "ok", "a machine with a certificate of its own", str(found))
        code, rest = connect(f"host=localhost {ours}", user="kiosk")
        check(code == "access_denied", "and without", f"{code} {rest}")
    finally:
        server.stop()


@row
def prepared(fleet):
    """The server parses each statement once for a connection. Other tables under a connection break it, once."""
    store = fleet.store()
    program = fleet.program(fleet.far())

    def parsed():
        return sum(each.messages.count(">P") for each in fleet.proxy.connections)

    program.value("add", store, "6e", 5)
    before = parsed()
    program.value("add", store, "6e", 20)
    check(before > 0 and parsed() == before, "25 writes parse what the first one parsed", f"{before} {parsed()}")
    check(fleet.server.make_tables()[0] == 0 and program.call("add", store, "6e", 1)[0] == "ok",
          "the tables' file runs again under a connection")
    # A later version of the tables: the statement gives another column.
    lock = fleet.server.sql("SELECT pg_get_functiondef('kv_lock'::regproc)")
    later = lock.replace("out_value bytea)", "out_value bytea, out_more integer)").replace(
        "v.key, v.value\n", "v.key, v.value, 1\n")
    fleet.server.sql(f"BEGIN; DROP FUNCTION kv_lock; {later}; COMMIT")
    try:
        code, rest = program.call("add", store, "6e", 1)
        check(code == "unreachable" and program.value("alive") == "false", "another column breaks the connection",
              f"{code} {rest}")
        program.value("connect", fleet.far())
        check(program.call("add", store, "6e", 1)[0] == "ok", "a new connection works")
    finally:
        fleet.server.sql("DROP FUNCTION kv_lock")
        fleet.server.make_tables()
    check(fleet.stored(store, "n") == "27", "each write is there once", fleet.stored(store, "n"))
