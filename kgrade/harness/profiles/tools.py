"""The profilers that a collection runs: found where they are installed, with options that are always the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgrade.harness.profiles.ncu_metrics import OPERATIONS

TRACE: Final = "trace.json"
# What torch.profiler is asked for: shapes, stacks and memory would cost more than short operators take.
TRACE_OPTIONS: Final = {"record_shapes": False, "profile_memory": False, "with_stack": False}
_SECTIONS: Final = (
    "SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "LaunchStats", "WarpStateStats", "SchedulerStats",
)  # fmt: skip
_METRICS: Final = ("dram__bytes_read.sum", "dram__bytes_write.sum", *OPERATIONS)
LAUNCHES: Final = 64
_VERSION: Final = re.compile(r"[Vv]ersion\s+([0-9][0-9.]*)")
_REFUSED: Final = ("ERR_NVGPUCTRPERM", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
_TAKEN: Final = "driver resource was unavailable"
NOT_PERMITTED: Final = (
    "this driver lets administrators alone read the device's counters (ERR_NVGPUCTRPERM), and behind the wall nobody is"
    " one. Whoever runs the machine can allow it: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in a file in"
    " /etc/modprobe.d, then load the driver anew; in a container, on the host. kgrade changes no driver"
)
NOT_ALONE: Final = (
    "another process has the device's counters (a monitor such as DCGM does: dcgmi profile --pause makes room)"
)


@dataclass(frozen=True)
class Tool:
    """A profiler that starts the program it looks at. `options` are all of them but where to write.

    `writes` is the option that says where, `file` what is found there, `given` the name that the option takes.
    """

    name: str
    executable: Path
    version: str
    options: tuple[str, ...]
    writes: str
    given: str
    file: str

    def command(self, out: Path, program: Sequence[str]) -> list[str]:
        """Return the command that runs `program` under it and writes below `out`."""
        return [str(self.executable), *self.options, self.writes, str(out / self.given), *program]

    @property
    def folder(self) -> Path:
        """The folder that holds all of it: a process behind the wall must see it. Parts lie beside `bin`."""
        folder = self.executable.resolve().parent
        return folder.parent if folder.name == "bin" or folder.name.startswith(("target-", "host-")) else folder


NCU: Final = (
    "--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off",
    "--target-processes", "application-only", "--replay-mode", "kernel", "--cache-control", "all",
    "--clock-control", "none", "--launch-count", str(LAUNCHES),
    *(part for section in _SECTIONS for part in ("--section", section)), "--metrics", ",".join(_METRICS),
)  # fmt: skip
NSYS: Final = (
    "profile", "--trace", "cuda,nvtx", "--sample", "none", "--cpuctxsw", "none", "--capture-range", "cudaProfilerApi",
    "--capture-range-end", "stop", "--export", "sqlite", "--force-overwrite", "true",
)  # fmt: skip


def find_ncu() -> Tool | None:
    """Return Nsight Compute, None where it is not on PATH."""
    return _found("ncu", NCU, "--log-file", "ncu.csv", "ncu.csv")


def find_nsys() -> Tool | None:
    """Return Nsight Systems, None where it is not on PATH."""
    return _found("nsys", NSYS, "--output", "nsys", "nsys.sqlite")


def refusal(said: str) -> str | None:
    """Explain what a profiler said when it was not let, or could not have the counters; None for anything else."""
    if any(word in said for word in _REFUSED):
        return NOT_PERMITTED
    return NOT_ALONE if _TAKEN in said else None


def _found(name: str, options: tuple[str, ...], writes: str, given: str, file: str) -> Tool | None:
    where = shutil.which(name)
    if where is None:
        return None
    try:
        said = subprocess.run([where, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = _VERSION.search(said)
    return Tool(name, Path(where), version[1] if version else "", options, writes, given, file)
