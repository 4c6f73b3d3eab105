#!/usr/bin/env python3
"""Tests the settings page in Chromium: every control, changes of other programs, the keyboard, what a screen reader
finds, widths and contrasts. Also sends its server requests that no browser sends. Prints TAP, and ends with a line
'N passed, N failed'.

    page.py [PART…]              parts: controls live conflicts layers typing looks keyboard security bounds speed
                                 terminal server
    page.py --screenshots FOLDER saves pictures of the page
"""
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PACKAGES = ROOT / "build/selenium"
SELENIUM = "selenium==4.51.0"


def install_selenium():
    """Installs what drives the browser into build/, unless it is there. make setup-page installs the browser."""
    if not (PACKAGES / "selenium").exists():
        print(f"Installing: {SELENIUM} in {PACKAGES.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target",
                        str(PACKAGES), SELENIUM], check=True)


install_selenium()
sys.path[:0] = [str(FOLDER), str(ROOT / "Tests/suites"), str(PACKAGES)]
import tap  # noqa: E402
import parts  # noqa: E402

if __name__ == "__main__":
    if sys.argv[1:2] == ["--screenshots"]:
        parts.take_screenshots(Path(sys.argv[2]))
        sys.exit(0)
    parts.run(sys.argv[1:])
    print(f"{tap.checks - tap.failures} passed, {tap.failures} failed")
    sys.exit(1 if tap.failures else 0)
