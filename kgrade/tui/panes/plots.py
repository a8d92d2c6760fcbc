"""Small plots in text that stay readable at 80 columns, in block characters or in plain ASCII."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BLOCKS = " ▏▎▍▌▋▊▉█"
_LEVELS = " ▁▂▃▄▅▆▇█"
_ASCII_LEVELS = " .:-=+*#@"


def bar(value: float, whole: float, width: int, *, ascii_only: bool = False) -> str:
    """Return a bar of `value` out of `whole`, at most `width` cells; whatever is not zero shows at least a mark."""
    if whole <= 0 or value <= 0 or width <= 0:
        return ""
    eighths = max(1, round(min(value / whole, 1.0) * width * 8))
    if ascii_only:
        return "#" * max(1, eighths // 8)
    full, rest = divmod(eighths, 8)
    return _BLOCKS[8] * full + (_BLOCKS[rest] if rest else "")


def strip(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """Return the samples in the order they were taken, one cell each, or the largest of each bucket when they are many.

    The lowest sample stands at the lowest mark and the highest at the highest, so drift and spikes are seen.
    """
    if not values or width <= 0:
        return ""
    cells = min(width, len(values))
    edges = [index * len(values) // cells for index in range(cells + 1)]
    peaks = [max(values[start:end]) for start, end in zip(edges, edges[1:], strict=False)]
    low, high = min(values), max(values)
    levels = _ASCII_LEVELS if ascii_only else _LEVELS
    steps = len(levels) - 2
    span = high - low
    return "".join(levels[1 + (round((peak - low) / span * steps) if span > 0 else 0)] for peak in peaks)


def density(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """Return how the samples are spread from the lowest (left) to the highest (right): the fuller a cell, the more."""
    if not values or width <= 0:
        return ""
    low, high = min(values), max(values)
    counts = [0] * width
    for value in values:
        place = int((value - low) / (high - low) * (width - 1) + 0.5) if high > low else 0
        counts[place] += 1
    levels = _ASCII_LEVELS if ascii_only else _LEVELS
    top = max(counts)
    return "".join(levels[math.ceil(count / top * (len(levels) - 1))] for count in counts)


def whiskers(low: float, middle: float, high: float, left: float, right: float, width: int) -> str:
    """Return an interval with its middle on an axis from `left` to `right`: `   |--*---|   `. ASCII only."""
    if right <= left or width < 3:
        return ""

    def cell(value: float) -> int:
        return min(width - 1, max(0, round((value - left) / (right - left) * (width - 1))))

    cells = [" "] * width
    for place in range(cell(low), cell(high) + 1):
        cells[place] = "-"
    cells[cell(low)] = cells[cell(high)] = "|"
    cells[cell(middle)] = "*"
    return "".join(cells)
