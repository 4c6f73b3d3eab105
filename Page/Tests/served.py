"""The settings page as it is served: types and stores of a test's own, kvdefaults page as a process, and requests as no
browser would send them."""
import http.client
import json
import os
import plistlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from selenium.common.exceptions import StaleElementReferenceException

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Tests/suites"))
import tap  # noqa: E402

TOOL = tap.ROOT / "build/kvdefaults"


class Place:
    """Folders of a test's own, and commands in them."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kvdefaults-page-"))
        self.types, self.config = self.folder / "data/kvcodable/types", self.folder / "config"
        for folder in (self.types, self.config):
            folder.mkdir(parents=True, mode=0o700)
        self.environment = tap.environment(
            XDG_CONFIG_HOME=self.config, XDG_DATA_HOME=self.folder / "data", XDG_DATA_DIRS=self.folder / "none",
            HOME=self.folder, LC_ALL="C.UTF-8", TZ="UTC", NO_COLOR=None)

    def publish(self, domain, types):
        (self.types / f"{domain}.kvtypes").write_text(types)

    def run(self, *words):
        result = subprocess.run([str(TOOL), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment, stdin=subprocess.DEVNULL, timeout=60)
        return result.returncode, result.stdout, result.stderr

    def get(self, domain, path):
        """The value that the store has; None where there is none."""
        status, text, error = self.run("get", domain, path, "--json")
        assert status in (0, 1), error
        return json.loads(text) if status == 0 else None

    def own(self, domain):
        """What the user has set: the file, as JSON."""
        status, text, error = self.run("export", domain, "--format", "json")
        return json.loads(text) if status == 0 else {}

    def write(self, domain, settings):
        """The file as another program writes it, which knows no types."""
        (self.config / f"{domain}.plist").write_bytes(plistlib.dumps(settings))

    def set(self, domain, *words):
        status, _, error = self.run("set", domain, *words)
        assert status == 0, error

    def administrator(self, domain, settings, defaults="{}"):
        """The words in front of a command that sees an administrator's files: it has a folder /etc of its own."""
        etc = self.folder / "etc"
        shutil.rmtree(etc, ignore_errors=True)
        for kind, text in (("managed", settings), ("defaults", defaults)):
            (etc / "kvcodable" / kind).mkdir(parents=True)
            (etc / f"kvcodable/{kind}/{domain}.plist").write_text(text)
        others = [] if os.geteuid() == 0 else ["--map-root-user"]
        return ["unshare", *others, "--mount", "sh", "-c", f"mount --bind '{etc}' /etc && exec \"$@\"", "sh"]

    def close(self):
        shutil.rmtree(self.folder)


class Served:
    """A page that is served until it is closed."""

    def __init__(self, place, domain, *words, before=()):
        self.process = subprocess.Popen(
            [*before, str(TOOL), "page", domain, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=place.environment,
            # What a shell runs in the background has it ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        readable, _, _ = select.select([self.process.stdout], [], [], 20)
        self.address = self.process.stdout.readline().strip() if readable else ""
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{64})/\?token=([0-9a-f]{64})", self.address)
        assert found, f"no address: {self.address!r} {self.process.stderr.read() if not self.address else ''}"
        self.port, self.folder, self.token = int(found[1]), found[2], found[3]
        self.host = f"127.0.0.1:{self.port}"
        self.home = f"http://{self.host}{self.folder}/"

    def request(self, method, path, body=None, headers=None, drop=(), folder=None):
        """Status, headers and text of an answer, to a path in the page's folder. Host is given unless it is dropped."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        given = {"Host": self.host, **(headers or {})}
        connection.putrequest(method, (self.folder if folder is None else folder) + path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if name not in drop:
                connection.putheader(name, value)
        data = body.encode() if isinstance(body, str) else body
        if data is not None and "Content-Length" not in given and "Transfer-Encoding" not in given:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        return answer.status, dict((name.lower(), value) for name, value in answer.getheaders()), text

    def enter(self):
        """The cookie that the token is changed for."""
        status, headers, _ = self.request("GET", f"/?token={self.token}")
        assert status == 200, status
        return headers["set-cookie"].split(";")[0]

    def edit(self, cookie, **edit):
        given = {"page": "test", "base": 10 ** 9, **edit}
        return self.request("POST", "/edit", json.dumps(given), {
            "Cookie": cookie, "Origin": f"http://{self.host}", "Content-Type": "application/json"})

    def state(self, cookie):
        """The first event, as text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", f"{self.folder}/events", headers={"Cookie": cookie})
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        name, data = answer.readline().decode(), answer.readline().decode()
        connection.close()
        assert name == "event: state\n" and data.startswith("data: "), (name, data[:100])
        return data[6:]

    def events(self, cookie, count):
        """The names and the data of the first events, so many at most: a fault is told at once behind the state."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=0.3)
        connection.request("GET", f"{self.folder}/events", headers={"Cookie": cookie})
        answer = connection.getresponse()
        lines = []
        try:
            while len(lines) < 3 * count:
                lines.append(answer.readline().decode())
        except TimeoutError:
            pass
        connection.close()
        return "".join(lines)

    def ends(self, seconds=5):
        """Whether the program ends by itself."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        elif self.process.returncode not in (0, -signal.SIGKILL, -signal.SIGINT):
            print(f"# the page ended with {self.process.returncode}: {self.process.stderr.read()}")
        self.process.wait(10)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def wait_until(holds, seconds=10):
    """Whether it holds in time; what it gives. An element that the page has just replaced is looked for again."""
    end = time.monotonic() + seconds
    while True:
        try:
            result = holds()
        except StaleElementReferenceException:
            result = None
        if result or time.monotonic() > end:
            return result
        time.sleep(0.02)
