"""Finds where moving a band of rows saves sending them again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from operator import gt, ne
from typing import Final, NamedTuple

from kgrade.tui.driver.cells import BLANK, Cell, Grid

_GAP: Final = 3
"""Rows that may differ inside a band: the current line is drawn differently from the others."""

_ADDRESS: Final = 5
"""About the bytes that take the cursor to a run of changed cells."""

_COST: Final = 24
"""About the bytes that setting a region, moving its rows and freeing it again take."""


class Scroll(NamedTuple):
    """Rows `top` to `bottom` (both included) move up by `lines`, down if negative."""

    top: int
    bottom: int
    lines: int


def best_scroll(shown: Grid, wanted: Grid) -> Scroll | None:
    """The scroll that turns most of `shown` into `wanted`, or None if none saves anything."""
    changed = [y for y in range(wanted.height) if shown.rows[y] != wanted.rows[y]]
    if len(changed) < 3:
        return None
    places: defaultdict[str, list[int]] = defaultdict(list)
    for y, row in enumerate(shown.rows):
        places[_text(row)].append(y)
    votes: Counter[int] = Counter()
    sources: dict[int, list[int]] = {}
    for y in changed:
        text = _text(wanted.rows[y])
        if text.strip():
            sources[y] = [source - y for source in places.get(text, ()) if source != y]
            votes.update(sources[y])
    for lines, _count in votes.most_common(2):
        matched = [y for y, shifts in sources.items() if lines in shifts]
        top, bottom = _longest_run(matched)
        scroll = Scroll(min(top, top + lines), max(bottom, bottom + lines), lines)
        if _saves(scroll, shown, wanted):
            return scroll
    return None


def _text(row: Sequence[Cell]) -> str:
    return "".join([cell.text for cell in row])


def _longest_run(rows: Sequence[int]) -> tuple[int, int]:
    runs = [(rows[0], rows[0])]
    for y in rows[1:]:
        top, bottom = runs[-1]
        if y - bottom > _GAP:
            runs.append((y, y))
        else:
            runs[-1] = (top, y)
    return max(runs, key=lambda run: run[1] - run[0])


def _saves(scroll: Scroll, shown: Grid, wanted: Grid) -> bool:
    without = with_scroll = 0
    blank = [BLANK] * shown.width
    for y in range(scroll.top, scroll.bottom + 1):
        source = y + scroll.lines
        moved = shown.rows[source] if scroll.top <= source <= scroll.bottom else blank
        without += _cost(shown.rows[y], wanted.rows[y])
        with_scroll += _cost(moved, wanted.rows[y])
    return with_scroll + _COST < without


def _cost(before: Sequence[Cell], after: Sequence[Cell]) -> int:
    """About the bytes that turn one row into another: its changed cells, and a cursor address for each run."""
    differs: list[bool] = list(map(ne, before, after))
    runs: int = sum(map(gt, differs, [False, *differs]))
    return sum(differs) + _ADDRESS * runs
