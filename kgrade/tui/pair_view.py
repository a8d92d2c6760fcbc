"""Two submissions of a task beside each other, pane by pane: plain functions from items to lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, Literal

import msgspec

from kgrade.audit.comparing import Pair, rows
from kgrade.desk.item import Item
from kgrade.desk.sheet import Sheet
from kgrade.records.comparison import Comparison
from kgrade.tui.lines import LazyRows, Lines, Row, Rows
from kgrade.tui.pane import Pane
from kgrade.tui.panes import diff
from kgrade.tui.panes.layout import BLANK, Column, Entry, Joined, Late, heading, sentence, table

PaneMaker = Callable[[Item, Sheet], Pane]
Preferred = Literal["first", "second", "neither"]

_NONE: Final = Rows([])


def pair_makers(
    makers: Mapping[str, PaneMaker], pair: Pair, first: Item, said: Comparison | None
) -> dict[str, PaneMaker]:
    """Makers of the panes for the second item of the pair, each with `first` beside it; the task is one for both.

    `said` is the evaluator's own preference, if there is one.
    """
    both = {name: partial(_both, make, first) for name, make in makers.items()}
    summary = Pane(summary_lines(pair, said))
    return {**both, "task": makers["task"], "diff": partial(_code, first), "grades": lambda item, sheet: summary}


def summary_lines(pair: Pair, said: Comparison | None) -> Lines:
    """Every stage, time and grade of both in one table; what differs is a mark."""
    shown = [heading(pair.task, f"{pair.first.id.submission} and {pair.second.id.submission}")]
    if said is None:
        shown += sentence("No preference yet: 1 the first, 2 the second, 0 neither is better.", "dim")
    else:
        shown += sentence(f"{preference(said)}: {said.reason}", "good", lead="✓ ")
    compared = list(rows(pair))
    if not compared:
        return Rows([*shown, BLANK, *sentence("Neither has evidence or a grade.", lead="— ")])
    columns = [Column("", most=34), Column(pair.first.id.submission or ""), Column(pair.second.id.submission or "")]
    entries = [Entry(row, mark="finding" if row[1] != row[2] else "") for row in compared]
    return Rows([*shown, BLANK, *table(columns, entries)])


def preference(said: Comparison) -> str:
    """The preference in words: `you prefer s02 to s01`."""
    first, second = said.first.submission, said.second.submission
    if said.preferred == "neither":
        return f"you prefer neither {first} nor {second}"
    better, worse = (first, second) if said.preferred == "first" else (second, first)
    return f"you prefer {better} to {worse}"


def beside(left: Lines, right: Lines) -> Lines:
    """`left` and `right` row by row; the shorter one ends in blanks. A fold opens on both sides."""

    def make(number: int) -> Row:
        one = left[number] if number < len(left) else Row()
        other = right[number] if number < len(right) else Row()
        folds = one.fold, other.fold
        fold = beside(folds[0] or _NONE, folds[1] or _NONE) if any(each is not None for each in folds) else None
        return replace(one, beside=other, fold=fold, mark=one.mark or other.mark, to=None)

    return LazyRows(max(len(left), len(right)), make, sorted({*left.marks, *right.marks}))


def _both(make: PaneMaker, first: Item, second: Item, sheet: Sheet) -> Pane:
    one, other = make(first, Sheet()), make(second, sheet)
    heads = [Rows([heading(str(item.id))]) for item in (first, second)]

    def stacked() -> Lines:
        return Joined([heads[0], one.lines, Rows([BLANK]), heads[1], other.lines])

    def split() -> Lines:
        return beside(Joined([heads[0], one.lines]), Joined([heads[1], other.lines]))

    return Pane(Late(stacked), other.glance, Late(split))


def _code(first: Item, second: Item, sheet: Sheet) -> Pane:
    """What the second does otherwise than the first."""
    name = str(first.id)
    against = msgspec.structs.replace(second, bases={name: first.solution})
    pane = diff.pane(against, sheet, name)
    return replace(pane, bases={base: pane.bases[base] for base in (name, diff.NOTHING) if base in pane.bases})
