"""Real servers in a folder of the test. They run as a user that is not root, and are ended by their process ids."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

TABLES = Path(__file__).resolve().parent.parent.parent / "Sources/FleetDatabase/fleet.sql"
USER = "postgres"


def as_user(*command):
    """The command, run by a user that is not root, because PostgreSQL refuses root."""
    return ["runuser", "-u", USER, "--", *command] if os.geteuid() == 0 else list(command)


def program(name):
    """A program of the newest server that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(found[-1]) if found else name


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    """A cluster with its data in `folder`/NAME, a socket in `folder`, and a port on loopback. It is new, or a standby of
    another server. `wrapper` is the beginning of a command that starts it."""

    def __init__(self, folder, name="server", auth="trust", standby_of=None, wrapper=()):
        self.folder, self.data, self.port = Path(folder), Path(folder) / name, free_port()
        self.wrapper = wrapper
        self.log = self.folder / f"{name}.log"
        self.process = None
        if os.geteuid() == 0:
            entry = pwd.getpwnam(USER)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        if standby_of:
            self.run(program("pg_basebackup"), "-D", str(self.data), "-h", str(folder), "-p", str(standby_of.port),
                     "-U", "owner", "-R", "-c", "fast", "--no-sync")
        else:
            self.run(program("initdb"), "-D", str(self.data), "-A", auth, "-U", "owner", "--locale=C.UTF-8", "--no-sync")
        self.start()

    def run(self, *command):
        result = subprocess.run(as_user(*command), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        if result.returncode:
            raise RuntimeError(f"{command[0]}: {result.stdout}")
        return result.stdout

    def start(self, *settings):
        # Without fsync: the tests kill servers, and not the machine.
        options = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder),
                   "max_connections": 200, "fsync": "off", **dict(settings)}
        command = [program("postgres"), "-D", str(self.data)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        self.process = subprocess.Popen([*self.wrapper, *as_user(*command)], cwd=self.folder, stdout=open(self.log, "ab"),
                                        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.wait()

    def wait(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if subprocess.run([program("pg_isready"), "-q", "-h", str(self.folder), "-p", str(self.port)],
                              check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f"The server does not start: {self.log.read_text()}")

    @property
    def postmaster(self):
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self):
        """Kills the server and its processes, as a power failure does."""
        first = self.postmaster
        children = [int(line) for line in subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(first)], stdout=subprocess.PIPE, text=True).stdout.split()]
        for number in [first, *children]:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        for number in children:
            while Path(f"/proc/{number}").exists():
                time.sleep(0.01)

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        try:
            os.kill(self.postmaster, signal.SIGINT)
        except (OSError, ValueError, IndexError):
            self.process.kill()
        self.process.wait()

    def promote(self):
        """A standby replaces its primary."""
        self.run(program("pg_ctl"), "promote", "-D", str(self.data), "-w")

    def copy(self, name):
        """A backup of the stopped server's data."""
        target = self.folder / name
        shutil.rmtree(target, ignore_errors=True)
        self.run("cp", "-a", str(self.data), str(target))

    def restore(self, name):
        self.run("rm", "-rf", str(self.data))
        self.run("cp", "-a", str(self.folder / name), str(self.data))

    def sql(self, text, user="owner", database="postgres"):
        """The output of psql."""
        result = subprocess.run(
            ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-p", str(self.port), "-U", user,
             "-c", text, database], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            raise RuntimeError(result.stdout)
        return result.stdout.strip()

    def refuses(self, text, user, database="postgres"):
        """The server's words for a statement that it refuses; nothing if it runs the statement."""
        try:
            self.sql(text, user, database)
        except RuntimeError as error:
            return str(error)
        return ""

    def make_tables(self, database="postgres"):
        """psql's exit status and output for fleet.sql."""
        result = subprocess.run(
            ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-p", str(self.port), "-U", "owner",
             "-f", str(TABLES), database], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return result.returncode, result.stdout

    def text(self, port=None, user="owner", database="postgres"):
        """A connection text for a program, over the socket or over a port."""
        host = f"host=127.0.0.1 port={port}" if port else f"host={self.folder} port={self.port}"
        return f"{host} user='{user}' dbname={database} sslmode=disable gssencmode=disable"


class Pooler:
    """pgbouncer in transaction mode before a server."""

    def __init__(self, server, clients=100, pool=4):
        self.server, self.port = server, free_port()
        settings = server.folder / "pgbouncer.ini"
        users = server.folder / "users.txt"
        users.write_text('"owner" ""\n')
        settings.write_text(f"""[databases]
postgres = host={server.folder} port={server.port} dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
max_client_conn = {clients}
default_pool_size = {pool}
ignore_startup_parameters = extra_float_digits
""")
        # The user's own limit of descriptors is too low for the clients.
        start = f"ulimit -n $(ulimit -H -n) && exec /usr/sbin/pgbouncer {settings}"
        self.process = subprocess.Popen(as_user("/bin/sh", "-c", start), cwd=server.folder,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("pgbouncer does not start")

    def stop(self):
        # runuser passes the signal on.
        self.process.terminate()
        self.process.wait()
