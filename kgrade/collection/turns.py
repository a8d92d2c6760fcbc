"""Which of several collecting machines collects what: a lease on each job, held at the remote where there is one.

Leases only schedule work. Where none can be had (no network, a server that refuses the refs) a machine works on
without: then two may do the same work, and the newer evidence stands. A slow server is waited for.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
import threading
from collections.abc import Iterator

from kgrade.collection.events import Job
from kgrade.records.slugs import slug_of
from kgrade.repository.claims import Claim, Claims, LocalRefs, LostError, TakenError
from kgrade.repository.commits import Identity
from kgrade.repository.remote import Remote, SlowError
from kgrade.repository.remote_claims import RemoteRefs
from kgrade.repository.runner import GitError
from kgrade.repository.tree import TreeReader

SPACE = "refs/kgrade/collecting/"
LEASE_S = 600  # of a machine that was switched off: another waits so long before it collects what that one had begun
RENEWALS = 3  # within one lease
SLOW_TRIES = 20  # of half a minute each, for which a machine waits for a slow server before it works without a lease


class Busy(Exception):
    """Another machine collects this; the sentence says which."""


class Turns:
    """The leases of one collecting process. Every method may be called from any thread."""

    def __init__(self, reader: TreeReader, remote: str | None, identity: Identity, *, lease_s: float = LEASE_S) -> None:
        self._reader = reader
        self._remote = remote
        self._identity = identity
        self._lease_s = lease_s
        # Two processes on one machine are two collectors, so the machine's name alone is not enough.
        self._name = f"{slug_of('box ' + socket.gethostname())[:48].strip('-')}-{secrets.token_hex(4)}"
        self._by_target: dict[str, Claims] = {}
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def of(self, job: Job) -> Iterator[str]:
        """Hold the lease on `job` while the block runs; yield why there is none, or an empty text.

        Raises `Busy` when another process holds it.
        """
        claims = self._claims(job.target)
        try:
            with self._turn:
                held = self._acquired(claims, job)
        except TakenError as taken:
            hosts = ", ".join(sorted({claim.host for claim in taken.holders})) or "another machine"
            raise Busy(f"{hosts} collects it") from None
        except GitError as why:
            yield str(why)
            return
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(claims, [held], over), daemon=True)
        keeper.start()
        try:
            yield ""
        finally:
            over.set()
            keeper.join()

    def _claims(self, target: str) -> Claims:
        with self._turn:
            if target not in self._by_target:
                space = f"{SPACE}{re.sub(r'[^A-Za-z0-9_-]', '-', target)}/"
                git = self._reader.git
                refs = RemoteRefs(git, Remote(git, self._remote), space=space) if self._remote else LocalRefs(git)
                self._by_target[target] = Claims(
                    self._reader, refs, self._name, self._identity, lease_s=max(1, round(self._lease_s)), space=space
                )
            return self._by_target[target]

    def _acquired(self, claims: Claims, job: Job) -> Claim:
        for _ in range(SLOW_TRIES):
            with contextlib.suppress(SlowError):
                return self._free_or_expired(claims, job)
        return self._free_or_expired(claims, job)

    def _free_or_expired(self, claims: Claims, job: Job) -> Claim:
        try:
            return claims.acquire(job.item)
        except TakenError as taken:
            for claim in taken.holders:
                if claim.holds and claims.expiry(claim) == "expired":
                    return claims.take_over(claim)
            raise

    def _keep(self, claims: Claims, held: list[Claim], over: threading.Event) -> None:
        """Renew the lease until `over`, then give it back. One that was taken over, or cannot be moved, runs out."""
        with contextlib.suppress(LostError):
            while not over.wait(self._lease_s / RENEWALS):
                with contextlib.suppress(_Unmoved), self._moving():
                    held[0] = claims.renew(held[0])
            with contextlib.suppress(_Unmoved), self._moving():
                claims.release(held[0])

    @contextlib.contextmanager
    def _moving(self) -> Iterator[None]:
        """One move of a lease at a time; what keeps the remote from taking it is left to the next move."""
        with self._turn:
            try:
                yield
            except LostError:
                raise
            except GitError as why:
                raise _Unmoved(str(why)) from None


class _Unmoved(Exception):
    """A lease could not be moved now."""
