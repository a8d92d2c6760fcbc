"""What this machine is, for the head of the evidence."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from kgrade.harness.device.nvml import Gpu
from kgrade.harness.sandbox import Wall
from kgrade.records.evidence import Environment


def environment(
    wall: Wall,
    versions: dict[str, str],
    *,
    interpreter: bool,
    toolkit: str | None = None,
    gpu: Gpu | None = None,
    clocks: str | None = None,
) -> Environment:
    """Return the environment of a run; `gpu` is the device of its target, if one is here, `clocks` what it showed."""
    return Environment(
        hardware=gpu.name if gpu is not None else processor(),
        driver=gpu.driver if gpu is not None else None,
        clocks=clocks,
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
