"""What the index of a queue says of each item, and how its tables become that."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from kgrade.records.slugs import ItemId

Key = tuple[str, str]
"""A task, and one of its submissions or ""."""


class GradeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One grade: who, what, when, under which sheet; `fault` for a file that cannot be read."""

    evaluator: str
    verdict: str | None
    total: float | None
    points: float | None
    saved: str
    sheet: str
    fault: str | None = None


class EvidenceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence for one target: the status of each stage, and whether its tree ids no longer match.

    `stages` is None while only the evidence's name is known.
    """

    target: str
    stages: dict[str, str] | None
    stale: bool
    fault: str | None = None


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the queue. `created` and `author` are empty for a task; `faults` are sentences."""

    id: ItemId
    title: str
    type: str
    language: str
    targets: list[str]
    author: str
    created: str
    supersedes: str | None
    faults: list[str]
    grades: list[GradeRow]
    evidence: list[EvidenceRow]


def key_of(row: sqlite3.Row) -> Key:
    """The item that a row of any table is about."""
    return row["task"], row["submission"]


def grade_row(row: sqlite3.Row) -> GradeRow:
    """A row of the table of grades."""
    return GradeRow(**{name: row[name] for name in GradeRow.__struct_fields__})


def evidence_row(row: sqlite3.Row, trees: Mapping[Key, str]) -> EvidenceRow:
    """A row of the table of evidence; `trees` are the ids of what is judged, as they stand."""
    task, submission = row["task"], row["submission"]
    if row["stages"] is None:
        return EvidenceRow(target=row["target"], stages=None, stale=False)
    stale = row["task_tree"] != trees.get((task, "")) or (
        bool(submission) and row["solution_tree"] != trees.get((task, submission))
    )
    return EvidenceRow(target=row["target"], stages=msgspec.json.decode(row["stages"]), stale=stale, fault=row["fault"])


_Groups = Mapping[Key, Iterable[Any]]


def item_row(row: sqlite3.Row, grades: _Groups, evidence: _Groups) -> ItemRow:
    """A row of the table of items, with its grades and evidence among those of all."""
    key = key_of(row)
    return ItemRow(
        id=ItemId(row["task"], row["submission"] or None),
        title=row["title"] or "",
        type=row["type"] or "",
        language=row["language"] or "",
        targets=(row["targets"] or "").split(),
        author=row["author"] or "",
        created=row["created"] or "",
        supersedes=row["supersedes"],
        faults=list(_sentences(row["faults"])),
        grades=list(grades.get(key, ())),
        evidence=list(evidence.get(key, ())),
    )


def _sentences(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line)
