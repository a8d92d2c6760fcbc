"""How a worker's process ended, in words."""

from __future__ import annotations

import signal

from kgrade.harness.sandbox import Ended


def how_it_ended(ended: Ended, broken: str) -> tuple[str, str]:
    """Return the kind of loss and its reason; `broken` is what was seen of it on the line to the worker."""
    if ended.stopped_by is not None:
        first = ended.stopped_by.partition(" ")[0]
        return {"memory": "memory", "process": "processes"}.get(first, "timeout"), ended.stopped_by
    if broken.startswith("the worker ended"):
        return "exited", f"{broken}: {_status(ended)}"
    return "protocol", broken


def _status(ended: Ended) -> str:
    """Say how a process ended: its exit status, or the signal that ended it (also as a shell passes it on)."""
    number = -ended.returncode if ended.returncode < 0 else ended.returncode - 128
    if number in signal.valid_signals():
        return f"signal {signal.Signals(number).name}"
    return f"exit status {ended.returncode}"
