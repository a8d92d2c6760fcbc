"""Draws a row of evidence as strips of a given width: one, or several when long lines are wrapped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from kgrade.records.neutral import neutral
from kgrade.tui.lines import Row, Span
from kgrade.tui.palette import STYLES, segments

_GUTTER_FROM: Final = 60
"""Columns from which there is room for line numbers."""

_CUT: Final = Segment("»", STYLES["dim"])
_CUT_LEFT: Final = Segment("«", STYLES["dim"])
_BETWEEN: Final = Segment("│", STYLES["dim"])


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows are laid out: columns, the first column shown, whether long rows wrap, what is searched."""

    width: int
    x: int = 0
    wrap: bool = False
    needle: str = ""


def row_strips(row: Row, layout: Layout) -> list[Strip]:
    """`row` in `layout.width` columns, at least one strip."""
    if row.beside is not None:
        return _halves(row, row.beside, layout)
    head = _head(row, layout.width)
    head_width = _width(head)
    aside = segments([Span(" "), *row.aside]) if row.aside else []
    room = max(1, layout.width - head_width)
    aside_width = _width(aside)
    if aside_width > room * 2 // 3:
        aside, aside_width = [], 0
    text = _text(row, layout.needle)
    if layout.wrap:
        lines = _wrapped(text, room - aside_width, room)
        indent = [Segment(" " * head_width)] if head_width else []
        first = Strip([*head, *_padded(lines[0], room - aside_width), *aside])
        return [first, *(Strip([*indent, *_padded(line, room)]) for line in lines[1:])]
    return [Strip([*head, *_window(text, layout.x, room - aside_width), *aside])]


def _halves(left: Row, right: Row, layout: Layout) -> list[Strip]:
    half = (layout.width - 1) // 2
    lefts = row_strips(replace(left, beside=None), replace(layout, width=half))
    rights = row_strips(right, replace(layout, width=layout.width - half - 1))
    height = max(len(lefts), len(rights))
    blank = Strip([])
    rows = []
    for number in range(height):
        first = lefts[number] if number < len(lefts) else blank
        second = rights[number] if number < len(rights) else blank
        rows.append(Strip([*first.adjust_cell_length(half), _BETWEEN, *second]))
    return rows


def _head(row: Row, width: int) -> list[Segment]:
    sign = neutral(row.sign[:1]) or " "
    gutter = row.gutter if width >= _GUTTER_FROM // (2 if row.beside else 1) else ()
    return segments([Span(sign, "note" if row.sign else ""), *gutter])


def _text(row: Row, needle: str) -> list[Segment]:
    text = segments(row.spans, row.base)
    return _with_matches(text, needle) if needle else text


def _with_matches(text: Sequence[Segment], needle: str) -> list[Segment]:
    whole = "".join(segment.text for segment in text)
    if needle == needle.lower():
        whole = whole.lower()
    spots: list[tuple[int, int]] = []
    at = whole.find(needle)
    while at >= 0:
        spots.append((at, at + len(needle)))
        at = whole.find(needle, at + len(needle))
    return _restyled(text, spots, STYLES["match"]) if spots else list(text)


def _restyled(text: Iterable[Segment], spots: Sequence[tuple[int, int]], style: Style) -> list[Segment]:
    """`text` with `style` over the characters from start to stop of each spot."""
    edges = sorted({edge for spot in spots for edge in spot})
    pieces: list[Segment] = []
    offset = 0
    for content, look, _ in text:
        cuts = [0, *(edge - offset for edge in edges if 0 < edge - offset < len(content)), len(content)]
        for start, stop in pairwise(cuts):
            inside = any(first <= offset + start < last for first, last in spots)
            pieces.append(Segment(content[start:stop], (look or Style.null()) + style if inside else look))
        offset += len(content)
    return pieces


def _window(text: list[Segment], x: int, room: int) -> list[Segment]:
    """Columns `x` to `x + room` of `text`, with signs where it goes on to either side."""
    whole = Strip(text)
    length = whole.cell_length
    start = x + 1 if x and length else x
    stop = x + room - 1 if length > x + room else x + room
    shown = list(whole.crop(start, stop)) if start < min(stop, length) else []
    left = [_CUT_LEFT] if start > x else []
    right = [_CUT] if length > x + room else []
    used = _width([*left, *shown, *right])
    return [*left, *shown, *right, *([Segment(" " * (room - used))] if used < room else [])]


def _wrapped(text: list[Segment], first: int, rest: int) -> list[list[Segment]]:
    """`text` cut into lines of `first`, then `rest` columns; no wide character is cut in two."""
    lines: list[list[Segment]] = [[]]
    left = max(2, first)
    for content, style, _ in text:
        start = 0
        graphemes, _width_of_all = split_graphemes(content)
        for begin, _end, width in graphemes:
            if width > left:
                if begin > start:
                    lines[-1].append(Segment(content[start:begin], style))
                lines.append([])
                start, left = begin, max(2, rest)
            left -= width
        lines[-1].append(Segment(content[start:], style))
    return lines


def _padded(text: list[Segment], room: int) -> list[Segment]:
    missing = room - _width(text)
    return [*text, Segment(" " * missing)] if missing > 0 else text


def _width(text: Iterable[Segment]) -> int:
    return sum(cell_len(segment.text) for segment in text)
