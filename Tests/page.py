#!/usr/bin/env python3
"""The settings page in a real browser: every control, what other programs change meanwhile, the keyboard, what a screen
reader finds, widths and contrasts; and what no browser sends, against its server. Prints TAP.

    page.py [PART…]              parts: controls live conflicts layers typing looks keyboard security bounds speed
                                 terminal
    page.py --screenshots FOLDER pictures of the page, to be looked at
"""
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PACKAGES = FOLDER.parent / "build/selenium"


def prepare():
    """Installs the browser, and into build/ what drives it, where they are not there."""
    needed = subprocess.run([str(FOLDER.parent / "tools/require.sh"), "chromium", "chromium-driver"],
                            stdout=subprocess.PIPE, text=True)
    if needed.returncode:
        sys.exit(needed.stdout)
    if not (PACKAGES / "selenium").exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target",
                        str(PACKAGES), "selenium==4.51.0"], check=True)


prepare()
sys.path[:0] = [str(FOLDER / "Page"), str(FOLDER), str(PACKAGES)]
import tap  # noqa: E402
import parts  # noqa: E402

if __name__ == "__main__":
    if sys.argv[1:2] == ["--screenshots"]:
        parts.take_screenshots(Path(sys.argv[2]))
        sys.exit(0)
    parts.run(sys.argv[1:])
    sys.exit(1 if tap.failures else 0)
