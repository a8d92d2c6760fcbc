"""Measuring what the device reaches at most, with the site's own torch, and keeping it on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

from kgrade.harness.timing.ceilings import Unmeasured, keep, measure
from kgrade.records.evidence import Ceilings
from kgrade.records.faults import BadRecord
from kgrade.repository.opening import open_queue
from kgrade.repository.runner import Git, GitError
from kgrade.repository.tree import TreeReader

__all__ = ["Unmeasured", "measured"]


def measured(folder: Path, target: str | None) -> tuple[Ceilings, Path]:
    """Measure and keep; return the ceilings and where they are.

    `target` is measured with the Python that the queue at `folder` names for it, and without one this Python is used.
    """
    found = measure(_python(folder, target) if target is not None else sys.executable)
    try:
        return found, keep(found)
    except OSError as why:
        raise Unmeasured(f"what was measured cannot be kept: {why}; set XDG_STATE_HOME to a folder of yours") from None


def _python(folder: Path, target: str) -> str:
    try:
        _, settings = open_queue(TreeReader(Git.open(folder)))
    except (GitError, BadRecord) as why:
        raise Unmeasured(str(why).splitlines()[0]) from None
    configured = settings.targets.get(target)
    if configured is None or configured.python is None:
        raise Unmeasured(f"kgrade.yaml names no targets.{target}.python; add it, or leave out --target")
    return configured.python
