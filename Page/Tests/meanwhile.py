"""What other programs, other pages and the administrator do while the page is open."""
import json
import plistlib
import shutil
import time

import tap
from selenium.webdriver.common.keys import Keys

from parts import served
from published import PLAYER, TYPES
from served import Place, Served, wait_until


def shows(browser, path, value, kind="input, select, textarea", number=0):
    return wait_until(lambda: browser.value(path, kind, number) == value)


def try_live(browser):
    with served(settings=("tags", '["a", "b"]')) as (place, page):
        browser.open(page.address)
        place.set(PLAYER, "volume", "2")
        tap.check(shows(browser, "volume", "2", "input[type=number]"), "what another program sets is shown")
        tap.check("fresh" in browser.row("volume").get_attribute("class"), "and marked for a moment")
        place.set(PLAYER, "window.width", "1000")
        tap.check(shows(browser, "window.width", "1000"), "a part, too")
        place.run("unset", PLAYER, "volume")
        tap.check(shows(browser, "volume", "7", "input[type=number]"), "and what it takes away has its default")
        try_typing(browser, place)
        try_removed(browser, place)
        try_line_breaks(browser, place)
        try_other_page(browser, place, page)
        try_tabs(browser, place, page)
        try_files(browser, place)
        page.process.kill()
        tap.check(wait_until(lambda: "has ended" in browser.driver.find_element("id", "notice").text)
                  and not browser.control("volume").is_enabled(), "a page whose program has ended says so")


def try_typing(browser, place):
    title = browser.control("title")
    title.click()
    title.send_keys(Keys.CONTROL + "a")
    title.send_keys("half a wo")
    place.set(PLAYER, "volume", "5")
    tap.check(shows(browser, "volume", "5", "input[type=number]") and title.get_property("value") == "half a wo"
              and browser.focused()[0] == "title", "a change elsewhere leaves what a person types alone")
    place.set(PLAYER, "title", "Theirs")
    tap.check(wait_until(lambda: browser.note("title").startswith("Another program has changed this meanwhile. It is now: Theirs")),
              "a change of what a person types in is told", browser.note("title"))
    title.send_keys("rd")
    tap.check(title.get_property("value") == "half a word" and place.get(PLAYER, "title") == "Theirs",
              "and takes nothing away")
    browser.press("title", "Keep theirs")
    tap.check(wait_until(lambda: title.get_property("value") == "Theirs" and not browser.note("title")), "until it is asked for")
    element = browser.control("tags", number=1)
    element.click()
    element.send_keys(Keys.END + "bb")
    place.set(PLAYER, "tags[2]", "c")
    tap.check(wait_until(lambda: len(browser.all("tags", "li")) == 3) and element.get_property("value") == "bbb"
              and browser.js("return document.activeElement === arguments[0]", element), "a list grows around what is typed in it")
    element.send_keys(Keys.ESCAPE)


def try_removed(browser, place):
    """Texts that are typed in places that another program takes away."""
    def lost():
        return browser.js("return [...document.querySelectorAll('#lost .note')].map((one) =>"
                          " [one.textContent, one.querySelector('textarea')?.value])")

    place.set(PLAYER, "hosts", '[{"name": "a"}, {"name": "b"}]', "window.position", "{}", "limits", '{"one": 1, "two": 2}',
              "scores", "[1, 2]", "output", '{"device": {"name": "x"}}')

    def typed(path, text, kind="input", number=0):
        wait_until(lambda: len(browser.all(path, kind)) > number)
        control = browser.control(path, kind, number)
        control.click()
        control.send_keys(Keys.CONTROL + "a")
        control.send_keys(text)
        return control

    for what, path, text, control, undone in (
            ("an element of a list", "hosts[1].name", "elsewhere.example", {}, ("hosts", '[{"name": "a"}]')),
            ("a scalar of a list", "scores", "55", {"kind": "input[type=number]", "number": 1}, ("scores", "[1]")),
            ("an entry of a dictionary", "limits", "66", {"kind": "td:nth-child(2) input[type=number]", "number": 1},
             ("limits", '{"one": 1}')),
            ("its key", "limits", "three", {"kind": "td:first-child input"}, ("limits", "{}")),
            ("a new entry of a list in what goes", "hosts[0].aliases", "alias", {}, ("hosts", "[]")),
            ("a case with values", "output.device.name", "hw:1", {}, ("output", '{"silent": {}}')),
            ("a struct", "window.position.x", "77", {}, None)):
        typed(path, text, **control)
        if undone:
            place.set(PLAYER, *undone)
        else:
            place.run("unset", PLAYER, "window.position")
        good = wait_until(lambda: len(lost()) == 1, 3)
        tap.check(good and lost()[0][1] == text and path in lost()[0][0], f"what is typed in {what} is kept when it goes",
                  str(lost()))
        if good:
            browser.driver.find_element("css selector", "#lost button").click()
            wait_until(lambda: not lost())
    place.run("set", PLAYER, "backup.password", "x")
    typed("backup.password", "hunter2")
    place.run("unset", PLAYER, "backup")
    tap.check(wait_until(lambda: len(lost()) == 1, 3) and "hunter2" not in str(lost()), "a secret is told, and not shown", str(lost()))
    if lost():
        browser.driver.find_element("css selector", "#lost button").click()
    place.set(PLAYER, "hosts", '[{"name": "a"}]')
    typed("hosts[0].name", "b").send_keys(Keys.TAB)
    wait_until(lambda: place.get(PLAYER, "hosts[0].name") == "b")
    typed("hosts[0].name", "c").send_keys(Keys.ESCAPE)
    browser.type("limits", "key", end=Keys.ENTER)
    wait_until(lambda: place.get(PLAYER, "limits") == {"key": 0})
    browser.type("limits", "name", kind="td:first-child input")
    wait_until(lambda: place.get(PLAYER, "limits") == {"name": 0})
    place.set(PLAYER, "hosts", "[]", "limits", "{}")
    tap.check(wait_until(lambda: not browser.all("hosts[0].name")) and not lost(), "what is saved or taken back is not", str(lost()))


def try_line_breaks(browser, place):
    """A text that comes to have line breaks, which a line of input would lose."""
    place.set(PLAYER, "window.window_title", "one\ntwo")
    tap.check(shows(browser, "window.window_title", "one\ntwo"), "a text that has several lines now is shown in them")
    browser.type("window.window_title", "three\nfour")
    tap.check(wait_until(lambda: place.get(PLAYER, "window.window_title") == "three\nfour"), "and saved in them",
              str(place.get(PLAYER, "window.window_title")))


def try_other_page(browser, place, page):
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.open(page.home)
    tap.check(browser.value("title") == "Theirs", "another page of the same browser needs no token")
    browser.type("title", "Second")
    wait_until(lambda: place.get(PLAYER, "title") == "Second")
    browser.driver.close()
    browser.driver.switch_to.window(first)
    tap.check(shows(browser, "title", "Second"), "what one page sets the other shows")


def try_tabs(browser, place, page):
    """A browser has six connections to a server at most, and each page that is looked at needs one for what is new."""
    first = browser.driver.current_window_handle
    for _ in range(8):
        browser.driver.switch_to.new_window("tab")
        browser.driver.get(page.home)
    good = wait_until(lambda: browser.js("return document.documentElement.dataset.ready"), 5)
    if good:
        browser.type("title", "Ninth")
    tap.check(good and wait_until(lambda: place.get(PLAYER, "title") == "Ninth", 5), "a ninth page of a browser is served, too")
    place.set(PLAYER, "title", "Second")
    for handle in browser.driver.window_handles:
        if handle != first:
            browser.driver.switch_to.window(handle)
            browser.driver.close()
    browser.driver.switch_to.window(first)
    tap.check(shows(browser, "title", "Second"), "the first shows what is new when it is looked at again")
    place.set(PLAYER, "volume", "6")
    tap.check(shows(browser, "volume", "6", "input[type=number]"), "and from then on")


def try_files(browser, place):
    path = place.config / f"{PLAYER}.plist"
    good = path.read_text()
    path.write_text("nothing that could be read")
    notice = browser.driver.find_element("id", "notice")
    tap.check(wait_until(lambda: notice.is_displayed() and path.name in notice.text), "a damaged file is told", notice.text)
    path.write_text(good.replace("<string>Second</string>", "<string>By hand</string>"))
    tap.check(shows(browser, "title", "By hand") and wait_until(lambda: not notice.is_displayed()),
              "and that it can be read again, with what an editor wrote")


def try_conflicts(browser):
    with served(settings=("tags", '["a", "b"]')) as (place, page):
        browser.open(page.address)

        def conflict(path, mine, theirs):
            control = browser.control(path)
            control.click()
            control.send_keys(Keys.CONTROL + "a")
            control.send_keys(mine)
            place.set(PLAYER, path, theirs)
            wait_until(lambda: browser.note(path))
            control.send_keys(Keys.TAB)
            return wait_until(lambda: browser.note(path).startswith("Another program has changed this meanwhile")), control

        shown, control = conflict("title", "Mine", "Theirs")
        tap.check(shown and "It is now: Theirs; yours, not saved: Mine" in browser.note("title"), "a conflict is shown",
                  browser.note("title"))
        tap.check(place.get(PLAYER, "title") == "Theirs" and control.get_property("value") == "Mine", "and nothing written over")
        browser.press("title", "Keep theirs")
        tap.check(wait_until(lambda: control.get_property("value") == "Theirs" and not browser.note("title"))
                  and place.get(PLAYER, "title") == "Theirs", "theirs can be kept")
        shown, control = conflict("window.width", "900", "800")
        browser.press("window.width", "Use mine")
        tap.check(shown and wait_until(lambda: place.get(PLAYER, "window.width") == 900 and not browser.note("window.width")),
                  "or a person's own be set after all")
        tap.check(shows(browser, "window.width", "900"), "which is shown then")
    with served(settings=("tags", '["a", "b"]', "window.width", "700")) as (place, page):
        cookie = page.enter()
        base = json.loads(page.state(cookie))["keys"]["tags"]["revision"]
        for words in (("tags", '["new", "a", "b"]'), ("window.width", "800"), ("volume", "3")):
            place.set(PLAYER, *words)
        for path, operation, more, status in (
                (["volume"], "set", {"value": 4}, 409), (["volume"], "reset", {}, 409), (["tags", 0], "set", {"value": "x"}, 200),
                (["tags", 2], "insert", {"value": "y"}, 200), (["tags", 1], "remove", {}, 200),
                (["tags", 1], "move", {"target": 0}, 200), (["tags", 2], "remove", {}, 422), (["window"], "reset", {}, 409),
                (["window", "width"], "set", {"value": 900}, 409), (["window", "height"], "set", {"value": 900}, 200),
                (["theme"], "set", {"value": "dark"}, 200)):
            found, _, text = page.edit(cookie, path=path, operation=operation, base=base, **more)
            tap.check(found == status, f"{operation} at {path} from before the changes is {status}", f"{found} {text}")
        own = place.own(PLAYER)
        tap.check(own == {"tags": ["y", "new", "x"], "theme": "dark", "volume": 3, "window": {"width": 800, "height": 900}},
                  "nothing of the others is written over, and elements are those that the page saw", str(own))
        _, _, text = page.edit(cookie, path=["volume"], operation="set", base=base, value=4)
        tap.check(json.loads(text)["keys"]["volume"]["value"] == 3, "the answer to a conflict has what is there now", text)
    try_gone(browser)
    try_one_note(browser)
    try_alike(browser)
    try_many_panes(browser)
    try_filtered(browser)
    try_memory()
    try_own_edits()
    try_items(browser)
    try_notes(browser)
    try_slow_answer(browser)


def try_gone(browser):
    """A setting that another program took away before the page was there is changed without a conflict."""
    with served(settings=("notes", "x")) as (place, page):
        browser.open(page.address)
        place.run("unset", PLAYER, "notes")
        tap.check(shows(browser, "notes", ""), "a setting is taken away")
        browser.open(page.home)
        browser.type("notes", "new")
        tap.check(wait_until(lambda: place.get(PLAYER, "notes") == "new", 3) and not browser.note("notes"),
                  "which a page that is loaded then can set", browser.note("notes"))


def try_one_note(browser):
    """Another program takes an entry away in which a person types: there is nothing that could be saved any more."""
    with served(settings=("limits", '{"a": 1, "k": 2}')) as (place, page):
        browser.open(page.address)
        browser.control("limits", "tbody input[type=number]").click()
        browser.keys(Keys.END, "5")
        place.set(PLAYER, "limits", '{"k": 2}')
        good = wait_until(lambda: lost_texts(browser), 3)
        time.sleep(0.5)  # An answer would be here by then.
        tap.check(good == ["15"] and not browser.note("limits") and place.get(PLAYER, "limits") == {"k": 2},
                  "a text that has no place any more is told of once, and asks nothing", f"{browser.note('limits')} {good}")


def try_filtered(browser):
    """What another program does to a setting takes it out of what is looked for, but not while a person is in it."""
    with served(settings=("title", "mine", "cacheBytes", "5")) as (place, page):
        browser.open(page.address)
        browser.driver.find_element("id", "changed").click()
        title = browser.control("title")
        title.click()
        browser.keys(Keys.END, "half")
        place.run("unset", PLAYER, "title")
        asked = wait_until(lambda: browser.note("title").startswith("Another program has changed"), 3)
        browser.keys("X")
        tap.check(asked and title.is_displayed() and title.get_property("value") == "minehalfX", "what is typed in is shown, changed or not",
                  f"{title.is_displayed()} {title.get_property('value')} {browser.note('title')}")
        browser.press("title", "Keep theirs")
        browser.control("cacheBytes").click()
        place.run("unset", PLAYER, "cacheBytes")
        tap.check(wait_until(lambda: not title.is_displayed(), 3) and browser.focused()[0] == "cacheBytes", "until it is done",
                  f"{title.is_displayed()} {browser.focused()}")


def try_alike(browser):
    """Keys that print alike, and are others by their bytes."""
    one, other = "\u00e9", "e\u0301"
    types = f'root S\nstruct S {{ a: String = "default" @key("{one}"); z: Point?; y: Word? }}\n' \
        "struct Point { x: Int = 1 }\nenum Word: String @secret { a, b }\n"
    with served(types=types) as (place, page):
        place.write(PLAYER, {one: "mine", other: "stray", "z": {one: 1, other: 2}})
        browser.open(page.address)
        tap.check(shows(browser, one, "mine") and browser.value(other) == '"stray"', "of two keys that print alike each is shown",
                  f"{browser.value(one)}")
        control = browser.control(one)
        control.click()
        browser.keys("X")
        place.write(PLAYER, {one: "theirs", other: "stray", "z": {one: 1, other: 2}})
        tap.check(wait_until(lambda: "It is now: theirs" in browser.note(one), 3), "and what others change of it", browser.note(one))
        browser.keys(Keys.ESCAPE)
        browser.type(one, "new")
        tap.check(wait_until(lambda: place.own(PLAYER).get(one) == "new", 3) and place.own(PLAYER)[other] == "stray", "and changed alone",
                  str(place.own(PLAYER)))


def try_locked_part(browser):
    """A value that the administrator has locked beside one that the user has set."""
    place = Place()
    place.publish(PLAYER, TYPES)
    place.write(PLAYER, {"window": {"height": 900}})
    page = Served(place, PLAYER, before=place.administrator(PLAYER, '{"window": {"width": 320}, "limits": {"fade": 9}}'))
    browser.open(page.address)
    width, height = browser.control("window.width"), browser.control("window.height")
    text = browser.row("window.width").text
    tap.check(not width.is_enabled() and width.get_property("value") == "320" and "Locked" in text
              and f"The administrator has set it, in /etc/kvcodable/managed/{PLAYER}.plist." in text, "a value in a section is locked alone", text)
    text = browser.row("window.height").text
    tap.check(height.is_enabled() and height.get_property("value") == "900" and "Changed" in text and "Locked" not in text,
              "the one beside it is the user's", text)
    browser.type("window.height", "700")
    tap.check(wait_until(lambda: place.own(PLAYER) == {"window": {"height": 700}}, 3), "and can be set", str(place.own(PLAYER)))
    browser.press("window", "Reset Window")
    tap.check(wait_until(lambda: place.own(PLAYER) == {} and browser.value("window.height") == "480") and browser.value("window.width") == "320",
              "a reset of the section leaves what is locked", str(place.own(PLAYER)))
    enabled = [one.is_enabled() for one in browser.all("limits", "tbody input, tbody button")]
    text = browser.row("limits").text
    tap.check(enabled and not any(enabled) and "The administrator has set a part of it, in" in text, "so is an entry of a dictionary",
              f"{enabled} {text}")
    browser.type("limits", "mine", kind=".add input", end=Keys.ENTER)
    tap.check(wait_until(lambda: place.own(PLAYER) == {"limits": {"mine": 0}}, 3), "to which others are added", str(place.own(PLAYER)))
    page.close()
    place.close()


def try_defaults(browser):
    """What an administrator gives as defaults: it is shown, and is no value of the user's."""
    place = Place()
    place.publish(PLAYER, TYPES)
    place.write(PLAYER, {"KVStoreVersion": 3})
    defaults = '{"title": "Fleet", "window": {"height": 600}, "limits": {"idle": 60}, "tags": ["a", "b"], "token": "hunter2", ' \
        '"backup": {"password": {"hunter3": "hunter4"}}, "hosts": {"hunter5": {"token": "hunter6"}}}'
    page = Served(place, PLAYER, before=place.administrator(PLAYER, "{}", defaults))
    browser.open(page.address)
    said = f"It is the administrator's default, in /etc/kvcodable/defaults/{PLAYER}.plist."

    def own():
        return plistlib.loads((place.config / f"{PLAYER}.plist").read_bytes())

    cookie = browser.driver.get_cookie(f"kvdefaults-{page.port}")
    state = page.state(f"{cookie['name']}={cookie['value']}")
    tap.check("idle" in state and "hunter" not in state, "secrets among an administrator's defaults are not sent", state)
    text = browser.row("title").text
    tap.check(browser.value("title") == "Fleet" and said in text and "Changed" not in text, "an administrator's default says what it is", text)
    tap.check(browser.value("window.height") == "600" and said in browser.row("window.height").text
              and said not in browser.row("window.width").text, "in a section each value does", browser.row("window").text)
    browser.type("title", "Mine")
    changed = wait_until(lambda: "Changed" in browser.row("title").text)
    text = browser.row("title").text
    tap.check(changed and "Default: Fleet" in text and said not in text, "what the user sets says what the default is", text)
    browser.press("title", "Reset")
    browser.type("window.width", "900")
    tap.check(wait_until(lambda: own() == {"KVStoreVersion": 3, "window": {"width": 900}}, 3) and browser.value("title") == "Fleet",
              "a reset shows the default, and no default is copied", str(own()))
    browser.press("tags", "Remove Tags 1")
    tap.check(wait_until(lambda: own().get("tags") == ["b"], 3), "a list of defaults is changed as a whole", str(own()))
    browser.press("limits", "Remove Limits, idle")
    gone = wait_until(lambda: "KVUnset" in own(), 3) and wait_until(lambda: "Changed" in browser.row("limits").text)
    tap.check(gone and not browser.all("limits", "tbody tr:nth-child(2)") and not browser.all("KVUnset") and not browser.all("KVStoreVersion"),
              "an entry of defaults can be removed, and what the file keeps for that is no setting", f"{own()} {browser.row('limits').text}")
    browser.press("limits", "Reset Limits")
    tap.check(wait_until(lambda: len(browser.all("limits", "tbody tr")) == 2) and "KVUnset" not in own(), "and come back by a reset", str(own()))
    page.close()
    place.close()


def try_many_panes(browser):
    """Many keys that the type knows nothing of: those that have not changed are left alone."""
    with served() as (place, page):
        settings = {f"unknown{number}": list(range(1000)) for number in range(8)}
        place.write(PLAYER, settings)
        browser.open(page.address)
        wait_until(lambda: browser.all("unknown7"))
        browser.js("""
            const real = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value");
            window.written = 0;
            Object.defineProperty(HTMLTextAreaElement.prototype, "value",
              { ...real, set(text) { if (text.length > 1000) window.written += 1; real.set.call(this, text); } });""")
        place.write(PLAYER, {**settings, "unknown3": list(range(2000)), "volume": 2})
        shown = wait_until(lambda: browser.value("volume", "input[type=number]") == "2")
        written = browser.js("return window.written")
        tap.check(shown and written == 1 and browser.value("unknown3").count(",") == 1999, "one of many panes is written when it changes", str(written))


def try_memory():
    """Keys that come and go: the server keeps the changes of so many, and writes over nothing where it forgot one."""
    # With an arena for each thread its memory would say less of what it keeps.
    with served(before=("env", "MALLOC_ARENA_MAX=1")) as (place, page):
        cookie = page.enter()

        def revision():
            return json.loads(page.state(cookie))["revision"]

        def becomes(settings):
            before = revision()
            place.write(PLAYER, settings)
            assert wait_until(lambda: revision() > before)

        def memory():
            return int(next(line for line in open(f"/proc/{page.process.pid}/status") if line.startswith("RssAnon")).split()[1])

        place.set(PLAYER, "limits.mine", "1")
        wait_until(lambda: '"mine"' in page.state(cookie))
        base, sizes = revision(), []
        for number in range(16):
            becomes({"limits": {f"key-{number}-{entry}": 1 for entry in range(30_000)}})
            sizes.append(memory())
        print(f"# KB of memory with 30,000 keys that are others each time: {sizes}")
        tap.check(sizes[-1] - sizes[3] < 30_000, "changes of keys that come and go are not kept for ever", str(sizes))
        for number in range(4):
            becomes({f"stranger-{number}-{entry}": 1 for entry in range(1000)})
        becomes({"volume": 3})
        for path in (["limits", "mine"], ["limits", "key-0-5"], ["stranger-0-5"], ["stranger-3-5"]):
            statuses = [page.edit(cookie, path=path, operation="set", base=one, page=f"{path}", value=2)[0] for one in (base, revision())]
            tap.check(statuses == [409, 200], f"an edit of {path} from before is a conflict, and one from after is none",
                      str(statuses))
        status = page.edit(cookie, path=["theme"], operation="set", base=base, value="dark")[0]
        tap.check(status == 200, "so is one of what nobody changed", str(status))


def try_own_edits():
    """What another program has changed stays a conflict, whatever the page itself has changed there since."""
    with served(settings=("tags", '["a", "b", "c"]', "volume", "3")) as (place, page):
        cookie = page.enter()
        base = json.loads(page.state(cookie))["keys"]["tags"]["revision"]

        def edit(path, operation, value=None, base=10 ** 9, by="A"):
            return page.edit(cookie, path=path, operation=operation, value=value, base=base, page=by)[0]

        place.set(PLAYER, "tags", '["a", "theirs", "c"]')
        statuses = [edit(["tags", 1], "set", "mine", base), edit(["tags", 1], "remove", None, base), edit(["tags", 2], "remove"),
                    edit(["tags", 0], "set", "d"), edit(["tags", 1], "set", "mine", base)]
        tap.check(statuses == [409, 409, 200, 200, 409] and place.get(PLAYER, "tags") == ["d", "theirs"],
                  "another program's change stays a conflict behind the page's own edits", f"{statuses} {place.get(PLAYER, 'tags')}")
        now = json.loads(page.state(cookie))["keys"]["tags"]["revision"]
        statuses = [edit(["tags", 0], "set", "e", now), edit(["tags", 0], "set", "f", now), edit(["tags", 0], "set", "g", now, "B"),
                    edit(["tags", 0], "set", "h", now, "C"), edit(["volume"], "set", 4, now)]
        tap.check(statuses == [200, 200, 409, 409, 200], "what a page has changed is a conflict for the others alone", str(statuses))
        place.set(PLAYER, "hosts", '[{"name": "a", "port": 90}, {"name": "b"}]')
        status = edit(["hosts", 0, "port"], "reset")
        tap.check(status == 200 and place.get(PLAYER, "hosts") == [{"name": "a"}, {"name": "b"}],
                  "a reset in a list leaves the rest of the list", f"{status} {place.get(PLAYER, 'hosts')}")


def try_layers(browser):
    place = Place()
    place.publish(PLAYER, TYPES)
    before = place.administrator(PLAYER, '{"volume": 4, "window": {"width": 320}}')
    (place.config / ".GlobalPreferences.plist").write_text('{"ratio": 9.5}')
    page = Served(place, PLAYER, before=before)
    browser.open(page.address)
    controls = browser.all("volume")
    tap.check(len(controls) == 2 and not any(one.is_enabled() for one in controls)
              and controls[1].get_property("value") == "4", "an administrator's key is disabled, and shows the value")
    text = browser.row("volume").text
    tap.check("Locked" in text and f"The administrator has set it, in /etc/kvcodable/managed/{PLAYER}.plist." in text,
              "and says who locked it", text)
    tap.check(browser.control("window.height").is_enabled() and browser.control("speed").is_enabled(), "and nothing else is")
    cookie = page.host and browser.driver.get_cookie(f"kvdefaults-{page.port}")
    status, _, text = page.edit(f"{cookie['name']}={cookie['value']}", path=["volume"], operation="set", value=5)
    tap.check(status == 422 and "The administrator has set this value" in text, "its edit is refused", text)
    tap.check(browser.value("ratio") == "9.5" and "It is from the global domain" in browser.row("ratio").text,
              "a value of the global domain says where it is from")
    page.close()
    page = Served(place, PLAYER, "--read-only")
    browser.open(page.address)
    enabled = browser.js("return [...document.querySelectorAll('main input, main select, main textarea, main button')]"
                         ".filter((one) => one.checkVisibility() && !one.matches(':disabled')).length")
    about = browser.driver.find_element("id", "about").text
    tap.check(enabled == 0 and "not changed" in about, "--read-only has no control that could be used", f"{enabled} {about}")
    cookie = browser.driver.get_cookie(f"kvdefaults-{page.port}")
    status, _, text = page.edit(f"{cookie['name']}={cookie['value']}", path=["volume"], operation="set", value=5)
    tap.check(status == 403 and "--read-only" in text, "and takes no edit", text)
    tap.check(not (place.config / f"{PLAYER}.plist").exists(), "no file is made for it")
    place.set(PLAYER, "volume", "6")
    tap.check(shows(browser, "volume", "6", "input[type=number]"), "what others change is shown all the same")
    page.close()
    place.close()
    try_locked_part(browser)
    try_defaults(browser)
    try_places()
    try_types(browser)
    try_typed_types(browser)


def try_places():
    """A store whose folder is removed and made again, and one whose file becomes a link."""
    with served(settings=("volume", "5")) as (place, page):
        cookie = page.enter()

        def volume():
            return json.loads(page.state(cookie))["keys"]["volume"]["value"]

        def edit(value):
            return page.edit(cookie, path=["volume"], operation="set", value=value)

        shutil.rmtree(place.config)
        tap.check(wait_until(lambda: "event: fault" in page.events(cookie, 2), 5) and "folder" in page.events(cookie, 2),
                  "that its folder is gone is told", page.events(cookie, 2)[-300:])
        status, _, text = edit(6)
        tap.check(status == 422 and "folder" in text and not place.config.exists(), "and an edit makes no other", text[:200])
        place.config.mkdir(mode=0o700)
        place.set(PLAYER, "volume", "8")
        tap.check(wait_until(lambda: volume() == 8 and "event: fault" not in page.events(cookie, 2), 5),
                  "what is in a folder that was made again is shown", str(volume()))
        place.set(PLAYER, "volume", "9")
        tap.check(wait_until(lambda: volume() == 9, 5), "and is followed", str(volume()))
        status, _, text = edit(4)
        tap.check(status == 200 and place.get(PLAYER, "volume") == 4, "and changed", text[:200])
        file, other = place.config / f"{PLAYER}.plist", place.folder / "other.plist"
        file.rename(other)
        file.symlink_to(other)
        assert wait_until(lambda: volume() == 4)
        status, _, text = edit(3)
        tap.check(status == 200 and file.is_symlink() and place.get(PLAYER, "volume") == 3 and volume() == 3,
                  "the file that a link leads to is changed", f"{status} {text[:200]}")
        place.set(PLAYER, "volume", "2")
        tap.check(wait_until(lambda: volume() == 2, 5), "and followed", str(volume()))


def try_types(browser):
    """Another type is published while the page is open."""
    first = "root S\nstruct S { a: String = \"x\"; n: Int(0...10) = 3; b: String = \"y\" }"
    second = "root S\nstruct S { a: String? @secret; n: Int(0...5) = 4; c: Bool = false }"
    domain = "com.example.types"
    with served(domain=domain, types=first, settings=("a", "Open77")) as (place, page):
        browser.open(page.address)
        cookie = browser.driver.get_cookie(f"kvdefaults-{page.port}")
        cookie = f"{cookie['name']}={cookie['value']}"
        browser.control("b").send_keys("half")
        place.publish(domain, second)
        status, _, text = page.edit(cookie, path=["n"], operation="set", value=9)
        tap.check(status == 422 and "0...5" in text, "an edit is checked by the newest type", text)
        place.set(domain, "a", "Zebra4711")
        state = page.state(cookie)
        tap.check("Zebra" not in state and "Open77" not in state and "(secret)" in state, "what became a secret is not sent", state)
        tap.check(wait_until(lambda: browser.all("c") and not browser.all("b"), 5)
                  and browser.control("a").get_attribute("type") == "password" and browser.value("n") == "4",
                  "the page has the controls of the new type")
        tap.check("yhalf" in browser.js("return [...document.querySelectorAll('#lost textarea')].map((one) => one.value)"),
                  "and keeps what was typed")
        browser.type("n", "5", kind="input[type=number]")
        tap.check(wait_until(lambda: place.own(domain).get("n") == 5, 5), "they work", str(place.own(domain)))
        place.publish(domain, "root S\nstruct S { n: Nothing }")
        notice = browser.driver.find_element("id", "notice")
        tap.check(wait_until(lambda: notice.is_displayed() and "kvdefaults types says why" in notice.text), "a type that is wrong is told", notice.text)
        status, _, text = page.edit(cookie, path=["n"], operation="set", value=1)
        file = (place.config / f"{domain}.plist").read_text()
        tap.check(status == 422 and "<integer>5</integer>" in file, "and no edit is made by an older one", text)
        place.publish(domain, second)
        tap.check(wait_until(lambda: not notice.is_displayed()), "until it is right again", notice.text)


def try_typed_types(browser):
    """Another type is published while a text is typed: it is not saved by that, and stays where it has a place."""
    first = "root S\nstruct S { title: String = \"T\"; n: Int = 1; tags: [String] = [] }"
    domain = "com.example.types"
    for what, second, kept in (
            ("a setting that is there", "root S\nstruct S { title: String = \"T\"; n: Int = 1; tags: [String] = []; more: Int = 2 }", True),
            ("one that is gone", "root S\nstruct S { caption: String = \"T\"; n: Int = 1 }", False),
            ("one that is a number now", "root S\nstruct S { title: Int = 4; n: Int = 1 }", False)):
        with served(domain=domain, types=first, settings=("n", "3")) as (place, page):
            browser.open(page.address)
            browser.control("tags", ".add input").send_keys("tag")
            browser.control("title").click()
            browser.keys(Keys.END, "hf", Keys.LEFT, "al")
            place.publish(domain, second)
            place.set(domain, "n", "4")
            told = wait_until(lambda: "has changed" in browser.driver.find_element("id", "status").get_property("textContent"))
            tap.check(told and place.own(domain) == {"n": 4} and sorted(lost_texts(browser)) == ([] if kept else ["Thalf", "tag"]),
                      f"what is typed in {what} by another type is not saved by that", f"{place.own(domain)} {lost_texts(browser)}")
            if kept:
                browser.keys("X", Keys.TAB)
                tap.check(wait_until(lambda: place.own(domain).get("title") == "ThalXf", 3) and not browser.note("title")
                          and browser.value("tags", ".add input") == "tag", "and can be typed on where it was",
                          f"{place.own(domain)} {browser.note('title')}")
    with served(domain=domain, types=first, settings=("title", "Mine")) as (place, page):
        browser.open(page.address)
        browser.control("title").send_keys("half")
        place.write(domain, {"title": "Theirs"})
        place.publish(domain, first.replace("n: Int", "more: Int"))
        wait_until(lambda: browser.all("more"))
        browser.keys(Keys.TAB)
        tap.check(wait_until(lambda: "It is now: Theirs" in browser.note("title")) and place.own(domain) == {"title": "Theirs"},
                  "nor is it written over what another program has set with it", f"{place.own(domain)} {browser.note('title')}")
    third = first.replace("n: Int", "words: [String: Int] = [\"k\": 1]; n: Int")
    with served(domain=domain, types=third) as (place, page):
        browser.open(page.address)
        browser.control("words", "td:first-child input").click()
        browser.keys(Keys.END, "X")
        place.publish(domain, third.replace("n: Int", "more: Int"))
        good = wait_until(lambda: browser.all("more")) and place.own(domain) == {}
        browser.keys(Keys.TAB)
        tap.check(good and wait_until(lambda: place.get(domain, "words") == {"kX": 1}, 3), "a new name of an entry is given when it is left",
                  str(place.own(domain)))


# ---- Texts that are typed, and not saved, stay with what they were typed for

ITEMS = "root S\nstruct S { anys: [Any] = []; scores: [Int(0...100)] = []; hosts: [Host] = []; other: Int = 1 }\n" \
    "struct Host { name: String; port: Int(1...65535) = 80; aliases: [String] = [] }\n"


def lost_texts(browser):
    return browser.js("return [...document.querySelectorAll('#lost textarea')].map((one) => one.value)")


def shown_scores(browser):
    """What is shown of them, at one moment: elements may be made anew between two."""
    return browser.js("return [...document.querySelectorAll('#at-scores li input[type=number]')].map((one) => one.value)")


def try_items(browser):
    """What the person, or another program, moves or removes in a list while a text is typed in it."""
    settings = ("anys", '[{"a": 1}, {"b": 2}, {"c": 3}]', "scores", "[10, 20, 30]", "hosts", '[{"name": "a"}, {"name": "b"}]')

    def waits(what, place, path, press, stored):
        """A button of the list does nothing to what is stored, and says why."""
        browser.press(path, press)
        good = wait_until(lambda: "is not saved" in browser.note(path), 3)
        time.sleep(0.3)
        return tap.check(good and place.get(PLAYER, path) == stored, what, f"{browser.note(path)} {place.get(PLAYER, path)}")

    with served(types=ITEMS, settings=settings) as (place, page):
        browser.open(page.address)
        browser.type("anys", '{"b": 22}', number=1)
        anys = [{"a": 1}, {"b": 2}, {"c": 3}]
        waits("an element is not removed while a text in the list is not saved", place, "anys", "Remove Anys 1", anys)
        waits("and none is moved", place, "anys", "Move Anys 3 up", anys)
        tap.check(browser.value("anys", "textarea", 1) == '{"b": 22}', "the text stays", browser.value("anys", "textarea", 1))
        browser.press("anys", "Discard")
        tap.check(wait_until(lambda: json.loads(browser.value("anys", "textarea", 1)) == {"b": 2}, 3)
                  and not browser.note("anys"), "until it is discarded", browser.note("anys"))
        browser.press("anys", "Remove Anys 1")
        tap.check(wait_until(lambda: place.get(PLAYER, "anys") == anys[1:]), "after that it is removed")
        browser.type("scores", "101", kind="input[type=number]", number=1)
        wait_until(lambda: "found 101" in browser.note("scores"))
        waits("nor while one is refused", place, "scores", "Remove Scores 1", [10, 20, 30])
        browser.type("scores", "99", kind="input[type=number]", number=1)
        tap.check(wait_until(lambda: place.get(PLAYER, "scores") == [10, 99, 30]), "put right, it is its element's",
                  str(place.get(PLAYER, "scores")))
        browser.type("hosts[0].port", "99999")
        wait_until(lambda: browser.note("hosts[0].port"))
        waits("nor while one in a struct is", place, "hosts", "Move Hosts 1 down", [{"name": "a"}, {"name": "b"}])
        browser.control("hosts[0].port").send_keys(Keys.ESCAPE)
        browser.press("hosts", "Move Hosts 1 down")
        tap.check(wait_until(lambda: place.get(PLAYER, "hosts") == [{"name": "b"}, {"name": "a"}]), "or it is taken back")
        browser.type("scores", "50", kind="input[type=number]", number=0, end="")
        browser.press("scores", "Remove Scores 2")
        tap.check(wait_until(lambda: place.get(PLAYER, "scores") == [50, 30]), "a text that the click on the button saves is saved first",
                  str(place.get(PLAYER, "scores")))
        try_items_of_others(browser, place)


def try_items_of_others(browser, place):
    """What another program does to the list of scores while a text is typed in it."""
    for what, theirs, is_kept in (
            ("an element in front of it is removed", "[30]", False), ("the elements change places", "[30, 50]", False),
            ("one is put in front of it", "[1, 50, 30]", False), ("one behind it is added", "[50, 30, 31]", True),
            ("another one is changed", "[51, 30]", True)):
        place.set(PLAYER, "scores", "[50, 30]")
        wait_until(lambda: shown_scores(browser) == ["50", "30"])
        box = browser.control("scores", "li input[type=number]", 1)
        box.click()
        box.send_keys("7")
        place.set(PLAYER, "scores", theirs)
        shown = [str(one) for one in json.loads(theirs)]
        if is_kept:
            shown[1] = "307"
        good = wait_until(lambda: shown_scores(browser) == shown
                          and lost_texts(browser) == ([] if is_kept else ["307"]), 3)
        tap.check(good, f"a text is {'left alone' if is_kept else 'kept below'} when {what} by another program",
                  f"{shown_scores(browser)} {lost_texts(browser)}")
        if is_kept:
            box.send_keys(Keys.ESCAPE)
        browser.js("document.getElementById('lost').replaceChildren()")


def try_notes(browser):
    """A conflict stays shown, and is none that is saved over, whatever else is done in the same setting."""
    with served(types=ITEMS, settings=("anys", "[1, 2, 3]", "scores", "[10, 20]")) as (place, page):
        browser.open(page.address)
        browser.type("anys", "22", number=1)
        place.set(PLAYER, "anys[1]", '"theirs"')
        told = "Another program has changed Anys 2 meanwhile. It is now: theirs"
        tap.check(wait_until(lambda: browser.note("anys").startswith(told)), "a change of what is typed in is told", browser.note("anys"))
        browser.press("anys", "Add an entry")
        wait_until(lambda: len(browser.all("anys", "li")) == 4)
        tap.check(browser.note("anys").startswith(told), "and stays so after another edit of the same setting", browser.note("anys"))
        browser.press("anys", "Save Anys 2")
        time.sleep(0.3)
        tap.check(place.get(PLAYER, "anys")[1] == "theirs" and "yours, not saved: 22" in browser.note("anys"),
                  "which lets nothing be written over", f"{place.get(PLAYER, 'anys')} {browser.note('anys')}")
        browser.press("anys", "Use mine")
        tap.check(wait_until(lambda: place.get(PLAYER, "anys")[1] == 22 and not browser.note("anys")), "until it is asked for",
                  f"{place.get(PLAYER, 'anys')} {browser.note('anys')}")
        numbers = "li input[type=number]"
        browser.type("scores", "101", numbers, 1)
        wait_until(lambda: browser.note("scores"))
        browser.type("scores", "11", numbers, 0)
        wait_until(lambda: place.get(PLAYER, "scores") == [11, 20])
        tap.check("found 101" in browser.note("scores"), "what is wrong stays said when another element is saved", browser.note("scores"))
        place.set(PLAYER, "scores", "[11]")
        tap.check(wait_until(lambda: not browser.note("scores")), "until its element is gone", browser.note("scores"))


def try_slow_answer(browser):
    """A text that grows while it is being saved is based on what it was saved over, and not on what came after that."""
    with served() as (place, page):
        browser.open(page.address)
        browser.js("""
            const real = window.fetch;
            window.fetch = async (...all) => {
              const answer = await real(...all);
              await new Promise((done) => setTimeout(done, 1000));
              return answer;
            };""")
        title = browser.control("title")
        title.click()
        title.send_keys(Keys.CONTROL + "a")
        title.send_keys("abc" + Keys.ENTER + "d")
        wait_until(lambda: place.get(PLAYER, "title") == "abc")
        place.set(PLAYER, "title", "Theirs")
        time.sleep(1.5)
        title.send_keys(Keys.TAB)
        tap.check(wait_until(lambda: "It is now: Theirs" in browser.note("title"), 3) and place.get(PLAYER, "title") == "Theirs",
                  "what another program sets while an edit is under way is not written over",
                  f"{place.get(PLAYER, 'title')} {browser.note('title')}")
