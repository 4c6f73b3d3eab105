"""What no browser sends, and what must never be sent to one; and the end of the page."""
import fcntl
import http.client
import json
import os
import pty
import signal
import subprocess
import termios
import time

import tap
from parts import served
from published import EVIL, EVIL_TYPES, PLAYER, SCRIPT, TYPES
from served import TOOL, Place, Served, wait_until


def try_security(browser):
    with served() as (place, page):
        try_entrance(page)
        try_requests(page, place)
        try_sizes(page, place)
    try_secrets(browser)
    try_secret_types(browser)
    try_words_of_secrets()
    try_forms_of_secrets()
    try_damaged_secrets()
    try_large(browser)
    try_many()
    try_heads()
    try_scripts(browser)
    try_others(browser)


def try_entrance(page):
    def answer(path="/", **headers):
        return page.request("GET", path, headers=headers)[0]

    wrong = "0" * 64
    tap.check(answer() == 403 and answer("/events") == 403 and answer("/page.js") == 403, "without a token nothing is shown")
    tap.check(answer(f"/?token={wrong}") == 403 and answer("/?token=") == 403 and answer(f"/?token={page.token[:-1]}") == 403,
              "with a wrong one neither")
    tap.check(page.request("GET", f"/?token={page.token}", headers={"Host": f"evil.example:{page.port}"})[0] == 421
              and page.request("POST", f"/?token={page.token}", "{}", {"Origin": f"http://{page.host}"})[0] == 403,
              "under another name, or by another method, the token is not taken")
    status, headers, text = page.request("GET", f"/?token={page.token}")
    cookie = headers.get("set-cookie", "")
    tap.check(status == 200 and 'content="0; url=./"' in text and cookie.endswith(f"; Path={page.folder}/; HttpOnly; SameSite=Strict")
              and cookie.startswith(f"kvdefaults-{page.port}=") and page.token not in cookie + text,
              "the token is changed for a cookie of this site alone", f"{status} {headers}")
    tap.check(answer(f"/?token={page.token}") == 403, "once")
    page.cookie = cookie.split(";")[0]
    name, value = page.cookie.split("=")
    tap.check(answer(Cookie=f"{name}={wrong}") == 403 and answer(Cookie=f"{name}=") == 403
              and answer(Cookie=f"kvdefaults={value}") == 403, "a wrong cookie opens nothing")
    status, headers, _ = page.request("GET", "/", headers={"Cookie": f"other=1; {page.cookie}"})
    policy = headers.get("content-security-policy", "")
    tap.check(status == 200 and "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
              and "frame-ancestors 'none'" in policy and "form-action 'none'" in policy, "the right one the page, under a strict policy",
              policy)
    tap.check(headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
              and headers["cache-control"] == "no-store" and headers["cross-origin-resource-policy"] == "same-origin",
              "which nobody may keep, show or guess at", str(headers))
    for folder in ("", f"/{wrong}", page.folder[:-1], page.folder + "0", page.folder.upper(), f"/{page.folder}", f"{page.folder}/.."):
        statuses = {page.request("GET", path, headers={"Cookie": page.cookie}, folder=folder)[0]
                    for path in ("/", "/events", "/page.js", f"/?token={page.token}")}
        tap.check(statuses == {404}, f"in the folder {folder} is nothing", str(statuses))
    others = [line.split()[1] for line in open("/proc/net/tcp").readlines()[1:] if line.split()[3] == "0A"]
    tap.check(f"0100007F:{page.port:04X}" in others and f"00000000:{page.port:04X}" not in others, "only this machine is listened to")


def try_requests(page, place):
    edit = json.dumps({"operation": "set", "path": ["volume"], "value": 1, "base": 10 ** 9, "page": "x"})
    good = {"Cookie": page.cookie, "Origin": f"http://{page.host}", "Content-Type": "application/json"}
    form = "application/x-www-form-urlencoded"
    for status, what, changes, drop in (
            (403, "another origin", {"Origin": "http://evil.example"}, ()),
            (403, "another port's origin", {"Origin": f"http://127.0.0.1:{page.port + 1}"}, ()),
            (403, "an origin that hides itself", {"Origin": "null"}, ()), (403, "no origin", {}, ("Origin",)),
            (421, "another host name", {"Host": f"evil.example:{page.port}"}, ()),
            (421, "a name that leads here", {"Host": f"localhost:{page.port}"}, ()),
            (421, "the host without its port", {"Host": "127.0.0.1"}, ()), (421, "no host", {}, ("Host",)),
            (403, "no cookie", {}, ("Cookie",)), (415, "a form", {"Content-Type": form}, ()),
            (415, "a form of plain text", {"Content-Type": "text/plain"}, ()), (415, "no type", {}, ("Content-Type",))):
        found = page.request("POST", "/edit", edit, {**good, **changes}, drop)[0]
        tap.check(found == status and place.get(PLAYER, "volume") == 7, f"an edit with {what} is {status}", str(found))
    for path in ("/", "/events", "/page.js"):
        answers = [page.request("GET", path, headers={"Cookie": page.cookie, **more})[0]
                   for more in ({"Host": f"evil.example:{page.port}"}, {"Origin": "http://evil.example"})]
        tap.check(answers == [421, 403], f"{path} is not shown to other names and origins", str(answers))
    tap.check(page.request("GET", "/edit", headers=good)[0] == 405 and page.request("POST", "/", edit, good)[0] == 405
              and page.request("GET", "/other", headers=good)[0] == 404 and page.request("HEAD", "/", headers=good)[0] == 405,
              "other ways and methods lead nowhere")
    for what, body in (("no JSON", "{"), ("a list", "[1]"), ("no path", '{"operation": "set"}'),
                       ("a path of nothing", edit.replace('["volume"]', "[]")), ("an index first", edit.replace('["volume"]', "[0]")),
                       ("an index below 0", edit.replace('["volume"]', '["tags", -1]')),
                       ("an operation that is none", edit.replace('"set"', '"destroy"')), ("null", "null"),
                       ("a nest of lists", "[" * 100_000)):
        status, _, text = page.request("POST", "/edit", body, good)
        tap.check(status == 400 and "Expected" in text, f"{what} is told", f"{status} {text[:200]}")
    for what, path, value in (("a value of another type", ["volume"], "x"), ("one out of its range", ["volume"], 11),
                              ("null", ["title"], None), ("a bad date", ["since"], {"$date": "x"}), ("a place in a number", ["volume", "x"], 1),
                              ("an element that is far away", ["tags", 99], "x")):
        status, _, text = page.edit(page.cookie, operation="set", path=path, value=value)
        tap.check(status == 422 and "message" in text, f"{what} is refused", f"{status} {text}")
    status, _, text = page.request("POST", "/edit", edit, good)
    tap.check(status == 200 and place.get(PLAYER, "volume") == 1, "the right edit is made", f"{status} {text}")


def try_sizes(page, place):
    good = {"Cookie": page.cookie, "Origin": f"http://{page.host}", "Content-Type": "application/json"}
    large = json.dumps({"operation": "set", "path": ["notes"], "value": "x" * 10_000_000, "base": 10 ** 9, "page": "x"})
    status, _, text = page.request("POST", "/edit", large, good)
    tap.check(status == 413 and "at most 1048576 bytes" in text, "an edit of 10 MB is told that it is too large", f"{status} {text}")
    try:
        status = page.request("POST", "/edit", None, {**good, "Content-Length": str(1 << 40)})[0]
    except (http.client.HTTPException, OSError) as error:
        status = type(error).__name__
    tap.check(status == 413, "one of a terabyte before it is sent", str(status))
    status = page.request("POST", "/edit", b"2\r\n{}\r\n0\r\n\r\n", {**good, "Transfer-Encoding": "chunked"})[0]
    tap.check(status == 411, "one without a length is refused", str(status))
    (place.folder / "large.json").write_text(json.dumps({"anything": "x" * 10_000_000, "stranger": ["y" * 100] * 100_000}))
    place.run("import", PLAYER, place.folder / "large.json")
    wait_until(lambda: "too large" in page.state(page.cookie))
    state = page.state(page.cookie)
    keys = json.loads(state)["keys"]
    tap.check(len(state) < 100_000 and "too large to be shown here" in keys["anything"]["hidden"] and "value" not in keys["stranger"]
              and keys["volume"]["value"] == 1, "values of 10 MB in the store are not sent, and all others are", f"{len(state)}")
    status, _, text = page.edit(page.cookie, operation="reset", path=["anything"])
    tap.check(status == 200 and place.get(PLAYER, "anything") is None, "and can be taken away", text[:200])
    size = int(next(line for line in open(f"/proc/{page.process.pid}/status") if line.startswith("VmRSS")).split()[1])
    print(f"# {size // 1024} MB of memory after that")


def try_secrets(browser):
    secret = "Zebra-4711"
    with served(settings=("token", secret, "hosts", json.dumps([{"name": "a", "token": secret + "1"}]),
                          "backup", json.dumps({"password": secret + "2"}))) as (place, page):
        seen = []
        real = page.request

        def request(*words, **more):
            answer = real(*words, **more)
            seen.append(str(answer))
            return answer

        page.request = request
        cookie = page.enter()
        seen.append(page.state(cookie))
        for path in ("/", "/page.js", "/page.css"):
            page.request("GET", path, headers={"Cookie": cookie})
        edits = [
            (["token"], "set", {"value": [secret + "wrong"]}), (["hosts", 0, "token"], "set", {"value": {"x": secret}}),
            (["token"], "set", {"value": secret + "new"}), (["backup", "every"], "set", {"value": "day"}),
            (["hosts", 1], "insert", {"value": {"name": "b"}}), (["hosts", 0], "move", {"target": 1}),
            (["hosts", 1, "token"], "set", {"value": secret + "moved", "base": 1}), (["backup"], "set", {"value": {"folder": "/x"}}),
        ]
        statuses = [page.edit(cookie, path=path, operation=operation, **more)[0] for path, operation, more in edits]
        tap.check(statuses == [422, 422, 200, 200, 200, 200, 200, 422],
                  "secrets are set, and not by what stands in their place", str(statuses))
        own = place.own(PLAYER)
        tap.check(own["token"] == secret + "new" and own["hosts"][1]["token"] == secret + "moved"
                  and own["backup"]["password"] == secret + "2", "they are in the store", str(own))
        place.set(PLAYER, "token", secret + "other")
        seen.append(page.state(cookie))
        places = [one for one in seen if secret in one]
        tap.check(not places and any("(secret)" in one for one in seen), "and in no answer", "\n".join(places)[:500])
        browser.driver.get("about:blank")
    try_odd_secrets(secret)
    with served(settings=("token", secret)) as (place, page):
        browser.open(page.address)
        place.set(PLAYER, "token", secret + "x", "volume", "3")
        wait_until(lambda: browser.value("volume", "input[type=number]") == "3")
        shown = browser.js("return document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((one) => one.value)")
        tap.check(secret not in shown, "nor in the page")


def try_odd_secrets(secret):
    """Secrets that are wrong, in what has not its type's shape, and where a field would get another key."""
    for value in ([{"token": secret}], {"a": {"token": secret}}, secret):
        with served(settings=("volume", "1")) as (place, page):
            place.write(PLAYER, {"backup": {"password": [secret]}, "hosts": value})
            cookie = page.enter()
            seen = [page.state(cookie)]
            for path, operation, more in ((["backup", "every"], "set", {"value": "week"}),
                                          (["backup", "password"], "rename", {"target": "unknown"}),
                                          (["hosts", 0, "name"], "set", {"value": "x"})):
                seen.append(str(page.edit(cookie, path=path, operation=operation, **more)))
            seen.append(page.state(cookie))
            tap.check(not [one for one in seen if secret in one], f"nor of what is wrong: {value}", str(seen)[:900])
            tap.check("found a field" in seen[2], "a field gets no other key", seen[2])


def try_secret_types(browser):
    """Elements of a list whose type is a secret itself."""
    types = "root S\nstruct S { keys: [Key] = [] }\nenum Key: String @secret { gold, brass }\n"
    domain = "com.example.keys"
    with served(domain=domain, types=types, settings=("keys", '["brass"]')) as (place, page):
        browser.open(page.address)
        control = browser.control("keys", "li input")
        tap.check(control.get_attribute("type") == "password" and control.get_property("value") == "", "an element is a secret")
        browser.type("keys", "gold", "li input")
        tap.check(wait_until(lambda: place.own(domain) == {"keys": ["gold"]}), "and can be set", str(place.own(domain)))


def try_words_of_secrets():
    """Secrets that JSON, or the form of a value in it, does not allow."""
    secret = "Zebra-4711"
    types = """root S
        struct S { blob: Data? @secret; any: Any? @secret; blobs: [Data] = [] @secret; keys: [Key] = []; boxes: [Box] = []; icon: Data? }
        struct Box { word: Data? @secret; number: Int = 1 }
        struct Key @secret { id: Int = 1 }
        """
    with served(domain="com.example.words", types=types) as (place, page):
        cookie = page.enter()
        for path, operation, value in (
                (["blob"], "set", {"$data": secret}), (["blob"], "set", secret), (["any"], "set", {"$date": secret}),
                (["any"], "set", {"$uid": secret}), (["any"], "set", {"$real": secret}), (["blobs"], "set", [{"$data": secret}]),
                (["blobs", 0], "insert", {"$data": secret}), (["keys", 0], "insert", {"id": {"$data": secret}}),
                (["boxes", 0], "insert", {"word": {"$data": secret}}), (["boxes"], "set", [{"word": {"$data": secret}}]),
                (["boxes", 0], "insert", secret), (["boxes"], "set", [[secret]]), (["keys", 0], "insert", secret)):
            status, _, text = page.edit(cookie, path=path, operation=operation, value=value)
            tap.check(status == 422 and "Expected" in text and secret not in text, f"{value} is not told when it is no {path}",
                      f"{status} {text}")
        status, _, text = page.edit(cookie, path=["icon"], operation="set", value={"$data": "x y z"})
        tap.check(status == 422 and "x y z" in text, "what is no secret is", f"{status} {text}")
        answers = [page.request("POST", "/edit", body, {"Cookie": cookie, "Origin": f"http://{page.host}",
                                                        "Content-Type": "application/json"})
                   for body in (f'{{"value": {secret}}}', f'{{"value": "{secret}', f'{{"operation": "{secret}"}}')]
        tap.check([one[0] for one in answers] == [400] * 3 and secret not in str(answers), "nor of what is no edit", str(answers))


def try_forms_of_secrets():
    """Defaults of fields that are in a secret."""
    types = """root S
        struct S { box: Box; list: [Box] = [["x": "ZebraDefault1"]]; plain: Plain @secret; output: Output @secret; open: String = "Open" }
        struct Box @secret { x: String = "ZebraDefault2"; other: Other = ["y": "ZebraDefault3"] }
        struct Other @secret { y: String = "ZebraDefault4" }
        struct Plain { z: String = "ZebraDefault5" }
        enum Output { file(path: String = "ZebraDefault6"), silent }
        """
    with served(domain="com.example.forms", types=types) as (place, page):
        state = page.state(page.enter())
        tap.check("ZebraDefault" not in state and '"Open"' in state, "defaults in secrets are in no state", state)


def try_damaged_secrets():
    """Files of stores with secrets, of which a program or a person has written something that cannot be read."""
    secret, domain = "Zebra4711", "com.example.damaged"
    head = '<?xml version="1.0"?><plist version="1.0"><dict>\n'
    damaged = [head + text + "</dict></plist>" for text in (
        f"<key>when</key><date>{secret}</date>", f"<key>count</key><integer>{secret}</integer>",
        f"<key>count</key><real>{secret}</real>", f"<key>token</key><{secret}>x</{secret}>",
        f"<key>token</key><string>x</{secret}>", f"<key>token</key><string>a&{secret};b</string>")]
    damaged += [f'{{"token":\n {secret}}}', f'{{"count": 12\n{secret}}}', f'{{ token = {secret}\n n }}']
    fields = "token: String?%s; when: Date?%s; count: Int?%s; volume: Int = 1"
    mark = " @secret"
    for types, isSecret in ((fields % (mark, mark, mark), True), (fields % ("", "", ""), False)):
        told = []
        with served(domain=domain, types=f"root S\nstruct S {{ {types} }}", settings=("volume", "2")) as (place, page):
            cookie = page.enter()
            file = place.config / f"{domain}.plist"
            good = file.read_bytes()
            for text in damaged:
                file.write_text(text)
                assert wait_until(lambda: "event: fault" in page.events(cookie, 2)), text
                edit = page.edit(cookie, path=["volume"], operation="set", value=3)
                told.append(page.events(cookie, 2) + str(edit) + place.run("page", domain)[2])
                tap.check(edit[0] == 422 and file.read_text() == text and told[-1].count("(line 2, column ") == 3,
                          "a damaged file is told with its place, and kept", told[-1][-900:])
                file.write_bytes(good)
                assert wait_until(lambda: "event: fault" not in page.events(cookie, 2))
        found = [one for one in told if secret in one]
        tap.check(not found if isSecret else len(found) > 3, f"and quoted only where nothing is secret: {isSecret}", str(found)[:900])


def try_large(browser):
    """A value that is too large to be shown: it is marked, and can be reset."""
    with served() as (place, page):
        (place.folder / "large.json").write_text(json.dumps({"notes": "x" * 400, "anything": "x" * 400_000}))
        place.run("import", PLAYER, place.folder / "large.json")
        browser.open(page.address)
        text = browser.row("anything").text
        tap.check("Its value is too large to be shown here: 400002 bytes" in text and "Failure" not in text and "not set" not in text
                  and "Changed" in text and not browser.all("anything", "textarea"), "a value that is too large is told", text)
        browser.press("anything", "Reset")
        tap.check(wait_until(lambda: "anything" not in place.own(PLAYER) and browser.all("anything", "textarea"), 5)
                  and "Changed" not in browser.row("anything").text, "and can be reset", browser.row("anything").text)


def try_many():
    """More connections than a program may have by default, and pages that are loaded again and again."""
    import resource
    import socket
    # The usual limit, which a program may raise.
    with served(settings=("volume", "1"), before=("prlimit", "--nofile=1024:8192")) as (place, page):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        open_ones = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(1100)]
        for one in open_ones:
            one.sendall(b"GET / HT")
        cookie = page.enter()
        tap.check(page.request("GET", "/", headers={"Cookie": cookie})[0] == 200, "1,100 connections do not end the page")
        for one in open_ones:
            one.close()
        streams = []
        for _ in range(40):
            stream = socket.create_connection(("127.0.0.1", page.port))
            stream.sendall(f"GET {page.folder}/events HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nCookie: {cookie}\r\n\r\n".encode())
            streams.append(stream)
        answers = [stream.recv(12) for stream in streams]
        tap.check(set(answers) == {b"HTTP/1.1 200"}, "a page that is loaded often is served each time", str(set(answers)))
        for stream in streams:
            stream.close()


def try_heads():
    """Requests that do not end, from a client without the cookie: no other waits for them."""
    import select
    import socket

    def is_ended(one):
        """Whether the server has ended a connection, with or without an answer."""
        try:
            while select.select([one], [], [], 0)[0]:
                if not one.recv(4096):
                    return True
        except ConnectionError:
            return True
        return False

    with served(settings=("volume", "1")) as (place, page):
        cookie = page.enter()

        def connection(text):
            one = socket.create_connection(("127.0.0.1", page.port), timeout=10)
            try:
                one.sendall(text)
            except ConnectionError:
                pass  # It was ended while this was sent.
            return one

        def slowest():
            """The longest of some requests, in seconds."""
            times = []
            for _ in range(10):
                started = time.monotonic()
                assert page.request("GET", "/", headers={"Cookie": cookie})[0] == 200
                times.append(time.monotonic() - started)
            return max(times)

        line = f"GET {page.folder}/ HTTP/1.1\r\nX: ".encode()
        large = connection(line + b"x" * 60_000 + b"\r\nHost: " + page.host.encode() + b"\r\n\r\n")
        answer = large.recv(100) if wait_until(lambda: select.select([large], [], [], 0)[0], 2) else b""
        tap.check(b" 403 " in answer, "a head of 60 KB is read at once", str(answer))
        endless = [connection(line + b"x" * 200_000) for _ in range(8)]
        tap.check(wait_until(lambda: all(map(is_ended, endless)), 5), "one that is longer ends the connection")
        slow = [connection(line) for _ in range(64)]
        tap.check(slowest() < 1 and is_ended(slow[0]), "of 65 that do not end the oldest goes, and nobody waits for them")
        started = time.monotonic()
        tap.check(not is_ended(slow[-1]) and wait_until(lambda: all(map(is_ended, slow)), 15)
                  and time.monotonic() - started > 5, "the others after some seconds")
        bodies = [connection(line + b"x\r\nContent-Length: 5000\r\n\r\n{") for _ in range(2)]
        tap.check(wait_until(lambda: all(map(is_ended, bodies)), 15), "so do those whose body does not come")
        twice = connection(line + b"x\r\nHost: a\r\nHost: b\r\n\r\n").recv(20)
        tap.check(b" 400 " in twice, "a header that is there twice is no request", str(twice))


def try_scripts(browser):
    with served(domain=EVIL, types=EVIL_TYPES) as (place, page):
        place.run("set", EVIL, "tags", json.dumps([SCRIPT]))
        place.run("set", EVIL, "table", json.dumps({SCRIPT: SCRIPT, "__proto__": "x", "constructor": "y"}))
        place.run("set", EVIL, "--type", "Any", json.dumps(SCRIPT), json.dumps({SCRIPT: SCRIPT}))
        place.run("set", EVIL, "theme", "dark")
        browser.errors()
        browser.open(page.address)
        text = browser.driver.find_element("tag name", "main").text
        tap.check(SCRIPT in text and browser.value("tags") == SCRIPT and browser.value("table", "td:nth-child(2) input") == SCRIPT,
                  "a script in documentation, keys and values is shown as a text", text[:300])
        place.set(EVIL, "tags[1]", "x")
        wait_until(lambda: len(browser.all("tags", "li")) == 2)
        injected = browser.js("return document.querySelectorAll('main script, main img, body > script').length")
        errors = browser.errors()
        tap.check(browser.driver.title == f"{EVIL} – Settings" and injected == 0 and not errors, "and is not run",
                  f"{browser.driver.title} {injected} {errors}")
        keys = [browser.value("table", "td:first-child input", number) for number in range(3)]
        tap.check(set(keys) == {SCRIPT, "__proto__", "constructor"}, "keys that mean something in JavaScript are keys", str(keys))


# What a page of another origin tries in the browser that has the cookie.
FOREIGN = """<!DOCTYPE html><title>Foreign</title><body><iframe name="frame"></iframe><script>
const found = {};
const edit = JSON.stringify({ operation: "set", path: ["volume"], value: 1, base: 1e9, page: "x" });
const tried = (name, act) => act.then((value) => found[name] = value, () => found[name] = "refused");
const once = (element, name) => new Promise((resolve) => {
  element.onload = () => resolve(name);
  element.onerror = () => resolve("refused");
  document.body.append(element);
});
async function attack(target) {
  for (const type of ["application/json", "text/plain"])
    for (const mode of ["cors", "no-cors"])
      await tried(`${type} ${mode}`, fetch(`${target}/edit`, { method: "POST", mode, credentials: "include", body: edit,
        headers: { "Content-Type": type } }).then((answer) => answer.type));
  await tried("read", fetch(`${target}/events`, { credentials: "include" }).then((answer) => answer.text()));
  await tried("events", new Promise((resolve, reject) => {
    const events = new EventSource(`${target}/events`, { withCredentials: true });
    events.addEventListener("state", (event) => resolve(event.data));
    events.onerror = reject;
  }));
  await tried("script", once(Object.assign(document.createElement("script"), { src: `${target}/page.js` }), "loaded"));
  await tried("style", once(Object.assign(document.createElement("link"), { rel: "stylesheet", href: `${target}/page.css` }), "loaded"));
  const frame = document.querySelector("iframe");
  frame.src = target;
  await new Promise((resolve) => { frame.onload = resolve; });
  const form = Object.assign(document.createElement("form"), { action: `${target}/edit`, method: "post", target: "frame", enctype: "text/plain" });
  form.append(Object.assign(document.createElement("input"), { name: edit.slice(0, -1) + ', "z": "', value: '"}' }));
  document.body.append(form);
  form.submit();
  await new Promise((resolve) => { frame.onload = resolve; });
  return found;
}
</script>"""


def try_others(browser):
    """Pages of other origins in the same browser: one on another port, which shares the cookies, and one by another name."""
    import http.server
    import threading

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(FOREIGN.encode())

        def log_message(self, *words):
            pass

    with served(settings=("volume", "5")) as (place, page), http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.errors()
        browser.driver.get(f"{page.home}?token={'0' * 64}")
        text = browser.driver.find_element("tag name", "body").text
        tap.check("This address was used already, or is another page's" in text, "a wrong token is told in the browser", text)
        browser.open(page.address)
        for name in ("127.0.0.1", "localhost"):
            browser.driver.get(f"http://{name}:{server.server_port}/")
            found = browser.driver.execute_async_script(
                f"attack('{page.home[:-1]}').then(arguments[0], (error) => arguments[0]({{ error: `${{error}}` }}))")
            opaque = {f"{kind} no-cors" for kind in ("application/json", "text/plain")}
            bad = {what: answer for what, answer in found.items()
                   if answer != "refused" and not (what in opaque and answer == "opaque")}
            tap.check(len(found) == 8 and not bad and place.get(PLAYER, "volume") == 5,
                      f"a page of http://{name} on another port reads, loads and changes nothing", f"{found}")
            framed = [one for one in browser.errors() if "frame" in one and page.host in one]
            tap.check(framed, "and shows nothing in a frame")
        browser.driver.get(f"http://localhost:{page.port}/")
        text = browser.driver.find_element("tag name", "body").text
        tap.check("Expected the host 127.0.0.1" in text, "under another name the page is not shown", text)
        browser.open(page.home)
        tap.check(browser.value("volume", "input[type=number]") == "5", "while the page itself goes on")
        server.shutdown()
    try_other_servers(browser)


def try_other_servers(browser):
    """Servers on other ports of 127.0.0.1, and links to the page that stand elsewhere."""
    import http.server
    import threading
    seen = []

    class Other(http.server.BaseHTTPRequestHandler):
        text = ""

        def do_GET(self):
            seen.append(f"{self.path} {self.headers.get('Cookie')}")
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(Other.text.encode())

        def log_message(self, *words):
            pass

    with served(settings=("volume", "5")) as (place, page), http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("127.0.0.1", "localhost"):
            page.close()
            page.__init__(place, PLAYER)
            Other.text = f'<a href="{page.address}">The settings</a>'
            browser.driver.get(f"http://{name}:{server.server_port}/")
            browser.driver.find_element("css selector", "a").click()
            shown = wait_until(lambda: browser.js("return document.documentElement.dataset.ready"))
            tap.check(shown and browser.driver.current_url == page.home, f"a link on http://{name} leads to the page",
                      browser.driver.find_element("tag name", "body").text[:200])
        Other.text = "<img src=/image><script src=/script></script>"
        browser.driver.get(f"http://127.0.0.1:{server.server_port}/folder/")
        cookies = [one for one in seen if "kvdefaults" in one]
        tap.check(len(seen) > 2 and not cookies, "no other server is sent the cookie", str(seen))
        server.shutdown()


# ---- The end


def try_terminal(browser):
    place = Place()
    place.publish(PLAYER, TYPES)
    try_ends(place)
    try_programs(place)
    place.close()


def try_ends(place):
    page = Served(place, PLAYER)
    page.process.stdin.close()
    tap.check(page.ends(), "the page ends with what has its input open")
    page.close()
    page = Served(place, PLAYER)
    page.process.send_signal(signal.SIGINT)
    tap.check(page.ends(), "and by Control-C")
    page.close()

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [str(TOOL), "page", PLAYER], stdin=follower, stdout=subprocess.PIPE, stderr=follower, env=place.environment, text=True,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    address = process.stdout.readline()
    os.close(follower)
    said = os.read(leader, 1000).decode()
    tap.check(address.startswith("http://127.0.0.1:") and "works once" in said, "on a terminal it says what to do", said)
    os.close(leader)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
    tap.check(process.wait(5) in (-signal.SIGHUP, 0), "it ends with its terminal", str(process.returncode))
    process.stdout.close()

    note = place.folder / "number"
    subprocess.run(["sh", "-c", f"'{TOOL}' page {PLAYER} < /dev/null > /dev/null & echo $! > '{note}'; sleep 1.5; "
                    f"kill -0 $! && echo alive >> '{note}'"], env=place.environment, timeout=30)
    number, *alive = note.read_text().split()
    tap.check(alive == ["alive"], "without an input it goes on")
    if not tap.check(wait_until(lambda: not os.path.exists(f"/proc/{number}"), 5), "until its parent ends"):
        os.kill(int(number), signal.SIGKILL)


def try_programs(place):
    found = place.run("page", "com.example.none")
    tap.check(found == (1, "", "kvdefaults: com.example.none: No type is published for it\n"), "a domain without a type", str(found))
    text = subprocess.run(["ldd", str(TOOL.parent / "kvdefaults-page")], stdout=subprocess.PIPE, text=True).stdout
    names = {line.split()[0].split("/")[-1].split(".")[0].split("-")[0] for line in text.splitlines()}
    tap.check(names <= {"linux", "libc", "libm", "ld", "libstdc++", "libgcc_s"}, "the program needs nothing but the C library", text)
    has = [b"FoundationNetworking" in path.read_bytes() for path in (TOOL, TOOL.parent / "kvdefaults-page")]
    tap.check(has == [False, True], "and the command line is free of Foundation", str(has))
