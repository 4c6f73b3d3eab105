#!/usr/bin/env python3
"""The settings page in Chromium: until 300 settings are painted, and until a change of another program is. Prints rows
(report.py).

Beside it: the same page as a file of HTML without a script, from Python's server, and what `kvdefaults watch` takes to
print the same change. A change is counted from the start of the process that makes it."""
import functools
import http.server
import random
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Page/Tests"))
import page  # noqa: E402, F401: installs and finds selenium
from browser import Browser  # noqa: E402
from parts import served  # noqa: E402
from published import many  # noqa: E402
from served import TOOL, wait_until  # noqa: E402

DOMAIN, COUNT = "com.example.many", 300
# When the first frame is painted after the page has its settings, and after each value that one of them comes to show.
WATCH = """
const painted = (act) => requestAnimationFrame(() => setTimeout(act));
const isThere = () => document.documentElement?.dataset.ready;
addEventListener("DOMContentLoaded", () => {
  window.shown = {};
  const look = () => {
    if (!isThere()) return requestAnimationFrame(look);
    window.painted ??= (painted(() => { window.painted = performance.now(); }), 0);
    const value = document.querySelector("#at-setting5 input")?.value;
    window.shown[value] ??= (painted(() => { window.shown[value] = Date.now(); }), 0);
    setTimeout(look);
  };
  look();
});
"""


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def loaded(browser, address):
    """Milliseconds until the page is painted, which must have all settings then."""
    browser.driver.get(address)
    took = wait_until(lambda: browser.js("return window.painted"))
    count = browser.js("return document.querySelectorAll('.setting :is(input, select)').length")
    assert took and count >= COUNT, f"{count} controls after {took} ms"
    return took


def changed(browser, place, watch, value):
    """Milliseconds until the page, and kvdefaults watch, show a value that a process sets."""
    started = time.time() * 1000
    place.set(DOMAIN, "setting5", str(value))
    line = watch.stdout.readline()
    heard = time.time() * 1000
    assert line.startswith(f"setting5 = {value}, was "), line
    shown = wait_until(lambda: browser.js("return window.shown[arguments[0]]", str(value)))
    assert shown and browser.value("setting5") == str(value), f"{value} is not shown"
    return shown - started, heard - started


def row(name, ours, peer, theirs):
    print(f"row\t{name}\tms\t{statistics.median(ours):.3f}\t{peer}={statistics.median(theirs):.3f}")


def main():
    browser = Browser()
    browser.command("Page.enable")
    browser.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    with served(domain=DOMAIN, types=many(COUNT)) as (place, own):
        browser.open(own.address)
        folder = place.folder / "file"
        folder.mkdir()
        (folder / "index.html").write_text(browser.js("""
            document.querySelector("script").remove();
            return document.documentElement.outerHTML;"""))
        (folder / "page.css").write_bytes((ROOT / "Page/Sources/kvdefaults-page/Page/page.css").read_bytes())
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(folder))) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            addresses = {"ours": own.home, "file": f"http://127.0.0.1:{server.server_port}/"}
            times = {name: [] for name in addresses}
            for _ in range(9):
                for name in random.sample(list(addresses), len(addresses)):
                    times[name].append(loaded(browser, addresses[name]))
            server.shutdown()
        row("300 settings are there", times["ours"], "the same page as a file", times["file"])
        loaded(browser, addresses["ours"])
        watch = subprocess.Popen([str(TOOL), "watch", DOMAIN, "setting5"], stdout=subprocess.PIPE, env=place.environment, text=True)
        try:
            time.sleep(0.5)  # It says nothing when it begins to watch.
            found = [changed(browser, place, watch, value) for value in range(1, 22)]
        finally:
            watch.terminate()
            watch.communicate()
        row("a change of another program is shown", [one for one, _ in found], "kvdefaults watch", [one for _, one in found])
    browser.close()


if __name__ == "__main__":
    main()
