"""A proxy between a program and a PostgreSQL server. It reads the protocol's messages and can harm the connection at any
of them.

A plan says what happens to the connections that begin under it. The proxy counts the messages of both directions after the
authentication, in the order in which they pass, and names them by their types. ">Q" is a message of the program, "<Z" a
message of the server.
"""
import socket
import struct
import threading


class Plan:
    """`harm(connection, message, number)` decides what happens to a message: "pass"; "cut" closes both ends before the
    message passes; "cut-after" closes both ends afterwards; "swallow" lets nothing pass from then on, in both directions,
    and closes nothing. After two seconds it closes the server's end, as TCP's keepalives would."""

    def __init__(self, harm=None):
        self.harm = harm or (lambda connection, message, number: "pass")


class Connection:
    def __init__(self, proxy, client, plan):
        self.proxy, self.client, self.plan = proxy, client, plan
        self.server = None
        self.lock = threading.Lock()
        self.count = 0
        self.messages = []
        self.is_authenticated = False
        self.is_swallowing = False
        self.is_closed = False

    def close(self):
        with self.lock:
            self.is_closed = True
        for end in (self.client, self.server):
            if end is None:
                continue
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def run(self):
        try:
            self.server = self.proxy.reach()
        except OSError:
            self.client.close()
            return
        threading.Thread(target=self.pump, args=(self.server, self.client, "<"), daemon=True).start()
        self.pump(self.client, self.server, ">")

    def pump(self, source, target, direction):
        reader = source.makefile("rb")
        try:
            if direction == ">":
                # The first message has no type. Encryption, which is answered by one byte, is never requested on loopback.
                length = reader.read(4)
                target.sendall(length + reader.read(struct.unpack("!i", length)[0] - 4))
            while True:
                kind = reader.read(1)
                if not kind:
                    break
                length = reader.read(4)
                body = reader.read(struct.unpack("!i", length)[0] - 4)
                if not self.hand_on(direction + kind.decode("latin-1"), kind + length + body, target):
                    break
        except (OSError, struct.error):
            pass
        if not self.is_swallowing:
            self.close()

    def hand_on(self, name, message, target):
        action = "pass"
        with self.lock:
            if self.is_closed:
                return False
            if self.is_authenticated:
                self.count += 1
                self.messages.append(name)
                self.message = message
                action = self.plan.harm(self, name, self.count)
            if name == "<Z":
                self.is_authenticated = True
            if action == "swallow":
                self.is_swallowing = True
                timer = threading.Timer(2, self.server.shutdown, [socket.SHUT_RDWR])
                timer.daemon = True
                timer.start()
            if self.is_swallowing or self.proxy.is_blocked:
                self.is_swallowing = True
                return True
        if action == "cut":
            self.close()
            return False
        target.sendall(message)
        if action == "cut-after":
            self.close()
            return False
        return True


class Proxy:
    """Listens on a free port of loopback; `reach` connects to the server."""

    def __init__(self, path=None, port=None):
        self.path, self.server_port = path, port
        self.plan = Plan()
        self.is_blocked = False
        self.is_closed = False
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def reach(self):
        if self.path:
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.path)
            return server
        return socket.create_connection(("127.0.0.1", self.server_port))

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_closed:
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, client, self.plan)
            self.connections.append(connection)
            threading.Thread(target=connection.run, daemon=True).start()

    def cut(self):
        """Closes all connections, also new ones, until `join`."""
        self.is_closed = True
        for connection in self.connections:
            connection.close()
        self.connections = []

    def block(self):
        """Lets nothing pass and closes nothing, until `join`."""
        self.is_blocked = True

    def join(self):
        self.is_closed = False
        if self.is_blocked:
            self.is_blocked = False
            for connection in self.connections:
                connection.close()
            self.connections = []
