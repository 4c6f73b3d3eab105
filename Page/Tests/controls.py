"""Every control, used as a person would, and what the store then has."""
import json
import time

import tap
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from parts import served
from published import PLAYER, TYPES
from served import wait_until


def try_controls(browser):
    with served() as (place, page):
        browser.open(page.address)

        def becomes(what, path, value):
            """Whether the store comes to have a value, and the page no complaint."""
            found = []
            good = wait_until(lambda: (found.append(place.get(PLAYER, path)), found[-1] == value)[1])
            top = path.split(".")[0].split("[")[0]
            good = good and wait_until(lambda: not browser.note(top))
            return tap.check(good, what, f"{path} is {found[-1]!r}, not {value!r}: {browser.note(top)}")

        try_scalars(browser, becomes)
        try_numbers(browser, becomes, place)
        try_faults(browser, place, becomes)
        try_lists(browser, becomes)
        try_tables(browser, becomes)
        try_structs(browser, place, becomes)
        try_variants(browser, becomes)
        try_json(browser, place, becomes)
        try_reset(browser, place)
        try_sections(browser)
        try_search(browser)
        errors = browser.errors()
        expected = [one for one in errors if "422" in one]
        tap.check(errors == expected, "the browser complains of nothing but refused edits", "\n".join(errors))
    for part in (try_nulls, try_reset_texts, try_whole_reals, try_huge_steps, try_open_ranges, try_secret_lines, try_secret_types, try_secret_cases,
                 try_kept_cases, try_lines, try_large_numbers, try_groups):
        part(browser)


def try_scalars(browser, becomes):
    browser.control("muted").click()
    becomes("a switch is turned on", "muted", True)
    browser.control("muted").click()
    becomes("and off", "muted", False)
    browser.choose("autoplay", "On")
    becomes("a switch that may be unset is a choice", "autoplay", True)
    browser.choose("autoplay", "Not set")
    becomes("of which one is none", "autoplay", None)
    browser.choose("theme", "Dark – For the night.")
    becomes("a choice shows what its cases mean", "theme", "dark")
    browser.type("title", "Music")
    becomes("a text", "title", "Music")
    browser.type("title", "Söng 🎵", end=Keys.ENTER)
    becomes("is saved by the enter key, too", "title", "Söng 🎵")
    browser.type("notes", "one" + Keys.ENTER + "two")
    becomes("a text of several lines", "notes", "one\ntwo")
    date = browser.control("since")
    browser.js("arguments[0].value = '2026-11-21T08:00:05'; arguments[0].dispatchEvent(new Event('input'));"
               "arguments[0].dispatchEvent(new Event('change'))", date)
    date.send_keys(Keys.ENTER)
    becomes("a date", "since", {"$date": "2026-11-21T08:00:05Z"})
    browser.js("arguments[0].focus()", date)
    browser.keys(Keys.ARROW_UP, Keys.ENTER)
    becomes("is changed by keys", "since", {"$date": "2026-12-21T08:00:05Z"})
    browser.type("icon", "AAEC")
    becomes("data are base64", "icon", {"$data": "AAEC"})
    browser.type("deviceID", "8E6B5A55-9F57-4A8C-9F7B-1D1F4A1F0B11")
    becomes("a UUID", "deviceID", "8E6B5A55-9F57-4A8C-9F7B-1D1F4A1F0B11")
    browser.type("home", "https://example.com/x?y=1")
    becomes("a URL", "home", "https://example.com/x?y=1")
    browser.type("price", "12.50")
    becomes("a decimal", "price", "12.5")
    browser.press("home", "Reset")
    becomes("what may be absent is taken away", "home", None)


def try_numbers(browser, becomes, place):
    slider = browser.control("volume", "input[type=range]")
    slider.send_keys(Keys.ARROW_RIGHT)
    becomes("a slider moves by keys", "volume", 8)
    browser.type("volume", "3", kind="input[type=number]")
    becomes("a number is typed beside it", "volume", 3)
    tap.check(wait_until(lambda: slider.get_property("value") == "3"), "and the slider follows")
    stepper = browser.control("volume", "input[type=number]")
    stepper.click()
    stepper.send_keys(Keys.ARROW_UP)
    becomes("a stepper", "volume", 4)
    browser.type("speed", "2.5", kind="input[type=number]")
    becomes("a real number", "speed", 2.5)
    browser.type("ratio", "3")
    becomes("a whole one of a real type", "ratio", 3.0)
    tap.check(place.run("get", PLAYER, "ratio")[1] == "3.0\n", "stays a real number")
    browser.type("cacheBytes", "9007199254740993")
    becomes("a number that JavaScript would round", "cacheBytes", 9007199254740993)
    tap.check(wait_until(lambda: browser.value("cacheBytes") == "9007199254740993"), "is shown as it is")
    browser.type("token", "s3cret!")
    tap.check(wait_until(lambda: browser.control("token").get_property("placeholder") == "set, and hidden"
                         and browser.value("token") == ""), "a secret is taken, and not shown")
    tap.check(wait_until(lambda: place.own(PLAYER).get("token") == "s3cret!"), "and stored")


def try_faults(browser, place, becomes):
    volume = browser.control("volume", "input[type=number]")
    browser.type("volume", "11", kind="input[type=number]")
    tap.check(wait_until(lambda: browser.note("volume") == "Expected 0...10 at volume, found 11"), "what is wrong is said",
              browser.note("volume"))
    tap.check(volume.get_attribute("aria-invalid") == "true" and volume.get_property("value") == "11"
              and place.get(PLAYER, "volume") == 4, "the text stays, and the store as it was")
    volume.send_keys(Keys.ESCAPE)
    tap.check(wait_until(lambda: volume.get_property("value") == "4" and not browser.note("volume")),
              "escape takes the text back")
    browser.type("deviceID", "nonsense")
    tap.check(wait_until(lambda: "Expected UUID at deviceID" in browser.note("deviceID")), "a text that is no UUID",
              browser.note("deviceID"))
    browser.type("deviceID", "8E6B5A55-9F57-4A8C-9F7B-1D1F4A1F0B12")
    becomes("what is put right is saved", "deviceID", "8E6B5A55-9F57-4A8C-9F7B-1D1F4A1F0B12")
    place.run("set", PLAYER, "--type", "Any", "ratio", '"text"')
    odd = wait_until(lambda: browser.all("ratio", "textarea"))
    if not odd:  # The store refuses it, as its schema says: written by another hand.
        path = place.config / f"{PLAYER}.plist"
        path.write_text(path.read_text().replace("<key>ratio</key>\n\t<real>3</real>", "<key>ratio</key>\n\t<string>text</string>"))
        odd = wait_until(lambda: browser.all("ratio", "textarea"))
    tap.check(odd and odd[0].get_property("value") == '"text"', "a value that is not of its type is shown as JSON")
    browser.type("ratio", "0.5", kind="textarea")
    browser.press("ratio", "Save")
    becomes("and put right", "ratio", 0.5)


def try_lists(browser, becomes):
    browser.type("tags", "new", number=2, end=Keys.ENTER)
    becomes("an element is added to a list", "tags", ["jazz", "live", "new"])
    tap.check(wait_until(lambda: browser.focused() == ["tags", "New entry of Tags"]), "and the next can be typed",
              str(browser.focused()))
    browser.press("tags", "Move Tags 3 up")
    becomes("moved up", "tags", ["jazz", "new", "live"])
    tap.check(wait_until(lambda: browser.focused() == ["tags", "Move Tags 2 up"]), "the focus goes along", str(browser.focused()))
    browser.press("tags", "Move Tags 1 down")
    becomes("moved down", "tags", ["new", "jazz", "live"])
    browser.type("tags", "rock", number=1)
    becomes("changed", "tags", ["new", "rock", "live"])
    browser.press("tags", "Remove Tags 1")
    becomes("removed", "tags", ["rock", "live"])
    try_double_clicks(browser, becomes)
    browser.type("scores", "50", number=0, end=Keys.ENTER)
    becomes("a number is added", "scores", [50])
    browser.type("scores", "101", number=2, end=Keys.ENTER)
    tap.check(wait_until(lambda: "Expected 0...100 at scores[1], found 101" in browser.note("scores")), "a wrong one is not",
              browser.note("scores"))
    browser.type("scores", "60", number=2, end=Keys.ENTER)
    becomes("a right one is", "scores", [50, 60])
    browser.press("hosts", "Add an entry to Hosts")
    becomes("a struct is added with what it must have", "hosts", [{"name": ""}])
    browser.type("hosts[0].name", "example.com")
    becomes("a field of an element", "hosts", [{"name": "example.com"}])
    browser.type("hosts[0].token", "hidden!")
    tap.check(wait_until(lambda: browser.control("hosts[0].token").get_property("placeholder") == "set, and hidden"),
              "a secret in an element")
    browser.press("hosts", "Add an entry to Hosts")
    wait_until(lambda: browser.all("hosts[1].name"))
    browser.press("hosts", "Move Hosts 2 up")
    tap.check(wait_until(lambda: browser.control("hosts[1].token").get_property("placeholder") == "set, and hidden"),
              "goes along where the element is moved")


def try_double_clicks(browser, becomes):
    def double(path, label):
        ActionChains(browser.driver).double_click(browser.button(path, label)).perform()

    for text in ("b", "c"):
        browser.type("tags", text, kind=".add input", end=Keys.ENTER)
        wait_until(lambda: browser.value("tags", ".add input") == "")
    becomes("a list of four", "tags", ["rock", "live", "b", "c"])
    double("tags", "Remove Tags 2")
    time.sleep(0.5)  # Another would be removed by then.
    becomes("a double click removes one element", "tags", ["rock", "b", "c"])
    double("tags", "Move Tags 3 up")
    time.sleep(0.5)
    becomes("and moves one by one place", "tags", ["rock", "c", "b"])
    browser.type("limits", "a", kind=".add input", end=Keys.ENTER)
    browser.type("limits", "b", kind=".add input", end=Keys.ENTER)
    becomes("a dictionary of three", "limits", {"a": 0, "b": 0, "fade": 3})
    double("limits", "Remove Limits, a")
    time.sleep(0.5)
    becomes("a double click removes one entry", "limits", {"b": 0, "fade": 3})
    browser.press("limits", "Remove Limits, b")
    becomes("and a click the next", "limits", {"fade": 3})
    for number in (3, 2):
        browser.press("tags", f"Remove Tags {number}")
        wait_until(lambda: len(browser.js("return document.querySelectorAll('#at-tags li')")) == number - 1)
    becomes("clicks one after the other remove one each", "tags", ["rock"])


def try_tables(browser, becomes):
    browser.type("limits", "load", number=2, end=Keys.ENTER)
    becomes("an entry is added to a dictionary", "limits", {"fade": 3, "load": 0})
    tap.check(wait_until(lambda: browser.focused() == ["limits", "Limits, load"]) or browser.focused()[0] == "limits",
              "and has the focus", str(browser.focused()))
    browser.type("limits", "30", kind="input[type=number]", number=1)
    becomes("its value", "limits", {"fade": 3, "load": 30})
    browser.type("limits", "a.b \"c\"", kind="td:first-child input", number=1)
    becomes("its key, whatever is in it", "limits", {"fade": 3, 'a.b "c"': 30})
    browser.type("limits", "fade", kind="td:first-child input", number=0)
    tap.check(wait_until(lambda: "There is a value at limits.fade already" in browser.note("limits")),
              "a key that is there is not taken twice", browser.note("limits"))
    browser.control("limits", "td:first-child input").send_keys(Keys.ESCAPE)
    browser.press("limits", "Remove Limits, fade")
    becomes("an entry is removed", "limits", {'a.b "c"': 30})
    browser.press("limits", 'Remove Limits, a.b "c"')
    becomes("the last, too", "limits", {})
    browser.type("limits", "$date", number=0, end=Keys.ENTER)
    becomes("a key that means a date elsewhere", "limits", {"$$date": 0})
    tap.check(wait_until(lambda: browser.all("limits", "td:first-child input")
                         and browser.value("limits", "td:first-child input") == "$date"), "is a key here")


def try_structs(browser, place, becomes):
    browser.type("window.width", "800")
    becomes("a field of a struct", "window.width", 800)
    tap.check(place.own(PLAYER)["window"] == {"width": 800}, "alone is stored", str(place.own(PLAYER)["window"]))
    browser.type("window.window_title", "Main")
    becomes("a field with another key in the file", "window.window_title", "Main")
    browser.press("window.position", "Set Position")
    tap.check(wait_until(lambda: place.own(PLAYER)["window"].get("position") == {}), "a struct that was not there")
    browser.type("window.position.y", "20")
    becomes("a field two deep", "window.position.y", 20)
    browser.press("window.position", "Reset Position")
    becomes("is taken away again", "window.position", None)
    browser.press("backup", "Set Backup")
    wait_until(lambda: browser.all("backup.every"))
    browser.choose("backup.every", "Month")
    becomes("a choice in a section that was not there", "backup.every", "month")
    browser.press("backup", "Reset Backup")
    becomes("the section is taken away", "backup", None)


def try_variants(browser, becomes):
    browser.choose("output", "Device")
    becomes("a case with values", "output", {"device": {"name": ""}})
    browser.type("output.device.name", "hw:0")
    becomes("its value", "output", {"device": {"name": "hw:0"}})
    browser.choose("output", "File")
    becomes("another case", "output", {"file": {}})
    browser.type("output.file.bits", "24", kind="input[type=number]")
    becomes("a value with a range", "output", {"file": {"bits": 24}})
    browser.choose("output", "Silent")
    becomes("a case without values", "output", {"silent": {}})
    browser.choose("output", "Not set")
    becomes("none", "output", None)


def try_json(browser, place, becomes):
    browser.type("anything", '{"a": [1, 2.0, 9007199254740993]}')
    browser.press("anything", "Save")
    becomes("any value as JSON", "anything", {"a": [1, 2.0, 9007199254740993]})
    tap.check("2.0,9007199254740993" in place.run("get", PLAYER, "anything")[1].replace(" ", ""), "with exact numbers")
    browser.type("anything", "{")
    browser.press("anything", "Save")
    tap.check(wait_until(lambda: browser.note("anything").startswith("Expected JSON")), "a text that is none",
              browser.note("anything"))
    browser.control("anything").send_keys(Keys.ESCAPE)
    place.run("set", PLAYER, "--type", "Any", "stranger", '{"x": {"$date": "2026-11-21T08:00:00Z"}, "n": 1.0}')
    place.run("set", PLAYER, "--type", "Any", "window.extra", "[1]")
    tap.check(wait_until(lambda: json.loads(browser.value("stranger")) == {"n": 1.0, "x": {"$date": "2026-11-21T08:00:00Z"}}),
              "an unknown key is shown as JSON")
    browser.type("stranger", '{"x": 5}')
    browser.press("stranger", "Save")
    becomes("and changed", "stranger", {"x": 5})
    browser.press("stranger", "Reset")
    becomes("and taken away", "stranger", None)
    browser.type("window.extra", "[2]")
    browser.press("window.extra", "Save")
    becomes("one in a struct, too", "window.extra", [2])


def try_reset(browser, place):
    tap.check("Changed" in browser.row("volume").text and "Default: 7" in browser.row("volume").text,
              "what is changed has a mark and its default", browser.row("volume").text)
    browser.press("volume", "Reset")
    tap.check(wait_until(lambda: "volume" not in place.own(PLAYER) and browser.value("volume", "input[type=number]") == "7"
                         and "Changed" not in browser.row("volume").text), "reset takes it away, and shows the default")
    browser.press("window.width", "Reset")
    tap.check(wait_until(lambda: "width" not in place.own(PLAYER).get("window", {})), "a part is reset by itself")
    tap.check("Deprecated: use volume" in browser.row("old_volume").text, "what is deprecated is marked")
    text = browser.row("speed").text
    tap.check("How fast it plays." in text and "0.25 to 4.0" in text, "documentation and range are there", text)


def try_sections(browser):
    names = browser.js("return [...document.querySelectorAll('nav li')].filter((one) => one.checkVisibility()).map((one) => one.textContent)")
    tap.check(names == ["General", "Window", "Backup"], "the sections are listed", str(names))
    for name, path in (("Backup", "backup"), ("General", "volume"), ("Window", "window.width")):
        browser.driver.find_element("css selector", f"nav button[aria-label={name}]").click()
        top = "return document.querySelector(`section.card:has([id='at-${arguments[0]}']), section[id='at-${arguments[0]}']`)"
        place = browser.js(f"{top}.getBoundingClientRect().top", path)
        head = browser.js("return document.querySelector('header').getBoundingClientRect().bottom")
        focused = browser.focused()[0]
        tap.check(focused and focused.split(".")[0] == path.split(".")[0] and head <= place < 1000,
                  f"and lead there: {name}", f"{focused} {head} {place}")


def try_search(browser):
    box = browser.driver.find_element("id", "search")
    browser.driver.find_element("tag name", "h1").click()
    browser.keys("/")
    tap.check(browser.driver.switch_to.active_element == box, "a slash leads to the search")
    shown = lambda: [one for one in browser.js(
        "return [...document.querySelectorAll('.setting')].filter((one) => one.checkVisibility()).map((one) => one.id.slice(3))")]
    box.send_keys("pixels")
    tap.check(wait_until(lambda: shown() == ["window.width"]), "a word of the documentation finds a setting", str(shown()))
    tap.check(browser.driver.find_element("id", "status").get_property("textContent") == "1 setting found.", "and says how many")
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys("nowhere")
    tap.check(wait_until(lambda: shown() == []) and browser.driver.find_element("id", "none").is_displayed(), "or none")
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(Keys.DELETE)
    browser.driver.find_element("id", "changed").click()
    found = shown()
    tap.check("theme" in found and "volume" not in found and "backup" not in found and "window.window_title" in found,
              "only what is changed", str(found))
    browser.driver.find_element("id", "changed").click()


# ---- Values and texts that are seldom

ODD = r"""root S
struct S {
    icon: Data?
    icons: [Data?] = []
    on: Bool?
    count: Int = 1
    name: String?
    since: Date?
    theme: Theme?
    tags: [String] = []
    limits: [String: Int] = [:]
    point: Point?
    output: Output?
    token: String? @secret
    any: Any?
    low: Int(0...10) = 3
    ratio: Double = 1.0
    ratios: [Double] = [1.0]
    huge: Int = 1
    part: Double(0.0..<1.0) = 0.5
    keys: [Key] = []
    after: Int = 1
}
struct Point { x: Int = 0 }
enum Theme: String { light, dark }
enum Output { file(path: String), silent }
enum Key: String @secret { brass = "brassZebra", steel = "steelZebra", iron = "ironZebra" }
"""


def try_nulls(browser):
    """A null, which a file in JSON may have where the type has a value that may be absent, or any."""
    keys = [line.split(":")[0].strip() for line in ODD.splitlines() if line.startswith("    ")]
    with served(types=ODD) as (place, page):
        store = place.config / f"{PLAYER}.plist"
        store.write_text(json.dumps({key: None for key in keys if key != "after"} | {"after": 9, "icons": [None]}))
        browser.open(page.address)
        tap.check(wait_until(lambda: browser.value("after") == "9") and all(browser.all(key) for key in keys),
                  "a null of any type ends nothing", str([key for key in keys if not browser.all(key)]))
        tap.check(browser.value("icon") == "null", "it is shown as a value that does not fit", browser.value("icon"))
        place.run("unset", PLAYER, "icons")
        for key in keys:
            store.write_text(json.dumps({key: None, "after": keys.index(key) + 20}))
            good = wait_until(lambda: browser.value("after") == str(keys.index(key) + 20), 3)
            tap.check(good, f"nor does one that another program writes at {key}", browser.value("after"))


def try_reset_texts(browser):
    with served(types=ODD, settings=("low", "5")) as (place, page):
        browser.open(page.address)
        browser.type("low", "77", kind="input[type=number]")
        wait_until(lambda: browser.note("low"))
        browser.press("low", "Reset")
        tap.check(wait_until(lambda: browser.value("low", "input[type=number]") == "3" and not browser.note("low"), 3)
                  and place.own(PLAYER) == {}, "a reset takes a text that was refused back, too",
                  f"{browser.value('low', 'input[type=number]')} {browser.note('low')}")
    with served(settings=("window.width", "700")) as (place, page):
        browser.open(page.address)
        browser.type("window.height", "0", kind="input[type=number]")
        wait_until(lambda: browser.note("window.height"))
        browser.press("window", "Reset Window")
        tap.check(wait_until(lambda: browser.value("window.height", "input[type=number]") == "480"
                             and not browser.note("window.height"), 3) and place.own(PLAYER) == {},
                  "one of a section, too, with all that is typed in it",
                  f"{browser.value('window.height', 'input[type=number]')} {browser.note('window.height')}")


def try_whole_reals(browser):
    with served(types=ODD) as (place, page):
        place.write(PLAYER, {"ratio": 1, "ratios": [1], "after": 2})
        browser.open(page.address)

        def marked():
            return [key for key in ("ratio", "ratios", "after") if "Changed" in browser.row(key).text]

        tap.check(wait_until(lambda: marked() == ["after"]), "1 is not changed where 1.0 is the default", str(marked()))


def try_huge_steps(browser):
    with served(types=ODD, settings=("huge", "1234567890123456789")) as (place, page):
        browser.open(page.address)
        box = browser.control("huge")
        box.click()
        box.send_keys(Keys.ARROW_UP + Keys.TAB)
        tap.check(browser.value("huge") == "1234567890123456789" and not browser.note("huge"),
                  "a stepper rounds no number that it cannot hold", f"{browser.value('huge')} {browser.note('huge')}")
        browser.type("huge", "1234567890123456790")
        tap.check(wait_until(lambda: place.get(PLAYER, "huge") == 1234567890123456790), "which can be typed")
        browser.type("huge", "12")
        wait_until(lambda: place.get(PLAYER, "huge") == 12)
        box.click()
        box.send_keys(Keys.ARROW_UP)
        tap.check(wait_until(lambda: place.get(PLAYER, "huge") == 13), "one that it can hold has its stepper again",
                  str(place.get(PLAYER, "huge")))


def try_open_ranges(browser):
    with served(types=ODD) as (place, page):
        browser.open(page.address)
        browser.control("part", "input[type=range]").send_keys(Keys.END)
        tap.check(wait_until(lambda: place.get(PLAYER, "part") == 0.99, 3) and not browser.note("part"),
                  "a slider ends below what its range ends below", f"{place.get(PLAYER, 'part')} {browser.note('part')}")


def paste(browser, control, text):
    browser.js("""
        const data = new DataTransfer();
        data.setData("text/plain", arguments[1]);
        const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
        arguments[0].focus();
        if (arguments[0].dispatchEvent(event)) document.execCommand("insertText", false, arguments[1]);""", control, text)


def try_secret_lines(browser):
    with served(types=ODD) as (place, page):
        browser.open(page.address)
        paste(browser, browser.control("token"), "first\nsecond")
        tap.check(wait_until(lambda: "several lines" in browser.note("token"), 3) and browser.value("token") == "",
                  "a secret of several lines is not made one of one line", f"{browser.note('token')} {browser.value('token')}")
        browser.control("token").send_keys(Keys.ESCAPE)
        browser.control("token").click()
        browser.command("Input.insertText", text="first\nsecond")
        tap.check(wait_until(lambda: "several lines" in browser.note("token"), 3) and browser.value("token") == "",
                  "nor when it is put in by other means", f"{browser.note('token')} {browser.value('token')}")
        paste(browser, browser.control("token"), "first\n")
        browser.control("token").send_keys(Keys.TAB)
        tap.check(wait_until(lambda: place.own(PLAYER).get("token") == "first" and not browser.note("token")),
                  "a line break at its end is none of it", f"{place.own(PLAYER)} {browser.note('token')}")


def try_secret_types(browser):
    """What is a secret by its type is as secret as what is one by its member."""
    with served(types=ODD, settings=("keys", '["brassZebra", "brassZebra"]')) as (place, page):
        browser.open(page.address)
        box = browser.control("keys", number=1)
        box.click()
        box.send_keys("steelZebra")
        place.set(PLAYER, "keys[1]", "ironZebra")
        box.send_keys(Keys.TAB)
        good = wait_until(lambda: "Another program" in browser.note("keys"), 3)
        text = browser.js("return document.documentElement.outerHTML")
        tap.check(good and "Zebra" not in browser.note("keys") and "Zebra" not in text, "a conflict of a secret by its type shows none",
                  browser.note("keys"))
        browser.press("keys", "Use mine")
        tap.check(wait_until(lambda: place.own(PLAYER)["keys"][1] == "steelZebra" and not browser.note("keys")), "and is decided",
                  browser.note("keys"))


def try_secret_cases(browser):
    """An enum one case of which is a secret."""
    types = """root S
struct S { auth: Auth = ["none": [:]]; both: Both? }
enum Auth { none, password(user: String, secret: String) @secret, key(file: String) }
enum Word: String @secret { a, b }
enum Both { login(user: String, word: Word), other }
"""
    with served(types=types) as (place, page):
        place.write(PLAYER, {"auth": {"password": {"user": "u", "secret": "x"}}, "both": {"login": {"user": "u", "word": "b"}}})
        browser.open(page.address)
        hidden = [browser.control(f"auth.password.{key}").get_property("placeholder") for key in ("user", "secret")]
        tap.check(hidden == ["set, and hidden"] * 2, "what is in a secret case is said to be set", str(hidden))
        browser.type("auth.password.user", "me")
        tap.check(wait_until(lambda: place.own(PLAYER)["auth"] == {"password": {"user": "me", "secret": "x"}}, 3), "and can be changed",
                  str(place.own(PLAYER)["auth"]))
        browser.choose("auth", "Key")
        tap.check(wait_until(lambda: place.own(PLAYER)["auth"] == {"key": {"file": ""}}, 3) and not browser.note("auth"),
                  "another case can be chosen", f"{place.own(PLAYER)['auth']} {browser.note('auth')}")
        browser.choose("both", "Other")
        tap.check(wait_until(lambda: place.own(PLAYER)["both"] == {"other": {}}, 3), "so it can over a secret in a case",
                  f"{place.own(PLAYER)['both']} {browser.note('both')}")
        browser.choose("both", "Login")
        tap.check(wait_until(lambda: place.own(PLAYER)["both"] == {"login": {"user": "u", "word": "a"}}, 3),
                  "the secret is gone then, and nothing else", f"{place.own(PLAYER)['both']}")
        place.write(PLAYER, {"auth": {"password": {"user": "u", "secret": "x"}}})
        cookie = browser.driver.get_cookie(f"kvdefaults-{page.port}")
        status, _, text = page.edit(f"{cookie['name']}={cookie['value']}", path=["auth"], operation="set",
                                    value={"password": {"user": "(secret)", "secret": "(secret)"}})
        tap.check(status == 422 and "There are secrets in auth" in text, "the same one is not written over with what is shown", text)


def try_kept_cases(browser):
    """Cases with values that are gone through by keys."""
    with served(settings=("output", '{"file": {"path": "/my/precious", "bits": 24}}')) as (place, page):
        browser.open(page.address)
        chooser = browser.control("output", "select")
        browser.js("arguments[0].focus()", chooser)
        for case, key in (("device", Keys.ARROW_DOWN), ("silent", Keys.ARROW_DOWN), ("device", Keys.ARROW_UP), ("file", Keys.ARROW_UP)):
            browser.keys(key)
            wait_until(lambda: case in place.get(PLAYER, "output"))
        tap.check(place.get(PLAYER, "output") == {"file": {"path": "/my/precious", "bits": 24}}, "a case that is chosen again has its values",
                  str(place.get(PLAYER, "output")))
        browser.keys(Keys.ARROW_UP)
        wait_until(lambda: place.get(PLAYER, "output") is None)
        browser.keys(Keys.ARROW_DOWN)
        tap.check(wait_until(lambda: place.get(PLAYER, "output") == {"file": {"path": "/my/precious", "bits": 24}}, 3),
                  "also where none was chosen meanwhile", str(place.get(PLAYER, "output")))
        browser.keys(Keys.ARROW_DOWN, Keys.ARROW_UP)
        tap.check(wait_until(lambda: place.get(PLAYER, "output") == {"file": {"path": "/my/precious", "bits": 24}}, 3)
                  and not time.sleep(0.5) and "file" in place.get(PLAYER, "output"), "and quickly", str(place.get(PLAYER, "output")))


def try_lines(browser):
    """Texts and keys of several lines, where a browser has one."""
    with served(types=ODD, settings=("tags", '["a"]')) as (place, page):
        place.write(PLAYER, {"limits": {"a\nb": 1, "c": 2}, "tags": ["a"]})
        browser.open(page.address)
        for path, kind in (("name", "input"), ("tags", ".add input"), ("limits", ".add input")):
            box = browser.control(path, kind)
            paste(browser, box, "one\ntwo")
            tap.check("several lines" in browser.note(path) and box.get_property("value") == "", f"a text of several lines is not made one at {path}",
                      f"{box.get_property('value')} {browser.note(path)}")
        name = browser.control("limits", "td:first-child input")
        name.send_keys("Z" + Keys.TAB)
        time.sleep(0.3)
        tap.check(name.get_property("value") == '"a\\nb"' and place.get(PLAYER, "limits") == {"a\nb": 1, "c": 2},
                  "a key of several lines is shown, and keeps them", f"{name.get_property('value')} {place.get(PLAYER, 'limits')}")
        browser.type("limits", "5", "tbody input[type=number]")
        tap.check(wait_until(lambda: place.get(PLAYER, "limits") == {"a\nb": 5, "c": 2}, 3), "its value is changed", str(place.get(PLAYER, "limits")))


def try_large_numbers(browser):
    """Numbers that no store has."""
    with served(types=ODD) as (place, page):
        browser.open(page.address)
        browser.type("ratio", "1e-400")
        tap.check(wait_until(lambda: "too near to 0" in browser.note("ratio"), 3) and place.own(PLAYER) == {}, "a number is not made 0",
                  f"{browser.note('ratio')} {place.own(PLAYER)}")
        browser.type("huge", "18446744073709551616")
        tap.check(wait_until(lambda: "more than 64 bits" in browser.note("huge"), 3), "one that is too large is told", browser.note("huge"))
        for text, told in (("[18446744073709551616]", "18446744073709551616 has more than 64 bits"), ("1e999", "1e999 is too large")):
            browser.type("any", text)
            browser.press("any", "Save")
            tap.check(wait_until(lambda: told in browser.note("any"), 3), f"so it is in JSON: {text}", browser.note("any"))
        browser.type("any", "[18446744073709551615, -9223372036854775808, 1e308]")
        browser.press("any", "Save")
        tap.check(wait_until(lambda: place.get(PLAYER, "any") == [18446744073709551615, -9223372036854775808, 1e308], 3),
                  "the largest are not", f"{place.get(PLAYER, 'any')} {browser.note('any')}")


def try_groups(browser):
    """What is several times on the page, or deep in itself."""
    deep = {"name": "bottom"}
    for _ in range(20):
        deep = {"name": "x", "inner": deep}
    types = TYPES.replace("    backup: Backup?", "    backup: Backup?\n    nest: Nest?", 1) + "struct Nest { name: String; inner: Nest? }\n"
    with served(types=types, settings=("hosts", '[{"name": "a"}, {"name": "b"}]')) as (place, page):
        place.write(PLAYER, {"hosts": [{"name": "a"}, {"name": "b"}], "nest": deep, "window": {"position": {"x": 1}}})
        browser.open(page.address)
        wait_until(lambda: browser.all("nest"))
        groups = browser.js("return [...document.querySelectorAll('#at-hosts [role=group]')].map((one) => [one.ariaLabel, one.innerText.split('\\n')[0]])")
        tap.check(groups == [["Hosts 1"] * 2, ["Hosts 2"] * 2], "each element of a list of structs is a group with a name", str(groups))
        words = [one.text for path in ("window", "window.position") for one in browser.all(path, ".under > button")]
        tap.check("Reset Window" in words and "Reset Position" in words and "Reset all" not in words, "a button says what it resets", str(words))
        try:
            browser.width(360)
            wide = browser.overflow()
            tap.check(not wide, "a struct deep in itself is not wider than a narrow window", str(wide[:5]))
        finally:
            browser.command("Emulation.clearDeviceMetricsOverride")
