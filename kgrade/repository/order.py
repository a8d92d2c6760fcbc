"""The next item, and why there is none. Pure: from rows to a choice.

Order: items with my draft first, then tasks by age (or shuffled, seeded by the evaluator), each task's review before
its submissions, a submission before the one that supersedes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from kgrade.records.slugs import ItemId
from kgrade.repository.index import ItemRow

State = Literal["open", "draft", "graded", "finished", "claimed", "faulty", "skipped"]


class EmptyQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing to grade now. `reasons` account for every item; `hint` says what to do."""

    reasons: list[str]
    hint: str


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One item's place in the queue for one evaluator; `why` explains the state where it needs it."""

    row: ItemRow
    state: State
    why: str = ""


def in_order(rows: Sequence[ItemRow], *, order: Literal["fifo", "shuffled"], evaluator: str) -> list[ItemRow]:
    """Return `rows` in the order in which this evaluator is to see them."""
    tasks: dict[str, list[ItemRow]] = {}
    for row in rows:
        tasks.setdefault(row.id.task, []).append(row)

    def first(task: str) -> tuple[str, str]:
        if order == "shuffled":
            return hashlib.sha256(f"{evaluator}\0{task}".encode()).hexdigest(), task
        return min((row.created for row in tasks[task] if row.created), default="9"), task

    return [row for task in sorted(tasks, key=first) for row in sorted(tasks[task], key=_within_task)]


def places(
    rows: Sequence[ItemRow],
    *,
    evaluator: str,
    graders: int,
    drafts: Sequence[str],
    holders: Mapping[ItemId, str],
    skipped: Mapping[ItemId, str],
) -> list[Place]:
    """Give each of `rows` its state for `evaluator`.

    `graders` evaluators finish an item; `holders` says in words who else holds an item now; `skipped` why I left one.
    """
    faulty_tasks = {row.id.task for row in rows if row.id.submission is None and row.faults}
    drafted = set(drafts)
    return [_placed(row, evaluator, graders, drafted, holders, skipped, row.id.task in faulty_tasks) for row in rows]


def next_item(found: Sequence[Place], drafts: Sequence[str], after: ItemId | None = None) -> ItemId | EmptyQueue:
    """Return the item to grade: a draft, else the first open one after `after`, else from the start."""
    drafted = {str(place.row.id): place.row.id for place in found if place.state == "draft"}
    for key in drafts:
        if key in drafted and drafted[key] != after:
            return drafted[key]
    ids = [place.row.id for place in found]
    begin = ids.index(after) + 1 if after in ids else 0
    for place in [*found[begin:], *found[:begin]]:
        if place.state == "open" and place.row.id != after:
            return place.row.id
    left = next((place.row.id for place in found if place.state in ("open", "draft")), None)
    return left if left is not None else _empty(found)


def _within_task(row: ItemRow) -> tuple[bool, str, str]:
    return row.id.submission is not None, row.created, row.id.submission or ""


def _placed(
    row: ItemRow,
    evaluator: str,
    graders: int,
    drafts: set[str],
    holders: Mapping[ItemId, str],
    skipped: Mapping[ItemId, str],
    task_faulty: bool,
) -> Place:
    if row.faults or task_faulty:
        return Place(row=row, state="faulty", why=row.faults[0] if row.faults else f"the task {row.id.task} is faulty")
    if str(row.id) in drafts:
        return Place(row=row, state="draft")
    by = [grade.evaluator for grade in row.grades if grade.fault is None]
    if evaluator in by:
        return Place(row=row, state="graded")
    if len(by) >= graders:
        return Place(row=row, state="finished", why=f"graded by {', '.join(by)}")
    if row.id in holders:
        return Place(row=row, state="claimed", why=holders[row.id])
    if row.id in skipped:
        return Place(row=row, state="skipped", why=skipped[row.id])
    return Place(row=row, state="open")


def _empty(found: Sequence[Place]) -> EmptyQueue:
    if not found:
        return EmptyQueue(
            reasons=["the queue holds no items"], hint="add a task under queue/, or look at: kgrade check"
        )
    return EmptyQueue(reasons=list(_reasons(found)), hint=_hint(found))


def _reasons(found: Sequence[Place]) -> Iterator[str]:
    count = {state: sum(place.state == state for place in found) for state in State.__args__}  # type: ignore[attr-defined]
    yield f"{len(found)} items in the queue"
    if count["graded"]:
        yield f"{count['graded']} graded by you"
    if count["finished"]:
        yield f"{count['finished']} graded by others, as often as this queue asks"
    yield from sorted({f"{place.row.id} is held: {place.why}" for place in found if place.state == "claimed"})
    yield from (f"{place.row.id} left by you: {place.why}" for place in found if place.state == "skipped")
    if count["faulty"]:
        yield f"{count['faulty']} cannot be read (kgrade check names every fault)"


def _hint(found: Sequence[Place]) -> str:
    states = {place.state for place in found}
    if "skipped" in states:
        return "open the queue (Q) to take up what you left"
    if "claimed" in states:
        return "wait for a claim to end, or open the queue (Q) to see who holds what"
    if "faulty" in states:
        return "mend what kgrade check lists, or look at your grades (H)"
    return "look at your grades (H), or ask a lead for more"
