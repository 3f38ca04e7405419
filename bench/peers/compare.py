# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
"""Prints a peer's and tally's times of the same work side by side, with peer time / tally time.

    python3 compare.py <peer's results> <tally's results>

Each file holds JSON Lines {"work", "size", "threads", "ns"} (ns: one update) or the JSON output of Google Benchmark,
with benchmarks named peer/<work>/<size>/threads:<n>. One side may be missing: then the other is shown, and why.
"""

import json
import pathlib
import re
import statistics
import sys

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# Google Benchmark appends what its options add, as in "/real_time", and the aggregate's name.
NAME = re.compile(r"^peer/(?P<work>[^/]+)/(?P<size>[^/]+)/threads:(?P<threads>\d+)(?:/[^/]*)*$")
# How a work's time is shown: the unit, its nanoseconds, and whether it is for one item of the size or for an update.
SHOWN = {"three_scalars": ("ns/pair", 1.0, True), "score_matrix": ("ms/update", 1e6, False)}


def google_benchmark_results(document):
    """{(work, size, threads): ns of one update}; the median of the repetitions."""
    samples = {}
    failures = {}
    for entry in document["benchmarks"]:
        match = NAME.match(entry.get("run_name", entry["name"]))
        if not match or entry.get("run_type") == "aggregate":
            continue
        if entry.get("error_occurred") or entry.get("skipped"):
            failures[entry["name"]] = entry.get("error_message", "skipped")
            continue
        key = (match["work"], match["size"], int(match["threads"]))
        samples.setdefault(key, []).append(entry["real_time"] * NANOSECONDS[entry.get("time_unit", "ns")])
    for name, reason in failures.items():
        print(f"{name}: {reason}", file=sys.stderr)
    return {key: statistics.median(times) for key, times in samples.items()}


def json_lines_results(text):
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return {(row["work"], row["size"], int(row["threads"])): float(row["ns"]) for row in rows}


def read_results(path):
    """Results by (work, size, threads), and why there are none: (results, reason)."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, f"there is no {path} (not built, or not run)"
    if not text.strip():
        return {}, f"{path} is empty (the run failed)"
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    try:
        if isinstance(document, dict) and "benchmarks" in document:
            results = google_benchmark_results(document)
        else:
            results = json_lines_results(text)
    except (ValueError, KeyError, TypeError) as error:
        return {}, f"{path} can't be read: {type(error).__name__}: {error}"
    return results, "" if results else f"{path} holds no benchmark named peer/<work>/<size>/threads:<n>"


def order(key):
    work, size, threads = key
    rank = list(SHOWN).index(work) if work in SHOWN else len(SHOWN)
    return rank, work, [int(number) for number in reversed(re.findall(r"\d+", size))], threads


def shown(work, size, ns):
    if ns is None:
        return "-"
    unit, nanoseconds, for_one_item = SHOWN.get(work, ("ns/update", 1.0, False))
    return f"{ns / (int(size) if for_one_item else 1) / nanoseconds:.4g} {unit}"


def table(peer, tally):
    rows = [("work", "size", "threads", "torchmetrics", "tally", "ratio")]
    for key in sorted(peer.keys() | tally.keys(), key=order):
        work, size, threads = key
        both = key in peer and key in tally
        rows.append(
            (
                work.replace("_", " "),
                size,
                str(threads),
                shown(work, size, peer.get(key)),
                shown(work, size, tally.get(key)),
                f"{peer[key] / tally[key]:.2f}" if both else "-",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    aligned = [[cell.rjust(width) for cell, width in zip(row, widths)] for row in rows]
    for cells, row in zip(aligned, rows):
        cells[:2] = [row[column].ljust(widths[column]) for column in (0, 1)]
    return "\n".join("  ".join(cells) for cells in aligned)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    peer, peer_missing = read_results(sys.argv[1])
    tally, tally_missing = read_results(sys.argv[2])
    if peer or tally:
        print(table(peer, tally))
    for side, reason in (("torchmetrics", peer_missing), ("tally", tally_missing)):
        if reason:
            print(f"no results of {side}: {reason}")
    if not peer and not tally:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
