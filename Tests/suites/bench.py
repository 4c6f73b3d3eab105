#!/usr/bin/env python3
"""Checks what the benchmarks say of themselves: the picture, and the memory of require. Prints TAP."""
import os
import sys
import xml.etree.ElementTree as ElementTree

from tap import ROOT, check, environment, finish

sys.path.insert(0, str(ROOT / "Benchmarks"))
import report  # noqa: E402
import require  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def row(name, part, **peers):
    return {"part": part, "name": name, "unit": "s", "ours": 1.0, "target": 2.0, "wanted": "2 s", "misses": [],
            "peers": peers}


def picture():
    rows = [row("a", "one", floor=0.5, first=4.0, second=20.0), row("b", "one", second=1.0),
            row("c", "two", third=1.0, first=2e9), {**row("d", "two", hidden=1.0), "target": None}]
    parts = {"one": {"title": "Part <one>"}, "two": {"title": "Part two"}}
    drawing = ElementTree.fromstring(report.plot(rows, parts))
    texts = ["".join(text.itertext()) for text in drawing.iter(f"{SVG}text")]
    dots = [(dot.get("fill"), dot.findtext(f"{SVG}title")) for dot in drawing.iter(f"{SVG}circle")]
    colours = {title.split()[0]: colour for colour, title in dots if title}
    check(set(colours) == {"first", "second", "third"} and len(set(colours.values())) == 3,
          "the picture has a colour for each peer", str(dots))
    legends = [colour for colour, title in dots if not title]
    check(legends == [colours["first"], colours["second"], colours["third"], colours["first"]]
          and texts.count("first") == 2 and texts.count("third") == 1, "and names those of each part", str(texts))
    check(not {report.OURS, report.MISSED} & set(report.COLOURS) and len(set(report.COLOURS)) == len(report.COLOURS),
          "none of which is ours")
    marks = ["1/1000", "1/100", "1/10", "target", "10×", "100×", "1000×"]
    check(all(texts.count(mark) == 2 for mark in marks), "its scale is named, above and below", str(texts))
    width = int(drawing.get("width"))
    check(all(0 <= float(dot.get("cx")) <= width for dot in drawing.iter(f"{SVG}circle")), "and nothing is outside it")


def pace():
    references = [{"part": "one", "row": name, "peer": name, "took": 1, "unit": "ms"} for name in ("slow", "fast")]
    measured = [{"part": "one", "name": "slow", "peers": {"slow": 3e-3, "other": 9e-3}},
                {"part": "one", "name": "fast", "peers": {"fast": 2e-3}}]
    least, times = report.pace_of(references, measured)
    check(least == 2 and times == {"slow": 3, "fast": 2}, "the pace is that of the peer that lost least", str(times))
    rows = [*measured, {"part": "one", "name": "none", "peers": {}}, {"part": "two", "name": "slow", "peers": {}}]
    paces = [report.pace_of_row(one, references, times, least) for one in rows]
    check(paces == [3, 2, 2, 2], "but a peer's own, in its own row", str(paces))


def memory():
    os.environ.update(environment(LUA_CPATH=f"{ROOT}/build/?.so;;"))
    bare, grown = require.private(""), require.private("x = ('x'):rep(5e6)")
    check(4_900_000 < grown - bare < 5_500_000, "private memory is what a script writes", f"{bare} {grown}")
    ours = require.private("require 'kvcodable'") - bare
    check(0 < ours <= 3e6, "require takes at most 3 MB of it", f"{ours} bytes")


def main():
    picture()
    pace()
    memory()
    finish()


main()
