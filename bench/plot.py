#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what device_update and reduce_policy have measured.

python3 bench/plot.py [--out FOLDER] FILE.json...

Writes one SVG for each mode and state of the L2 next to each file, or into FOLDER: time of a call against size, or bars
where there is one size. Prints how the aims stand that bench/README.md names. Needs the standard library only.
"""

import argparse
import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

COLOURS = ["#0b62a4", "#d1495b", "#2e933c", "#8e5ea2", "#edae49", "#00798c", "#6c757d", "#b5651d", "#111111"]
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 460, 300, 3
LEFT, RIGHT, TOP, BOTTOM = 60, 14, 30, 36
FONT = "font-family='sans-serif'"


def grouped(rows, *keys):
    """Rows by their values of `keys`, in order of appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def text(x, y, words, size=11, anchor="start", colour="#222"):
    return (f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' fill='{colour}' {FONT}>"
            f"{escape(str(words))}</text>")


def line(x1, y1, x2, y2, colour="#ddd", width=1.0):
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' stroke-width='{width}'/>"


def short(value):
    """A number of microseconds in few letters."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def lines_panel(rows, colours):
    """Time against size, both logarithmic."""
    sizes = sorted({row["size"] for row in rows})
    times = [row["us"] for row in rows if row["us"] > 0]
    if not times:
        return [text(LEFT, TOP + 20, "no times")]
    low_x, high_x = math.log2(sizes[0]), math.log2(sizes[-1])
    low_y, high_y = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high_y = max(high_y, low_y + 1)
    width, height = PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM

    def at(size, us):
        x = LEFT + width * (math.log2(size) - low_x) / (high_x - low_x)
        y = TOP + height * (1 - (math.log10(us) - low_y) / (high_y - low_y))
        return x, y

    out = []
    for power in range(low_y, high_y + 1):
        _, y = at(sizes[0], 10.0**power)
        out += [line(LEFT, y, LEFT + width, y), text(LEFT - 6, y + 4, f"{10.0**power:g} us", 10, "end")]
    for size in sizes:
        x, _ = at(size, 10.0**low_y)
        out += [line(x, TOP, x, TOP + height), text(x, TOP + height + 14, f"2^{math.log2(size):.0f}", 10, "middle")]
    for (subject,), of_subject in grouped(rows, "subject").items():
        points = [at(row["size"], row["us"]) for row in sorted(of_subject, key=lambda r: r["size"]) if row["us"] > 0]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        thick = 2.6 if subject == "tally" else 1.4
        out.append(f"<polyline points='{joined}' fill='none' stroke='{colours[subject]}' stroke-width='{thick}'/>")
        out += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.2' fill='{colours[subject]}'/>" for x, y in points]
    return out


def bars_panel(rows, colours):
    """A bar for each subject, as long as its time."""
    longest = max(row["us"] for row in rows) or 1.0
    height = min(20.0, (PANEL_HEIGHT - TOP - BOTTOM) / len(rows))
    width = PANEL_WIDTH - 190
    out = []
    for index, row in enumerate(rows):
        y = TOP + index * height
        length = width * row["us"] / longest
        out.append(f"<rect x='130' y='{y + 2:.1f}' width='{length:.1f}' height='{height - 4:.1f}' "
                   f"fill='{colours[row['subject']]}'/>")
        out += [text(126, y + height / 2 + 4, row["subject"], 10, "end"),
                text(134 + length, y + height / 2 + 4, short(row["us"]) + " us", 10)]
    return out


def draw(measured, rows, title):
    """The whole picture as text."""
    subjects = list(dict.fromkeys(row["subject"] for row in rows))
    colours = {subject: COLOURS[index % len(COLOURS)] for index, subject in enumerate(subjects)}
    panels = grouped(rows, "work", "element")
    # The baselines of "values" are those of "values, N metrics" as well.
    for (work, element), of_panel in panels.items():
        if work.startswith("values,"):
            of_panel += panels.get(("values", element), [])
    panels = {key: of_panel for key, of_panel in panels.items() if key[0] != "values" or len(panels) == 1}
    legend_rows = (len(subjects) + 5) // 6
    head = 62 + 18 * legend_rows
    rows_of_panels = (len(panels) + COLUMNS - 1) // COLUMNS
    width = PANEL_WIDTH * COLUMNS
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{head + rows_of_panels * PANEL_HEIGHT}'>",
           "<rect width='100%' height='100%' fill='white'/>", text(14, 24, title, 17)]
    facts = f"{measured['card']}, {measured['toolkit']}, {measured['driver']}, {measured['date']}: {measured['command']}"
    out.append(text(14, 44, facts, 11, colour="#555"))
    if not measured["real_device"] or measured["quick"]:
        why = "vgpu, an interpreter" if not measured["real_device"] else "--quick"
        out.append(text(width - 14, 24, f"not a measurement of a GPU: {why}", 15, "end", "#c00"))
    for index, subject in enumerate(subjects):
        x, y = 14 + 225 * (index % 6), 62 + 18 * (index // 6)
        out += [line(x, y - 4, x + 22, y - 4, colours[subject], 3), text(x + 28, y, subject)]
    for index, ((work, element), of_panel) in enumerate(panels.items()):
        x, y = PANEL_WIDTH * (index % COLUMNS), head + PANEL_HEIGHT * (index // COLUMNS)
        out.append(f"<g transform='translate({x},{y})'>")
        out.append(text(LEFT, 18, f"{work} ({element})", 13))
        many_sizes = len({row["size"] for row in of_panel}) > 1
        out += lines_panel(of_panel, colours) if many_sizes else bars_panel(of_panel, colours)
        out.append("</g>")
    return "\n".join(out + ["</svg>", ""])


def time_of(rows, **wanted):
    """The one time with these values, or None."""
    found = [row["us"] for row in rows if all(row[key] == value for key, value in wanted.items())]
    return found[0] if found else None


def aims(rows):
    """Lines that say how the aims stand, for those that these rows hold."""
    cold = {"mode": "batched", "l2": "cold"}
    lines = []

    def share(aim, work, size, least, **more):
        more = {"element": "fp32", **cold, **more}
        ours = time_of(rows, work=work, subject="tally", size=size, **more)
        plain_work = "values" if work.startswith("values") else work
        best = time_of(rows, work=plain_work, subject="cub sum", size=size, **more)
        if ours and best:
            lines.append(f"{aim}: {100 * best / ours:.0f} % of cub::DeviceReduce::Sum on the same bytes (aim: {least} %)")

    share("ten metrics of 2^28 values", "values, 10 metrics", 1 << 28, 90)
    share("three metrics of 2^28 values", "values, 3 metrics", 1 << 28, 90)
    share("ten metrics of 2^28 pairs", "pairs, 10 metrics", 1 << 28, 90)
    share("rows 8192x1000", "rows 8192x1000, 5 metrics", 8192, 85)
    small = {"size": 1 << 13, "element": "fp32", "mode": "batched", "l2": "warm"}
    ours, empty = time_of(rows, work="values, 3 metrics", subject="tally", **small), time_of(
        rows, work="values", subject="empty kernel", **small)
    if ours and empty:
        lines.append(f"three metrics of 2^13 values: {ours:.2f} us, an empty kernel {empty:.2f} us "
                     f"(aim: at most {1.2 * empty + 2:.2f} us)")
    table = {"work": "confusion 1000x1000, 90 %", "size": 1 << 26, "element": "int32", **cold}
    ours, best = time_of(rows, subject="automatic", **table), time_of(rows, subject="float sum", **table)
    if ours and best:
        lines.append(f"confusion 1000x1000, 90 % on the diagonal: {100 * best / ours:.0f} % of a float sum of the same "
                     f"bytes (aim: 50 %)")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the pictures")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.json")
    chosen = parser.parse_args()
    for path in chosen.files:
        measured = json.loads(path.read_text(encoding="utf-8"))
        folder = chosen.out or path.parent
        folder.mkdir(parents=True, exist_ok=True)
        for (mode, l2), rows in grouped(measured["rows"], "mode", "l2").items():
            target = folder / f"{path.stem}_{mode}_{l2}.svg"
            target.write_text(draw(measured, rows, f"{measured['program']}: {mode}, {l2} L2"), encoding="utf-8")
            print(target)
        if not measured["real_device"]:
            print("measured on vgpu, an interpreter: nothing about a GPU")
        elif not measured["quick"]:
            print("\n".join(aims(measured["rows"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
