"""What the queue and one's own grades look like as rows: plain functions from places to lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, overload

from kgrade.desk import EmptyQueue, Place, Progress
from kgrade.records.slugs import ItemId
from kgrade.repository.index_rows import GradeRow, ItemRow
from kgrade.repository.order import Places, State
from kgrade.tui.lines import LazyRows, Lines, Row, Rows, Span, message, row

SORTS: Final = ("order", "state", "item", "total")
_STATES: Final[Mapping[State, tuple[int, str]]] = {
    "draft": (0, "focus"),
    "open": (1, ""),
    "skipped": (2, "warn"),
    "claimed": (3, "warn"),
    "graded": (4, "good"),
    "finished": (5, "dim"),
    "assigned": (6, "dim"),
    "retired": (7, "dim"),
    "faulty": (8, "bad"),
}
_SIGNS: Final = {"passed": "✓", "failed": "✗", "flagged": "!", "error": "!", "not-run": "—"}
_WORST_FIRST: Final = ("failed", "error", "flagged", "passed", "not-run")
_NARROWEST: Final = 12
_AT_ONCE: Final = 2000
"""Texts that are made in one go, in a few milliseconds."""

_NEWLINE: Final = "\n"
_NO_RESULT: Final = " " * 20
_STAGES: Final = (("build", "b"), ("check", "t"), ("time", "p"))


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows to show, and the item that each belongs to (None: to no item)."""

    lines: Lines
    items: Sequence[ItemId | None]

    @property
    def shown(self) -> int:
        """How many items stand here."""
        return len(self.items) if self.items and self.items[0] is not None else 0


class QueueTexts:
    """The queue for `evaluator` as one looks through it: a row is made when it is seen, its text when it is sought.

    May be used from several threads: `get_ready` makes the texts ahead, so that the first letter of a filter need not.
    """

    def __init__(self, places: Sequence[Place], evaluator: str) -> None:
        self.places = Places.of(places)
        self._evaluator = evaluator
        self._widest = max(_NARROWEST, self.places.longest_id)
        self._texts: list[str] = []
        self._turn = threading.Lock()
        self._found: tuple[str, Sequence[int]] = "", range(len(self.places))

    def get_ready(self, wanted: Callable[[], bool]) -> None:
        """Make the texts of all places, a few at a time, for as long as they are `wanted`."""
        while wanted() and self._make_some(_AT_ONCE):
            time.sleep(0)

    def listing(self, wanted: str = "", sort: str = "order") -> Listing:
        """What holds `wanted` in any column, in the queue's order or sorted."""
        if not self.places:
            return Listing(
                message("The queue holds no items.", "Add a task under queue/, or see: kgrade check"), [None] * 2
            )
        numbers = self._holding(wanted.lower())
        if not numbers:
            return _no_such(wanted)
        if sort != "order":
            numbers = sorted(numbers, key=lambda number: _sort_key(self.places[number], self._evaluator, sort))
        return Listing(LazyRows(len(numbers), lambda row: self._row(numbers[row])), _Items(self.places, numbers))

    def _holding(self, wanted: str) -> Sequence[int]:
        before, numbers = self._found
        if not before or before not in wanted:
            numbers = range(len(self.places))
        if wanted:
            while self._make_some(len(self.places)):
                pass
            texts = self._texts
            numbers = [number for number in numbers if wanted in texts[number]]
        self._found = wanted, numbers
        return numbers

    def _row(self, number: int) -> Row:
        place = self.places[number]
        return queue_row(place, self._task(place), self._evaluator, self._widest)

    def _task(self, place: Place) -> ItemRow:
        found = place if place.row.id.submission is None else self.places.place(ItemId(place.row.id.task))
        return found.row if found else place.row

    def _make_some(self, most: int) -> bool:
        """Make up to `most` further texts; whether any was left to make."""
        with self._turn:
            start = len(self._texts)
            some = self.places[start : start + most]
            cells = (_cells(place, self._task(place), self._evaluator, self._widest) for place in some)
            self._texts += ["".join(each).lower() for each in cells]
        return bool(some)


class _Items(Sequence[ItemId | None]):
    """The items at `numbers` of the order."""

    def __init__(self, places: Places, numbers: Sequence[int]) -> None:
        self._places = places
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, row: int) -> ItemId: ...
    @overload
    def __getitem__(self, row: slice) -> list[ItemId | None]: ...
    def __getitem__(self, row: int | slice) -> ItemId | list[ItemId | None]:
        if isinstance(row, slice):
            return [self._places[number].row.id for number in self._numbers[row]]
        return self._places[self._numbers[row]].row.id


def queue_row(place: Place, task: ItemRow, evaluator: str, widest: int = 29) -> Row:
    """One item: state, id, evidence at a glance, my verdict and total or why it is so, what it is; faults fold out.

    `widest` is the number of columns of the longest id.
    """
    style = _STATES[place.state][1]
    state, name, seen, result, kind = _cells(place, task, evaluator, widest)
    spans = (
        Span(state, style),
        Span(name),
        Span(seen),
        Span(result, style if place.why and own_grade(place.row, evaluator) is None else ""),
        Span(kind, "dim"),
    )
    faults = Rows([row(f"    {fault}", "bad") for fault in place.row.faults]) if place.row.faults else None
    return Row(spans=spans, fold=faults)


def _cells(place: Place, task: ItemRow, evaluator: str, widest: int) -> tuple[str, str, str, str, str]:
    item = place.row
    mine = own_grade(item, evaluator) if item.grades else None
    if mine is not None:
        total = "-" if mine.total is None else f"{mine.total:g}"
        result = f"{mine.verdict or '-':<7} {total:>5}".ljust(20)
    elif place.why:
        result = f"{place.why.partition(_NEWLINE)[0]:<18}  "
    else:
        result = _NO_RESULT
    kind = task.type if item.id.submission else "task review"
    return (
        f"{place.state:<9}",
        f"{item.id!s:<{widest}}  ",
        f"{glance(item):<10}",
        result,
        f"{kind:<13}{task.language:<8}{','.join(task.targets)}",
    )


def _no_such(wanted: str) -> Listing:
    return Listing(message(f"No item holds {wanted!r}.", "/ with an empty text shows all again"), [None] * 2)


def glance(item: ItemRow) -> str:
    """The worst of each stage over all targets, such as `b✓ t✗ p—`; `~` after stale evidence.

    Empty without any evidence, `…` where it is still to be read.
    """
    if not item.evidence:
        return ""
    if any(evidence.stages is None for evidence in item.evidence):
        return "…"
    parts = []
    for stage, letter in _STAGES:
        states = [(evidence.stages or {}).get(stage, "not-run") for evidence in item.evidence]
        parts.append(letter + _SIGNS[min(states, key=_WORST_FIRST.index)])
    return " ".join(parts) + ("~" if any(evidence.stale for evidence in item.evidence) else "")


def own_grade(item: ItemRow, evaluator: str) -> GradeRow | None:
    """My grade of the item, if there is one that can be read."""
    return next((grade for grade in item.grades if grade.evaluator == evaluator and grade.fault is None), None)


def my_grades_listing(
    grades: Sequence[tuple[ItemRow, GradeRow]], standing: Callable[[ItemId], str], wanted: str = ""
) -> Listing:
    """What I graded, in the order given; `standing` says how far a grade has come and is asked for what is seen."""
    mine = [(item, grade) for item, grade in grades if wanted.lower() in f"{item.id} {grade.verdict}".lower()]
    if not grades:
        empty = message("You have graded nothing here yet.", "q goes back; S saves a grade and opens the next item")
        return Listing(empty, [None] * 2)
    if not mine:
        return _no_such(wanted)
    widest = max(_NARROWEST, *(len(str(item.id)) for item, _ in mine))

    def make(number: int) -> Row:
        item, grade = mine[number]
        total = "-" if grade.total is None else f"{grade.total:g}"
        return row(
            f"{_when(grade.saved):<18}{item.id!s:<{widest}}  {grade.verdict or '-':<8}{total:>6}  {standing(item.id)}"
        )

    return Listing(LazyRows(len(mine), make), [item.id for item, _ in mine])


def empty_rows(empty: EmptyQueue) -> Lines:
    """Nothing is left to grade: why, and what to do."""
    reasons = [row(f"  {reason}") for reason in empty.reasons]
    return Rows([row("Nothing is left to grade.", "heading"), *reasons, row(""), row(empty.hint, "dim")])


def progress_text(progress: Progress, shown: int, sort: str, wanted: str) -> str:
    """The line under the queue."""
    parts = [f"{progress.graded} of {progress.total} graded, {progress.today} today", f"{shown} shown"]
    if sort != "order":
        parts.append(f"sorted by {sort}")
    if wanted:
        parts.append(f"holding {wanted!r}")
    return "; ".join(parts)


def _sort_key(place: Place, evaluator: str, sort: str) -> tuple[float, str]:
    if sort == "state":
        return _STATES[place.state][0], ""
    if sort == "item":
        return 0, str(place.row.id)
    if sort == "total":
        mine = own_grade(place.row, evaluator)
        return (-1 if mine is None or mine.total is None else -1000 + mine.total), ""
    return 0, ""


def _when(saved: str) -> str:
    try:
        return datetime.fromisoformat(saved).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return saved[:16]
