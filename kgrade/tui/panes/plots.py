"""Small plots in text that stay readable at 80 columns: block elements and braille, or ASCII where those lack.

A console without a font for them (`TERM=linux`) and a locale that is not UTF-8 get ASCII.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_LEVELS_PLAIN: Final = "_.,-=+*#"
# Unicode, Braille Patterns: bit of the dot at column x (0-1) and row y (0-3) of a cell, over U+2800.
_DOTS: Final = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
MARKS: Final = "ox+*#"
"""One mark for each series, in their order; further series begin anew."""

SEVERAL: Final = "@"
"""The mark of a cell in which points of several series lie."""


def plain() -> bool:
    """Whether the terminal may lack block elements and braille."""
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "utf-8")
    return os.environ.get("TERM") == "linux" or "utf" not in locale.lower()


def bar(value: float, whole: float, width: int) -> str:
    """Return a bar of `value` out of `whole`, at most `width` cells; whatever is not zero shows at least a mark."""
    if whole <= 0 or value <= 0 or width <= 0:
        return ""
    share = min(value / whole, 1.0) * width
    if plain():
        return "#" * max(1, round(share))
    full, rest = divmod(max(1, round(share * 8)), 8)
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
    levels = _LEVELS_PLAIN if plain() else _LEVELS
    return "".join(levels[round((peak - low) / span * 7) if span > 0 else 0] for peak in peaks)


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, both shown; `log`: equal steps are equal ratios, and `low` is above 0."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def over(cls, values: Sequence[float], *, log: bool | None = None) -> Axis:
        """An axis that holds all of `values`; logarithmic from a ratio of 10 on, unless `log` says otherwise."""
        low, high = min(values), max(values)
        if log is None:
            log = low > 0 and high / low >= 10
        if high <= low or (log and math.log(high) <= math.log(low)):
            low, high = (low / 2, low * 2) if log else (low - (abs(low) / 2 or 1), low + (abs(low) / 2 or 1))
        return cls(low, high, log)

    def place(self, value: float, places: int) -> int:
        """The place of `value` among `places`, 0 to `places` - 1; the nearest for a value outside."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, self.low))
        return min(places - 1, max(0, round((value - low) / (high - low) * (places - 1))))


def density(values: Sequence[float], axis: Axis, width: int) -> str:
    """Return how many of `values` lie in each of `width` cells of `axis`; the fullest cell is full."""
    if width <= 0:
        return ""
    counts = [0] * width
    for value in values:
        counts[axis.place(value, width)] += 1
    levels, most = (_LEVELS_PLAIN if plain() else _LEVELS), max(counts)
    return "".join(levels[math.ceil(count / most * 8) - 1] if count else " " for count in counts).rstrip()


def whiskers(low: float, middle: float, high: float, axis: Axis, width: int) -> str:
    """Return an interval with its middle on `axis`: `   |--*---|`."""
    if width < 3:
        return ""
    cells = [" "] * width
    first, last = axis.place(low, width), axis.place(high, width)
    cells[first : last + 1] = "-" * (last + 1 - first)
    cells[first] = cells[last] = "|"
    cells[axis.place(middle, width)] = "*"
    return "".join(cells).rstrip()


Points = Sequence[tuple[float, float]]


def chart(
    series: Mapping[str, Points],
    labels: tuple[Callable[[float], str], Callable[[float], str]],
    *,
    width: int = 64,
    height: int = 10,
    joined: bool = True,
    lines: Sequence[Points] = (),
) -> Iterator[str]:
    """Yield the lines of a log-log plot of `series`, with their marks named below it; `lines` bear no marks.

    `labels` write a number of the x axis and of the y axis. `joined`: the points of a series are joined, from left to
    right. All coordinates are above 0, and there is at least one point. No line is longer than `width`.
    """
    xs, ys = zip(*(point for points in (*series.values(), *lines) for point in points))
    x, y = Axis.over(xs, log=True), Axis.over(ys, log=True)
    ends = [labels[1](y.high), labels[1](y.low)]
    room = max(map(len, ends))
    columns = width - room - 2
    field = _Field(columns, height)
    for points in lines:
        for start, end in pairwise([(x.place(a, columns * 2), y.place(b, height * 4)) for a, b in points]):
            field.line(start, end)
    for number, points in enumerate(series.values()):
        places = [(x.place(a, columns * 2), y.place(b, height * 4)) for a, b in sorted(points)]
        if joined:
            for start, end in pairwise(places):
                field.line(start, end)
        for a, b in places:
            field.mark(a, b, MARKS[number % len(MARKS)])
    side, corner, floor = ("|", "+", "-") if plain() else ("│", "└", "─")
    for number, row in enumerate(field.rows()):
        label = ends[0] if number == 0 else ends[1] if number == height - 1 else ""
        yield f"{label:>{room}} {side}{row}".rstrip()
    yield f"{'':>{room}} {corner}{floor * columns}"
    left, right = labels[0](x.low), labels[0](x.high)
    yield f"{'':>{room}}  {left}{right:>{columns - len(left)}}"
    legend = [f"{MARKS[number % len(MARKS)]} {name}" for number, name in enumerate(series)]
    yield f"{'':>{room}}  " + "  ".join([*legend, *([f"{SEVERAL} several"] if field.shared else [])])


class _Field:
    """Cells of 2 by 4 dots, with marks over them; dot (0, 0) is at the bottom left."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._dots = [[0] * columns for _ in range(rows)]
        self._marks: dict[tuple[int, int], str] = {}

    def line(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        for step in range(steps + 1):
            a, b = (round(one + (other - one) * step / steps) for one, other in zip(start, end))
            row, within = divmod(self._rows * 4 - 1 - b, 4)
            self._dots[row][a // 2] |= _DOTS[a % 2][within]

    def mark(self, a: int, b: int, mark: str) -> None:
        cell = ((self._rows * 4 - 1 - b) // 4, a // 2)
        self._marks[cell] = mark if self._marks.get(cell, mark) == mark else SEVERAL

    @property
    def shared(self) -> bool:
        return SEVERAL in self._marks.values()

    def rows(self) -> Iterator[str]:
        for number, row in enumerate(self._dots):
            yield "".join(
                self._marks.get((number, column)) or (("." if plain() else chr(0x2800 + dots)) if dots else " ")
                for column, dots in enumerate(row)
            )
