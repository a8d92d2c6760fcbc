"""Sitting down at an item: who may grade it here, with which claim, and what a draft of it already holds."""

from __future__ import annotations

import weakref

import msgspec

from kgrade.desk.claiming import Claiming
from kgrade.desk.item import Item
from kgrade.desk.people import DeskError
from kgrade.desk.sending import Sending
from kgrade.desk.sheet import Edits, saved_as
from kgrade.desk.sitting import ReadOnly, SitterPlace, Sitting, Start, now
from kgrade.desk.sources import Sources
from kgrade.records.slugs import ItemId
from kgrade.repository.claims import TakenError
from kgrade.repository.drafts import Drafts
from kgrade.repository.remote import SlowError


class Seats:
    """The sittings of one desk."""

    def __init__(self, sources: Sources, claiming: Claiming, sending: Sending, drafts: Drafts, evaluator: str) -> None:
        self._sources = sources
        self._claiming = claiming
        self._sending = sending
        self._drafts = drafts
        self._evaluator = evaluator
        self._opened: weakref.WeakValueDictionary[ItemId, Sitting] = weakref.WeakValueDictionary()

    def opened(self, item: ItemId) -> Sitting | None:
        """The sitting of `item` that was opened last, while anyone has it."""
        return self._opened.get(item)

    def sit(self, shown: Item, *, take_over: bool = False, mine: bool = False) -> Sitting:
        """Sit down at `shown`, whose draft is taken up if there is one.

        `take_over`: the person confirms that a claim which ended is theirs to take. `mine`: the item is theirs whoever
        holds it, as one with a draft is.
        """
        item = shown.id
        self.end_saved_draft(item)
        base, sheet = self._sources.grade_of(item, self._evaluator)
        start = Start(opened=now(), about=shown.about, rubric=shown.rubric_ref, base=base, sheet=sheet)
        mine = mine or self._drafts.holds(str(item))
        place = self._place(item, graded=base is not None, take_over=take_over, mine=mine)
        path = item.grade_path(self._evaluator)
        journal = self._drafts.journal(str(item))
        sitting = Sitting(shown, start, journal, lambda: self._sending.standing(path), place)
        try:
            sitting.resume(self._drafts.events(str(item)))
        except (msgspec.ValidationError, KeyError) as why:
            place.leave(keep=False)
            raise DeskError(f"the draft of {item} is of another version of kgrade ({why}); move it away") from None
        self._opened[item] = sitting
        return sitting

    def end_saved_draft(self, item: ItemId) -> bool:
        """Drop a draft that is what my grade says and began before it; whether there was one.

        It is left where the program was ended between the commit and the end of its draft.
        """
        events = self._drafts.events(str(item))
        if not events or read_only(self._drafts, self._evaluator) is not None:
            return False
        base, saved = self._sources.grade_of(item, self._evaluator)
        try:
            begin = msgspec.convert(events[0]["begin"], Start)
            edits = Edits(begin.sheet, lambda event: None)
            edits.replay(events[1:])
        except (msgspec.ValidationError, KeyError):
            return False  # of another version, which is said where the item is opened
        texts = sum(("begun" in event) - ("ended" in event) for event in events)
        if base is None or base == begin.base or texts > 0 or not saved_as(edits.sheet, saved):
            return False
        self._drafts.journal(str(item)).drop()
        return True

    def _place(self, item: ItemId, *, graded: bool, take_over: bool, mine: bool) -> SitterPlace | ReadOnly:
        """Whether `item` may be graded here: `graded` before by me, or `mine`, it always may."""
        why = read_only(self._drafts, self._evaluator)
        if why is not None:
            return ReadOnly(why)
        if graded:
            return SitterPlace(self._claiming, None)
        try:
            return SitterPlace(self._claiming, self._claiming.take(item, confirmed=take_over))
        except TakenError as taken:
            who = ", ".join(map(self._claiming.told, taken.holders)) or "by a claim that cannot be read"
            if mine:
                words = f"{item} is held {who}; your grade will count as a further one"
                return SitterPlace(self._claiming, None, words)
            return ReadOnly(f"{item} is held {who}; here it can only be read")
        except SlowError as why:
            if mine:
                return SitterPlace(self._claiming, None, f"whether others hold {item} is not known: {why}")
            return ReadOnly(f"{why}; until it says whether others hold {item}, open this again, that can only be read")


def read_only(drafts: Drafts, evaluator: str) -> str | None:
    """Why the evaluator can write nothing in this window, in one sentence; None when they can.

    Once the other window is closed this one takes its place.
    """
    if drafts.held_by is None or drafts.take():
        return None
    return f"{drafts.held_by} has this queue open as {evaluator}; this window only reads until that one is closed"
