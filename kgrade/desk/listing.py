"""The queue in one evaluator's order, read again only where a ref moved; and how far the evaluator is."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import date, datetime

import msgspec

from kgrade.desk.sources import Sources
from kgrade.records.slugs import ItemId
from kgrade.repository import order
from kgrade.repository.index import Index, ItemRow


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
        self._progress: tuple[date, Progress] | None = None

    def refresh(self) -> bool:
        """Follow the refs; whether any moved since the last call."""
        with self._turn:
            queue = (self._sources.queue.ref, self._sources.snapshot().commit)
            others = self._sources.grade_refs()
            at = {**others, queue[0]: queue[1]}
            if at == self._at:
                return False
            self._index.update(queue, others)
            rows = self._index.rows()
            self._rows = order.in_order(rows, order=self._sources.settings.order, evaluator=self._evaluator)
            self._at, self._progress = at, None
            return True

    def rows(self) -> list[ItemRow]:
        """Every item in this evaluator's order, as it stands now."""
        with self._turn:
            self.refresh()
            return self._rows

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

    def _count(self, today: date) -> Progress:
        found = order.places(
            self._rows,
            evaluator=self._evaluator,
            graders=self._sources.settings.graders_per_item,
            drafts=(),
            holders={},
            skipped={},
        )
        mine = [grade for row in self._rows for grade in row.grades if grade.evaluator == self._evaluator]
        return Progress(
            graded=sum(place.state == "graded" for place in found),
            total=sum(place.state not in ("faulty", "finished") for place in found),
            today=sum(_local_day(grade.saved) == today for grade in mine),
        )


def without_a_slot(
    rows: list[ItemRow], claims: Mapping[ItemId, Mapping[str, str]], graders: int, evaluator: str
) -> dict[ItemId, str]:
    """The items on which `graders` others are or have been at work, with who, in words.

    `claims` says for each item what each evaluator's claim amounts to. Whoever graded without a claim counts too.
    """
    taken = {}
    for row in rows:
        held = {name: words for name, words in claims.get(row.id, {}).items() if name != evaluator}
        if held and evaluator not in claims[row.id]:
            graded = {grade.evaluator for grade in row.grades if grade.fault is None}
            if len(graded | held.keys()) >= graders:
                taken[row.id] = ", ".join(held.values())
    return taken


def _local_day(saved: str) -> date | None:
    try:
        return datetime.fromisoformat(saved).astimezone().date()
    except ValueError:
        return None
