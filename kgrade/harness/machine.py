"""What this machine is, for the head of the evidence."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from kgrade.harness.sandbox import Wall
from kgrade.records.evidence import Environment


def environment(wall: Wall, versions: dict[str, str], *, interpreter: bool, toolkit: str | None = None) -> Environment:
    """Return the environment of a run that used no device of its own."""
    return Environment(
        hardware=processor(),
        toolkit=toolkit,
        versions={"python": platform.python_version(), **versions},
        interpreter=interpreter,
        sandbox=wall.name,
        lacks=list(wall.lacks),
    )


def processor() -> str:
    """Name the processor and how many of its cores this process may use."""
    cores = len(os.sched_getaffinity(0))
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {cores} cores"
