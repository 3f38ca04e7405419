#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/monitor_picture.svg: the gradients of 8 replicas and their average, as histograms of the same bins.

Usage: python3 docs/monitor_picture.py > docs/monitor_picture.svg
"""

import random

REPLICAS, ELEMENTS, BINS, LIMIT = 8, 4000, 48, 0.04
WIDTH, HEIGHT, MARGIN = 640, 260, 36


def gradients():
    """A gradient for each replica: a small signal that all share, and the noise of the samples of each."""
    source = random.Random(1)
    signal = [source.gauss(0.002, 0.003) for _ in range(ELEMENTS)]
    return [[s + source.gauss(0, 0.01) for s in signal] for _ in range(REPLICAS)]


def shares(values):
    counts = [0] * BINS
    for x in values:
        k = int((x + LIMIT) / (2 * LIMIT) * BINS)
        counts[min(max(k, 0), BINS - 1)] += 1
    return [c / len(values) for c in counts]


def bars(heights, top, colour):
    width = (WIDTH - 2 * MARGIN) / BINS
    for k, height in enumerate(heights):
        pixels = height / top * (HEIGHT - 2 * MARGIN)
        yield (
            f'<rect x="{MARGIN + k * width:.1f}" y="{HEIGHT - MARGIN - pixels:.1f}" width="{width:.1f}" '
            f'height="{pixels:.1f}" fill="{colour}" fill-opacity="0.55"/>'
        )


def main():
    parts = gradients()
    every = shares([x for part in parts for x in part])
    averaged = shares([sum(column) / REPLICAS for column in zip(*parts)])
    top = max(every + averaged)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">')
    print("<title>Histograms of the gradients of 8 replicas and of their average</title>")
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>')
    for bar in list(bars(averaged, top, "#d95f02")) + list(bars(every, top, "#1b6ca8")):
        print(bar)
    axis = HEIGHT - MARGIN
    print(f'<line x1="{MARGIN}" y1="{axis}" x2="{WIDTH - MARGIN}" y2="{axis}" stroke="#444"/>')
    for x in (-LIMIT, 0, LIMIT):
        at = MARGIN + (x + LIMIT) / (2 * LIMIT) * (WIDTH - 2 * MARGIN)
        print(f'<text x="{at:.1f}" y="{axis + 18}" text-anchor="middle" fill="#222">{x:g}</text>')
    for row, (colour, text) in enumerate(
        [
            ("#1b6ca8", f"every replica&#8217;s gradient: {REPLICAS} x {ELEMENTS} values"),
            ("#d95f02", f"the averaged gradient: {ELEMENTS} values"),
        ]
    ):
        y = MARGIN - 14 + 20 * row
        print(f'<rect x="{MARGIN}" y="{y}" width="12" height="12" fill="{colour}" fill-opacity="0.55"/>')
        print(f'<text x="{MARGIN + 18}" y="{y + 11}" fill="#222">{text}</text>')
    print("</svg>")


main()
