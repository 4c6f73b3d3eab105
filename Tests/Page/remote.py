"""The page of a store on a server."""
import json
import os
import tempfile

import tap
from selenium.webdriver.common.keys import Keys

from published import PLAYER, TYPES
from served import Place, Served, wait_until
from servers.postgresql import Server


def try_remote(browser):
    place = Place()
    place.publish(PLAYER, TYPES)
    with tempfile.TemporaryDirectory(prefix="kvpage-") as folder:
        os.chmod(folder, 0o755)
        server, page = Server(folder), None
        try:
            server.make_tables()
            services = place.folder / "services"
            services.write_text(f"[owner]\nhost={folder}\nport={server.port}\nuser=owner\ndbname=postgres\n")
            place.environment["PGSERVICEFILE"] = str(services)
            page = Served(place, PLAYER, "--server", "owner")
            browser.open(page.address)
            try_server(browser, place, server)
        finally:
            if page:
                page.close()
            server.stop()
            place.close()


def try_server(browser, place, server):
    def stored(key):
        text = server.sql(f"SELECT value FROM kv WHERE store = '{PLAYER}' AND key = '{key}'")
        return json.loads(text) if text else None

    browser.type("title", "Ours")
    tap.check(wait_until(lambda: stored("title") == "Ours"), "an edit is on the server", str(stored("title")))
    place.set(PLAYER, "title", "Theirs", "--server", "owner")
    tap.check(wait_until(lambda: browser.value("title") == "Theirs"), "what another machine sets is shown")
    server.stop()
    browser.type("title", "Away")
    tap.check(wait_until(lambda: "server" in browser.note("title"), 20) and browser.value("title") == "Away",
              "while the server is away an edit is told as not made, and what was typed stays", browser.note("title"))
    tap.check(browser.value("window.width") != "", "and the page goes on")
    server.start()
    browser.control("title").send_keys("!" + Keys.TAB)
    tap.check(wait_until(lambda: stored("title") == "Away!", 20) and wait_until(lambda: not browser.note("title")),
              "when it is back it is made", f"{stored('title')} {browser.note('title')}")
    browser.press("title", "Reset")
    tap.check(wait_until(lambda: stored("title") is None), "a reset takes it away there", str(stored("title")))
