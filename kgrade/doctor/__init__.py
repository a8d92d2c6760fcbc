"""What this machine has and lacks for grading and for collecting evidence, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kgrade.doctor.line import Line, Status

__all__ = ["Line", "Status", "examine"]


def examine(folder: Path) -> Iterator[Line]:
    """Yield what was found, subject by subject, as it is found. `folder` is where kgrade was started.

    Nothing is imported into this process that could be slow or could crash it, and every program that is asked has a
    time limit.
    """
    from kgrade.doctor import cuda, frameworks, git, places, terminal, wall

    subjects: list[Callable[[], Iterator[Line]]] = [
        lambda: git.examine(folder),
        terminal.examine,
        places.examine,
        wall.examine,
        frameworks.examine,
        cuda.examine,
    ]
    for subject in subjects:
        yield from subject()
