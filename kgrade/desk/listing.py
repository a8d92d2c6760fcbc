"""The queue in one evaluator's order, read again only where a ref moved; and how far the evaluator is."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import msgspec

from kgrade.desk.sources import Sources
from kgrade.records.slugs import ItemId
from kgrade.repository import order
from kgrade.repository.index import Index
from kgrade.repository.index_rows import ItemRow
from kgrade.repository.order import Place
from kgrade.repository.plan import ASSIGNMENTS, Plan, plan_of
from kgrade.repository.tree import Snapshot


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far this evaluator is: items graded, all items that can be graded, graded today."""

    graded: int
    total: int
    today: int


class Listing:
    """The index of one desk. Every method may be called from any thread; they take turns."""

    def __init__(self, sources: Sources, evaluator: str) -> None:
        self._sources = sources
        self._evaluator = evaluator
        self._index = Index(sources.reader)
        self._turn = threading.RLock()
        self._at: dict[str, str] = {}
        self._rows: list[ItemRow] = []
        self._named: list[ItemRow] = []
        """The rows in the order of names, and in `_turns` the places in it that this evaluator's order goes through."""
        self._turns: list[int] = []
        self._planned: str | None = None
        self._plan_with(Plan(sources.settings))
        self._progress: tuple[date, Progress] | None = None

    def refresh(self) -> bool:
        """Follow the refs; whether any moved since the last call."""
        with self._turn:
            snapshot = self._sources.snapshot()
            queue = (self._sources.queue.ref, snapshot.commit)
            others = self._sources.grade_refs()
            at = {**others, queue[0]: queue[1]}
            if at == self._at:
                return False
            self._follow_plan(snapshot)
            self._index.update(queue, others)
            self._put_in_order(self._index.rows())
            self._at, self._progress = at, None
            return True

    def rows(self) -> list[ItemRow]:
        """Every item in this evaluator's order, as it stands now."""
        with self._turn:
            self.refresh()
            return self._rows

    def standing(self) -> Sequence[Place]:
        """The same rows with what their own records make of them; drafts and claims come on top."""
        with self._turn:
            return self._standing.places(self.rows())

    def progress(self) -> Progress:
        """How far the evaluator is, as of the last time that the refs were followed: cheap enough for every key."""
        with self._turn:
            if not self._at:
                self.refresh()
            today = datetime.now().astimezone().date()
            if self._progress is None or self._progress[0] != today:
                self._progress = (today, self._count(today))
            return self._progress[1]

    def close(self) -> None:
        """Let go of the index."""
        with self._turn:
            self._index.close()

    def plan(self) -> Plan:
        """What is asked of each item, as of the last time that the refs were followed."""
        with self._turn:
            if not self._at:
                self.refresh()
            return self._plan

    def _follow_plan(self, snapshot: Snapshot) -> None:
        entry = snapshot.entry(ASSIGNMENTS)
        oid = entry.oid if entry else None
        if oid != self._planned:
            self._plan_with(plan_of(snapshot, self._sources.settings))
            self._planned = oid

    def _plan_with(self, plan: Plan) -> None:
        self._plan = plan
        self._standing = order.Standing(self._evaluator, plan)
        self._named = []  # the order follows the plan

    def _put_in_order(self, named: list[ItemRow]) -> None:
        """Take over the rows; only ids and times decide the order, and a saved grade changes neither."""
        same = len(named) == len(self._named) and all(
            new is old or (new.id, new.created) == (old.id, old.created)
            for new, old in zip(named, self._named, strict=True)
        )
        if not same:
            settings = self._sources.settings
            ordered = order.in_order(named, order=settings.order, evaluator=self._evaluator, plan=self._plan)
            places = {row.id: number for number, row in enumerate(named)}
            self._turns = [places[row.id] for row in ordered]
        self._named = named
        self._rows = [named[number] for number in self._turns]

    def _count(self, today: date) -> Progress:
        found = self._standing.places(self._rows)
        mine = [grade for row in self._rows for grade in row.grades if grade.evaluator == self._evaluator]
        near = {(today + timedelta(days=days)).isoformat() for days in (-1, 0, 1)}
        return Progress(
            graded=sum(place.state == "graded" for place in found),
            total=sum(place.state not in ("faulty", "finished", "retired", "assigned") for place in found),
            # A day begins at most a day earlier or later elsewhere: all other times need no closer look.
            today=sum(grade.saved[:10] in near and _local_day(grade.saved) == today for grade in mine),
        )


def without_a_slot(
    rows: list[ItemRow], claims: Mapping[ItemId, Mapping[str, str]], plan: Plan, evaluator: str
) -> dict[ItemId, str]:
    """The items on which as many others as the plan asks for are or have been at work, with who, in words.

    `claims` says for each item what each evaluator's claim amounts to. Whoever graded without a claim counts too.
    """
    taken: dict[ItemId, str] = {}
    if not claims:
        return taken
    for row in rows:
        if row.id not in claims:
            continue
        held = {name: words for name, words in claims[row.id].items() if name != evaluator}
        if held and evaluator not in claims[row.id]:
            graded = {grade.evaluator for grade in row.grades if grade.fault is None}
            if len(graded | held.keys()) >= plan.graders(row.id):
                taken[row.id] = ", ".join(held.values())
    return taken


def _local_day(saved: str) -> date | None:
    try:
        return datetime.fromisoformat(saved).astimezone().date()
    except ValueError:
        return None
