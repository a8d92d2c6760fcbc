"""The next item, and why there is none. Pure: from rows to a choice.

Order: items with my draft first, then tasks by age (or shuffled, seeded by the evaluator), each task's review before
its submissions, a submission before the one that supersedes it. A lead's priority goes before all of that but drafts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, overload

import msgspec

from kgrade.records.slugs import ItemId, is_foreign
from kgrade.repository.index_rows import ItemRow
from kgrade.repository.plan import Plan

_WIDEST_SPREAD = 64
_NEAR_EACH = 4
"""Open items for each evaluator at work among which one looks for those of one's own part."""

State = Literal["open", "draft", "graded", "finished", "retired", "assigned", "claimed", "faulty", "skipped"]


class EmptyQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing to grade now. `reasons` account for every item; `hint` says what to do."""

    reasons: list[str]
    hint: str


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One item's place in the queue for one evaluator; `why` explains the state where it needs it."""

    row: ItemRow
    state: State
    why: str = ""


class Places(Sequence[Place]):
    """Places in an evaluator's order: what stands, with what changes from moment to moment on top of it.

    Where an item stands is known without a search, so that a step through the queue costs the same in any queue.
    """

    def __init__(
        self,
        standing: Sequence[Place],
        at: Mapping[ItemId, int],
        on_top: Mapping[int, Place] | None = None,
        first_open: int = 0,
        longest_id: int | None = None,
    ) -> None:
        self._standing = standing
        self._at = at
        self._on_top = on_top or {}
        self.first_open = first_open
        """No place before this one is open."""
        self.longest_id = max(map(len, map(str, at)), default=0) if longest_id is None else longest_id
        """Characters of the longest name of an item."""

    @classmethod
    def of(cls, places: Sequence[Place]) -> Places:
        """`places` with where each item stands."""
        if isinstance(places, Places):
            return places
        return cls(places, {place.row.id: number for number, place in enumerate(places)})

    def __len__(self) -> int:
        return len(self._standing)

    @overload
    def __getitem__(self, number: int) -> Place: ...
    @overload
    def __getitem__(self, number: slice) -> list[Place]: ...
    def __getitem__(self, number: int | slice) -> Place | list[Place]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        number = number + len(self) if number < 0 else number
        return self._on_top.get(number) or self._standing[number]

    def __iter__(self) -> Iterator[Place]:
        if not self._on_top:
            return iter(self._standing)
        return (self._on_top.get(number, place) for number, place in enumerate(self._standing))

    def where(self, item: ItemId) -> int | None:
        """The place of `item` in the order; None for one that is not here."""
        return self._at.get(item)

    def place(self, item: ItemId) -> Place | None:
        """What stands at the place of `item`."""
        number = self._at.get(item)
        return None if number is None else self[number]

    def with_these(self, others: Mapping[ItemId, Place]) -> Places:
        """The same with `others` in the places of their items."""
        on_top = {self._at[item]: place for item, place in others.items() if item in self._at}
        return Places(self._standing, self._at, {**self._on_top, **on_top}, self.first_open, self.longest_id)


def in_order(
    rows: Sequence[ItemRow], *, order: Literal["fifo", "shuffled"], evaluator: str, plan: Plan | None = None
) -> list[ItemRow]:
    """Return `rows` in the order in which this evaluator is to see them."""
    tasks: dict[str, list[ItemRow]] = {}
    for row in rows:
        tasks.setdefault(row.id.task, []).append(row)

    def first(task: str) -> tuple[str, str]:
        if order == "shuffled":
            return hashlib.sha256(f"{evaluator}\0{task}".encode()).hexdigest(), task
        return min((row.created for row in tasks[task] if row.created), default="9"), task

    found = [row for task in sorted(tasks, key=first) for row in sorted(tasks[task], key=_within_task)]
    return sorted(found, key=lambda row: -plan.priority(row.id)) if plan is not None else found


def places(
    rows: Sequence[ItemRow],
    *,
    evaluator: str,
    plan: Plan,
    drafts: Sequence[str],
    holders: Mapping[ItemId, str],
    skipped: Mapping[ItemId, str],
) -> Places:
    """Give each of `rows` its state for `evaluator`.

    As many evaluators as `plan` asks finish an item; `holders` says in words who else holds an item now; `skipped` why
    I left one.
    """
    standing = Standing(evaluator, plan)
    standing.stand(rows)
    return overlaid(standing.places(), drafts=drafts, holders=holders, skipped=skipped)


class Standing:
    """What each item's own records make of it for `evaluator`, worked out again only for rows that changed.

    Drafts, claims and what was left for later come on top, by `overlaid`. Without `named` no other evaluator is.
    """

    def __init__(self, evaluator: str, plan: Plan, *, named: bool = True) -> None:
        self._evaluator = evaluator
        self._plan = plan
        self._named = named
        self._faulty_tasks: set[str] = set()
        self._places: list[Place] = []
        self._at: dict[ItemId, int] = {}
        self._first_open = 0
        self._longest_id = 0
        self.counts: Counter[State] = Counter()
        """How many items stand in which state."""

    def stand(self, rows: Sequence[ItemRow]) -> None:
        """Take over all `rows`, in their order."""
        faulty = {row.id.task for row in rows if row.faults and row.id.submission is None}
        if faulty != self._faulty_tasks or len(rows) != len(self._places):
            self._places = [self._placed(row, row.id.task in faulty) for row in rows]
        else:
            # A row that did not change is the same object, so most of them are known without a closer look.
            self._places = [
                place if place.row is row else self._placed(row, row.id.task in faulty)
                for row, place in zip(rows, self._places, strict=True)
            ]
        self._faulty_tasks = faulty
        self._at = {row.id: number for number, row in enumerate(rows)}
        self._first_open = 0
        self._longest_id = max(map(len, map(str, self._at)), default=0)
        self.counts = Counter(place.state for place in self._places)

    def change(self, rows: Iterable[ItemRow]) -> list[ItemRow] | None:
        """Take over `rows` in the places of those that stood for the same items, and return these.

        None, with nothing done, where an item is new or its order, or a whole task, may have changed with it.
        """
        found = []
        for row in rows:
            number = self._at.get(row.id)
            before = self._places[number].row if number is not None else None
            if number is None or before is None or before.created != row.created:
                return None
            if row.id.submission is None and bool(row.faults) != bool(before.faults):
                return None
            found.append((number, row, before))
        for number, row, _ in found:
            place = self._placed(row, row.id.task in self._faulty_tasks)
            self.counts[self._places[number].state] -= 1
            self.counts[place.state] += 1
            self._places[number] = place
            if place.state == "open":
                self._first_open = min(self._first_open, number)
        return [before for _, _, before in found]

    def places(self) -> Places:
        """The places of the rows taken over, each open, graded, finished, retired, assigned or faulty."""
        places = self._places
        while self._first_open < len(places) and places[self._first_open].state != "open":
            self._first_open += 1
        return Places(places, self._at, first_open=self._first_open, longest_id=self._longest_id)

    def _placed(self, row: ItemRow, task_faulty: bool) -> Place:
        if row.faults or task_faulty:
            why = row.faults[0] if row.faults else f"the task {row.id.task} is faulty"
            return Place(row=row, state="faulty", why=why)
        by = [grade.evaluator for grade in row.grades if grade.fault is None and not is_foreign(grade.evaluator)]
        if self._evaluator in by:
            return Place(row=row, state="graded")
        if len(by) >= self._plan.graders(row.id):
            return Place(row=row, state="finished", why=f"graded by {self._others(by)}")
        if why := self._plan.kept_from(row.id, self._evaluator):
            if self._plan.is_retired(row.id):
                return Place(row=row, state="retired", why=why)
            return Place(row=row, state="assigned", why=why if self._named else "assigned to others")
        return Place(row=row, state="open")

    def _others(self, by: Sequence[str]) -> str:
        if self._named:
            return ", ".join(by)
        return "someone else" if len(by) == 1 else f"{len(by)} others"


def overlaid(
    standing: Sequence[Place],
    *,
    drafts: Sequence[str],
    holders: Mapping[ItemId, str],
    skipped: Mapping[ItemId, str],
) -> Places:
    """The places of `standing` with what changes from moment to moment: my drafts, others' claims, what I left."""
    found = Places.of(standing)
    drafted = {ItemId(task, submission or None) for task, _, submission in (key.partition("/") for key in drafts)}
    marked: dict[ItemId, Place] = {}
    for item in {*drafted, *holders, *skipped}:
        place = found.place(item)
        if place is None or place.state == "faulty":
            continue
        if item in drafted:
            marked[item] = Place(row=place.row, state="draft")
        elif place.state == "open" and item in holders:
            marked[item] = Place(row=place.row, state="claimed", why=holders[item])
        elif place.state == "open" and item in skipped:
            marked[item] = Place(row=place.row, state="skipped", why=skipped[item])
    return found.with_these(marked) if marked else found


def spread(evaluator: str, losses: int) -> int:
    """How many open items to pass over for the next try, after so many claims that others were faster to make.

    Seeded by the evaluator, so that those who met over one item seldom meet over the next; 0 before the first loss.
    """
    if not losses:
        return 0
    seed = hashlib.sha256(f"{evaluator}\0{losses}".encode()).digest()
    return int.from_bytes(seed[:8], "big") % min(2 << losses, _WIDEST_SPREAD)


def share(evaluator: str, others: Iterable[str]) -> tuple[int, int]:
    """Which part of the places falls to `evaluator` where `others` are at work too: every n-th from which on, and n.

    All who see the same people at work divide the queue in the same way, however old their knowledge of claims is.
    """
    everyone = sorted({*others, evaluator})
    return everyone.index(evaluator), len(everyone)


def next_item(
    found: Sequence[Place],
    drafts: Sequence[str],
    after: ItemId | None = None,
    *,
    skip: int = 0,
    part: tuple[int, int] = (0, 1),
) -> ItemId | EmptyQueue:
    """Return the item to grade: a draft, else the first open one after `after`, else from the start.

    `skip` open ones are passed over, or as many as leave one; but where one of the next lies in the `part` of the
    places that is this evaluator's, it is that.
    """
    here = Places.of(found)
    for key in drafts:
        task, _, submission = key.partition("/")
        drafted = here.place(ItemId(task, submission or None))
        if drafted is not None and drafted.state == "draft" and drafted.row.id != after:
            return drafted.row.id
    at = here.where(after) if after is not None else None
    begin = 0 if at is None else at + 1
    passed: ItemId | None = None
    mine, parts = part
    near = _NEAR_EACH * parts if parts > 1 else 0
    left_over: ItemId | None = None
    for number in chain(range(max(begin, here.first_open), len(here)), range(here.first_open, begin)):
        place = here[number]
        if place.state == "open" and place.row.id != after:
            passed = place.row.id
            if near > 0 and number % parts == mine:
                return passed
            near -= 1
            if skip <= 0 and left_over is None:
                left_over = passed
            if left_over is not None and near <= 0:
                return left_over
            skip -= 1
    if left_over is not None:
        return left_over
    if passed is not None:
        return passed
    left = next((place for place in found if place.state in ("open", "draft")), None)
    return left.row.id if left is not None else _empty(found)


def _within_task(row: ItemRow) -> tuple[bool, str, str]:
    return row.id.submission is not None, row.created, row.id.submission or ""


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
    if count["retired"]:
        yield f"{count['retired']} retired by a lead"
    if count["assigned"]:
        yield f"{count['assigned']} assigned to others"
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
