"""An order until it is done: tried again elsewhere when a machine fails it, never when its submission fails.

What is tried again: a machine that died or fell silent, an error of the harness, and evidence that itself says that
the harness or its surroundings failed in a way that may pass. Everything else is a result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from kgrade.harness.channel import Cancelled
from kgrade.harness.engines import Collected, Undone
from kgrade.harness.engines.remote import Beat, Done
from kgrade.harness.progress import OnProgress
from kgrade.records import codec
from kgrade.records.evidence import Evidence, Failure

TRIES = 3
SILENCE_S = 120.0  # a machine that beats every five seconds and was not heard for so long is taken for dead
LOOK_S = 0.25  # so soon a cancelled collection ends


class Lost(Exception):
    """A try ended without a result, by no fault of the item. `node` is where, if that is known."""

    def __init__(self, why: str, node: str | None = None) -> None:
        super().__init__(why)
        self.node = node


class Attempt(Protocol):
    """One try of an order, somewhere. It may have to wait for its turn before the first beat."""

    @property
    def node(self) -> str | None:
        """Where it runs; None while that is not known."""

    def heard(self, within_s: float) -> Beat | Done | None:
        """Return what comes next, None when nothing came in time. Raises `Lost`."""

    def end(self) -> None:
        """Stop it, if it still runs."""


def persist(
    begin: Callable[[Sequence[str]], Attempt],
    on_progress: OnProgress,
    cancel: threading.Event,
    note: Callable[[str], None],
    *,
    tries: int = TRIES,
    silence_s: float = SILENCE_S,
) -> Collected:
    """Return what comes of the first try that gives a result; `begin` starts one, away from the nodes it is given.

    Raises `Cancelled` soon after `cancel` is set, `Undone` when the last try is lost.
    """
    avoided: list[str] = []
    for left in reversed(range(tries)):
        attempt = begin(avoided)
        try:
            found = _decoded(_followed(attempt, on_progress, cancel, silence_s))
            passing = next(_passing(found[0]), None)
            if passing is None or not left:
                return found
            why = f"{passing.kind}: {passing.line}"
        except Lost as lost:
            if not left:
                raise Undone(f"not collected after {tries} tries: {lost}") from None
            why = str(lost)
        finally:
            attempt.end()
        note(f"{why}; it is tried again elsewhere")
        if attempt.node is not None:
            avoided.append(attempt.node)
    raise AssertionError("the last try returns or raises")


def _followed(attempt: Attempt, on_progress: OnProgress, cancel: threading.Event, silence_s: float) -> Done:
    last: float | None = None
    while True:
        if cancel.is_set():
            raise Cancelled("cancelled while a machine of the cluster was at it")
        heard = attempt.heard(LOOK_S)
        if isinstance(heard, Done):
            return heard
        if heard is not None:
            last = time.monotonic()
            if heard.step is not None:
                on_progress(heard.step)
        elif last is not None and time.monotonic() - last > silence_s:
            raise Lost(f"nothing was heard of a machine for {silence_s:.0f} s", attempt.node)


def _decoded(done: Done) -> Collected:
    return codec.decode(Evidence, done.evidence, "evidence.json"), done.logs


def _passing(evidence: Evidence) -> Iterator[Failure]:
    """The failures in `evidence` that the item did not cause and that may not come again."""
    stages = evidence.stages
    every: list[Failure | None] = [each.failure for each in stages.build.targets]
    every += [each.failure for each in stages.build.kernels]
    every += [each.failure for each in stages.check.cases]
    return (each for each in every if each is not None and each.retry and each.fault in ("harness", "environment"))
