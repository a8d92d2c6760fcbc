"""Small plots in text, made of block elements and ASCII, that stay readable at 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_LEVELS: Final = "▁▂▃▄▅▆▇█"


def bar(value: float, whole: float, width: int) -> str:
    """Return a bar of `value` out of `whole`, at most `width` cells; whatever is not zero shows at least a mark."""
    if whole <= 0 or value <= 0 or width <= 0:
        return ""
    full, rest = divmod(max(1, round(min(value / whole, 1.0) * width * 8)), 8)
    return _EIGHTHS[8] * full + (_EIGHTHS[rest] if rest else "")


def strip(values: Sequence[float], width: int) -> str:
    """Return the samples in the order they were taken, one cell each, or the largest of each bucket when they are many.

    The lowest sample stands at the lowest mark and the highest at the highest, so drift and spikes are seen.
    """
    if not values or width <= 0:
        return ""
    cells = min(width, len(values))
    edges = [index * len(values) // cells for index in range(cells + 1)]
    peaks = [max(values[start:end]) for start, end in pairwise(edges)]
    low, span = min(values), max(values) - min(values)
    steps = len(_LEVELS) - 1
    return "".join(_LEVELS[round((peak - low) / span * steps) if span > 0 else 0] for peak in peaks)


def whiskers(low: float, middle: float, high: float, left: float, right: float, width: int) -> str:
    """Return an interval with its middle on an axis from `left` to `right`: `   |--*---|   `."""
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
