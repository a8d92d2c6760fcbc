"""What the queue and one's own grades look like as rows: plain functions from places to lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kgrade.desk import EmptyQueue, Place, Progress
from kgrade.records.slugs import ItemId
from kgrade.repository.index_rows import GradeRow, ItemRow
from kgrade.repository.order import State
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
_STAGES: Final = (("build", "b"), ("check", "t"), ("time", "p"))


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows to show, and the item that each belongs to (None: to no item)."""

    lines: Lines
    items: Sequence[ItemId | None]


def queue_listing(places: Sequence[Place], evaluator: str, wanted: str = "", sort: str = "order") -> Listing:
    """The queue for `evaluator`: what holds `wanted` in any column, in the queue's order or sorted."""
    if not places:
        return Listing(
            message("The queue holds no items.", "Add a task under queue/, or see: kgrade check"), [None] * 2
        )
    tasks = {place.row.id.task: place.row for place in places if place.row.id.submission is None}
    widest = max(_NARROWEST, *(len(str(place.row.id)) for place in places))
    texts = [(place, queue_row(place, tasks.get(place.row.id.task, place.row), evaluator, widest)) for place in places]
    kept = [(place, shown) for place, shown in texts if wanted.lower() in shown.text.lower()]
    kept.sort(key=lambda pair: _sort_key(pair[0], evaluator, sort))
    if not kept:
        return _no_such(wanted)
    return Listing(Rows([shown for _, shown in kept]), [place.row.id for place, _ in kept])


def queue_row(place: Place, task: ItemRow, evaluator: str, widest: int = 29) -> Row:
    """One item: state, id, evidence at a glance, my verdict and total or why it is so, what it is; faults fold out.

    `widest` is the number of columns of the longest id.
    """
    item, (_, style) = place.row, _STATES[place.state]
    mine = own_grade(item, evaluator)
    total = f"{'-' if mine.total is None else f'{mine.total:g}'}" if mine else ""
    result = f"{mine.verdict or '-':<7} {total:>5}" if mine else ""
    kind = task.type if item.id.submission else "task review"
    spans = [
        Span(f"{place.state:<9}", style),
        Span(f"{item.id!s:<{widest}}  "),
        Span(f"{glance(item):<10}"),
        *([Span(f"{place.why.split(chr(10))[0]}  ", style)] if place.why and not result else [Span(f"{result:<14}")]),
        Span(f"{kind:<13}{task.language:<8}{','.join(task.targets)}", "dim"),
    ]
    faults = Rows([row(f"    {fault}", "bad") for fault in item.faults]) if item.faults else None
    return Row(spans=tuple(spans), fold=faults)


def _no_such(wanted: str) -> Listing:
    return Listing(message(f"No item holds {wanted!r}.", "/ with an empty text shows all again"), [None] * 2)


def glance(item: ItemRow) -> str:
    """The worst of each stage over all targets, such as `b✓ t✗ p—`; `~` after stale evidence; empty without any."""
    if not item.evidence:
        return ""
    parts = []
    for stage, letter in _STAGES:
        states = [evidence.stages.get(stage, "not-run") for evidence in item.evidence]
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
