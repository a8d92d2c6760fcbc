"""One file, whichever profiler wrote it: told by its content, not by its name."""

from __future__ import annotations

import gzip
from pathlib import Path

from kgrade.harness.profiles.ncu import read_ncu
from kgrade.harness.profiles.nsys import read_nsys_csv, read_nsys_sqlite
from kgrade.harness.profiles.rocprof import read_rocprof
from kgrade.harness.profiles.traces import read_trace
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import Profile

_HEAD = 64 << 10
EXPECTED = "expected a CSV of ncu, nsys stats or rocprofv3, an nsys sqlite export, or a torch.profiler trace"


def read_profile(path: Path) -> Profile:
    """Read `path`; raise BadProfile with one sentence where that cannot be done."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as why:
        raise BadProfile(f"{path} cannot be read: {why.strerror}") from None
    if head.startswith(b"SQLite format 3\0"):
        return read_nsys_sqlite(path)
    if head.startswith(b"\x1f\x8b"):
        head = _unzipped_head(path)
    if head.lstrip()[:1] in (b"{", b"["):
        return read_trace(path)
    if b"," not in head and b'"' not in head:
        raise BadProfile(f"{path.name} is no profile that is known; {EXPECTED}")
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        if b"Metric Name" in head or b"==PROF==" in head or (b"Kernel Name" in head and b"Grid Size" in head):
            return read_ncu(lines, path.name)
        if b"Kernel_Name" in head or b"TotalDurationNs" in head:
            return read_rocprof(lines, path.name)
        if b"Total Time" in head or b"GrdX" in head:
            return read_nsys_csv(lines, path.name)
    raise BadProfile(f"{path.name} is no profile that is known; {EXPECTED}")


def _unzipped_head(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(_HEAD)
    except (OSError, EOFError) as why:
        raise BadProfile(f"{path.name} cannot be unpacked: {why}") from None
