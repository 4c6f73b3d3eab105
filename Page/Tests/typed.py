"""What a person types, and clicks quickly, while answers are due, and what the controls make of it."""
import calendar
import fcntl
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tap
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from parts import served
from published import PLAYER
from served import Served, wait_until

TYPES = """root Settings
struct Settings {
    title: String = "Player"
    since: Date?
    tags: [String] = []
    hosts: [Host] = []
    limits: [String: Int] = [:]
    theme: Theme = one
    muted: Bool = false
    gain: Float = 0.1
    devices: [Device] = []
    words: [String: String] = [:]
    point: Point?
    rates: [Int(0...9)] = []
}
struct Device { id: UUID }
struct Host { name: String }
struct Point { x: Int = 0; label: String? }
enum Theme: String { one, two, three, four, five }
"""


def slow(browser, answer=0, request=0):
    """Has each answer to an edit come so many milliseconds later, or the edit itself."""
    browser.js("""
        const real = window.realFetch ??= window.fetch;
        const wait = (time) => new Promise((done) => setTimeout(done, time));
        const [late, later] = arguments;
        window.fetch = async (...all) => {
          await wait(late);
          const answer = await real(...all);
          await wait(later);
          return answer;
        };""", request, answer)


def hide(browser, is_hidden):
    """As if another tab was looked at, or this one again."""
    browser.js("""
        Object.defineProperty(document, "hidden", { value: arguments[0], configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));""", is_hidden)


def lost(browser):
    return browser.js("return [...document.querySelectorAll('#lost textarea')].map((one) => one.value)")


def becomes(place, path, value, seconds=5):
    return wait_until(lambda: place.get(PLAYER, path) == value, seconds)


def select_all(control, text=""):
    control.click()
    control.send_keys(Keys.CONTROL + "a")
    if text:
        control.send_keys(text)


def try_typing(browser):
    strangers = [Stranger(browser, kind) for kind in ("telling", "silent")]
    try:
        for part in (try_adding, try_one_by_one, try_focus, try_mine, try_my_entries, try_names, try_renames, try_gone,
                     try_taken_back, try_again, try_hidden, try_fault, try_returns, try_dates, try_quick_keys, try_large, try_locked):
            with served(types=TYPES, settings=("title", "Player")) as (place, page):
                browser.open(page.address)
                part(browser, place, page)
        for stranger in strangers:
            stranger.check()
    finally:
        for stranger in strangers:
            stranger.close()


def try_adding(browser, place, page):
    """Entries of a list and keys of a dictionary, quickly one after the other."""
    def box(path):
        return browser.control(path, ".add input")

    slow(browser, 400)
    box("tags").send_keys("one" + Keys.ENTER)
    select_all(box("tags"), "two" + Keys.ENTER)
    tap.check(becomes(place, "tags", ["one", "two"]), "entries that are added quickly are in their order", str(place.get(PLAYER, "tags")))
    wait_until(lambda: box("tags").get_property("value") == "")
    box("tags").send_keys("three" + Keys.ENTER + " an")
    good = becomes(place, "tags", ["one", "two", "three"])
    time.sleep(0.6)
    tap.check(good and box("tags").get_property("value") == " an", "what is typed on while an entry is saved stays",
              box("tags").get_property("value"))
    select_all(box("tags"), "four" + Keys.ENTER + Keys.ENTER)
    good = wait_until(lambda: box("tags").get_property("value") == "")
    time.sleep(0.6)
    tap.check(good and place.get(PLAYER, "tags") == ["one", "two", "three", "four"], "a second Enter adds no second one",
              str(place.get(PLAYER, "tags")))
    box("limits").send_keys("one" + Keys.ENTER)
    select_all(box("limits"), "two")
    good = becomes(place, "limits", {"one": 0})
    time.sleep(0.6)
    tap.check(good and box("limits").get_property("value") == "two", "so with a key", box("limits").get_property("value"))
    slow(browser)
    ActionChains(browser.driver).double_click(browser.button("hosts", "Add")).perform()
    good = wait_until(lambda: place.get(PLAYER, "hosts"))
    time.sleep(0.4)
    tap.check(good and place.get(PLAYER, "hosts") == [{"name": ""}], "a double click adds one", str(place.get(PLAYER, "hosts")))


def try_one_by_one(browser, place, page):
    """Entries that are typed without waiting for the store: each is one of its own, and none is lost where it is refused."""
    def box(path):
        return browser.control(path, ".add input")

    def asks():
        return browser.js("const one = new Event('beforeunload', { cancelable: true }); dispatchEvent(one); return one.defaultPrevented")

    for late, pause in ((0, 0), (150, 0.06), (600, 0.02)):
        place.set(PLAYER, "tags", "[]")
        wait_until(lambda: not browser.all("tags", "li"))
        slow(browser, late)
        box("tags").click()
        for key in ("jazz", Keys.ENTER, "live", Keys.ENTER, "rock", Keys.ENTER):
            for one in key:
                browser.keys(one)
                time.sleep(pause)
        tap.check(becomes(place, "tags", ["jazz", "live", "rock"]) and box("tags").get_property("value") == "",
                  f"entries are not joined by an answer that is {late} ms late", f"{place.get(PLAYER, 'tags')} {box('tags').get_property('value')}")
    box("words").send_keys("m" + Keys.ENTER + "next")
    tap.check(becomes(place, "words", {"m": ""}) and wait_until(lambda: browser.all("words", "tbody tr"))
              and box("words").get_property("value") == "next", "nor are keys", box("words").get_property("value"))
    box("words").send_keys(Keys.ESCAPE)
    slow(browser, 600)
    box("rates").send_keys("12" + Keys.ENTER)
    good = asks() and wait_until(lambda: "found 12" in browser.note("rates"), 5)
    tap.check(good and box("rates").get_property("value") == "12", "an entry that is refused is in the box again, and a browser asks until then",
              f"{box('rates').get_property('value')} {browser.note('rates')}")
    box("rates").send_keys(Keys.ENTER + "3" + Keys.ENTER + "4")
    good = wait_until(lambda: sorted(lost(browser)) == ["12", "3"], 5)
    tap.check(good and box("rates").get_property("value") == "4" and not place.get(PLAYER, "rates"),
              "and at the foot where more is typed", f"{lost(browser)} {box('rates').get_property('value')}")
    box("rates").send_keys(Keys.ESCAPE)
    browser.js("document.getElementById('lost').replaceChildren(); window.fetch = () => Promise.reject(Error('x'))")
    box("tags").send_keys("more" + Keys.ENTER)
    tap.check(wait_until(lambda: "cannot be reached" in browser.note("tags"), 5) and box("tags").get_property("value") == "more",
              "so is one where nobody answers", box("tags").get_property("value"))


def try_focus(browser, place, page):
    """An answer that is late gives nothing the focus that a person has moved on from: no text goes into another setting."""
    place.set(PLAYER, "tags", '["a", "b"]', "words", '{"k": "1"}', "muted", "true")
    wait_until(lambda: len(browser.all("tags", "li")) == 2)
    slow(browser, answer=500)
    box = ".add input"
    for what, act, done in (
            ("an entry is added", lambda: browser.control("tags", box).send_keys("c" + Keys.ENTER), ("tags", ["a", "b", "c"])),
            ("one is moved", lambda: browser.press("tags", "Move Tags 2 up"), ("tags", ["b", "a", "c"])),
            ("one is removed", lambda: browser.press("tags", "Remove Tags 3"), ("tags", ["b", "a"])),
            ("a struct is added", lambda: browser.press("hosts", "Add"), ("hosts", [{"name": ""}])),
            ("a key is added", lambda: browser.control("words", box).send_keys("m" + Keys.ENTER), ("words", {"k": "1", "m": ""})),
            ("a key is removed", lambda: browser.press("words", "Remove Words, m"), ("words", {"k": "1"})),
            ("a struct is set", lambda: browser.press("point", "Set Point"), ("point", {})),
            ("one is reset", lambda: browser.press("point", "Reset Point"), ("point", None)),
            ("a switch is reset", lambda: browser.press("muted", "Reset Muted"), ("muted", False))):
        act()
        title = browser.control("title")
        title.click()
        title.send_keys(Keys.END + "1")
        stored = becomes(place, *done)
        time.sleep(0.8)
        browser.keys("2")
        tap.check(stored and browser.focused()[0] == "title" and title.get_property("value") == "Player12",
                  f"what is typed elsewhere while {what} stays there", f"{browser.focused()} {title.get_property('value')} {stored}")
        title.send_keys(Keys.ESCAPE)
        if browser.all("tags", box):
            browser.control("tags", box).send_keys(Keys.ESCAPE)
    # Where no action moved it, it goes on.
    slow(browser)
    browser.press("point", "Set Point")
    tap.check(wait_until(lambda: browser.focused() == ["point.x", "X"], 3), "otherwise what was made has the focus", str(browser.focused()))
    browser.press("point", "Reset Point")
    tap.check(wait_until(lambda: browser.focused() == ["point", "Set Point"], 3), "or what is there in its place", str(browser.focused()))


def meanwhile(browser, place, act, path, theirs):
    """Another program writes after the click, and before the edit is made: whether a conflict is shown, with which buttons."""
    slow(browser, request=700)
    act()
    place.set(PLAYER, path, theirs)
    shown = wait_until(lambda: "Another program has changed" in browser.note(path), 3)
    slow(browser)
    return shown, [one.text for one in browser.all(path, ".note button")]


def try_mine(browser, place, page):
    """What is done to an element of a list by its place while another program changes the list."""
    place.set(PLAYER, "tags", '["a", "b", "c"]')
    wait_until(lambda: len(browser.all("tags", "li")) == 3)

    def merged(act, theirs, both, what):
        slow(browser, request=700)
        act()
        place.set(PLAYER, "tags", theirs)
        slow(browser)
        tap.check(becomes(place, "tags", both) and not browser.note("tags"), what, f"{place.get(PLAYER, 'tags')} {browser.note('tags')}")
        place.set(PLAYER, "tags", '["a", "b", "c"]')
        wait_until(lambda: [one.get_property("value") for one in browser.all("tags", "li input")] == ["a", "b", "c"])

    shown, buttons = meanwhile(browser, place, lambda: browser.press("tags", "Remove Tags 2"), "tags", '["a", "B", "c"]')
    tap.check(shown and buttons == ["Keep theirs"], "the removal of an element that another program has changed is not made again", str(buttons))
    browser.press("tags", "Keep theirs")
    place.set(PLAYER, "tags", '["a", "b", "c"]')
    wait_until(lambda: browser.value("tags", "li input", 1) == "b")
    merged(lambda: browser.press("tags", "Remove Tags 2"), '["x", "a", "b", "c"]', ["x", "a", "c"], "an element is removed where it is now")
    merged(lambda: browser.press("tags", "Move Tags 2 down"), '["x", "a", "b", "c"]', ["x", "a", "c", "b"], "and moved")
    with open(place.config / f".{PLAYER}.plist.lock", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        select_all(browser.control("title"), "Mine")
        browser.press("tags", "Remove Tags 2")
        time.sleep(0.3)
        place.write(PLAYER, {"title": "Player", "tags": ["x", "a", "b", "c"]})
        time.sleep(0.3)
    tap.check(becomes(place, "tags", ["x", "a", "c"]), "an element is what was there at the click, also where another edit is waited for",
              str(place.get(PLAYER, "tags")))
    box = browser.control("tags", ".add input")
    merged(lambda: box.send_keys("mine" + Keys.ENTER), '["theirs"]', ["theirs", "mine"], "an entry is added beside another program's")


def try_my_entries(browser, place, page):
    """Entries that are added while another program adds the same one, or has the lock."""
    box = browser.control("limits", ".add input")
    shown, buttons = meanwhile(browser, place, lambda: box.send_keys("more" + Keys.ENTER + Keys.ENTER), "limits", '{"more": 5}')
    time.sleep(1)
    tap.check(shown and buttons == ["Keep theirs"] and place.get(PLAYER, "limits") == {"more": 5} and box.get_property("value") == "more",
              "a second Enter is no answer to a conflict", f"{place.get(PLAYER, 'limits')} {buttons} {box.get_property('value')}")
    browser.press("limits", "Keep theirs")
    box.send_keys(Keys.ESCAPE)
    tap.check(box.get_property("value") == "", "Escape takes a new entry back", box.get_property("value"))
    place.run("unset", PLAYER, "limits")
    box = browser.control("tags", ".add input")
    place.set(PLAYER, "tags", '["theirs", "mine"]')
    wait_until(lambda: len(browser.all("tags", "li")) == 2)
    # Behind another program's lock what is typed stays, too, and so does what was there.
    with open(place.config / f".{PLAYER}.plist.lock", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        box.send_keys("foo" + Keys.ENTER)
        select_all(box, "bar")
        time.sleep(0.5)
    tap.check(becomes(place, "tags", ["theirs", "mine", "foo"]) and box.get_property("value") == "bar",
              "what is typed while another program has the lock stays", box.get_property("value"))


def try_names(browser, place, page):
    """Keys of a dictionary get other names."""
    place.set(PLAYER, "limits", '{"one": 1, "two": 2}')

    def name(number=0):
        return browser.control("limits", "td:first-child input", number)

    wait_until(lambda: len(browser.all("limits", "tr")) == 3)
    select_all(name(), "three" + Keys.ESCAPE)
    tap.check(name().get_property("value") == "one", "Escape takes a new name back")
    name().send_keys(Keys.TAB)
    select_all(name(), "two" + Keys.TAB)
    tap.check(wait_until(lambda: "already" in browser.note("limits"), 3) and name().get_property("value") == "two",
              "a name that could not be given stays, to be changed", f"{browser.note('limits')} {name().get_property('value')}")
    select_all(name(), "four" + Keys.TAB)
    tap.check(becomes(place, "limits", {"four": 1, "two": 2}) and wait_until(lambda: not browser.note("limits")),
              "and given then", f"{place.get(PLAYER, 'limits')} {browser.note('limits')}")
    browser.js("window.realFetch ??= window.fetch; window.fetch = () => Promise.reject(Error('x'))")
    select_all(name(), "a longer name" + Keys.TAB)
    good = wait_until(lambda: "cannot be reached" in browser.note("limits"), 3)
    tap.check(good and name().get_property("value") == "a longer name" and not lost(browser), "so does one where nobody answers",
              f"{name().get_property('value')} {lost(browser)}")


def try_renames(browser, place, page):
    """A key gets another name, and the person goes on: what is typed is where the person is, and stored under the new name."""
    def keys(path, *all, pause=0.0):
        """Keys one after the other, in a row's name first."""
        name = browser.control(path, "td:first-child input")
        name.click()
        for key in all:
            browser.keys(key)
            time.sleep(pause)

    for what, late in (("answers at once", (0, 0)), ("takes a while", (300, 0)), ("is heard late", (0, 300))):
        place.set(PLAYER, "limits", '{"fade": 3, "m": 1}', "words", '{"a": "1", "z": "0"}')
        wait_until(lambda: len(browser.all("limits", "tr")) == 3 and browser.value("words", "td:first-child input") == "a")
        slow(browser, *late)
        keys("limits", Keys.END, "out", Keys.TAB, "42", Keys.TAB, pause=0.15)
        tap.check(becomes(place, "limits", {"fadeout": 42, "m": 1}), f"a value is typed behind a new name, where the store {what}",
                  str(place.get(PLAYER, "limits")))
        keys("words", Keys.END, "b", Keys.TAB, Keys.END, "xy", Keys.TAB)
        tap.check(becomes(place, "words", {"ab": "1xy", "z": "0"}) and not browser.note("words") and not lost(browser),
                  "also quickly, and under the new name alone", f"{place.get(PLAYER, 'words')} {browser.note('words')}")
        keys("words", Keys.END, "c", Keys.ENTER, "d", Keys.ENTER)
        tap.check(becomes(place, "words", {"abcd": "1xy", "z": "0"}), "so does one name after the other", str(place.get(PLAYER, "words")))
        keys("words", Keys.END, "zz", Keys.ENTER, Keys.BACKSPACE, Keys.BACKSPACE, Keys.BACKSPACE, Keys.ENTER)
        tap.check(becomes(place, "words", {"abc": "1xy", "z": "0"}), "a name can be taken back while it is being given",
                  str(place.get(PLAYER, "words")))
        slow(browser)
    keys("words", Keys.HOME, "zz", Keys.TAB)
    wait_until(lambda: "zzabc" in place.get(PLAYER, "words"))
    tap.check(wait_until(lambda: browser.focused() == ["words", "Words, zzabc"], 3) and browser.value("words", "td:first-child input", 1) == "zzabc",
              "a row that comes to another place keeps the focus, and has its new name", str(browser.focused()))
    browser.control("title").click()
    tap.check(wait_until(lambda: browser.all("words", "[aria-label='Remove Words, zzabc']")) and not browser.all("words", "[aria-label*=', abc']"),
              "and is called by its new name when it is left")


def try_gone(browser, place, page):
    """What the page itself takes away is not brought back by what was typed in it before the answer came."""
    place.set(PLAYER, "words", '{"a": "1", "z": "0"}', "point", '{"x": 1}')
    lock = place.config / f".{PLAYER}.plist.lock"
    for path, label, text, kind, left in (
            ("words", "Remove Words, a", "typed", "td:nth-child(2) input", {"z": "0"}),
            ("point", "Reset Point", "typed", "[id='at-point.label'] input", None)):
        box = browser.control(path, kind)
        with open(lock, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            browser.press(path, label)
            box.click()
            box.send_keys(Keys.END + text)
            browser.js("arguments[0].blur()", box)
        told = wait_until(lambda: any(text in one for one in lost(browser)), 5)
        time.sleep(0.5)  # It would be back by then.
        tap.check(told and place.get(PLAYER, path) == left and not browser.note(path),
                  f"what is removed at {path} stays so, and what was typed is at the foot",
                  f"{place.get(PLAYER, path)} {lost(browser)} {browser.note(path)}")
        browser.js("document.getElementById('lost').replaceChildren()")


def try_taken_back(browser, place, page):
    """A text to which something is typed and deleted again is none."""
    place.set(PLAYER, "tags", '["a", "b"]')
    wait_until(lambda: len(browser.all("tags", "li")) == 2)
    title = browser.control("title")
    title.click()
    title.send_keys(Keys.END + "x" + Keys.BACKSPACE + Keys.TAB)
    place.set(PLAYER, "title", "Theirs")
    tap.check(wait_until(lambda: title.get_property("value") == "Theirs", 3) and not browser.note("title"),
              "what is typed and deleted again is nothing that is typed", f"{title.get_property('value')} {browser.note('title')}")
    tag = browser.control("tags", "li input")
    tag.click()
    tag.send_keys(Keys.END + "x" + Keys.BACKSPACE)
    browser.press("tags", "Remove Tags 2")
    tap.check(becomes(place, "tags", ["a"]), "nor in a list", f"{place.get(PLAYER, 'tags')} {browser.note('tags')}")


def try_again(browser, place, page):
    """A text is saved again while the answer is due, a date goes back to what it was, and the window is left."""
    slow(browser, answer=700)
    title = browser.control("title")
    select_all(title, "a" + Keys.ENTER)
    time.sleep(0.1)
    title.send_keys("b" + Keys.ENTER)
    time.sleep(0.1)
    title.send_keys("c")
    asks = browser.js("const one = new Event('beforeunload', { cancelable: true }); dispatchEvent(one); return one.defaultPrevented")
    time.sleep(2)
    title.send_keys(Keys.TAB)
    tap.check(becomes(place, "title", "abc") and not browser.note("title"), "a person is in no conflict with what was typed before",
              f"{place.get(PLAYER, 'title')} {browser.note('title')}")
    time.sleep(1)
    saved = browser.js("const one = new Event('beforeunload', { cancelable: true }); dispatchEvent(one); return one.defaultPrevented")
    tap.check(asks and not saved, "a browser asks before it leaves what is not saved, and only then", f"{asks} {saved}")
    place.set(PLAYER, "since", "2025-06-01T12:00:00Z")
    wait_until(lambda: browser.value("since") == "2025-06-01T12:00", 5)
    browser.js("arguments[0].focus()", browser.control("since"))
    browser.keys(Keys.ARROW_UP, Keys.ENTER)
    time.sleep(0.1)
    browser.keys(Keys.ARROW_UP)
    time.sleep(1.2)
    browser.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    browser.js("document.activeElement.blur()")
    tap.check(becomes(place, "since", {"$date": "2025-06-01T12:00:00Z"}), "a date that is put back is saved", str(place.get(PLAYER, "since")))
    slow(browser)
    browser.js("arguments[0].focus()", browser.control("since"))
    browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, "2")
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    time.sleep(0.5)
    stored = place.get(PLAYER, "since")
    browser.driver.close()
    browser.driver.switch_to.window(first)
    tap.check(stored == {"$date": "2025-06-01T12:00:00Z"}, "a date that is being typed is not saved where the tab is left", str(stored))
    browser.keys(Keys.ESCAPE)
    for _ in range(2):
        count = len(place.get(PLAYER, "devices") or [])
        browser.press("devices", "Add")
        wait_until(lambda: len(place.get(PLAYER, "devices") or []) == count + 1)
    found = [one["id"] for one in place.get(PLAYER, "devices")]
    tap.check(len(set(found)) == 2, "each new entry has a UUID of its own", str(found))


def try_hidden(browser, place, page):
    """An edit that is made while another tab is looked at, or just before."""
    hide(browser, True)
    browser.js("arguments[0].focus()", browser.control("title"))
    browser.keys(Keys.END, "Q", Keys.ENTER)
    tap.check(wait_until(lambda: place.get(PLAYER, "title") == "PlayerQ", 4), "an edit is made while nobody looks at the page",
              f"{place.get(PLAYER, 'title')} {browser.note('title')}")
    place.set(PLAYER, "tags", '["unseen"]')
    time.sleep(0.5)
    still = not browser.all("tags", "li")
    hide(browser, False)
    tap.check(still and wait_until(lambda: browser.all("tags", "li"), 5) and not browser.note("title"), "which is connected for that alone",
              f"{still} {browser.note('title')}")


def try_fault(browser, place, page):
    """A file is damaged while the page is looked at, and repaired while it is not."""
    path = place.config / f"{PLAYER}.plist"
    good = path.read_text()
    notice = browser.driver.find_element("id", "notice")
    path.write_text("nothing that could be read")
    told = wait_until(lambda: notice.is_displayed() and path.name in notice.text)
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    path.write_text(good)
    time.sleep(1)
    browser.driver.close()
    browser.driver.switch_to.window(first)
    tap.check(told and wait_until(lambda: not notice.is_displayed(), 5), "what was wrong while the page was not looked at is not told any more",
              notice.text)


def try_returns(browser, place, page):
    """Texts with carriage returns, which a browser's controls make line breaks of."""
    place.set(PLAYER, "title", "one\r\ntwo\rthree")
    shown = wait_until(lambda: browser.value("title", "textarea") == '"one\\r\\ntwo\\rthree"', 5)
    tap.check(shown, "a text with carriage returns is shown as JSON", str(browser.value("title")))
    if shown:
        control = browser.control("title", "textarea")
        control.send_keys(Keys.CONTROL, Keys.END)
        control.send_keys(Keys.LEFT + "!")
        browser.press("title", "Save")
    tap.check(becomes(place, "title", "one\r\ntwo\rthree!"), "and keeps them", repr(place.get(PLAYER, "title")))


def seconds(*parts):
    """A date of that year, month, day, hour, minute and second, as property lists count: from the beginning of 2001, in UTC."""
    return calendar.timegm((*parts, 0, 0, 0)[:6]) - 978307200


def stored_date(place):
    date = place.get(PLAYER, "since")["$date"]
    return date if isinstance(date, float) else seconds(*time.strptime(date, "%Y-%m-%dT%H:%M:%SZ")[:6])


def try_dates(browser, place, page):
    """A date is saved as a whole, and by what was changed of it."""
    browser.command("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")
    try:
        try_parts_of_dates(browser, place)
        try_partly_typed_dates(browser, place)
        try_hours_in_autumn(browser, place)
    finally:
        browser.command("Emulation.setTimezoneOverride", timezoneId="")


def try_parts_of_dates(browser, place):
    place.set(PLAYER, "since", "2025-06-01T12:00:00.75Z")
    shown = wait_until(lambda: browser.value("since") == "2025-06-01T14:00", 5)
    date = browser.control("since")
    browser.js("arguments[0].focus()", date)
    first = stored_date(place)
    # The parts are month, day, year, hour, minute, second.
    browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, *"2031")
    time.sleep(0.5)
    tap.check(shown and browser.value("since") == "2031-06-01T14:00" and stored_date(place) == first,
              "a date is not saved while its parts are typed", f"{browser.value('since')} {stored_date(place)}")
    browser.keys(Keys.ENTER)
    tap.check(wait_until(lambda: seconds(2031, 6, 1, 12) + 0.75 == stored_date(place), 5), "but by Enter, with its fraction of a second", stored_date(place))
    browser.keys(Keys.ARROW_UP)
    browser.js("document.activeElement.blur()")
    tap.check(wait_until(lambda: seconds(2032, 6, 1, 12) + 0.75 == stored_date(place), 5),
              "and where it is left", f"{stored_date(place)} {browser.value('since')}")
    place.run("set", PLAYER, "--type", "Any", "since", '{"$date": 800000000.123456}')
    wait_until(lambda: browser.value("since") == "2026-05-09T08:13:20", 5)
    browser.js("arguments[0].blur(); arguments[0].focus()", date)
    browser.keys(*[Keys.ARROW_RIGHT] * 4, Keys.ARROW_UP, Keys.ENTER)
    tap.check(wait_until(lambda: stored_date(place) == 800000060.123456, 5), "also with a fraction finer than milliseconds", stored_date(place))


def try_partly_typed_dates(browser, place):
    """A date that is not whole has no text: it is typed all the same."""
    date = browser.control("since")
    place.run("unset", PLAYER, "since")
    wait_until(lambda: browser.value("since") == "")
    browser.js("arguments[0].blur(); arguments[0].focus()", date)
    browser.keys("1231")
    partly = "return arguments[0].validity.badInput"
    was = browser.js(partly, date)
    place.set(PLAYER, "title", "Other")
    shown = wait_until(lambda: browser.value("title") == "Other", 5)
    place.set(PLAYER, "limits", '{"a": 1}')
    shown = shown and wait_until(lambda: browser.all("limits", "tbody tr"), 5)
    hide(browser, True)
    hide(browser, False)
    place.set(PLAYER, "title", "Another")
    shown = shown and wait_until(lambda: browser.value("title") == "Another", 5)
    tap.check(was and shown and browser.js(partly, date), "a date that is partly typed stays when something else changes")
    browser.keys("2025", Keys.ARROW_RIGHT, "101112", "A", Keys.ENTER)
    tap.check(wait_until(lambda: place.get(PLAYER, "since") is not None and stored_date(place) == seconds(2025, 12, 31, 9, 11, 12), 5),
              "and is typed to its end", f"{place.get(PLAYER, 'since')} {browser.note('since')}")
    place.run("unset", PLAYER, "since")
    wait_until(lambda: browser.value("since") == "")
    browser.js("arguments[0].blur(); arguments[0].focus()", date)
    browser.keys("1231", Keys.ESCAPE)
    browser.js("arguments[0].blur()", date)
    tap.check(not browser.js(partly, date) and not browser.note("since"), "or taken back", browser.note("since"))


def try_hours_in_autumn(browser, place):
    """The second of the two hours that are 2 to 3 in the night when summer ends."""
    date = browser.control("since")
    place.set(PLAYER, "since", "2025-10-26T01:30:00Z")
    wait_until(lambda: browser.value("since") == "2025-10-26T02:30", 5)
    browser.js("arguments[0].focus()", date)
    browser.keys(*[Keys.ARROW_RIGHT] * 4, Keys.ARROW_UP, Keys.ENTER)
    tap.check(wait_until(lambda: seconds(2025, 10, 26, 1, 31) == stored_date(place), 5), "in the hour that it was in", f"{stored_date(place)} {browser.value('since')}")
    browser.keys(Keys.ARROW_LEFT, Keys.DELETE)
    browser.js("document.activeElement.blur()")
    tap.check(wait_until(lambda: "all parts" in browser.note("since"), 3) and seconds(2025, 10, 26, 1, 31) == stored_date(place),
              "a date that lacks a part says so", f"{browser.note('since')} {stored_date(place)}")


def try_quick_keys(browser, place, page):
    """Keys on controls that save at once, faster than the answers come; numbers of 32 bits."""
    slow(browser, request=300)
    theme = browser.control("theme", "select")
    browser.js("arguments[0].focus()", theme)
    for _ in range(4):
        browser.keys(Keys.ARROW_DOWN)
        time.sleep(0.2)
    tap.check(becomes(place, "theme", "five") and wait_until(lambda: browser.js("return arguments[0].selectedOptions[0].text", theme) == "Five"),
              "each key on a choice goes on from what was chosen", str(place.get(PLAYER, "theme")))
    muted = browser.control("muted")
    browser.js("arguments[0].focus()", muted)
    for _ in range(3):
        browser.keys(Keys.SPACE)
        time.sleep(0.2)
    time.sleep(1.2)
    tap.check(place.get(PLAYER, "muted") is True and muted.is_selected(), "and on a switch", str(place.get(PLAYER, "muted")))
    slow(browser)
    default = browser.js("return document.querySelector('#at-gain .under').textContent")
    tap.check(browser.value("gain") == "0.1" and "0.1" in default and "0.10" not in default, "a number of 32 bits is shown in its few digits",
              f"{browser.value('gain')} {default}")
    browser.type("gain", "0.7")
    tap.check(wait_until(lambda: place.get(PLAYER, "gain") is not None and abs(place.get(PLAYER, "gain") - 0.7) < 1e-6)
              and browser.value("gain") == "0.7", "and kept in them", f"{place.get(PLAYER, 'gain')} {browser.value('gain')}")


def try_large(browser, place, page):
    """A value that another program makes too large to be shown, where something is typed; keys with no name."""
    title = browser.control("title")
    title.click()
    title.send_keys(Keys.END + " mine")
    place.write(PLAYER, {"title": "Z" * 300_000})
    shown = wait_until(lambda: "too large to be shown here" in browser.note("title"), 5)
    tap.check(shown and "not set" not in browser.note("title") and title.is_displayed() and title.get_property("value") == "Player mine",
              "a value that has become too large is told where something is typed", f"{browser.note('title')[:200]}")
    browser.press("title", "Keep theirs")
    tap.check(wait_until(lambda: not title.is_displayed()), "and then in its place")
    box = browser.control("limits", ".add input")
    box.send_keys("key7")
    place.write(PLAYER, {"limits": {f"key{number}": number for number in range(20_000)}})
    wait_until(lambda: "too large" in browser.row("limits").text, 5)
    box.send_keys(Keys.ENTER)
    tap.check(wait_until(lambda: "too large" in browser.note("limits"), 5) and place.get(PLAYER, "limits")["key7"] == 7,
              "a new key is not written over one that is not shown", f"{browser.note('limits')} {place.get(PLAYER, 'limits')['key7']}")
    box.send_keys(Keys.ESCAPE)
    place.write(PLAYER, {"": 1, " ": 2})
    good = wait_until(lambda: browser.js("return document.getElementById('at-\"\"') !== null"), 5)
    count, bad = browser.unnamed()
    tap.check(good and count > 20 and not bad, "a key that is empty, or a space, has a name", str(bad))


def try_locked(browser, place, page):
    """The administrator sets a key in which a person types."""
    before = place.administrator(PLAYER, "{}")
    locked = Served(place, PLAYER, before=before)
    try:
        browser.open(locked.address)
        title, tag = browser.control("title"), browser.control("tags", ".add input")
        tag.send_keys("half")
        select_all(title, "my long text")
        (place.folder / f"etc/kvcodable/managed/{PLAYER}.plist").write_text('{"title": "Theirs", "tags": ["t"]}')
        good = wait_until(lambda: len(lost(browser)) == 2, 5)
        tap.check(good and sorted(lost(browser)) == ["half", "my long text"] and title.get_property("value") == "Theirs"
                  and tag.get_property("value") == "" and not title.is_enabled(),
                  "what is typed in a key that is locked now is kept, and the administrator's value shown",
                  f"{lost(browser)} {title.get_property('value')}")
    finally:
        locked.close()


# A program of another user, say, that waits for the port of a page that has ended.
THIEF = """
import http.server, json, sys, socketserver, time
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if sys.argv[3] != "silent":
            self.wfile.write(("event: state\\ndata: " + sys.argv[3] + "\\n\\n").encode())
            self.wfile.flush()
        print("GET", file=said, flush=True)
        time.sleep(60)
    def do_POST(self):
        print("POST", self.rfile.read(int(self.headers["Content-Length"])), file=said, flush=True)
        self.send_response(200)
        self.end_headers()
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, allow_reuse_address = True, True
while True:
    try:
        server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    except OSError:
        time.sleep(0.05)
        continue
    said = open(sys.argv[2], "a")
    print("bound", file=said, flush=True)
    server.serve_forever()
"""


class Stranger:
    """A page that has ended, in a tab of its own, whose port another program takes as soon as the system lets it: that is a
    minute, so that others are tried meanwhile."""

    def __init__(self, browser, kind):
        self.browser, self.kind = browser, kind
        self.first = browser.driver.current_window_handle
        browser.driver.switch_to.new_window("tab")
        self.tab = browser.driver.current_window_handle
        with served(types=TYPES, settings=("title", "Player")) as (_, page):
            browser.open(page.address)
            cookie = browser.driver.get_cookie(f"kvdefaults-{page.port}")
            state = json.loads(page.state(f"{cookie['name']}={cookie['value']}"))
            browser.driver.switch_to.window(self.first)
        state["proof"] = "0" * 64
        self.heard = Path(tempfile.mkdtemp(prefix="kvdefaults-page-")) / "heard"
        self.thief = subprocess.Popen([sys.executable, "-c", THIEF, str(page.port), str(self.heard),
                                       "silent" if kind == "silent" else json.dumps(state)])

    def check(self):
        browser = self.browser
        wait_until(self.heard.exists, 90)
        browser.driver.switch_to.window(self.tab)
        came = wait_until(lambda: self.heard.exists() and "GET" in self.heard.read_text(), 15)
        time.sleep(0.5)
        # Also where a person is quicker than the page.
        browser.js("""
            const one = document.querySelector("#at-title input");
            one.closest("fieldset").disabled = false;
            one.value = "my secret";
            one.dispatchEvent(new Event("input", { bubbles: true }));
            one.dispatchEvent(new Event("change"));""")
        told = wait_until(lambda: "Not saved" in browser.note("title"), 8)
        tap.check(came and told and "POST" not in self.heard.read_text(),
                  f"nothing is sent to a {self.kind} program that has taken the port", f"{browser.note('title')} {came}")
        notice = browser.driver.find_element("id", "notice").text
        tap.check(self.kind == "silent" or "Another program answers" in notice, "and the page says so", notice)

    def close(self):
        self.thief.kill()
        self.thief.wait()
        shutil.rmtree(self.heard.parent)
        self.browser.driver.switch_to.window(self.tab)
        self.browser.driver.close()
        self.browser.driver.switch_to.window(self.first)
