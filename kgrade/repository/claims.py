"""Claims: who is grading which item now. They schedule work; they are not what keeps work safe.

So they are written as durably as git writes by itself, and nobody waits for a disk because of them.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Literal, Protocol

import msgspec

from kgrade.records.neutral import neutral
from kgrade.records.slugs import ItemId, is_slug
from kgrade.repository.commits import Identity, Stamp, commit_object
from kgrade.repository.objects import MissingObjectError, object_id
from kgrade.repository.refs import RefBusyError, RefMovedError, move_ref, read_refs
from kgrade.repository.runner import Git, GitError
from kgrade.repository.storing import NewObject, store
from kgrade.repository.tree import TreeReader

CLAIMS = "refs/kgrade/claims/"
REVIEW = "_task"
GRACE_S = 15 * 60
SKEW_S = 2 * 60

State = Literal["held", "renewed", "released", "done", "taken-over"]
Expiry = Literal["live", "expired", "confirm"]

HOLDING: tuple[State, ...] = ("held", "renewed", "taken-over")
_STATES: tuple[State, ...] = (*HOLDING, "released", "done")
_TRAILER = re.compile(r"^([A-Z][A-Za-z-]*): (.*)$", re.MULTILINE)
_COMMITTED = re.compile(r"^committer .* (\d+) [+-]\d{4}$", re.MULTILINE)


class Claim(msgspec.Struct, frozen=True):
    """One slot of one item. `at` is the commit's time in seconds since 1970, `lease_s` in seconds."""

    item: ItemId
    slot: int
    evaluator: str
    nonce: str
    lease_s: int
    state: State
    host: str
    at: int
    ref: str
    oid: str

    @property
    def holds(self) -> bool:
        """Whether the slot keeps others out until its lease ends."""
        return self.state in HOLDING

    @property
    def until(self) -> int:
        """When the lease ends by the holder's clock, in seconds since 1970; for display only."""
        return self.at + self.lease_s


class TakenError(GitError):
    """Every slot of an item is held or done; `holders` says by whom."""

    def __init__(self, item: ItemId, holders: tuple[Claim, ...]) -> None:
        names = ", ".join(claim.evaluator for claim in holders) or "a claim that cannot be read"
        super().__init__(f"{item} is taken by {names}")
        self.holders = holders


class LostError(GitError):
    """A claim that is no longer this process's to move."""


class RefMover(Protocol):
    """Where claim refs live: this repository, or a remote."""

    def read(self, prefix: str) -> Mapping[str, str]:
        """The refs below `prefix` with their ids."""

    def move(self, ref: str, new: str, old: str | None) -> bool:
        """Move a ref from `old` (None: it must not exist) to `new`; whether it stands at `new` now."""

    def look(self, folder: str) -> None:
        """Make sure that the refs right below `folder` are as they stand now."""

    def refresh(self) -> None:
        """Make sure of all of them."""

    def drop(self, refs: Mapping[str, str]) -> int:
        """Remove those refs that still stand at the given ids; how many are gone."""

    def note(self, ref: str, oid: str) -> None:
        """A ref was moved to `oid` by a push of other things."""

    def waits(self) -> bool:
        """Whether something asked before is still without an answer; known at once."""


class LocalRefs:
    """Claim refs of this repository, for queues without a remote."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def read(self, prefix: str) -> Mapping[str, str]:
        """The refs below `prefix` with their ids."""
        return read_refs(self._git, prefix.rstrip("/"))

    def look(self, folder: str) -> None:
        """Nothing to do: this repository's refs are read as they stand."""

    def refresh(self) -> None:
        """Nothing to do here either."""

    def note(self, ref: str, oid: str) -> None:
        """Nothing to do: this repository's refs are read as they stand."""

    def waits(self) -> bool:
        """Never: nobody else is asked."""
        return False

    def drop(self, refs: Mapping[str, str]) -> int:
        """Remove those refs that still stand at the given ids; how many are gone."""
        gone = 0
        for ref, oid in refs.items():
            with contextlib.suppress(RefMovedError, RefBusyError):
                move_ref(self._git, ref, None, oid, "kgrade: claim", durable=False)
                gone += 1
        return gone

    def move(self, ref: str, new: str, old: str | None) -> bool:
        """Compare-and-swap; False when another process was first or holds the ref's lock."""
        try:
            move_ref(self._git, ref, new, old, "kgrade: claim", durable=False)
        except (RefMovedError, RefBusyError):
            return False
        return True


class Claims:
    """The claims of one evaluator's process. A slot is moved by fast-forwards only, so its history can be audited.

    `space` is where their refs lie: one for grading, others for other kinds of work on the same items. `graded` names
    the evaluators whose grade of an item stands: their slots are taken though their claims may have been cleared away.
    """

    def __init__(
        self,
        reader: TreeReader,
        refs: RefMover,
        evaluator: str,
        identity: Identity,
        *,
        slots: Callable[[ItemId], int] = lambda item: 1,
        graded: Callable[[ItemId], Collection[str]] = lambda item: (),
        lease_s: int = 7200,
        space: str = CLAIMS,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._refs = refs
        self._evaluator = evaluator
        self._identity = identity
        self._slots = slots
        self._graded = graded
        self._lease_s = lease_s
        self._space = space
        self._wall = wall
        self._steady = steady
        self._first_seen: dict[str, tuple[str, float]] = {}
        self._decoded: dict[str, tuple[str, Claim | None]] = {}
        """By ref, the id that it had and the claim in it: of thousands of claims, few move between two looks."""
        self._made: set[str] = set()
        """What was asked of the refs from here: a slow remote may have done it after the answer was given up."""

    def holders(self, item: ItemId | None = None) -> tuple[Claim, ...]:
        """Every claim of `item`, or of the queue, in whatever state, by ref; damaged ones are left out."""
        prefix = self._space if item is None else f"{self._space}{_ref_part(item)}/"
        claims = []
        now = self._steady()
        for ref, oid in sorted(self._refs.read(prefix).items()):
            if self._first_seen.get(ref, ("", 0.0))[0] != oid:
                self._first_seen[ref] = (oid, now)
            if self._decoded.get(ref, ("", None))[0] != oid:
                self._decoded[ref] = (oid, self._read(ref, oid))
            claim = self._decoded[ref][1]
            if claim is not None:
                claims.append(claim)
        return tuple(claims)

    def refresh(self) -> None:
        """See every claim as it stands now; GitError where that cannot be asked."""
        self._refs.refresh()

    def waits(self) -> bool:
        """Whether a slow remote still owes an answer; known at once."""
        return self._refs.waits()

    def expiry(self, claim: Claim) -> Expiry:
        """Whether a holding claim may be taken over: not yet, freely, or once the person confirms.

        Freely: its ref has not moved for a full lease on this process's monotonic clock. After confirmation: its
        commit time and lease and a grace of 15 minutes lie in the past by the wall clocks.
        """
        oid, since = self._first_seen.get(claim.ref, (claim.oid, self._steady()))
        if oid == claim.oid and self._steady() - since >= claim.lease_s:
            return "expired"
        if claim.until + GRACE_S < self._wall():
            return "confirm"
        return "live"

    def frees(self, claim: Claim) -> float:
        """From when on someone else may take a holding claim that does not move again, in seconds since 1970.

        By this machine's clocks: a full lease after it was first seen as it stands, or once a person may confirm.
        """
        oid, since = self._first_seen.get(claim.ref, (claim.oid, self._steady()))
        waited = self._steady() - since if oid == claim.oid else 0.0
        return min(self._wall() + max(claim.lease_s - waited, 0.0), claim.until + GRACE_S)

    def skewed(self, claim: Claim) -> bool:
        """Whether the claim lies more than 2 minutes in this machine's future: one of the clocks is wrong."""
        return claim.at > self._wall() + SKEW_S

    def acquire(self, item: ItemId) -> Claim:
        """A slot of `item` for this evaluator; one they hold from before is renewed as this process's.

        Raises TakenError when no slot is free.
        """
        is_fresh = False
        for _ in range(self._slots(item) + 2):
            claims = self.holders(item)
            mine = [c for c in claims if c.evaluator == self._evaluator and c.holds]
            won = self._move(mine[0], "renewed") if mine else self._first_free(item, claims)
            if won is not None:
                return self._only(won)
            if self.holders(item) == claims:  # nothing was tried, for all is taken as far as is known
                if is_fresh:
                    break
                self._refs.look(f"{self._space}{_ref_part(item)}/")
            is_fresh = True
        raise TakenError(item, tuple(c for c in self.holders(item) if c.state != "released"))

    def renew(self, claim: Claim) -> Claim:
        """The same claim with a fresh lease; LostError when it was taken over."""
        return self._held(claim, "renewed")

    def release(self, claim: Claim) -> Claim:
        """Give the slot back; LostError when it was taken over."""
        return self._held(claim, "released")

    def done(self, claim: Claim) -> Claim:
        """Mark the slot as graded; LostError when it was taken over (the grade stands all the same)."""
        return self._held(claim, "done")

    def marked_done(self, claim: Claim) -> Claim:
        """What `done` would make of `claim`, stored but moved nowhere: for a push that goes to the remote anyway."""
        return self._make(claim.item, claim.slot, "done", claim.ref, claim.oid)

    def went_along(self, marked: Claim) -> None:
        """The remote took `marked` with a push of other things."""
        self._refs.note(marked.ref, marked.oid)

    def reopen(self, claim: Claim) -> Claim:
        """Hold a slot again that this evaluator had marked as graded; LostError when it is not theirs any more."""
        if claim.state != "done" or claim.evaluator != self._evaluator:
            raise LostError(f"the claim on {claim.item} is not one that {self._evaluator} has done")
        return self._held(claim, "held")

    def take_over(self, claim: Claim, *, confirmed: bool = False) -> Claim:
        """Take an expired claim; TakenError while it is live or unconfirmed, LostError when another was faster."""
        expiry = self.expiry(claim)
        if not claim.holds or expiry == "live" or (expiry == "confirm" and not confirmed):
            raise TakenError(claim.item, (claim,))
        if any(c.evaluator == self._evaluator and c.holds for c in self.holders(claim.item)):
            raise TakenError(claim.item, (claim,))
        return self._only(self._held(claim, "taken-over"))

    def _first_free(self, item: ItemId, claims: tuple[Claim, ...]) -> Claim | None:
        if any(c.evaluator == self._evaluator and c.state == "done" for c in claims):
            raise TakenError(item, claims)
        by_slot = {claim.slot: claim for claim in claims}
        if self._slots(item) > 1:
            taken = {claim.evaluator for claim in claims if claim.state != "released"}
            if len(taken.union(self._graded(item))) >= self._slots(item):
                return None
        for slot in range(1, self._slots(item) + 1):
            before = by_slot.get(slot)
            if before is not None and before.state != "released":
                continue
            ref = f"{self._space}{_ref_part(item)}/{slot}"
            won = self._write(item, slot, "held", ref, before.oid if before else None)
            if won is not None:
                return won
        return None

    def _only(self, won: Claim) -> Claim:
        """Give back every further slot that this evaluator won at the same moment elsewhere; the lowest stays."""
        if self._slots(won.item) > 1:
            self._refs.look(f"{self._space}{_ref_part(won.item)}/")
        mine = [c for c in self.holders(won.item) if c.evaluator == self._evaluator and c.holds]
        if mine and mine[0].slot < won.slot:
            self._move(won, "released")
            raise TakenError(won.item, (mine[0],))
        return won

    def _held(self, claim: Claim, state: State) -> Claim:
        moved = self._move(claim, state)
        if moved is None:
            now = next((each for each in self.holders(claim.item) if each.ref == claim.ref), None)
            if now is not None and now.oid in self._made:
                moved = now if now.state == state else self._move(now, state) if now.holds else None
        if moved is None:
            raise LostError(f"the claim on {claim.item} was moved by someone else")
        return moved

    def _move(self, claim: Claim, state: State) -> Claim | None:
        return self._write(claim.item, claim.slot, state, claim.ref, claim.oid)

    def _write(self, item: ItemId, slot: int, state: State, ref: str, old: str | None) -> Claim | None:
        made = self._make(item, slot, state, ref, old)
        return made if self._refs.move(ref, made.oid, old) else None

    def _make(self, item: ItemId, slot: int, state: State, ref: str, old: str | None) -> Claim:
        # The nonce: two clients that moved a ref to the very same object would both believe that they won.
        nonce = str(uuid.uuid4())
        host = neutral(socket.gethostname())
        trailers = {
            "Item": str(item),
            "Slot": str(slot),
            "Evaluator": self._evaluator,
            "Nonce": nonce,
            "Lease-Seconds": str(self._lease_s),
            "State": state,
            "Host": host,
        }
        text = f"claim: {item} {state} ({self._evaluator})\n\n" + "".join(f"{k}: {v}\n" for k, v in trailers.items())
        at = int(self._wall())
        oid = self._commit(text, old, at)
        self._made.add(oid)
        return Claim(item, slot, self._evaluator, nonce, self._lease_s, state, host, at, ref, oid)

    def _commit(self, message: str, parent: str | None, at: int) -> str:
        git = self._reader.git
        by = Stamp(self._identity, f"{at} +0000")
        # The empty tree, on which claims are, goes along: git must find it there, whoever reads the claim.
        tree = NewObject("tree", b"")
        tree_id = object_id("tree", b"", git.object_format)
        return store(git, [tree, commit_object(tree_id, parent, by, by, message)], durable=False)[-1]

    def _read(self, ref: str, oid: str) -> Claim | None:
        """The claim that a ref holds, None when what stands there is not one; refs are anyone's to write."""
        try:
            kind, content = self._reader.objects.object(oid, 1 << 16)
        except MissingObjectError:
            return None
        head, _, message = content.decode("utf-8", "replace").partition("\n\n")
        committed = _COMMITTED.search(head)
        fields = dict(_TRAILER.findall(message.partition("\n\n")[2]))
        state = next((s for s in _STATES if s == fields.get("State")), None)
        if kind != "commit" or committed is None or state is None or not is_slug(fields.get("Evaluator", "")):
            return None
        try:
            item = ItemId.parse(fields.get("Item", ""))
            slot, lease = int(fields.get("Slot", "")), int(fields.get("Lease-Seconds", ""))
        except ValueError:
            return None
        if ref != f"{self._space}{_ref_part(item)}/{slot}" or lease < 0:
            return None
        nonce, host = neutral(fields.get("Nonce", "")), neutral(fields.get("Host", ""))
        return Claim(item, slot, fields["Evaluator"], nonce, lease, state, host, int(committed[1]), ref, oid)


def _ref_part(item: ItemId) -> str:
    return f"{item.task}/{item.submission or REVIEW}"
