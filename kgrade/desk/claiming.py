"""My claims at one desk: taken with an item, renewed while I work, given back when I leave it untouched.

They are refs of the remote, or of this repository where there is none. Without a network two people may be given the
same item: that costs a second opinion and nothing else. A slow remote is waited for. No claim, held or lost, ever keeps
a grade from being saved, and what goes wrong with one is a note.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection
from datetime import datetime

from kgrade.records.slugs import ItemId
from kgrade.repository.claims import Claim, Claims, TakenError
from kgrade.repository.refs import RefMove
from kgrade.repository.remote import SlowError
from kgrade.repository.runner import GitError

RENEWALS_PER_LEASE = 4


class Hold:
    """One item that this desk keeps for its evaluator. `note` says what is wrong with the claim, if anything."""

    def __init__(self, item: ItemId, claim: Claim | None, note: str, since: float) -> None:
        self.item = item
        self.claim = claim
        self.note = note
        self.since = since
        self.users = 0
        self.renewing: threading.Thread | None = None


class Claiming:
    """The claims of one evaluator at one desk. Every method may be called from any thread; they take turns.

    Without `named`, as in a blind queue, words about a claim do not tell whose it is.
    """

    def __init__(
        self,
        claims: Claims,
        evaluator: str,
        lease_s: float,
        *,
        named: bool = True,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._claims = claims
        self._evaluator = evaluator
        self._named = named
        self._renew_after_s = lease_s / RENEWALS_PER_LEASE
        self._steady = steady
        self._turn = threading.RLock()
        self._holds: dict[ItemId, Hold] = {}
        self._offered: Hold | None = None
        self._graded: dict[ItemId, Claim] = {}
        """Claims on what is graded and in a commit, not yet marked as done."""
        self._marks: dict[ItemId, Claim] = {}
        """For some of those the mark, made to go along with the push of the grade."""
        self._unanswered: set[ItemId] = set()
        """Items that a slow remote was asked for and has not been heard to give."""
        self.note = ""
        """Why the claims of others cannot be seen, in one sentence; empty when they can."""

    def take(self, item: ItemId, *, confirmed: bool = False) -> Hold:
        """Claim `item`; TakenError when others have all of it, SlowError when the remote has not said so in time.

        A claim that has not moved for its whole lease is taken over; one that ended long ago by the clocks only when
        the person has `confirmed` that. Other trouble with git is a note on the hold, never an error.
        """
        with self._turn:
            hold = self._holds.get(item)
            if hold is None or hold.claim is None:
                self._graded.pop(item, None)  # what is graded again is not done yet
                hold = self._holds[item] = self._acquired(item, confirmed)
            hold.users += 1
            if self._offered is hold:
                self._offered = None
                hold.users -= 1
            return hold

    def offer(self, item: ItemId) -> None:
        """Claim `item` for whoever sits down next; what was offered before and not taken is given back."""
        with self._turn:
            if self._offered is not None and self._offered is self._holds.get(item):
                return
            taken = self.take(item)
            before, self._offered = self._offered, taken
            if before is not None:
                self.leave(before)
            self._give_back_unanswered()

    def waits(self) -> bool:
        """Whether a slow remote still owes an answer; known at once, whoever's turn it is."""
        return self._claims.waits()

    @property
    def offered(self) -> ItemId | None:
        """The item that is claimed for whoever sits down next, if there is one."""
        offered = self._offered
        return offered.item if offered is not None and offered.claim is not None else None

    def others(self) -> dict[ItemId, dict[str, str]]:
        """By item and evaluator, what each claim amounts to, such as `by bob until 14:05`; expired ones left out.

        My own are there too, as empty words.
        """
        with self._turn:
            try:
                found = self._claims.holders()
            except GitError as why:
                self.note = f"who holds what cannot be seen: {why}"
                return {}
            self.note = ""
            words: dict[ItemId, dict[str, str]] = {}
            for claim in found:
                mine = claim.evaluator == self._evaluator
                if mine and claim.holds:
                    words.setdefault(claim.item, {})[claim.evaluator] = ""
                elif not mine and (claim.state == "done" or (claim.holds and self._claims.expiry(claim) != "expired")):
                    words.setdefault(claim.item, {})[claim.evaluator] = self.told(claim)
            return words

    def at_work(self) -> set[str]:
        """The evaluators who hold something, as far as is known here."""
        with self._turn:
            return {
                claim.evaluator
                for claim in self._claims.holders()
                if claim.holds and self._claims.expiry(claim) == "live"
            }

    def told(self, claim: Claim) -> str:
        """Whose a claim is and until when, in words."""
        who = claim.evaluator if self._named or claim.evaluator == self._evaluator else "someone else"
        if claim.state == "done":
            return f"done by {who}"
        clock = _clock(claim.until)
        ended = ", not seen since; it can be taken over" if self._claims.expiry(claim) == "confirm" else ""
        ahead = " by a clock that is ahead of this one" if self._claims.skewed(claim) else ""
        return f"by {who} until {clock}{ahead}{ended}"

    def next_free(self, items: Collection[ItemId]) -> str:
        """Which of `items`, all held by others, can be taken first and when, in a sentence; empty if none ends."""
        with self._turn:
            try:
                held = [claim for claim in self._claims.holders() if claim.holds and claim.item in items]
            except GitError:
                return ""  # `others` has said so
            if not held:
                return ""
            first = min(held, key=self._claims.frees)
            return f"{first.item} is the next to be free, at {_clock(self._claims.frees(first))} unless it is worked on"

    def work(self, hold: Hold) -> None:
        """Someone works on the item: renew its claim when that is due, on another thread, so that no key waits."""
        if self._steady() - hold.since < self._renew_after_s or hold.renewing is not None:
            return
        hold.renewing = threading.Thread(target=self._renew, args=(hold,), name="claim-renewal", daemon=True)
        hold.renewing.start()

    def trailer(self, item: ItemId) -> str:
        """The claim under which `item` is graded, as a commit names it; empty without one."""
        with self._turn:
            hold = self._holds.get(item)
            return hold.claim.oid if hold and hold.claim else ""

    def done(self, item: ItemId) -> None:
        """The grade of `item` is in a commit: its slot is marked so by the next `settle`."""
        with self._turn:
            hold = self._holds.pop(item, None)
            if hold is not None and hold.claim is not None:
                self._graded[item] = hold.claim

    def marks(self) -> list[RefMove]:
        """The moves that mark the slots of what was graded, for the push that brings the grades."""
        with self._turn:
            self._marks = {item: self._claims.marked_done(claim) for item, claim in self._graded.items()}
            return [RefMove(mark.ref, mark.oid, self._graded[item].oid) for item, mark in self._marks.items()]

    def went_along(self, carried: Collection[str]) -> None:
        """Of the marks those on the refs `carried` were taken by the remote."""
        with self._turn:
            for item, mark in self._marks.items():
                if mark.ref in carried and self._graded.pop(item, None) is not None:
                    self._claims.went_along(mark)
            self._marks.clear()

    def settle(self) -> list[str]:
        """Mark the slots of what was graded. Answers a sentence for each that could not be."""
        failed: list[str] = []
        with self._turn:
            while self._graded:
                item, claim = self._graded.popitem()
                try:
                    self._claims.done(claim)
                except SlowError as why:
                    self._graded[item] = claim  # marked by the next one
                    return [*failed, str(why)]
                except GitError as why:
                    failed.append(f"the grade of {item} stands, but its claim was not marked as done: {why}")
        return failed

    def leave(self, hold: Hold, *, keep: bool = False) -> None:
        """One user of `hold` is gone; after the last one the claim is given back, unless there is a draft to `keep`."""
        with self._turn:
            hold.users -= 1
            if hold.users <= 0 and not keep and self._holds.get(hold.item) is hold:
                del self._holds[hold.item]
                self._release(hold)

    def close(self) -> None:
        """Give every claim back."""
        with self._turn:
            renewals = [hold.renewing for hold in self._holds.values() if hold.renewing]
        for thread in renewals:
            thread.join()
        self.settle()
        with self._turn:
            if not self._claims.waits():
                self._give_back_unanswered()
            for hold in self._holds.values():
                self._release(hold)
            self._holds.clear()
            self._offered = None

    def _acquired(self, item: ItemId, confirmed: bool) -> Hold:
        try:
            claim, note = self._acquire(item, confirmed), ""
        except TakenError:
            raise
        except SlowError:
            self._unanswered.add(item)
            raise
        except GitError as why:
            claim, note = None, f"{item} could not be claimed, so others may be given it too: {why}"
        return Hold(item, claim, note, self._steady())

    def _acquire(self, item: ItemId, confirmed: bool) -> Claim:
        try:
            return self._claims.acquire(item)
        except TakenError as taken:
            mine = [claim for claim in taken.holders if claim.evaluator == self._evaluator and claim.state == "done"]
            if mine:
                return self._claims.reopen(mine[0])
            for claim in taken.holders:
                expiry = self._claims.expiry(claim)
                if claim.holds and (expiry == "expired" or (expiry == "confirm" and confirmed)):
                    return self._claims.take_over(claim, confirmed=confirmed)
            raise

    def _give_back_unanswered(self) -> None:
        """Release what a slow remote gave me after I had gone on to another item."""
        asked, self._unanswered = self._unanswered - self._holds.keys(), set()
        for item in asked:
            with contextlib.suppress(GitError):  # it ends by itself with its lease
                for claim in self._claims.holders(item):
                    if claim.evaluator == self._evaluator and claim.holds:
                        self._claims.release(claim)

    def _renew(self, hold: Hold) -> None:
        with self._turn:
            try:
                if hold.claim is not None and self._holds.get(hold.item) is hold:
                    hold.claim, hold.note = self._claims.renew(hold.claim), ""
            except SlowError as why:
                hold.note = str(why)  # it is mine until its lease ends, and the next renewal is soon enough
            except GitError as why:
                hold.note = f"{why}; go on, your grade will count as a further one"
            finally:
                hold.since = self._steady()
                hold.renewing = None

    def _release(self, hold: Hold) -> None:
        try:
            if hold.claim is not None:
                self._claims.release(hold.claim)
        except GitError as why:  # it ends by itself with its lease
            hold.note = f"the claim on {hold.item} was not given back: {why}"


def _clock(at: float) -> str:
    """A moment in this machine's time of day, with the date where it is another one."""
    when = datetime.fromtimestamp(at).astimezone()
    return when.strftime("%H:%M" if when.date() == datetime.now().astimezone().date() else "%Y-%m-%d %H:%M")
