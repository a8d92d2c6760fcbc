"""One file, whichever profiler wrote it: told by its content, not by its name."""

from __future__ import annotations

import gzip
from pathlib import Path

from kgrade.harness.profiles.ncu import read_ncu
from kgrade.harness.profiles.nsys import read_nsys_csv, read_nsys_sqlite
from kgrade.harness.profiles.report import read_report
from kgrade.harness.profiles.rocprof import read_rocprof
from kgrade.harness.profiles.traces import read_json
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import Profile

_HEAD = 64 << 10
_REPORTS = {
    ".nsys-rep": "a report that only nsys reads; export it: nsys export --type sqlite FILE.nsys-rep",
    ".ntff": "a trace that only neuron-profile reads; export it: neuron-profile view -n FILE.neff -s FILE.ntff"
    " --output-format summary-json",
}
EXPECTED = (
    "expected a CSV or report of ncu, a CSV of nsys stats or rocprofv3, an nsys sqlite export,"
    " a torch.profiler trace or neuron-profile's summary-json"
)


def read_profile(path: Path) -> Profile:
    """Read `path`; raise BadProfile with one sentence where that cannot be done."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as why:
        raise BadProfile(f"{path} cannot be read: {why.strerror}") from None
    if head.startswith(b"SQLite format 3\0"):
        return read_nsys_sqlite(path)
    if path.suffix == ".ncu-rep":
        return read_report(path)
    if path.suffix in _REPORTS:
        raise BadProfile(f"{path.name} is {_REPORTS[path.suffix]}")
    if head.startswith(b"\x1f\x8b"):
        head = _unzipped_head(path)
    if head.lstrip()[:1] in (b"{", b"["):
        return read_json(path)
    if b"," not in head and b'"' not in head:
        raise BadProfile(f"{path.name} is no profile that is known; {EXPECTED}")
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        if b"Metric Name" in head or b"==PROF==" in head or b'"Kernel Name"' in head:
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
