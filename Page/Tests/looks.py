"""The page at all widths, in light and dark, by keys alone, for a screen reader; and its speed."""
import json
import statistics
import subprocess
import time

import tap
from selenium.webdriver.common.keys import Keys

from parts import served
from published import PLAYER, TYPES, many
from served import TOOL, Place, Served, wait_until

WIDTHS, SCHEMES = (360, 1440), ("light", "dark")
SETTINGS = ("volume", "9", "theme", "dark", "window.width", "800", "tags", json.dumps(["jazz", "w" * 200]),
            "hosts", json.dumps([{"name": "example.com", "token": "x"}]), "output", '{"file":{}}', "anything", '{"a":1}',
            "notes", "one\ntwo", "since", "2026-11-21T08:00:00Z", "backup", "{}", "token", "x", "limits", json.dumps({"l" * 100: 5}))


def try_looks(browser):
    place = Place()
    place.publish(PLAYER, TYPES)
    place.set(PLAYER, *SETTINGS)
    place.run("set", PLAYER, "--type", "Any", "stranger" * 20, '{"x": 5}')
    page = Served(place, PLAYER, before=place.administrator(PLAYER, '{"speed": 2.0, "muted": true}'))
    browser.open(page.address)
    browser.type("volume", "11", kind="input[type=number]")
    wait_until(lambda: browser.note("volume"))
    title = browser.control("title")
    title.send_keys("x")
    place.set(PLAYER, "title", "T" * 40)
    wait_until(lambda: browser.note("title"))
    name = browser.control("hosts[0].name")
    name.send_keys("typed")
    place.set(PLAYER, "hosts", "[]")
    wait_until(lambda: browser.driver.find_elements("css selector", "#lost .note"))
    place.set(PLAYER, *SETTINGS[8:10])
    wait_until(lambda: browser.all("hosts[0].name"))
    measure(browser, "the page")
    page.process.kill()
    wait_until(lambda: browser.driver.find_element("id", "notice").is_displayed())
    measure(browser, "a page whose program has ended")
    page.close()
    page = Served(place, PLAYER, "--read-only")
    browser.open(page.address)
    measure(browser, "a page that only shows")
    page.close()
    place.close()
    try_nested(browser)


def measure(browser, what):
    for scheme in SCHEMES:
        for width in WIDTHS:
            browser.scheme(scheme)
            browser.width(width)
            wide = browser.overflow()
            tap.check(not wide, f"{what} has no overflow at {width} pixels, {scheme}", "\n".join(wide[:10]))
            count, bad = browser.contrasts()
            tap.check(count > 100 and not bad, f"contrast is at least 4.5 in {count} texts", "\n".join(bad[:20]))
            count, bad = browser.unnamed()
            tap.check(count > 60 and not bad, f"{count} controls have a name that a screen reader finds", "\n".join(bad[:20]))
    browser.command("Emulation.clearDeviceMetricsOverride")
    browser.scheme("light")


# ---- By keys alone


def try_keyboard(browser):
    with served(settings=("tags", '["a", "b"]')) as (place, page):
        browser.open(page.address)
        browser.keys(Keys.TAB)
        tap.check(browser.focused()[1] == "Skip to the settings", "the first key leads past the head", str(browser.focused()))
        browser.keys(Keys.ENTER)
        try_stops(browser)

        def go(path, name):
            """Presses the tab key until a control has the focus."""
            browser.js("document.getElementById('settings').focus()")
            for _ in range(200):
                browser.keys(Keys.TAB)
                if browser.focused() == [path, name]:
                    return True
            return False

        def becomes(path, value):
            return wait_until(lambda: place.get(PLAYER, path) == value)

        def act(what, path, name, keys, value):
            is_there = go(path, name)
            browser.keys(*keys)
            top = path.split(".")[0]
            tap.check(is_there and becomes(top, value), what, f"{is_there} {browser.focused()} {place.get(PLAYER, top)}")

        act("a slider by arrows", "volume", "Volume, slider", [Keys.ARROW_LEFT, Keys.ARROW_LEFT], 5)
        act("a number by arrows", "volume", "Volume", [Keys.ARROW_UP], 6)
        act("a switch by the space key", "muted", "Muted", [Keys.SPACE], True)
        act("a choice by arrows", "theme", "Theme", [Keys.ARROW_DOWN], "dark")
        act("a text", "title", "Title", ["Typed", Keys.ENTER], "Typed")
        act("a date", "since", "Since", ["01", "02", "2026", Keys.TAB, "0304", "05", "AM", Keys.ENTER],
            {"$date": "2026-01-02T03:04:05Z"})
        act("a new entry of a list", "tags", "New entry of Tags", ["c", Keys.ENTER], ["a", "b", "c"])
        act("an entry moved", "tags", "Move Tags 3 up", [Keys.ENTER], ["a", "c", "b"])
        tap.check(wait_until(lambda: browser.focused() == ["tags", "Move Tags 2 up"]), "keeps the focus", str(browser.focused()))
        browser.keys(Keys.ENTER)
        tap.check(becomes("tags", ["c", "a", "b"]) and wait_until(lambda: browser.focused()[1] == "Remove Tags 1"),
                  "or gives it to its neighbour at the end", str(browser.focused()))
        browser.keys(Keys.ENTER)
        tap.check(becomes("tags", ["a", "b"]) and wait_until(lambda: browser.focused()[0] == "tags"),
                  "an entry removed", str(browser.focused()))
        act("a key of a dictionary", "limits", "New key of Limits", ["k", Keys.ENTER], {"fade": 3, "k": 0})
        act("a struct that was not there", "window.position", "Set Position", [Keys.ENTER], {"position": {}})
        tap.check(wait_until(lambda: browser.focused()[0] == "window.position.x"), "has the focus then", str(browser.focused()))
        is_there = go("anything", "Anything")
        browser.keys("[1]", Keys.TAB, Keys.ENTER)
        tap.check(is_there and becomes("anything", [1]), "JSON, saved by its button")
        is_there = go("title", "Reset Title. Default: Player")
        browser.keys(Keys.SPACE)
        tap.check(is_there and becomes("title", "Player") and wait_until(lambda: browser.focused() == ["title", "Title"]),
                  "a reset, after which the focus is on its control", str(browser.focused()))
    try_focus(browser)


def try_stops(browser):
    """Each control is a stop of the tab key, once and visibly, in the order of the page."""
    stops = browser.js("""
        const all = "main :is(input, select, textarea, button)";
        return [...document.querySelectorAll(all)].filter((one) => one.checkVisibility() && !one.matches(":disabled")).length""")
    seen, hidden, order = set(), [], []
    for _ in range(stops * 4):
        browser.keys(Keys.TAB)
        number, is_inside, top, look = browser.js("""
            const one = document.activeElement;
            const style = getComputedStyle(one);
            const box = one.getBoundingClientRect();
            const head = document.querySelector("header").getBoundingClientRect().bottom;
            const all = [...document.querySelectorAll("main :is(input, select, textarea, button)")];
            return [all.indexOf(one), box.top >= head - 1 && box.bottom <= innerHeight + 1, scrollY + box.top,
                    style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];""")
        if number < 0:
            break
        if number not in seen:
            order.append(number)
        seen.add(number)
        if not is_inside or not look:
            hidden.append(f"{browser.focused()} {is_inside} {look}")
    tap.check(len(seen) == stops and order == sorted(order), f"{stops} controls are reached by the tab key, in their order",
              f"{len(seen)} {order}")
    tap.check(not hidden, "each is in view and framed when it has the focus", "\n".join(hidden[:10]))


# ---- Speed


def try_speed(browser):
    """Asserts bounds that hold on a machine that is busy with other things; what the page is meant to take is in the bench."""
    with served(domain="com.example.many", types=many(300)) as (place, page):
        loads = [browser.open(page.address)]
        for _ in range(6):
            loads.append(browser.open(page.home))
        count = browser.js("return document.querySelectorAll('.setting').length")
        tap.check(count == 300, "a page of 300 settings", str(count))
        browser.js("""
            window.seen = {};
            const input = document.querySelector("#at-setting5 input");
            const look = () => { window.seen[input.value] ??= Date.now(); requestAnimationFrame(look); };
            look();""")
        changes = []
        for number in range(1, 16):
            place.set("com.example.many", "setting5", str(number))
            after = time.time() * 1000
            seen = wait_until(lambda: browser.js("return window.seen[arguments[0]]", str(number)))
            changes.append(max(seen - after, 0))
            time.sleep(0.1)
        load, change = statistics.median(loads), statistics.median(changes)
        print(f"# 300 settings are there after {load:.0f} ms (of {len(loads)}, at most {max(loads):.0f}); a change of another "
              f"program is shown {change:.0f} ms after its end (of {len(changes)}, at most {max(changes):.0f})")
        tap.check(load < 1000 and change < 500, "is there at once, and takes up changes at once", f"{load} {change}")
        cookie = browser.driver.get_cookie(f"kvdefaults-{page.port}")
        headers = {"Cookie": f"{cookie['name']}={cookie['value']}"}
        sizes = [len(page.request("GET", path, headers=headers)[2].encode()) for path in ("/", "/page.css", "/page.js")]
        print(f"# HTML, style and script: {' + '.join(map(str, sizes))} = {sum(sizes)} bytes")
        tap.check(sum(sizes) < 56_000, "the page is small", str(sizes))
    try_many_settings(browser)
    try_large_values(browser)


def try_many_settings(browser):
    """What is linear in the number of settings: a look at the store for each edit takes part in that."""
    place = Place()
    place.publish("com.example.many", many(5000))
    started = time.monotonic()
    page = Served(place, "com.example.many")
    start = time.monotonic() - started
    load = browser.open(page.address)
    cookie = browser.driver.get_cookie(f"kvdefaults-{page.port}")
    edits = []
    for number in range(5):
        started = time.monotonic()
        status, _, text = page.edit(f"{cookie['name']}={cookie['value']}", path=["setting5"], operation="set", value=number)
        edits.append(time.monotonic() - started)
        tap.check(status == 200 and wait_until(lambda: browser.value("setting5") == str(number)),
                  f"an edit of a page of 5,000 settings is made and shown: {number}", text)
    edit = statistics.median(edits)
    print(f"# 5,000 settings: the program starts in {start * 1e3:.0f} ms, its page is there after {load:.0f} ms, an edit takes "
          f"{edit * 1e3:.0f} ms")
    tap.check(start < 2 and edit < 1, "in a time that does not grow with the square of their number", f"{start} {edit}")
    page.close()
    place.close()


# ---- Pictures


def take_screenshots(browser, folder):
    folder.mkdir(parents=True, exist_ok=True)
    place = Place()
    place.publish(PLAYER, TYPES)
    place.set(PLAYER, *[word for word in SETTINGS if "w" * 200 not in word and "l" * 100 not in word and word not in ("tags", "limits")])
    place.run("set", PLAYER, "--type", "Any", "stranger", '{"x": 5}')
    page = Served(place, PLAYER, before=place.administrator(PLAYER, '{"speed": 2.0}'))
    browser.open(page.address)
    for scheme in SCHEMES:
        browser.scheme(scheme)
        for width in WIDTHS:
            browser.width(width)
            browser.screenshot(folder / f"{scheme}-{width}.png", whole=True)
        browser.width(1100, 760)
        browser.screenshot(folder / f"{scheme}.png")
    page.close()
    place.close()


def try_large_values(browser):
    """What is linear in the number of entries of one setting."""
    types = "root S\nstruct S { all: [String: Int] = [:]; list: [Int] = [] }\n"
    for count in (1000, 4000):
        with served(types=types) as (place, page):
            place.write(PLAYER, {"all": {f"key{number}": number for number in range(count)}})
            load = browser.open(page.address)
            started = time.monotonic()
            place.set(PLAYER, "all.key7", "77")
            box = "return document.querySelector('[aria-label=\"All, key7\"]')?.value"
            good = wait_until(lambda: browser.js(box) == "77", 30)
            change = time.monotonic() - started
            print(f"# a dictionary of {count:,} keys is there after {load:.0f} ms, a change of it after {change * 1e3:.0f} ms")
            tap.check(good and load < 1000 + count / 2 and change < 1 + count / 2000,
                      f"a dictionary of {count:,} keys is there in a time that does not grow with the square", f"{load} {change}")
            browser.driver.get("about:blank")


def try_focus(browser):
    """Where the focus is after what had it is gone: never at the top of the page, and never in another text."""
    with served(settings=("volume", "5", "speed", "2", "hosts", '[{"name": "a"}, {"name": "b"}]')) as (place, page):
        browser.open(page.address)

        def stale(path, text, theirs):
            control = browser.control(path)
            control.click()
            control.send_keys(Keys.CONTROL + "a")
            control.send_keys(text)
            place.set(PLAYER, path, theirs)
            return wait_until(lambda: "Another program" in browser.note(path))

        def press(name):
            """Presses the tab key until a button has the focus, and then the enter key."""
            for _ in range(6):
                browser.keys(Keys.TAB)
                if browser.focused()[1] == name:
                    browser.keys(Keys.ENTER)
                    return True
            return False

        good = stale("title", "Mine", "Theirs") and press("Keep theirs")
        tap.check(good and wait_until(lambda: browser.value("title") == "Theirs" and browser.focused() == ["title", "Title"], 3),
                  "theirs is kept by keys, after which the text has the focus", f"{good} {browser.value('title')} {browser.focused()}")
        good = stale("title", "Mine", "Others") and press("Use mine")
        tap.check(good and wait_until(lambda: place.get(PLAYER, "title") == "Mine" and browser.focused() == ["title", "Title"], 3),
                  "and so is a person's own", f"{good} {place.get(PLAYER, 'title')} {browser.focused()}")
        browser.driver.find_element("id", "changed").click()
        browser.button("volume", "Reset")
        browser.js("document.querySelector('[id=at-volume] .under button').focus()")
        browser.keys(Keys.ENTER)
        tap.check(wait_until(lambda: not browser.all("volume") and browser.focused()[0] is not None, 3),
                  "a reset of what is shown for being changed leads to the next setting", str(browser.focused()))
        browser.driver.find_element("id", "changed").click()
        browser.control("hosts[1].name").click()
        place.set(PLAYER, "hosts", '[{"name": "a"}]')
        wait_until(lambda: not browser.all("hosts[1].name"))
        browser.keys("x")
        tap.check(browser.focused()[0] == "hosts" and not browser.js("return document.activeElement.matches('input, textarea')")
                  and browser.value("hosts[0].name") == "a", "what is gone gives the focus to what it was in", str(browser.focused()))


NESTED = """root S
/// الإعدادات
struct S {
    /// مستوى الصوت
    deep: [String: [String: Int(0...10)]] = [:]
    many: [String: [String]] = [:]
    hosts: [String: Host] = [:]
    lists: [[String: Int(0...10)]] = []
}
struct Host { /// The name by which it is found.
    name: String
    level: Int(0...10) = 1
}
"""


def try_nested(browser):
    """What is nested deep has room at all widths, and documentation its own direction."""
    settings = ("deep", '{"one": {"two": 5}}', "many", '{"one": ["a"]}', "hosts", '{"one": {"name": "a"}}', "lists", '[{"one": 5}]')
    with served(types=NESTED, settings=settings) as (place, page):
        browser.open(page.address)
        for width in (*WIDTHS, 700):
            browser.width(width)
            narrow = browser.js("""
                return [...document.querySelectorAll("main :is(input:not([type=checkbox]), .words)")].filter((one) =>
                  one.checkVisibility() && one.getBoundingClientRect().width < 90).map((one) =>
                  `${one.getBoundingClientRect().width} ${one.ariaLabel ?? one.textContent}`);""")
            tap.check(not narrow, f"texts and inputs of what is nested have room at {width} pixels", "\n".join(narrow))
            wide = browser.overflow()
            tap.check(not wide, "and nothing is too wide", "\n".join(wide[:10]))
        browser.command("Emulation.clearDeviceMetricsOverride")
        directions = [browser.js("return getComputedStyle(document.querySelector(arguments[0])).direction", place)
                      for place in ("#about", "#at-deep .help p")]
        tap.check(directions == ["rtl", "rtl"], "documentation that is written from the right begins there", str(directions))
