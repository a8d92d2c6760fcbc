"""Moving a branch so that nothing of the person's is lost, and the outbox beside it."""

from __future__ import annotations

import contextlib
import fcntl
import random
import time
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from kgrade.records.neutral import neutral
from kgrade.repository.checkout import (
    IndexPlan,
    InTheWayError,
    checkouts_of,
    place_files,
    plan_index,
    rebased_in,
    write_index,
)
from kgrade.repository.commits import Change, CollisionError, Committer, Identity
from kgrade.repository.moves import FileMove, moves_between
from kgrade.repository.ref_files import may_be_ref
from kgrade.repository.refs import (
    RefBusyError,
    RefMove,
    RefMovedError,
    commits_between,
    merge_base,
    move_command,
    move_ref,
    move_refs,
    read_ref,
    read_refs,
    straight,
)
from kgrade.repository.runner import Git, GitError
from kgrade.repository.tree import Snapshot, TreeReader

OUTBOX = "refs/kgrade/outbox/"
OUTBOX_BASE = "refs/kgrade/outbox-base/"
TRIES = 10
PAUSE_S = 0.05
_WHY = "kgrade: save"


class Saved(msgspec.Struct, frozen=True):
    """A commit that is safe in the repository.

    `ref` holds it: the branch itself, or the outbox ref from which the branch follows. `notes` are
    sentences for the person, such as a working file that was left as it is.
    """

    commit: str
    ref: str
    where: Literal["branch", "outbox"]
    notes: tuple[str, ...] = ()


class Outbox(msgspec.Struct, frozen=True):
    """The commits that wait: those of `tip` that `base` lacks. `base` is None on a branch without commits."""

    tip: str
    base: str | None


class Settled(msgspec.Struct, frozen=True):
    """How the branch followed its outbox; `pending` says in one sentence why it has not, or is empty."""

    pending: str = ""
    notes: tuple[str, ...] = ()


class Branch:
    """One branch of a queue repository.

    `ref` is its full name (`refs/heads/main`). With a `remote`, commits are made in the outbox on the
    remote's tip and leave through `kgrade.repository.remote`; without one, they go onto the branch, or to
    the outbox while something is in the way there.
    """

    def __init__(self, reader: TreeReader, ref: str, *, remote: str | None = None) -> None:
        if not ref.startswith("refs/heads/") or not may_be_ref(ref):
            raise GitError(f"{neutral(ref)!r} is not a branch; expected a name like refs/heads/main")
        self.reader = reader
        self.git: Git = reader.git
        self.ref = ref
        self.short = ref.removeprefix("refs/heads/")
        self.remote = remote
        self.outbox_ref = OUTBOX + self.short
        self._base_ref = OUTBOX_BASE + self.short

    @property
    def seen_ref(self) -> str:
        """Where the remote's tip is kept: moved by kgrade alone, so that a rewrite there is noticed."""
        return f"refs/kgrade/remotes/{self.remote}/{self.short}"

    def tip(self) -> str | None:
        """The branch's own commit, None before its first."""
        return read_ref(self.git, self.ref)

    def outbox(self) -> Outbox | None:
        """The commits that have not reached the branch (with a remote: the remote), if there are any."""
        tip = read_ref(self.git, self.outbox_ref)
        return Outbox(tip, read_ref(self.git, self._base_ref)) if tip else None

    def set_outbox(self, new: Outbox | None, old: Outbox | None) -> None:
        """Replace the outbox if it still is `old`; RefMovedError when it is not."""
        tips = RefMove(self.outbox_ref, new.tip if new else None, old.tip if old else None)
        bases = RefMove(self._base_ref, new.base if new else None, read_ref(self.git, self._base_ref))
        move_refs(self.git, [tips, bases], _WHY)

    def remote_tip(self) -> str | None:
        """The remote's tip as last seen."""
        if self.remote is None:
            return None
        return read_ref(self.git, self.seen_ref) or read_ref(self.git, f"refs/remotes/{self.remote}/{self.short}")

    def ahead(self) -> int:
        """How many commits of the person's own the remote does not have; what only they hold is not read from here."""
        tip, there = self.tip(), self.remote_tip()
        return len(commits_between(self.git, there, tip)) if tip and there else 0

    def head(self) -> str | None:
        """The commit that readers read and that the next commit goes onto."""
        box = self.outbox()
        return box.tip if box else self.remote_tip() or self.tip()

    def commit(
        self,
        changes: Sequence[Change],
        message: str,
        identity: Identity,
        *,
        sign: bool = False,
        follow: bool = True,
    ) -> Saved:
        """Commit `changes`; afterwards they are on disk and reachable from `Saved.ref`.

        Without `follow` they wait in the outbox for the next `settle`, which is when checkouts are brought along:
        the cost of that follows the size of the index.

        Raises CollisionError when a change was not made from what is there, GitError when git refuses.
        """
        committer = Committer(self.reader, identity, sign=sign)
        last: GitError | None = None
        for attempt in range(TRIES):
            try:
                if self.remote is not None or not follow:
                    return self._to_outbox(committer, changes, message, ())
                return self._to_branch(
                    committer, changes, message, stuck=isinstance(last, RefBusyError) and attempt > 4
                )
            except (RefMovedError, RefBusyError) as error:
                last = error
                time.sleep(random.uniform(0, PAUSE_S * (attempt + 1)))
        raise GitError(f"the commit was made but no ref would take it after {TRIES} tries: {last}")

    def get_ready(self) -> None:
        """Have what the next `commit` needs of git started, so that it need not be waited for then."""
        self.git.get_ready(move_command(_WHY))

    def settle(self, identity: Identity, *, sign: bool = False) -> Settled:
        """Let the branch follow its outbox, without a remote; remade on top where the branch moved on."""
        pending = ""
        for _ in range(TRIES):
            box = self.outbox()
            if box is None or self.remote is not None:
                return Settled()
            try:
                _, notes = self._follow(box, Committer(self.reader, identity, sign=sign))
            except RefMovedError as error:
                pending = str(error)  # a save came meanwhile, and is followed as well
            except (InTheWayError, CollisionError, RefBusyError) as error:
                return Settled(pending=str(error))
            else:
                return Settled(notes=tuple(notes))
        return Settled(pending=pending)

    def rebuilt(self, box: Outbox, onto: str | None, committer: Committer) -> str:
        """The tip of `box` on `onto`: itself where it already contains `onto`, else its commits made anew.

        Raises CollisionError where `onto` has another version of one of the files.
        """
        if onto is None or onto == box.base:
            return box.tip
        own = straight(self.reader.objects, box.base, box.tip) or commits_between(self.git, box.base, box.tip)
        if onto in own:  # a part of them is there already
            return box.tip
        if box.base is None and (shared := merge_base(self.git, onto, box.tip)):
            own = commits_between(self.git, shared, box.tip)
        for commit in own:
            onto = committer.replay(commit, onto)
        return onto

    def landed(self, box: Outbox) -> bool:
        """Note that the remote stands at the tip of `box`, and empty that; False where either moved meanwhile."""
        moves = [
            RefMove(self.seen_ref, box.tip, box.base),
            RefMove(self.outbox_ref, None, box.tip),
            RefMove(self._base_ref, None, box.base),
        ]
        try:
            move_refs(self.git, moves, _WHY)
        except (RefMovedError, RefBusyError):
            return False
        return True

    def advance(self, old: str | None, new: str) -> list[str]:
        """Move the branch from `old` to its descendant `new`, and every checkout's index and files along.

        Answers notes for the person. Raises InTheWayError, RefMovedError or RefBusyError with everything
        as it was.
        """
        if old == new:
            return []
        with _alone(self.git):
            if self.tip() != old:
                raise RefMovedError(f"{self.ref} was moved by another process")
            if folder := rebased_in(self.git, self.ref):
                raise InTheWayError(f"{self.short} is being rebased in {neutral(str(folder))}; finish or abort that")
            moves = moves_between(self.reader, old, new)
            plans = [(checkout, plan_index(checkout, moves)) for checkout in checkouts_of(self.git, self.ref)]
            # Files, index, ref: wherever this is cut short, what is ahead of the branch is the new version, and no
            # commit of the person's can bring the old one back. Least of all may the branch move without the index:
            # then the new file looks staged for deletion.
            notes = [note for checkout, _ in plans for note in place_files(checkout, self.reader, moves)]
            try:
                for checkout, plan in plans:
                    write_index(checkout, plan.entries)
                move_ref(self.git, self.ref, new, old, _WHY)
            except (InTheWayError, GitError):
                self._take_back(moves, plans)
                raise
            return notes

    def _take_back(self, moves: Sequence[FileMove], plans: Sequence[tuple[Git, IndexPlan]]) -> None:
        """Bring checkouts back to what they were, but for what a commit of the person's has taken along meanwhile."""
        tip = self.tip()
        there = Snapshot(self.reader, tip) if tip else None
        back = []
        for move in moves:
            entry = there.entry(move.path) if there else None
            if (entry.oid if entry else None) != move.new:
                back.append(FileMove(move.path, move.new, move.old))
        paths = {move.path for move in back}
        for checkout, plan in plans:
            place_files(checkout, self.reader, back)
            write_index(checkout, [entry for entry in plan.undo if entry.path in paths])

    def _to_branch(self, committer: Committer, changes: Sequence[Change], message: str, *, stuck: bool) -> Saved:
        if self.outbox():
            return self._through_outbox(committer, changes, message)
        if stuck:
            return self._to_outbox(committer, changes, message, (f"{self.ref} is locked by another process",))
        tip = self.tip()
        commit = committer.commit(tip, changes, message)
        try:
            notes = self.advance(tip, commit)
        except InTheWayError as reason:
            self.set_outbox(Outbox(commit, tip), None)
            return Saved(commit, self.outbox_ref, "outbox", (str(reason),))
        return Saved(commit, self.ref, "branch", tuple(notes))

    def _through_outbox(self, committer: Committer, changes: Sequence[Change], message: str) -> Saved:
        """Commit on the outbox, then let the branch follow with all of it when it can."""
        saved = self._to_outbox(committer, changes, message, ())
        box = self.outbox()
        if box is None:
            return saved
        try:
            tip, notes = self._follow(box, committer)
        except (InTheWayError, CollisionError, RefMovedError, RefBusyError) as reason:
            return Saved(saved.commit, saved.ref, "outbox", (str(reason),))
        return Saved(tip, self.ref, "branch", tuple(notes))

    def _follow(self, box: Outbox, committer: Committer) -> tuple[str, list[str]]:
        """Bring the branch to what `box` holds and empty that; the branch's new tip and notes."""
        tip = self.tip()
        new = self.rebuilt(box, tip, committer)
        notes = self.advance(tip, new)
        self.set_outbox(None, box)
        return new, notes

    def _to_outbox(
        self, committer: Committer, changes: Sequence[Change], message: str, notes: tuple[str, ...]
    ) -> Saved:
        box = self.outbox()
        base = box.tip if box else self.remote_tip() or self.tip()
        commit = committer.commit(base, changes, message)
        if commit == base:
            return Saved(commit, self.outbox_ref if box else self.ref, "outbox" if box else "branch", notes)
        self.set_outbox(Outbox(commit, box.base if box else base), box)
        return Saved(commit, self.outbox_ref, "outbox", notes)


@contextlib.contextmanager
def _alone(git: Git) -> Iterator[None]:
    """Keep other kgrade processes from moving branches of this repository at the same time.

    Two that bring the same outbox to a branch would otherwise take back each other's index entries.
    """
    folder = git.common_dir / "kgrade"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def outboxes(git: Git) -> dict[str, str]:
    """Every branch (full ref name) with commits waiting in its outbox, and the newest of them."""
    return {"refs/heads/" + ref.removeprefix(OUTBOX): oid for ref, oid in read_refs(git, OUTBOX).items()}
