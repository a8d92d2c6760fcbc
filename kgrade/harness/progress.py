"""What a collection tells while it runs, and how it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from kgrade.harness.channel import Cancelled


@dataclass(frozen=True)
class Step:
    """One step of one stage is about to start: `done` of `total`, and what it is."""

    stage: str
    done: int
    total: int
    text: str


OnProgress = Callable[[Step], None]


@dataclass(frozen=True)
class Watch:
    """Reports steps, and stops the run between two of them when it was cancelled."""

    on_progress: OnProgress
    cancel: threading.Event

    def step(self, stage: str, done: int, total: int, text: str) -> None:
        """Report a step; raise `Cancelled` instead when a person asked to stop."""
        self.go_on(f"{stage}: {text}")
        self.on_progress(Step(stage, done, total, text))

    def go_on(self, what: str) -> None:
        """Raise `Cancelled` when a person asked to stop before `what`."""
        if self.cancel.is_set():
            raise Cancelled(f"cancelled before {what}")
