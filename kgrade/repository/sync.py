"""Getting a branch's outbox to the remote, one step at a time, and saying truly how far it is."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from kgrade.repository.branches import Branch, Outbox
from kgrade.repository.checkout import checkouts_of, is_clean, rebased_in
from kgrade.repository.commits import CollisionError, Committer, Identity
from kgrade.repository.refs import (
    RefBusyError,
    RefMove,
    RefMovedError,
    commits_between,
    is_ancestor,
    move_ref,
    read_ref,
    read_refs,
    straight,
)
from kgrade.repository.remote import Answer, Remote, SlowError, UnreachableError
from kgrade.repository.runner import GitError, printable
from kgrade.repository.tree import Snapshot

EVIDENCE = "refs/kgrade/evidence/"
TRIES = 10
LOCKED_TRIES = 3
JITTER_S = 0.05  # a turn in the race for a branch, at least; else as long as the last one took
MOST_TURNS = 8
FIRST_RETRY_S = 2.0
LAST_RETRY_S = 300.0
APART_S = 3.0  # after which a checkout with changes of the person's own is looked at again
FRESH_S = 30.0  # for which others are not asked for while there is something to push, or was a moment ago

Trouble = Literal["", "offline", "slow", "refused", "collision", "rewritten", "locked", "busy"]


class Standing(msgspec.Struct, frozen=True):
    """How the person's commits stand with the remote after one step.

    `state` is `pushed` only when the remote itself has said or shown that it holds everything: a server names each ref
    that it moved. Whatever else a push ends with, it may have landed, so the remote is asked. `reason` is one sentence,
    empty when all is well. `retry_in` is in seconds; None means that trying again alone will not help: a hook
    refused, a branch was rewritten, or two versions of one file wait for a choice (`collision`).
    """

    state: Literal["committed", "pushed"]
    trouble: Trouble = ""
    reason: str = ""
    waiting: int = 0
    retry_in: float | None = None
    collision: CollisionError | None = None
    alarms: tuple[str, ...] = ()
    carried: frozenset[str] = frozenset()
    """Of the refs that were to go along, those that the remote took."""


class Waiting(msgspec.Struct, frozen=True):
    """One commit that the remote does not have."""

    commit: str
    subject: str


class RewrittenError(GitError):
    """The remote's branch no longer contains what it contained before."""


class Sync:
    """Pushes one branch's outbox and follows the remote.

    `step` may run in a background thread while commits are made in another. `also` are further branches to follow,
    as patterns with `*` (`refs/heads/grades/*`).
    """

    def __init__(
        self,
        branch: Branch,
        remote: Remote,
        identity: Identity,
        *,
        sign: bool = False,
        also: Sequence[str] = (),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.branch = branch
        self.remote = remote
        self._git = branch.git
        self._committer = Committer(branch.reader, identity, sign=sign)
        self._also = tuple(also)
        self._steady = steady
        self._followed = float("-inf")
        self._failures = 0
        self._alarms: dict[str, str] = {}
        self._carried: frozenset[str] = frozenset()
        self._looks_first = False
        self._moved_on = False
        """Others were seen to move the branch since it was looked at."""
        self._sent_along = False
        """All that waited went along with a push since the last step."""
        self._looked = float("-inf")
        self._apart: tuple[str, float] | None = None
        """Where the local branch stood when it could not follow the remote's, and when that was."""
        self._choices: dict[str, Literal["mine", "theirs"]] = {}

    def waiting(self) -> list[Waiting]:
        """The commits of the outbox that the remote was not seen to have, oldest first."""
        box = self.branch.outbox()
        if box is None:
            return []
        base = self.branch.remote_tip() or box.base
        waiting = []
        for commit in commits_between(self._git, base, box.tip):
            subject = self._git.run(["log", "-1", "--no-show-signature", "--format=%s", commit]).text
            waiting.append(Waiting(commit, printable(subject)))
        return waiting

    def step(self, cancel: threading.Event | None = None, along: Sequence[RefMove] = ()) -> Standing:
        """Fetch, push what waits, and ask the remote what it holds. GitCancelledError when `cancel` is set.

        `along` are moves of other refs, which go with the first push if there is one; see `Standing.carried`.
        """
        self._carried = frozenset()
        try:
            standing = self._step(cancel or threading.Event(), along)
        except UnreachableError as error:
            standing = self._committed("offline", str(error), again=True)
        except SlowError as error:
            standing = self._committed("slow", str(error), again=True)
        except RewrittenError as error:
            standing = self._committed("rewritten", str(error), again=False)
        except CollisionError as error:
            standing = self._committed("collision", str(error), again=False, collision=error)
        self._failures = 0 if standing.state == "pushed" else self._failures + 1
        return msgspec.structs.replace(standing, carried=self._carried)

    def load(self) -> RefMove | None:
        """What a step would push first, for a push of other things that goes there now; `unload` hears of it."""
        box, seen = self.branch.outbox(), read_ref(self._git, self.branch.seen_ref)
        return RefMove(self.branch.ref, box.tip, seen) if box is not None and seen and box.base == seen else None

    def unload(self, move: RefMove, *, taken: bool) -> None:
        """What `load` said went to the remote, which took it or not: then the next step looks before it pushes."""
        box = Outbox(move.new, move.old) if move.new else None
        if box is None or not taken or not self.branch.landed(box):
            self._looks_first, self._moved_on = True, not taken
        else:
            self._sent_along = True

    def refusal(self, cancel: threading.Event | None = None) -> str:
        """Why this person may not push to the branch, in a few words, found out without a change; empty if they may."""
        head = self.branch.head()
        return self.remote.refusal(head, self.branch.ref, cancel) if head else ""

    def accept_rewrite(self, cancel: threading.Event | None = None) -> None:
        """Go on from the remote's rewritten or recreated branch; the old tip stays under refs/kgrade/evidence/."""
        if self.branch.ref in self.remote.tips(self.branch.ref, cancel=cancel):
            self.remote.fetch([f"+{self.branch.ref}:{self.branch.seen_ref}"], cancel)
        else:
            for ref in (self.branch.seen_ref, f"refs/remotes/{self.remote.name}/{self.branch.short}"):
                move_ref(self._git, ref, None, read_ref(self._git, ref))

    def choose(self, collision: CollisionError, keep: Literal["mine", "theirs"]) -> CollisionError | None:
        """End a collision; both versions end up in the history, `keep` on top. The next `step` pushes.

        Answers the next collision where more than one file has two versions: nothing moves until all are chosen.
        """
        tip, box = self.branch.remote_tip(), self.branch.outbox()
        if box is None or tip is None:
            return None
        self._choices[collision.path] = keep
        new = tip
        try:
            for commit in commits_between(self._git, box.base, box.tip):
                new = self._committer.replay(commit, new, over=self._choices)
        except CollisionError as further:
            return further
        there = Snapshot(self.branch.reader, tip)
        for path, kept in self._choices.items():
            if kept == "theirs":
                entry = there.entry(path)
                message = f"keep the other version of {path}\n"
                new = self._committer.put(new, path, entry.oid if entry else None, message)
        self.branch.set_outbox(Outbox(new, tip), box)
        self._choices.clear()
        return None

    def _step(self, cancel: threading.Event, along: Sequence[RefMove]) -> Standing:
        answer = Answer("taken")
        locked, tried = 0, None
        looks_first, self._looks_first = self._looks_first, False
        moved_on, self._moved_on = self._moved_on, False
        sent_along, self._sent_along = self._sent_along, False
        if sent_along and self._steady() - self._looked < FRESH_S and self.branch.outbox() is None:
            self._follow(self.branch.remote_tip())  # what others did is for the next step, as after any other push
            return Standing("pushed", alarms=tuple(self._alarms.values()))
        for attempt in range(TRIES + 1):
            began = self._steady()
            # What was seen last is where the branch stands, mostly; where it does not, the push says so.
            tip = self._seen_last() if not attempt and not looks_first else None
            onto = tip
            if tip is None:
                tip = self._look(cancel, moved=moved_on or answer.outcome in ("behind", "locked"))
                moved_on = False
            box = self._landed(tip)
            if box is None:
                self._follow(tip)
                return Standing("pushed", alarms=tuple(self._alarms.values()))
            locked += answer.outcome == "locked"
            same = tip == tried  # on another tip it may turn out that the remote holds everything
            if answer.outcome in ("slow", "unreachable") and same:
                trouble: Trouble = "slow" if answer.outcome == "slow" else "offline"
                return self._committed(trouble, answer.words, again=True)
            if answer.outcome == "refused" and same:
                return self._committed("refused", f"{self.remote.name} refused the push: {answer.words}", again=False)
            if locked == LOCKED_TRIES:
                where = f"{self.branch.ref} on {self.remote.name}"
                return self._committed("locked", f"{where} is locked ({answer.words}); tell a lead", again=True)
            if attempt == TRIES:
                break
            answer, sent = self._push(box, tip, cancel, onto=onto, along=along)
            if answer.outcome == "taken" and sent is not None and self.branch.landed(sent):
                self._follow(sent.tip)
                return Standing("pushed", alarms=tuple(self._alarms.values()))
            tried, along = tip, ()
            if answer.outcome in ("behind", "locked"):
                # Binary exponential back-off: of many that try at once only one gets on, and the others cost it time.
                turn = max(JITTER_S, self._steady() - began)
                cancel.wait(random.uniform(0, turn * min(2**attempt, MOST_TURNS)))
        return self._committed("busy", f"others push to {self.branch.short} all the time", again=True)

    def _seen_last(self) -> str | None:
        """The remote's tip as last seen, where the outbox is on it and other branches need not be asked for."""
        box, seen = self.branch.outbox(), read_ref(self._git, self.branch.seen_ref)
        return seen if box is not None and box.base == seen and not self._follows(box) else None

    def _follows(self, box: Outbox | None) -> bool:
        """Whether it is time to look at other branches."""
        return bool(self._also) and (box is None or self._steady() - self._followed > FRESH_S)

    def _look(self, cancel: threading.Event, *, moved: bool = False) -> str | None:
        """The remote's tip, fetched; RewrittenError when it left behind what was seen before.

        Where it is known to have `moved`, it is fetched without asking what it is first.
        """
        branch = self.branch
        self._looked = self._steady()
        seen = branch.remote_tip()
        if moved and read_ref(self._git, branch.seen_ref) is not None:
            with contextlib.suppress(UnreachableError, SlowError):  # which a branch that is gone looks like too
                if not self.remote.fetch([f"{branch.ref}:{branch.seen_ref}"], cancel):
                    return read_ref(self._git, branch.seen_ref)
        if seen is not None and read_ref(self._git, branch.seen_ref) is None:
            move_ref(self._git, branch.seen_ref, seen, None)
        box = branch.outbox()
        follows = self._follows(box)
        tips = self.remote.tips(branch.ref, *(self._also if follows else ()), cancel=cancel)
        if follows:
            self._fetch_also(tips, cancel)
            self._followed = self._steady()
        if branch.ref not in tips:
            if seen is None:
                return None
            self._keep(branch.short, seen)
            raise RewrittenError(f"{branch.short} is gone from {self.remote.name}; its last tip {seen[:12]} is kept")
        if box is not None and tips[branch.ref] == box.tip and seen == box.base and branch.landed(box):
            return box.tip  # what it has came from here
        if tips[branch.ref] != seen and self.remote.fetch([f"{branch.ref}:{branch.seen_ref}"], cancel):
            assert seen is not None
            self._keep(branch.short, seen)
            raise RewrittenError(
                f"{branch.short} was rewritten on {self.remote.name}: {seen[:12]} is no longer in it (kept here); "
                "ask a lead before going on"
            )
        return read_ref(self._git, branch.seen_ref)

    def _fetch_also(self, tips: dict[str, str], cancel: threading.Event) -> None:
        prefix = f"refs/kgrade/remotes/{self.remote.name}/"
        seen = read_refs(self._git, prefix)
        wanted = [
            f"{ref}:{prefix}{ref.removeprefix('refs/heads/')}"
            for ref, oid in tips.items()
            if ref != self.branch.ref and seen.get(prefix + ref.removeprefix("refs/heads/")) != oid
        ]
        if not wanted:
            return
        for short in self.remote.fetch(wanted, cancel):
            old = seen[prefix + short.removeprefix("refs/heads/")]
            self._keep(short, old)
            self._alarms[short] = f"{short} was rewritten on {self.remote.name}; its old tip {old[:12]} is kept"

    def _keep(self, short: str, tip: str) -> None:
        ref = f"{EVIDENCE}{self.remote.name}/{short}/{tip[:12]}"
        move_ref(self._git, ref, tip, read_ref(self._git, ref), "kgrade: kept")

    def _landed(self, tip: str | None) -> Outbox | None:
        """The outbox, emptied when the remote holds all of it."""
        while (box := self.branch.outbox()) is not None:
            if tip is None or tip == box.base or not self._holds(tip, box):
                return box
            try:
                self.branch.set_outbox(None, box)
            except RefMovedError:
                continue
        return None

    def _holds(self, tip: str, box: Outbox) -> bool:
        since = straight(self.branch.reader.objects, box.base, tip)
        return is_ancestor(self._git, box.tip, tip) if since is None else box.tip in since

    def _push(
        self, box: Outbox, tip: str | None, cancel: threading.Event, *, onto: str | None, along: Sequence[RefMove]
    ) -> tuple[Answer, Outbox | None]:
        """Push `box`, on `tip`; what came of it, and the outbox that was pushed, None where none was."""
        new = self.branch.rebuilt(box, tip, self._committer)
        if new != box.tip:
            try:
                self.branch.set_outbox(Outbox(new, tip), box)
            except (RefMovedError, RefBusyError):
                return Answer("behind"), None
            box = Outbox(new, tip)
        if new == tip:
            return Answer("taken"), None
        answer = self.remote.push(new, self.branch.ref, cancel, onto=onto, along=along)
        self._carried |= answer.along
        if along and answer.outcome == "refused":  # perhaps for the sake of what went along
            answer = self.remote.push(new, self.branch.ref, cancel, onto=onto)
        return answer, box

    def _follow(self, tip: str | None) -> None:
        """Fast-forward the local branch where that cannot disturb anyone."""
        local = self.branch.tip()
        if tip is None or local is None or local == tip:
            return
        if self._apart is not None and self._apart[0] == local and self._steady() - self._apart[1] < APART_S:
            return
        self._apart = None
        if not is_ancestor(self._git, local, tip):
            return
        if rebased_in(self._git, self.branch.ref):
            return
        checkouts = checkouts_of(self._git, self.branch.ref)
        if not checkouts:
            move_ref(self._git, self.branch.ref, tip, local, "kgrade: fast-forward")
        elif len(checkouts) == 1 and is_clean(checkouts[0]):
            # Refuses by itself when an untracked file is in the way.
            checkouts[0].run(["merge", "--ff-only", "--quiet", tip], check=False)
        else:
            self._apart = local, self._steady()

    def _committed(
        self, trouble: Trouble, reason: str, *, again: bool, collision: CollisionError | None = None
    ) -> Standing:
        delay = min(LAST_RETRY_S, FIRST_RETRY_S * 2**self._failures) * random.uniform(0.8, 1.2)
        return Standing(
            "committed",
            trouble,
            reason,
            len(self.waiting()),
            delay if again else None,
            collision,
            tuple(self._alarms.values()),
        )
