"""Getting saved grades to the remote, and saying at every moment how far each one is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Sequence
from typing import Literal

from kgrade.desk.people import DeskError
from kgrade.desk.sitting import Status
from kgrade.repository.branches import Branch
from kgrade.repository.commits import CollisionError
from kgrade.repository.opening import Signature
from kgrade.repository.refs import RefMove, read_ref
from kgrade.repository.remote import Remote
from kgrade.repository.runner import GitError
from kgrade.repository.sync import EVIDENCE, Standing, Sync
from kgrade.repository.tree import Snapshot

Keep = Literal["mine", "theirs"]


class Sending:
    """One branch on its way to its remote, or, without one, from its outbox to the branch.

    One `Sync` lives as long as the desk: its back-off and its alarms must survive from one step to the next.
    Every method may be called from any thread; only steps wait for each other.
    """

    def __init__(self, branch: Branch, by: Signature, also: Sequence[str]) -> None:
        self._branch = branch
        self._by = by
        self._sync = (
            None
            if branch.remote is None
            else Sync(branch, Remote(branch.git, branch.remote), by.identity, sign=by.sign, also=also)
        )
        self._turn = threading.Lock()
        self.last: Standing | None = None
        """What came of the last step; None before the first and without a remote."""
        self.notes: list[str] = []
        """What the last step has to say once, such as a working file that was left as it is."""
        self._may_push: bool | None = None
        self._goes_alone = False
        """A server refused a push that had a grade with it: the next one is a step's, which says why."""

    @property
    def alarms(self) -> list[str]:
        """What a person must be told again and again: branches that were rewritten."""
        if self.last is None:
            return []
        return [*self.last.alarms, *([self.last.reason] if self.last.trouble == "rewritten" else [])]

    def step(self, cancel: threading.Event | None = None, along: Sequence[RefMove] = ()) -> Standing | None:
        """One step towards the remote; None without one. DeskError when git itself fails, or `cancel` is set.

        `along` are moves of other refs of the remote, which go with the first push.
        """
        with self._turn:
            try:
                if self._sync is None:
                    settled = self._branch.settle(self._by.identity, sign=self._by.sign)
                    self.notes = [*settled.notes, *([settled.pending] if settled.pending else [])]
                else:
                    self.last = self._sync.step(cancel, along)
                    self._goes_alone = self._goes_alone and self.last.state != "pushed"
                    self.notes = self._refusal(self._sync, cancel)
            except GitError as why:
                raise DeskError(str(why)) from None
            return self.last

    def load(self) -> list[RefMove]:
        """The move that waits, for a push of other things to the same remote. None while a step is under way.

        Nor where the person has a pre-push hook of their own, which is asked by steps alone.
        """
        sync = self._sync
        if (
            sync is None
            or self._goes_alone
            or self._turn.locked()
            or (self._branch.git.own_hooks / "pre-push").exists()
        ):
            return []
        move = sync.load()
        return [move] if move is not None else []

    def unload(self, moves: Sequence[RefMove], taken: Collection[str], *, refused: bool) -> None:
        """A push took `moves` along, as `load` said; the remote took the refs `taken`, or `refused` all of it."""
        self._goes_alone = refused
        for move in moves:
            if self._sync is not None and move.ref == self._branch.ref:
                self._sync.unload(move, taken=move.ref in taken)

    def _refusal(self, sync: Sync, cancel: threading.Event | None) -> list[str]:
        """Once, before there is anything to send: whether this person may send at all. Whatever was sent tells too."""
        if self._may_push is not None or self.last is None or self.last.state != "pushed":
            return []
        why = sync.refusal(cancel)
        self._may_push = not why
        if not why:
            return []
        return [
            f"{self._branch.remote} can only be read from here ({why}); grades are committed here, and"
            " kgrade sync --bundle FILE writes them for someone who may push"
        ]

    def close(self) -> None:
        """Let the branch follow where a save left that for later; trouble with it is found again on the next start."""
        if self._sync is None:
            with contextlib.suppress(DeskError):
                self.step()

    def unsent(self) -> int:
        """How many commits wait to be sent, or to reach the branch."""
        if self._sync is not None:
            return len(self._sync.waiting())
        return 1 if self._branch.outbox() else 0

    def standing(self, path: str) -> tuple[Status, str]:
        """How the file at `path` stands, read from the refs as they are now, and why it has come no further."""
        branch = self._branch
        head = branch.head()
        held = Snapshot(branch.reader, head).entry(path) if head else None
        if held is None:
            return "Untouched", ""
        if branch.remote is None:
            return "Committed", "waits for the branch: the index is locked or in use" if branch.outbox() else ""
        tip = branch.remote_tip()
        there = Snapshot(branch.reader, tip).entry(path) if tip else None
        why = self._rewritten(tip)
        if there is not None and there.oid == held.oid and not why:
            return "Pushed", ""
        return "Committed", why or (self.last.reason if self.last else "")

    def collision(self, path: str) -> CollisionError | None:
        """The two versions of `path`, the one that waits here and the one at the remote, if there are two."""
        found = self.last.collision if self.last else None
        return found if found is not None and found.path == path else None

    def choose(self, collision: CollisionError, keep: Keep) -> CollisionError | None:
        """Put `keep` on top of the other version; the next collision, where there is one more. `step` sends."""
        assert self._sync is not None
        with self._turn:
            further = self._sync.choose(collision, keep)
            waiting = len(self._sync.waiting())
            reason = str(further) if further else "chosen; not sent yet"
            trouble: Literal["", "collision"] = "collision" if further else ""
            alarms = self.last.alarms if self.last else ()
            self.last = Standing("committed", trouble, reason, waiting, None if further else 0.0, further, alarms)
            return further

    def accept_rewrite(self, cancel: threading.Event | None = None) -> str | None:
        """Go on from the remote's rewritten branch; the tip that was seen before it, which is kept."""
        if self._sync is None:
            raise DeskError("this queue has no remote whose branch could have been rewritten")
        with self._turn:
            before = self._branch.remote_tip()
            try:
                self._sync.accept_rewrite(cancel)
                self.last = self._sync.step(cancel)
            except GitError as why:
                raise DeskError(str(why)) from None
            return before

    def _rewritten(self, tip: str | None) -> str:
        """Why the tip that was last seen is not the remote's any more; empty while it is, as far as is known.

        A process that starts has made no step yet: that the tip was put into evidence, and nobody went on from the
        rewritten branch since, tells it as much.
        """
        if self.last is not None:
            return self.last.reason if self.last.trouble == "rewritten" else ""
        if tip is None:
            return ""
        branch = self._branch
        kept = read_ref(branch.git, f"{EVIDENCE}{branch.remote}/{branch.short}/{tip[:12]}")
        return f"{branch.short} was rewritten on {branch.remote}; ask a lead before going on" if kept else ""
