"""Claim refs of a remote, for everyone who shares it; what is known of them here is a copy.

The word of a server that took a move is believed, for it moves a ref from one stated id to another or not at all.
Where a push says anything else, it may have landed all the same: then the remote is asked what it holds.

A server that is slow is not one that is out of reach. What it was asked goes on behind the caller, who is told after
half a minute; whoever asks next waits for that answer first. Stopping and repeating it would make a busy server busier.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol, TypeVar

from kgrade.repository.claims import CLAIMS, LocalRefs, RefMover
from kgrade.repository.refs import RefMove, read_refs
from kgrade.repository.remote import Answer, Remote, SlowError, UnreachableError
from kgrade.repository.runner import Git, GitError

QUIET_S = 60.0  # after the remote could not be reached, for which nobody waits for it again
FRESH_S = 30.0  # for which the copy of all claims counts as new, and longer where it takes long to make
FRESH_TIMES = 20
WAIT_S = 30.0  # that a caller waits for an answer
AWAY_WAIT_S = 5.0  # the same, where the remote was out of reach before
LIMIT_S = 180.0  # after which the ask itself ends: longer than a system tries to connect
LET_GO = 3  # asks in a row that end without an answer, after which the remote counts as out of reach
TRIES = 3
AT_ONCE = 200  # refs that one push removes
T = TypeVar("T")


class Luggage(Protocol):
    """What else is to go to the remote whenever something goes there: it costs a push of its own otherwise."""

    def load(self) -> Sequence[RefMove]:
        """The moves that wait, as they stand now."""

    def unload(self, moves: Sequence[RefMove], taken: Collection[str], *, refused: bool) -> None:
        """Of `moves` the remote took the refs `taken`; `refused`: it took nothing, not even what they went with."""


class RemoteRefs:
    """The claims at one remote. Every method may be called from any thread; they take turns.

    Raises UnreachableError where the remote cannot be asked, at once for a minute after that; SlowError after `wait_s`
    seconds without an answer, which is waited for on; GitError where it refuses: a server's hook, or a person who may
    not write.
    """

    def __init__(
        self,
        git: Git,
        remote: Remote,
        *,
        space: str = CLAIMS,
        steady: Callable[[], float] = time.monotonic,
        wait_s: float = WAIT_S,
    ) -> None:
        self._git = git
        self._remote = remote
        self._steady = steady
        self._space = space
        self._copies = f"{space.rstrip('/')}-of/{remote.name}/"
        self._turn = threading.RLock()
        self._quiet_until = float("-inf")
        self._trouble = ""
        self._wait_s = wait_s
        self._under_way: tuple[Future[object], Callable[[object], None]] | None = None
        self._let_go = 0
        self.luggage: Luggage | None = None
        self._fetched = float("-inf")
        self._fresh_s = FRESH_S
        self._moved: dict[str, str] = {}
        """What was moved from here since the copy was made: a restart would ask the remote anyway."""

    def read(self, prefix: str) -> Mapping[str, str]:
        """The refs below `prefix` with their ids; fetched anew where the copy is older than half a minute.

        A slow remote leaves the older copy: whoever moves a ref because of it is told better by the move.
        """
        with self._turn:
            if self._steady() - self._fetched > self._fresh_s:
                with contextlib.suppress(SlowError):
                    self.refresh()
            return self._copy(prefix)

    def refresh(self) -> None:
        """Bring the copy of all claims up to date."""
        with self._turn:
            self._reach(partial(self._copied_anew, self._steady()), self._is_fresh)

    def note(self, ref: str, oid: str) -> None:
        """A ref was moved there by a push of other things."""
        with self._turn:
            self._moved[ref] = oid

    def waits(self) -> bool:
        """Whether an answer of the remote's is still under way; known at once."""
        under_way = self._under_way
        return under_way is not None and not under_way[0].done()

    def move(self, ref: str, new: str, old: str | None) -> bool:
        """Push the move; whether the remote then has `new` there. The copy holds what it has, either way."""
        with self._turn:
            along = self.luggage.load() if self.luggage is not None else ()
            for _ in range(TRIES):
                answer = self._pushed(ref, new, old, along)
                if answer.outcome == "refused" and along:  # perhaps for the sake of what went along
                    answer = self._pushed(ref, new, old)
                along = ()
                if answer.outcome == "taken":
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
                self._reach(partial(self._remote.delete_leased, part, limit=LIMIT_S))
            self.refresh()
            return len(refs.keys() - self._copy(self._space).keys())

    def look(self, folder: str) -> None:
        """Bring the copy of what lies right below `folder` up to date, if anything moved there."""
        with self._turn:
            if self._reach(lambda: self._remote.tips(f"{folder}*", limit=LIMIT_S)) != self._copy(folder):
                self.refresh()

    def _copy(self, prefix: str) -> dict[str, str]:
        below = self._copies + prefix.removeprefix(self._space)
        found = read_refs(self._git, below.rstrip("/"))
        copied = {
            self._space + name.removeprefix(self._copies): oid for name, oid in found.items() if name.startswith(below)
        }
        return copied | {ref: oid for ref, oid in self._moved.items() if ref.startswith(prefix)}

    def _copied_anew(self, began: float) -> float:
        """Bring the copy up to date; how many seconds that took."""
        self._remote.fetch_mirror(f"{self._space}*", f"{self._copies}*", limit=LIMIT_S)
        return self._steady() - began

    def _is_fresh(self, took: float) -> None:
        self._fetched, self._fresh_s = self._steady(), max(FRESH_S, FRESH_TIMES * took)
        self._moved.clear()

    def _pushed(self, ref: str, new: str, old: str | None, along: Sequence[RefMove] = ()) -> Answer:
        push = partial(self._remote.push_leased, new, ref, old, limit=LIMIT_S, along=along)
        answer: Answer = self._reach(push, partial(self._took, ref, new, along))
        return answer

    def _took(self, ref: str, new: str, along: Sequence[RefMove], answer: Answer) -> None:
        if along and self.luggage is not None:
            self.luggage.unload(along, answer.along, refused=answer.outcome == "refused")
        if answer.outcome == "taken":  # the server has said that it moved this ref from what was to what is asked
            self._moved[ref] = new
        else:
            self._fetched = float("-inf")

    def _reach(self, ask: Callable[[], T], then: Callable[[T], None] = lambda answer: None) -> T:
        """The answer to `ask`, once it is there; `then` is told of it even where the caller has gone by that time."""
        if self._steady() < self._quiet_until:
            raise UnreachableError(self._trouble)
        if self._under_way is not None:
            self._answered(*self._under_way)
        asked = _behind(ask)
        self._under_way = asked, then  # type: ignore[assignment]
        return self._answered(asked, then)

    def _answered(self, asked: Future[T], then: Callable[[T], None]) -> T:
        try:
            answer = asked.result(min(AWAY_WAIT_S, self._wait_s) if self._trouble else self._wait_s)
        except TimeoutError:
            if self._trouble:  # nothing was heard since it was out of reach
                self._quiet_until = self._steady() + QUIET_S
                raise UnreachableError(self._trouble) from None
            raise SlowError(
                f"{self._remote.name} is slow: no answer yet after {self._wait_s:g} s; it is waited for"
            ) from None
        except (SlowError, UnreachableError) as error:
            self._under_way = None
            self._fetched = float("-inf")  # what was asked may have been done
            self._let_go += 1
            if isinstance(error, SlowError) and self._let_go < LET_GO:
                raise
            self._quiet_until, self._trouble = self._steady() + QUIET_S, str(error)
            raise UnreachableError(self._trouble) from None
        except BaseException:
            self._under_way = None
            raise
        self._under_way, self._trouble, self._let_go = None, "", 0
        then(answer)
        return answer


def _behind(ask: Callable[[], T]) -> Future[T]:
    """Begin `ask` on a thread of its own, which does not keep the program from ending."""
    asked: Future[T] = Future()

    def run() -> None:
        try:
            asked.set_result(ask())
        except BaseException as why:  # noqa: BLE001 - it is raised again where the answer is looked at
            asked.set_exception(why)

    threading.Thread(target=run, name="asks-remote", daemon=True).start()
    return asked


def claim_refs(git: Git, remote: str | None) -> RefMover:
    """Where the claims of a queue lie: at its remote, or in this repository where it has none."""
    return LocalRefs(git) if remote is None else RemoteRefs(git, Remote(git, remote))
