"""The parts of the tests of the page, each on stores of its own."""
import time
import traceback
from contextlib import contextmanager

import tap
from browser import Browser
from published import PLAYER, TYPES
from served import Place, Served


@contextmanager
def served(*words, domain=PLAYER, types=TYPES, before=(), settings=()):
    """A place with types and settings, and the page of the domain."""
    place = Place()
    page = None
    try:
        place.publish(domain, types)
        if settings:
            place.set(domain, *settings)
        page = Served(place, domain, *words, before=before)
        yield place, page
    finally:
        if page:
            page.close()
        place.close()


def run(names):
    import bounds
    import controls
    import looks
    import meanwhile
    import security
    import typed
    parts = {
        "controls": controls.try_controls, "live": meanwhile.try_live, "conflicts": meanwhile.try_conflicts,
        "layers": meanwhile.try_layers, "typing": typed.try_typing, "looks": looks.try_looks, "keyboard": looks.try_keyboard,
        "security": security.try_security, "bounds": bounds.try_bounds, "speed": looks.try_speed, "terminal": security.try_terminal,
    }
    browser = Browser()
    try:
        for name in names or parts:
            started = time.monotonic()
            try:
                parts[name](browser)
            except Exception:
                tap.check(False, f"{name} ran to its end", traceback.format_exc())
            print(f"# {name}: {time.monotonic() - started:.1f} s", flush=True)
    finally:
        browser.close()


def take_screenshots(folder):
    import looks
    browser = Browser()
    try:
        looks.take_screenshots(browser, folder)
    finally:
        browser.close()
