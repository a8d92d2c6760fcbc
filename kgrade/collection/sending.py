"""Getting collected evidence to the remote, and saying when it does not get there."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kgrade.collection.events import Event, Noted
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.faults import BadRecord
from kgrade.repository.branches import Branch
from kgrade.repository.commits import CollisionError
from kgrade.repository.opening import Signature
from kgrade.repository.remote import Remote
from kgrade.repository.runner import GitError
from kgrade.repository.sync import Standing, Sync
from kgrade.repository.tree import Snapshot


class Sender:
    """One branch on its way to and from its remote; without a remote, from its outbox to the branch.

    Any thread may ask for a step; they take turns. Trouble is told once, and its end too.
    """

    def __init__(
        self, branch: Branch, by: Signature, on_event: Callable[[Event], None], cancel: threading.Event
    ) -> None:
        self._branch, self._by = branch, by
        self._on_event, self._cancel = on_event, cancel
        self._sync = (
            Sync(branch, Remote(branch.git, branch.remote), by.identity, sign=by.sign) if branch.remote else None
        )
        self._turn = threading.Lock()
        self._trouble = ""

    def step(self, *, to_the_end: bool = False) -> None:
        """Fetch, and push what waits; `to_the_end` goes on although the collection was cancelled meanwhile.

        Raises GitCancelledError when it was and `to_the_end` is not given.
        """
        cancel = threading.Event() if to_the_end else self._cancel
        with self._turn:
            if self._sync is None:
                settled = self._branch.settle(self._by.identity, sign=self._by.sign)
                self._tell(settled.pending)
                return
            standing = self._sync.step(cancel)
            while standing.collision is not None and self._settled(standing.collision):
                standing = self._sync.step(cancel)
            self._tell(_sentence(standing))

    def last_try(self) -> None:
        """Push what still waits before the program ends; say what stays behind."""
        if self._sync is None or not self._sync.waiting():
            return
        try:
            self.step(to_the_end=True)
        except GitError as why:
            self._tell(str(why))
        if waiting := len(self._sync.waiting()):
            commits = "1 commit is" if waiting == 1 else f"{waiting} commits are"
            self._on_event(Noted(text=f"{commits} kept here and not at {self._branch.remote} yet; the next run sends"))

    def _settled(self, collision: CollisionError) -> bool:
        """Let the newer of two pieces of evidence stand; whether these were evidence, which alone is ours to choose."""
        assert self._sync is not None
        further: CollisionError | None = collision
        while further is not None:
            newer = self._newer(further.path)
            if newer is None:
                return False
            further = self._sync.choose(further, "mine" if newer else "theirs")
        return True

    def _newer(self, path: str) -> bool | None:
        """Whether the evidence that `path` belongs to, a log or the record, is newer here; None for other files."""
        folder, _, name = path.rpartition("/")
        if folder.rpartition("/")[2] != "evidence":
            return None
        record = f"{folder}/{name.partition('.')[0]}.json"
        mine = _collected(self._branch, self._branch.head(), record)
        theirs = _collected(self._branch, self._branch.remote_tip(), record)
        return mine is not None and (theirs is None or mine >= theirs)

    def _tell(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._on_event(Noted(text=trouble or "all evidence has reached the remote again"))
            self._trouble = trouble


def _collected(branch: Branch, commit: str | None, record: str) -> str | None:
    """When the evidence at `record` was collected (RFC 3339, UTC); None where there is none that can be read."""
    if commit is None:
        return None
    snapshot = Snapshot(branch.reader, commit)
    if snapshot.entry(record) is None:
        return None
    try:
        return codec.decode(Evidence, snapshot.read(record), record).collected
    except BadRecord:
        return None


def _sentence(standing: Standing) -> str:
    said = [standing.reason] if standing.state != "pushed" else []
    return "; ".join([*said, *standing.alarms])
