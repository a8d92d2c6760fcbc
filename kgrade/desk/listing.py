"""The queue in one evaluator's order, read again only where a ref moved; and how far the evaluator is."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Final

import msgspec

from kgrade.desk.people import DeskError
from kgrade.desk.sources import Sources
from kgrade.records.slugs import ItemId, is_foreign
from kgrade.repository import order
from kgrade.repository.index import Index
from kgrade.repository.index_rows import ItemRow
from kgrade.repository.order import Places, State
from kgrade.repository.partial import NotHereError
from kgrade.repository.plan import ASSIGNMENTS, Plan, plan_of

_FIRST: Final = 64
"""Open items that an outlook holds: where others claimed or I left as many, the whole queue is read."""


_PAUSE_S: Final = 0.01
_NOT_ASKED: Final[tuple[State, ...]] = ("faulty", "finished", "retired", "assigned")


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far this evaluator is: items graded, all items that can be graded, graded today."""

    graded: int
    total: int
    today: int


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluator begins with, told without reading the whole queue: `first` are the next open items, in order.

    `progress` is as of the day `on` (ISO 8601), here.
    """

    on: str
    progress: Progress
    first: list[ItemRow]


class Listing:
    """The index of one desk. Every method may be called from any thread; they take turns."""

    def __init__(self, sources: Sources, evaluator: str) -> None:
        self._sources = sources
        self._evaluator = evaluator
        self._index = Index(sources.reader)
        self._turn = threading.RLock()
        self._catching_up = threading.Lock()
        self._at: dict[str, str] = {}
        self._stands = False
        """Whether the rows are here, in this evaluator's order."""
        self._planned: str | None = None
        self._plan_with(Plan(sources.settings))
        self._progress: tuple[date, Progress] | None = None
        self._noted: dict[str, str] = {}
        """The refs as of which the outlook was noted down last."""

    def refresh(self) -> bool:
        """Follow the refs; whether any moved since the last call.

        Raises DeskError where a partial clone needs records for it that its remote does not give.
        """
        with self._turn:
            others, at = self._refs()
            if at == self._at:
                return False
            self._follow_plan()
            try:
                self._index.update((self._sources.queue.ref, at[self._sources.queue.ref]), others)
            except NotHereError as why:
                raise DeskError(str(why)) from None
            self._take_over()
            self._at = at
            return True

    def rows(self) -> list[ItemRow]:
        """Every item in this evaluator's order, as it stands now."""
        return [place.row for place in self.standing()]

    def standing(self) -> Places:
        """The same rows with what their own records make of them; drafts and claims come on top."""
        with self._turn:
            self.refresh()
            return self._standing.places()

    def catch_up(self, cancel: threading.Event) -> None:
        """Read the evidence that was too much to be read with the rest, until all is read or `cancel` is set.

        The turn is given up between pieces, so that others wait for one piece at most.
        """
        if not self._catching_up.acquire(blocking=False):
            return
        try:
            while not cancel.wait(_PAUSE_S):
                with self._turn:
                    if not self._at or not self._index.read_evidence():
                        return
                    self._take_over()
        finally:
            self._catching_up.release()

    def outlook(self) -> Outlook | None:
        """What was noted down when the refs stood as they do; None where they moved, and once all rows are here."""
        with self._turn:
            if self._at:
                return None
            self._follow_plan()
            data = self._index.noted(self._note_name, self._refs()[1])
            try:
                return msgspec.json.decode(data, type=Outlook) if data else None
            except msgspec.DecodeError:
                return None

    def note_outlook(self) -> None:
        """Keep the outlook for whoever opens this queue next."""
        with self._turn:
            if not self._at or self._noted == self._at:
                return
            places = self._standing.places()
            each = map(places.__getitem__, range(places.first_open, len(places)))
            first = list(islice((place.row for place in each if place.state == "open"), _FIRST))
            outlook = Outlook(on=_today().isoformat(), progress=self.progress(), first=first)
            self._index.note(self._note_name, self._at, msgspec.json.encode(outlook))
            self._noted = self._at

    def progress(self) -> Progress:
        """How far the evaluator is, as of the last time that the refs were followed: cheap enough for every key."""
        with self._turn:
            today = _today()
            outlook = self.outlook()
            if outlook is not None:
                same_day = outlook.on == today.isoformat()
                return outlook.progress if same_day else msgspec.structs.replace(outlook.progress, today=0)
            if not self._at:
                self.refresh()
            if self._progress is None or self._progress[0] != today:
                self._progress = (today, self._count(today))
            return self._progress[1]

    def close(self) -> None:
        """Let go of the index."""
        with self._turn:
            self._index.close()

    def plan(self) -> Plan:
        """What is asked of each item, as of the last time that the refs were followed; known without any row."""
        with self._turn:
            if not self._at:
                self._follow_plan()
            return self._plan

    @property
    def _note_name(self) -> str:
        settings = self._sources.settings
        asked = f"{settings.graders_per_item} {settings.double_grade_percent} {settings.retire_after}"
        return f"outlook {self._evaluator} {settings.order} {asked}"

    def _refs(self) -> tuple[dict[str, str], dict[str, str]]:
        """The refs beside the queue's own that hold grades, and all of them, as they stand."""
        others = self._sources.grade_refs()
        return others, {**others, self._sources.queue.ref: self._sources.snapshot().commit}

    def _follow_plan(self) -> None:
        snapshot = self._sources.snapshot()
        entry = snapshot.entry(ASSIGNMENTS)
        oid = entry.oid if entry else None
        if oid != self._planned:
            self._plan_with(plan_of(snapshot, self._sources.settings))
            self._planned = oid

    def _plan_with(self, plan: Plan) -> None:
        self._plan = plan
        self._standing = order.Standing(self._evaluator, plan, named=self._sources.named)
        self._stands = False  # the order follows the plan

    def _take_over(self) -> None:
        """Bring the places in line with the index, by what changed there where that is enough."""
        changed = self._index.changes()
        before = self._standing.change(changed) if changed is not None and self._stands else None
        if changed is None or before is None:
            settings = self._sources.settings
            named = self._index.rows()
            self._standing.stand(
                order.in_order(named, order=settings.order, evaluator=self._evaluator, plan=self._plan)
            )
            self._stands, self._progress = True, None
        elif self._progress is not None:
            day, progress = self._progress
            today = progress.today + self._saved_on(day, changed) - self._saved_on(day, before)
            self._progress = (day, self._as_counted(today))

    def _count(self, today: date) -> Progress:
        return self._as_counted(self._saved_on(today, (place.row for place in self._standing.places())))

    def _as_counted(self, today: int) -> Progress:
        counts = self._standing.counts
        out = sum(counts[state] for state in _NOT_ASKED)
        return Progress(graded=counts["graded"], total=counts.total() - out, today=today)

    def _saved_on(self, day: date, rows: Iterable[ItemRow]) -> int:
        """How many of my grades among `rows` were saved on `day`, as days are here."""
        # A day begins at most a day earlier or later elsewhere: all other times need no closer look.
        near = {(day + timedelta(days=days)).isoformat() for days in (-1, 0, 1)}
        mine = (grade for row in rows for grade in row.grades if grade.evaluator == self._evaluator)
        return sum(grade.saved[:10] in near and _local_day(grade.saved) == day for grade in mine)


def without_a_slot(
    places: Places, claims: Mapping[ItemId, Mapping[str, str]], plan: Plan, evaluator: str
) -> dict[ItemId, str]:
    """The items on which as many others as the plan asks for are or have been at work, with who, in words.

    `claims` says for each item what each evaluator's claim amounts to. Whoever graded without a claim counts too.
    """
    taken: dict[ItemId, str] = {}
    for item, claimed in claims.items():
        place = places.place(item)
        held = {name: words for name, words in claimed.items() if name != evaluator}
        if place is not None and held and evaluator not in claimed:
            graded = {
                grade.evaluator for grade in place.row.grades if grade.fault is None and not is_foreign(grade.evaluator)
            }
            if len(graded | held.keys()) >= plan.graders(item):
                taken[item] = ", ".join(held.values())
    return taken


def _today() -> date:
    return datetime.now().astimezone().date()


def _local_day(saved: str) -> date | None:
    try:
        return datetime.fromisoformat(saved).astimezone().date()
    except ValueError:
        return None
