"""Talking to one remote: what it has, fetching from it, pushing to it. Nothing here retries."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from kgrade.repository.refs import RefMove
from kgrade.repository.runner import Git, GitError, GitTimeoutError, Result

ASK_TIMEOUT_S = 30.0
FETCH_TIMEOUT_S = 600.0
PUSH_TIMEOUT_S = 120.0
MOST_PATIENCE = 8  # times the usual limits that are waited at most

Outcome = Literal["taken", "behind", "locked", "refused", "slow", "unreachable"]

_BEHIND = ("(fetch first)", "(non-fast-forward)", "(stale info)", "(needs force)")
_LOCKED = ("failed to update ref", "cannot lock ref", "failed to lock", "incorrect old value provided")
_BROKEN_OFF = re.compile(
    r"hung up unexpectedly|early EOF|unexpected disconnect|RPC failed|Broken pipe|cannot fork|temporarily unavailable"
    r"|Connection (?:reset|closed)|returned error: (?:429|50\d)|cannot lock ref|Unable to create '.*\.lock'",
    re.IGNORECASE,
)
"""What git or ssh say where a server was there and let go: it is busy, or was stopped in the middle."""
_BOILERPLATE = (
    "please make sure you have the correct access rights",
    "and the repository exists",
    "hint:",
    "error: failed to push some refs",
    "warning:",
    "to ",
)


class UnreachableError(GitError):
    """The remote could not be asked; the sentence holds git's or ssh's own words."""


class SlowError(GitError):
    """The remote gave no answer in time, or broke one off; nothing says that it is out of reach. Ask again, longer."""


class Answer(msgspec.Struct, frozen=True):
    """What a push claimed to have done; only asking the remote shows what it did.

    `words` are the server's or the hook's own, safe to print, for everything but `taken`. `along`: the refs of those
    that went along which were taken.
    """

    outcome: Outcome
    words: str = ""
    along: frozenset[str] = frozenset()


class Remote:
    """One remote of a repository, by name. All timeouts are in seconds.

    Each one that runs out doubles the next, up to eight times the usual; an answer ends that.
    """

    def __init__(self, git: Git, name: str, *, push_timeout: float = PUSH_TIMEOUT_S) -> None:
        self.git = git
        self.name = name
        self._push_timeout = push_timeout
        self._tidied = False
        self._patience = 1

    def tips(
        self, *patterns: str, cancel: threading.Event | None = None, limit: float = ASK_TIMEOUT_S
    ) -> dict[str, str]:
        """The remote's refs that match `patterns`, with their ids.

        As all that asks, it raises UnreachableError when the remote cannot be reached, SlowError when it is but gives
        no answer.
        """
        result = self._ask(["ls-remote", "--refs", self.name, *patterns], limit, cancel)
        if result.code:
            raise _no_answer(f"{self.name} cannot be reached", result)
        tips = {}
        for line in result.text.splitlines():
            oid, _, ref = line.partition("\t")
            tips[ref] = oid
        return tips

    def fetch(self, refspecs: Sequence[str], cancel: threading.Event | None = None) -> list[str]:
        """Fetch `refspecs`; the remote's short names of refs that git refused to take because they were rewritten."""
        # Whether to tidy up is asked of git once, not each time: that costs as much as the fetch itself.
        tidy = [] if not self._tidied else ["--no-auto-gc"]
        self._tidied = True
        command = ["fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", *tidy]
        result = self._ask([*command, self.name, *refspecs], FETCH_TIMEOUT_S, cancel)
        rewritten = [
            line.split()[2]
            for line in result.words.splitlines()
            if "[rejected]" in line and "(non-fast-forward)" in line
        ]
        if result.code and not rewritten:
            raise _no_answer(f"{self.name} cannot be fetched from", result)
        return rewritten

    def fetch_mirror(self, there: str, here: str, *, limit: float = ASK_TIMEOUT_S) -> None:
        """Let the refs `here` be those `there` (patterns with a `*`), rewritten and removed ones included."""
        command = ["fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--prune", "--no-auto-gc"]
        result = self._ask([*command, self.name, f"+{there}:{here}"], limit, None)
        if result.code:
            raise _no_answer(f"{self.name} cannot be fetched from", result)

    def push_leased(
        self, oid: str, ref: str, old: str | None, *, limit: float = ASK_TIMEOUT_S, along: Sequence[RefMove] = ()
    ) -> Answer:
        """Push one ref if it still stands at `old` (None: it must not exist). No hook of the person's runs.

        `along` are moves of other refs, each of which the remote takes or not by itself.
        """
        moves = [RefMove(ref, oid, old), *along]
        command = ["push", "--porcelain", "--no-verify", *_leases(moves), self.name, *_refspecs(moves)]
        result = self._ask(command, limit, None)
        return _given(_answer(self.name, ref, result))

    def delete_leased(self, refs: Mapping[str, str], *, limit: float = PUSH_TIMEOUT_S) -> None:
        """Delete those of `refs` that still stand at the given ids, each by itself; ask for `tips` to see which."""
        leases = [f"--force-with-lease={ref}:{oid}" for ref, oid in refs.items()]
        command = ["push", "--porcelain", "--no-verify", *leases, self.name, *(f":{ref}" for ref in refs)]
        _given(_answer(self.name, next(iter(refs)), self._ask(command, limit, None)))

    def push(
        self,
        oid: str,
        ref: str,
        cancel: threading.Event | None = None,
        *,
        onto: str | None = None,
        along: Sequence[RefMove] = (),
    ) -> Answer:
        """Push one commit to one branch, never by force. The person's own pre-push hook runs.

        `onto`, an ancestor of the commit: only if the branch still stands there. `along` are moves of other refs, each
        of which the remote takes or not by itself.
        """
        leases = [f"--force-with-lease={ref}:{onto}"] if onto else []
        command = ["push", "--porcelain", *leases, *_leases(along), self.name, f"{oid}:{ref}", *_refspecs(along)]
        try:
            result = self._ask(command, self._push_timeout, cancel, own_hooks=True)
        except SlowError as error:
            return Answer("slow", str(error))
        return _answer(self.name, ref, result)

    def refusal(self, oid: str, ref: str, cancel: threading.Event | None = None) -> str:
        """Why this person may not push here, found out by a push that changes nothing; empty when they may."""
        command = ["push", "--porcelain", "--dry-run", "--no-verify", self.name, f"{oid}:{ref}"]
        result = self._ask(command, ASK_TIMEOUT_S, cancel)
        answer = _answer(self.name, ref, result)
        return answer.words if answer.outcome in ("refused", "unreachable") else ""

    def _ask(
        self, command: Sequence[str], limit: float, cancel: threading.Event | None, *, own_hooks: bool = False
    ) -> Result:
        waited = limit * self._patience
        try:
            result = self.git.run(command, timeout=waited, cancel=cancel, check=False, own_hooks=own_hooks)
        except GitTimeoutError as error:
            self._patience = min(2 * self._patience, MOST_PATIENCE)
            longer = f"the next time it is waited for {limit * self._patience:g} s"
            raise SlowError(f"{self.name} is slow: {error}; {longer}") from None
        self._patience = 1
        return result


def _leases(moves: Sequence[RefMove]) -> list[str]:
    return [f"--force-with-lease={move.ref}:{move.old or ''}" for move in moves]


def _refspecs(moves: Sequence[RefMove]) -> list[str]:
    return [f"{move.new}:{move.ref}" for move in moves]


def _given(answer: Answer) -> Answer:
    """The answer, where there is one."""
    if answer.outcome == "unreachable":
        raise UnreachableError(answer.words)
    if answer.outcome == "slow":
        raise SlowError(answer.words)
    return answer


def _no_answer(what: str, result: Result) -> GitError:
    """What a command that failed tells of the remote: it broke off, or it is out of reach."""
    kind = SlowError if _BROKEN_OFF.search(result.words) else UnreachableError
    return kind(f"{what}: {_first_words(result)}")


def _answer(remote: str, ref: str, result: Result) -> Answer:
    """What a push says of `ref`, and which others it says were taken."""
    status = {}
    for line in result.text.splitlines():
        flag, tab, rest = line.partition("\t")
        if tab and len(flag) == 1:
            status[rest.partition("\t")[0].rpartition(":")[2]] = line
    taken = frozenset(other for other, line in status.items() if other != ref and not line.startswith("!"))
    said = status.get(ref, "")
    if not result.code or (said and not said.startswith("!")):
        return Answer("taken", along=taken)
    if not said:
        if "error: failed to push some refs" in result.words and "fatal:" not in result.words:
            return Answer("refused", f"your own pre-push hook stopped the push: {_first_words(result)}")
        why = _no_answer(f"{remote} cannot be reached", result)
        return Answer("slow" if isinstance(why, SlowError) else "unreachable", str(why))
    if any(sign in said for sign in _BEHIND):
        return Answer("behind", said.rpartition("\t")[2], taken)
    if any(sign in said or sign in result.words for sign in _LOCKED):
        return Answer("locked", said.rpartition("\t")[2], taken)
    server = [line.removeprefix("remote:").strip() for line in result.words.splitlines() if line.startswith("remote:")]
    return Answer("refused", "\n".join(line for line in server if line) or said.rpartition("\t")[2], taken)


def _first_words(result: Result) -> str:
    """The line of an error that says most: the first that is not advice."""
    lines = [line.strip() for line in result.words.splitlines() if line.strip()]
    telling = [line for line in lines if not line.lower().startswith(_BOILERPLATE)]
    return (telling or lines or [f"exit status {result.code}"])[0].removeprefix("fatal: ").removeprefix("error: ")
