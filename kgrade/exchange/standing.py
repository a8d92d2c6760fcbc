"""What an export is made of: every item with its standing grades, its adjudication, and what kind of word it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from kgrade.records import codec
from kgrade.records.adjudication import Adjudication
from kgrade.records.base import Record
from kgrade.records.comparison import Comparison
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId, is_foreign
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.repository.grades import standing
from kgrade.repository.runner import GitError
from kgrade.repository.tree import Snapshot, TreeReader

Provenance = Literal["imported", "single", "unanimous", "adjudicated", "unresolved"]
R = TypeVar("R", bound=Record)


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """One item and all that people said of it; `grades` by evaluator."""

    id: ItemId
    task: Task
    submission: Submission | None
    grades: list[Grade]
    adjudication: Adjudication | None
    provenance: Provenance


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be exported, and a sentence for each file that cannot be read."""

    items: list[Graded]
    comparisons: list[Comparison]
    faults: list[str]


def read_export(reader: TreeReader, snapshot: Snapshot, stand: Mapping[str, str]) -> Export:
    """Read every graded item; `stand` are the branches that hold grades, by name."""
    faults: list[str] = []
    by_item: dict[str, list[Grade]] = {}
    for path, blob in sorted(standing(reader, stand).items()):
        grade = decoded(Grade, reader.objects.object(blob)[1], path, faults)
        if grade is not None:
            by_item.setdefault(grade.item, []).append(grade)
    items = [found for item, grades in sorted(by_item.items()) if (found := _graded(snapshot, item, grades, faults))]
    return Export(items=items, comparisons=list(_comparisons(snapshot, faults)), faults=faults)


def provenance_of(grades: Sequence[Grade], adjudication: Adjudication | None) -> Provenance:
    """Say what kind of word an item has: a lead's, that of all, that of one, none yet, or only one from elsewhere."""
    if adjudication is not None:
        return "adjudicated"
    grades = [grade for grade in grades if not is_foreign(grade.evaluator)]
    if not grades:
        return "imported"
    if len(grades) == 1:
        return "single"
    return "unanimous" if len({grade.verdict for grade in grades}) == 1 else "unresolved"


def _graded(snapshot: Snapshot, item: str, grades: list[Grade], faults: list[str]) -> Graded | None:
    found = ItemId.parse(item)
    task = _read(snapshot, Task, f"queue/{found.task}/task.yaml", faults)
    submission, decided = None, None
    if found.submission is not None:
        submission = _read(snapshot, Submission, f"{found.folder}/submission.yaml", faults)
        if snapshot.entry(f"{found.folder}/adjudication.yaml") is not None:
            decided = _read(snapshot, Adjudication, f"{found.folder}/adjudication.yaml", faults)
    if task is None:
        return None
    return Graded(
        id=found,
        task=task,
        submission=submission,
        grades=grades,
        adjudication=decided,
        provenance=provenance_of(grades, decided),
    )


def _comparisons(snapshot: Snapshot, faults: list[str]) -> Iterator[Comparison]:
    for task in snapshot.tasks():
        for path, entry in snapshot.walk(f"queue/{task}/comparisons"):
            found = _read(snapshot, Comparison, path, faults) if entry.kind == "file" else None
            if found is not None:
                yield found


def _read(snapshot: Snapshot, kind: type[R], path: str, faults: list[str]) -> R | None:
    try:
        data = snapshot.read(path)
    except GitError as why:
        faults.append(str(why))
        return None
    return decoded(kind, data, path, faults)


def decoded(kind: type[R], data: bytes, path: str, faults: list[str]) -> R | None:
    """The record in `data`; None and a sentence more in `faults` where it cannot be read."""
    try:
        return codec.decode(kind, data, path)
    except BadRecord as why:
        faults.append(str(why))
        return None
