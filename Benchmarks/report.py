#!/usr/bin/env python3
"""Sets what the benchmarks measured against Benchmarks/targets.json.

    report.py PART…     reads build/bench/PART.out; prints a table for each part and a summary, and writes
                        build/bench/results.json and build/bench/results.svg

A benchmark prints what it likes, and a line for each row, its fields parted by tabs:

    row  NAME  UNIT  OURS  PEER=FIGURE  PEER=FIGURE …

Units are ns, µs, ms, s, B, KB and MB. Figures are medians. A target is the most that ours may take ({"most": 60,
"unit": "ns"}) or the most times that it may take as long as a peer ({"ratio": 1.3, "to": "floor"}); a part's "faster
than" names peers that ours must not be slower than, in every row with a target, or says how many times as fast as each
ours must be ({"libplist": 1, "JSONEncoder": 3}).

Targets in units of time were set on one machine. "pace" names what peers took there: where each of those that were
measured takes longer now, ours may take longer by as much as the least of them; in the peer's own row, by as much as
that peer.
"""
import json
import math
import os
import platform
import statistics
import sys
import time
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "build/bench"
SCALES = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "KB": 1e3, "MB": 1e6}
TIMES = ("s", "ms", "µs", "ns")
SIZES = ("MB", "KB", "B")


def shown(value, unit):
    """A figure in base units, in the unit that suits it."""
    units = next(units for units in (TIMES, SIZES) if unit in units)
    best = next((one for one in units if abs(value) >= SCALES[one]), units[-1])
    number = value / SCALES[best]
    return f"{number:.3g} {best}"


def multiple(number):
    return f"{number:.0f}×" if number >= 10 else f"{number:.1f}×"


def rows(part):
    """The part's rows; of several runs ours of the median, and peers by the medians of their ratios to ours."""
    runs = {}
    for row in printed(part):
        runs.setdefault(row["name"], []).append(row)
    for found in runs.values():
        ours = statistics.median_low(row["ours"] for row in found)
        peers = {peer: ours * statistics.median(row["peers"][peer] / row["ours"] for row in found)
                 for peer in found[0]["peers"]}
        yield {**found[0], "ours": ours, "peers": peers}


def printed(part):
    """The rows that a part's program printed, in base units."""
    for line in (BENCH / f"{part}.out").read_text().splitlines():
        if line.startswith("row\t"):
            _, name, unit, ours, *peers = line.split("\t")
            peers = dict(peer.rsplit("=", 1) for peer in peers)
            yield {"part": part, "name": name, "unit": unit, "ours": float(ours) * SCALES[unit],
                   "peers": {peer: float(figure) * SCALES[unit] for peer, figure in peers.items()}}


def pace_of(references, found):
    """How many times as long this machine takes as the one where the targets were set, never less than once; and the
    peers that say so."""
    now = {(row["part"], row["name"], peer): figure for row in found for peer, figure in row["peers"].items()}
    times = {one["peer"]: now[key] / (one["took"] * SCALES[one["unit"]]) for one in references
             if (key := (one["part"], one["row"], one["peer"])) in now}
    return max(1, min(times.values(), default=1)), times


def pace_of_row(row, references, times, pace):
    """The pace of the peer that stands in this row, where it is one of the references; else that of all."""
    own = [times[one["peer"]] for one in references
           if (one["part"], one["row"]) == (row["part"], row["name"]) and one["peer"] in times]
    return max([pace, *own])


def limit(target, row, pace):
    """The most that ours may take, in base units; None where there is no target."""
    if target is None:
        return None
    if "most" in target:
        return target["most"] * SCALES[target["unit"]] * (pace if target["unit"] in TIMES else 1)
    return target["ratio"] * row["peers"][target["to"]]


def judge(row, part, pace):
    target = part["targets"].get(row["name"])
    row["target"] = limit(target, row, pace)
    row["wanted"] = "" if target is None else (
        f"{target['most']} {target['unit']}" if "most" in target else f"{target['ratio']} × {target['to']}")
    row["misses"] = []
    if target is None:
        return row
    if row["ours"] > row["target"]:
        row["misses"].append(f"{shown(row['ours'], row['unit'])}, target {row['wanted']}"
                             + (f" ({row['ours'] / row['peers'][target['to']]:.2f} × now)" if "to" in target else ""))
    faster = part.get("faster than", [])
    for peer, times in (faster if isinstance(faster, dict) else dict.fromkeys(faster, 1)).items():
        if peer in row["peers"] and row["ours"] * times > row["peers"][peer]:
            row["misses"].append(f"{shown(row['ours'], row['unit'])}, {peer} {shown(row['peers'][peer], row['unit'])}")
    return row


def verdict(row):
    if not row["wanted"]:
        return ""
    return "NOT MET" if row["misses"] else "met"


def table(part, found):
    print(f"\n== {part['title']}")
    if "note" in part:
        print(part["note"])
    width = max(len(row["name"]) for row in found)
    print(f"{'':{width}}  {'target':>13}  {'ours':>9}  {'':7}  peers, and how many times as long they take")
    for row in found:
        peers = ", ".join(f"{name} {shown(figure, row['unit'])} ({multiple(figure / row['ours'])})"
                          for name, figure in row["peers"].items())
        ours = shown(row["ours"], row["unit"])
        print(f"{row['name']:{width}}  {row['wanted']:>13}  {ours:>9}  {verdict(row):7}  {peers}")


def summary(found, parts):
    measured = {(row["part"], row["name"]) for row in found}
    missing = [f"{name}: {target}" for name, part in parts.items() for target in part["targets"]
               if (name, target) not in measured]
    wanted = [row for row in found if row["wanted"]]
    missed = [row for row in wanted if row["misses"]]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} targets met")
    for row in missed:
        print(f"NOT MET  {row['part']}: {row['name']}: {'; '.join(row['misses'])}")
    for target in missing:
        print(f"NOT MEASURED  {target}")


def fsync_cost():
    """The median of seconds that the system takes to bring a small file to the disk: no durable set is faster."""
    times = []
    path = BENCH / "fsync"
    for _ in range(15):
        with open(path, "wb") as file:
            file.write(b"x" * 4096)
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    path.unlink()
    return statistics.median(times)


def machine():
    names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return {"processor": names[0] if names else platform.machine(), "cores": os.cpu_count(),
            "load": os.getloadavg()[0], "fsync": fsync_cost(),
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


# ---- The picture: each row's figure as a multiple of its target, on a logarithmic scale

LEFT, WIDTH, LINE = 330, 560, 20
OURS, MISSED = "#2e7d32", "#b3261e"
# One for each peer, in the order in which they are met; none is ours.
COLOURS = ("#1f77b4", "#ff7f0e", "#9467bd", "#17becf", "#e377c2", "#8c564b", "#bcbd22", "#7f7f7f", "#000080", "#ffbb78",
           "#c5b0d5", "#00a0a0", "#f7b6d2", "#5c3317", "#808000", "#404040", "#6495ed", "#ffd700", "#4b0082", "#d2b48c",
           "#ff69b4", "#2f4f4f", "#87ceeb", "#a0522d", "#dda0dd", "#556b2f", "#b0c4de", "#cd853f", "#191970", "#c0c0c0")


def place(ratio):
    """Where a multiple of the target stands: 1/1000 to 1000 times."""
    return LEFT + WIDTH * (math.log10(min(max(ratio, 1e-3), 1e3)) + 3) / 6


def peers_of(rows):
    """The peers' names, as they come; the floor is part of targets, and not drawn."""
    return list(dict.fromkeys(peer for row in rows for peer in row["peers"] if peer != "floor"))


def colours_of(rows):
    return {peer: COLOURS[number % len(COLOURS)] for number, peer in enumerate(peers_of(rows))}


def drawn(row, y, colours):
    ratio = row["ours"] / row["target"]
    colour = MISSED if row["misses"] else OURS
    lines = [f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(row["name"])}</text>',
             f'<rect x="{LEFT}" y="{y - 5}" width="{place(ratio) - LEFT:.1f}" height="10" fill="{colour}"/>']
    for peer, figure in row["peers"].items():
        if peer in colours:
            x = place(figure / row["target"])
            lines.append(f'<circle cx="{x:.1f}" cy="{y}" r="4" stroke="white" fill="{colours[peer]}"><title>{escape(peer)} '
                         f'{shown(figure, row["unit"])}</title></circle>')
    lines.append(f'<text x="{LEFT + WIDTH + 10}" y="{y + 4}" fill="{colour}">{shown(row["ours"], row["unit"])}, '
                 f'{verdict(row)}</text>')
    return lines


def legend(rows, y, colours):
    """The part's peers with their colours, as many lines as they need; and the height of that."""
    lines, x, top = [], LEFT, y
    for peer in peers_of(rows):
        width = 22 + 7 * len(peer)
        if x + width > LEFT + WIDTH + 180 and x > LEFT:
            x, y = LEFT, y + LINE
        lines += [f'<circle cx="{x + 4}" cy="{y}" r="4" fill="{colours[peer]}"/>',
                  f'<text x="{x + 12}" y="{y + 4}">{escape(peer)}</text>']
        x += width
    return lines, y - top + (LINE if lines else 0)


def scale(top, bottom):
    """A line at each power of ten, named above and below; the target's is black."""
    for power in range(-3, 4):
        x, colour = place(10 ** power), "black" if power == 0 else "#dddddd"
        name = "target" if power == 0 else f"{10 ** power}×" if power > 0 else f"1/{10 ** -power}"
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="{colour}"/>'
        for y in (top - 6, bottom + 14):
            yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="#555555">{name}</text>'


def plot(found, parts):
    lines, y, colours = [], 80, colours_of([row for row in found if row["target"]])
    for name, part in parts.items():
        own = [row for row in found if row["part"] == name and row["target"]]
        if not own:
            continue
        lines.append(f'<text x="10" y="{y + 4}" font-weight="bold">{escape(part["title"])}</text>')
        y += LINE
        named, height = legend(own, y, colours)
        lines, y = lines + named, y + height - LINE
        for row in own:
            y += LINE
            lines += drawn(row, y, colours)
        y += 2 * LINE
    frame = [f'<svg xmlns="http://www.w3.org/2000/svg" width="1080" height="{y + 10}" font-family="sans-serif" '
             'font-size="12">',
             f'<rect width="1080" height="{y + 10}" fill="white"/>',
             '<text x="10" y="20">What each row takes, as a multiple of its target, on a logarithmic scale: to the left '
             'is faster or smaller.</text>',
             f'<text x="10" y="38">Bars are ours: <tspan fill="{OURS}">within the target</tspan>, '
             f'<tspan fill="{MISSED}">beyond it</tspan>. Dots are the peers named above each part.</text>',
             *scale(64, y - LINE)]
    return "\n".join(frame + lines + ["</svg>"]) + "\n"


def main():
    targets = json.loads((ROOT / "Benchmarks/targets.json").read_text())
    parts = {name: targets[name] for name in sys.argv[1:]}
    measured = [row for name in parts for row in rows(name)]
    pace, references = pace_of(targets["pace"], measured)
    found = [judge(row, parts[row["part"]], pace_of_row(row, targets["pace"], references, pace)) for row in measured]
    for name, part in parts.items():
        own = [row for row in found if row["part"] == name]
        if own:
            table(part, own)
    here = machine()
    print(f"\n{here['processor']}, {here['cores']} cores, load {here['load']:.1f}; an fsync takes "
          f"{shown(here['fsync'], 's')}")
    slower = ", ".join(f"{peer} {multiple(times)}" for peer, times in references.items())
    print(f"Targets in units of time allow {pace:.2f} times as much as where they were set: "
          f"{slower or 'no peer was measured that was measured there'}")
    summary(found, parts)
    for row in found:
        row["met"] = not row["misses"] if row["wanted"] else None
        row["ratios"] = {peer: figure / row["ours"] for peer, figure in row["peers"].items()}
    results = {"machine": here, "pace": pace, "rows": found}
    (BENCH / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (BENCH / "results.svg").write_text(plot(found, parts))
    print("\nbuild/bench/results.json, build/bench/results.svg")


if __name__ == "__main__":
    main()
