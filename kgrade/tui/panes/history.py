"""Who did what to the item and when, the grades that stand, and my grade of the submission before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kgrade.records.grade import Grade
from kgrade.records.rubric import Rubric
from kgrade.repository.runner import GitError
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures
from kgrade.tui.panes.layout import Column, Entry, Late, heading, sentence, table
from kgrade.tui.panes.sections import spaced

if TYPE_CHECKING:
    from kgrade.desk.item import HistoryEntry, Item
    from kgrade.desk.sheet import Sheet
    from kgrade.records.slugs import ItemId

    Commits = Callable[[ItemId], Sequence[HistoryEntry]]

_OLD_NOTE = {"open": "! still open", "addressed": "✓ those lines changed", "gone": "— the file is gone"}
_CHANGED = 3


def pane(item: Item, sheet: Sheet, commits: Commits) -> Pane:
    """The history of `item`; `commits` is asked only when the pane is looked at, because it runs git."""

    def rows() -> Rows:
        return Rows(spaced([_grades(item), _before(item), _old_notes(item), _commits(item, commits)]))

    return Pane(Late(rows), glance(item))


def glance(item: Item) -> Glance:
    """How many grades stand that may be seen."""
    return Glance(f"{len(item.grades)}") if item.grades else Glance()


def _grades(item: Item) -> list[Row]:
    rows = [heading("grades", f"scored under {item.rubric_ref.id} {item.rubric_ref.sha256[:8]}")]
    if not item.grades:
        return rows + sentence(
            "No grade may be seen: none has been saved, or the queue is blind and yours comes first.", lead="— "
        )
    columns = [
        Column("evaluator", most=20),
        Column("verdict"),
        Column("total", right=True),
        Column("points", right=True),
        Column("saved"),
        Column("about", most=90),
    ]
    entries = [
        Entry(
            [
                entry.evaluator,
                entry.grade.verdict or figures.NOTHING,
                _points(entry.grade.total),
                _points(entry.grade.points),
                entry.grade.times.saved,
                _about(item, entry.grade),
            ],
            fold=_sheet(item, entry.grade),
        )
        for entry in item.grades
    ]
    return [*rows, *table(columns, entries)]


def _points(value: float | None) -> str:
    return figures.NOTHING if value is None else f"{value:.1f}"


def _about(item: Item, grade: Grade) -> Span:
    """Whether the grade is about the bytes and the sheet that stand now."""
    moved = []
    if (grade.about.task_tree, grade.about.solution_tree) != (item.about.task_tree, item.about.solution_tree):
        moved.append("other bytes")
    if grade.about.evidence != item.about.evidence:
        moved.append("other evidence")
    if grade.rubric.sha256 != item.rubric_ref.sha256:
        moved.append(f"another sheet ({grade.rubric.id} {grade.rubric.sha256[:8]})")
    return Span(f"! {', '.join(moved)}", "warn") if moved else Span("✓ these bytes, this sheet")


def _sheet(item: Item, grade: Grade) -> Lines:
    """A grade in full: levels with comments, gates, feedback. A private note is its evaluator's alone."""
    rows = _scores(item.rubric, grade)
    for name, gate in grade.gates.items():
        rows += sentence(
            f"gate {name}: {'confirmed' if gate.confirmed else 'refused'} {gate.comment}",
            indent="    ",
            lead="x " if gate.confirmed else "- ",
        )
    for note in grade.comments:
        rows += sentence(f"{note.path}:{note.lines[0]} {note.text}", "note", indent="    ", lead="m ")
    rows += sentence(grade.feedback, indent="    ", lead="> ") if grade.feedback.strip() else []
    return Rows(rows or sentence("nothing is scored", "dim", indent="    "))


def _scores(rubric: Rubric, grade: Grade) -> list[Row]:
    order = [criterion.id for criterion in rubric.criteria]
    names = [name for name in order if name in grade.scores] + [name for name in grade.scores if name not in order]
    rows = []
    for name in names:
        score = grade.scores[name]
        level = "n/a" if score.na else str(score.score)
        rows += sentence(score.comment, indent="    ", lead=f"{name:<16} {level:>3}  ")
    return rows


def _before(item: Item) -> list[Row]:
    """My grade of the submission that this one replaces: beside, never filled in."""
    if item.previous is None or item.submission is None:
        return []
    said = f"{item.previous.verdict or 'no verdict'}, total {_points(item.previous.total)}"
    return [heading(f"your grade of {item.submission.supersedes}", said), *_scores(item.rubric, item.previous)]


def _old_notes(item: Item) -> list[Row]:
    if not item.notes_before:
        return []
    rows = [heading("your earlier line notes")]
    for old in item.notes_before:
        now = f" (now line {old.lines[0]})" if old.lines else ""
        rows.append(
            Row(
                spans=(
                    Span(f"{_OLD_NOTE[old.status]}  ", "warn" if old.status == "open" else "dim"),
                    Span(f"{old.note.path}:{old.note.lines[0]}{now}", "place"),
                )
            )
        )
        rows += sentence(old.note.text, indent="    ")
    return rows


def _commits(item: Item, commits: Commits) -> list[Row]:
    rows = [heading("commits")]
    try:
        entries = commits(item.id)
    except GitError as why:
        return rows + sentence(f"The commits cannot be read: {why}", "warn", lead="! ")
    if not entries:
        return rows + sentence("No commit has touched this item.", lead="— ")
    for entry in entries:
        when = f"{entry.when[:10]} {entry.when[11:16]}  {entry.commit[:9]}  "
        rows.append(Row(spans=(Span(when, "dim"), Span(f"{entry.who}  ", "strong"), Span(entry.what))))
        more = f" and {len(entry.changed) - _CHANGED} more" if len(entry.changed) > _CHANGED else ""
        if entry.changed:
            rows += sentence(", ".join(entry.changed[:_CHANGED]) + more, "dim", indent="    ")
    return rows
