"""What a build needs from whoever runs its commands behind the wall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Finished(Protocol):
    """How a command ended. `stopped_by` names the limit that killed it, or is None."""

    @property
    def returncode(self) -> int:
        """Exit status; negative for a signal."""

    @property
    def stdout(self) -> bytes:
        """What it printed."""

    @property
    def stderr(self) -> bytes:
        """What it printed as errors."""

    @property
    def seconds(self) -> float:
        """How long it ran."""

    @property
    def stopped_by(self) -> str | None:
        """The limit that ended it, in words."""


class Runner(Protocol):
    """Runs one command to its end inside the sandbox."""

    def __call__(
        self, command: Sequence[str], *, readable: Sequence[Path], writable: Sequence[Path], limit_s: float
    ) -> Finished:
        """Run `command`, to which the folders `readable` and `writable` are visible under their own paths."""


def output_of(finished: Finished) -> str:
    """Return everything that a command printed, standard output first."""
    return (finished.stdout + finished.stderr).decode(errors="replace")
