"""Claim refs of a remote, for everyone who shares it; what is known of them here is a copy.

The word of a server that took a move is believed, for it moves a ref from one stated id to another or not at all.
Where a push says anything else, it may have landed all the same: then the remote is asked what it holds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from kgrade.repository.claims import CLAIMS, LocalRefs, RefMover
from kgrade.repository.refs import read_refs
from kgrade.repository.remote import Remote, UnreachableError
from kgrade.repository.runner import Git, GitError

QUIET_S = 60.0  # after the remote could not be reached, for which nobody waits for it again
FRESH_S = 30.0  # for which the copy of all claims counts as new
TRIES = 3
AT_ONCE = 200  # refs that one push removes
T = TypeVar("T")


class RemoteRefs:
    """The claims at one remote. Every method may be called from any thread; they take turns.

    Raises UnreachableError where the remote cannot be asked, at once for a minute after that, and GitError where it
    refuses: a server's hook, or a person who may not write.
    """

    def __init__(
        self, git: Git, remote: Remote, *, space: str = CLAIMS, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._git = git
        self._remote = remote
        self._steady = steady
        self._space = space
        self._copies = f"{space.rstrip('/')}-of/{remote.name}/"
        self._turn = threading.RLock()
        self._quiet_until = float("-inf")
        self._trouble = ""
        self._fetched = float("-inf")
        self._moved: dict[str, str] = {}
        """What was moved from here since the copy was made: a restart would ask the remote anyway."""

    def read(self, prefix: str) -> Mapping[str, str]:
        """The refs below `prefix` with their ids; fetched anew where the copy is older than half a minute."""
        with self._turn:
            if self._steady() - self._fetched > FRESH_S:
                self.refresh()
            return self._copy(prefix)

    def refresh(self) -> None:
        """Bring the copy of all claims up to date."""
        with self._turn:
            self._reach(lambda: self._remote.fetch_mirror(f"{self._space}*", f"{self._copies}*"))
            self._fetched = self._steady()
            self._moved.clear()

    def move(self, ref: str, new: str, old: str | None) -> bool:
        """Push the move; whether the remote then has `new` there. The copy holds what it has, either way."""
        with self._turn:
            for _ in range(TRIES):
                answer = self._reach(lambda: self._remote.push_leased(new, ref, old))
                if answer.outcome == "taken":  # the server has said that it moved this ref from `old` to `new`
                    self._moved[ref] = new
                    return True
                self.refresh()  # others are at work, perhaps elsewhere as well
                there = self._copy(ref).get(ref)
                if there == new:
                    return True
                if there != old:
                    return False
                if answer.outcome not in ("behind", "locked"):
                    raise GitError(f"{self._remote.name} did not take a claim: {answer.words or 'it said nothing'}")
            raise GitError(
                f"{self._remote.name} keeps {ref} locked; ask a lead to look for {ref}.lock in that repository"
            )

    def drop(self, refs: Mapping[str, str]) -> int:
        """Remove those refs at the remote that still stand at the given ids; how many are gone."""
        with self._turn:
            some = list(refs.items())
            for start in range(0, len(some), AT_ONCE):
                part = dict(some[start : start + AT_ONCE])
                self._reach(partial(self._remote.delete_leased, part))
            self.refresh()
            return len(refs.keys() - self._copy(self._space).keys())

    def look(self, folder: str) -> None:
        """Bring the copy of what lies right below `folder` up to date, if anything moved there."""
        with self._turn:
            if self._reach(lambda: self._remote.tips(f"{folder}*")) != self._copy(folder):
                self.refresh()

    def _copy(self, prefix: str) -> dict[str, str]:
        below = self._copies + prefix.removeprefix(self._space)
        found = read_refs(self._git, below.rstrip("/"))
        copied = {
            self._space + name.removeprefix(self._copies): oid for name, oid in found.items() if name.startswith(below)
        }
        return copied | {ref: oid for ref, oid in self._moved.items() if ref.startswith(prefix)}

    def _reach(self, ask: Callable[[], T]) -> T:
        if self._steady() < self._quiet_until:
            raise UnreachableError(self._trouble)
        try:
            return ask()
        except UnreachableError as error:
            self._quiet_until, self._trouble = self._steady() + QUIET_S, str(error)
            raise


def claim_refs(git: Git, remote: str | None) -> RefMover:
    """Where the claims of a queue lie: at its remote, or in this repository where it has none."""
    return LocalRefs(git) if remote is None else RemoteRefs(git, Remote(git, remote))
