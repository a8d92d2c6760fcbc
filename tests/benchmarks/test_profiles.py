"""Reading long profiler files beside a bare parse by the standard library, and the memory that it takes."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.harness.profiles.reading import read_profile
from tests.benchmarks.measuring import Measured, compared, interleaved
from tests.benchmarks.profiler_files import KERNELS, ncu_page, torch_trace

pytestmark = pytest.mark.alone

MB = 1_000_000
TIMES = 1.5
MEMORY = """
import sys
from pathlib import Path
from kgrade.harness.profiles.reading import read_profile
def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))
before = kilobytes("VmRSS:")
found = read_profile(Path(sys.argv[1]))
print((kilobytes("VmHWM:") - before) * 1024, len(found.kernels))
"""


def seconds(read: Callable[[], object]) -> float:
    begin = time.perf_counter()
    read()
    return time.perf_counter() - begin


def read(file: Path) -> None:
    assert len(read_profile(file).kernels) == KERNELS


def csv_alone(file: Path) -> None:
    with file.open(newline="") as lines:
        for _ in csv.reader(lines):
            pass


def json_alone(file: Path) -> None:
    with file.open("rb") as data:
        json.load(data)


@pytest.mark.parametrize("rows", [12_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_a_page_of_ncu_beside_csv(tmp_path: Path, keep: Callable[[Measured], None], rows: int) -> None:
    file = ncu_page(tmp_path / "page.csv", rows)
    pairs = interleaved(lambda: seconds(lambda: read(file)), lambda: seconds(lambda: csv_alone(file)))
    keep(compared(f"an ncu page of {rows:,} rows over csv.reader", pairs, TIMES))


@pytest.mark.parametrize("size", [2 * MB, pytest.param(100 * MB, marks=pytest.mark.long)])
def test_a_trace_beside_json(tmp_path: Path, keep: Callable[[Measured], None], size: int) -> None:
    file = torch_trace(tmp_path / "trace.json", size)
    pairs = interleaved(lambda: seconds(lambda: read(file)), lambda: seconds(lambda: json_alone(file)))
    keep(compared(f"a trace of {size // MB} MB over json.load", pairs, TIMES))


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (ncu_page, 12_000),
        (torch_trace, 12 * MB),
        pytest.param(ncu_page, 200_000, marks=pytest.mark.long),
        pytest.param(torch_trace, 100 * MB, marks=pytest.mark.long),
    ],
)
def test_memory_is_bounded_by_the_file(
    tmp_path: Path, keep: Callable[[Measured], None], make: Callable[[Path, int], Path], size: int
) -> None:
    file = make(tmp_path / "profile", size)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(file)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    grown, kernels = map(int, done.stdout.split())
    assert kernels == KERNELS
    whole = file.stat().st_size
    name = f"memory to read {whole / MB:.1f} MB by {make.__name__}, over the file"
    keep(Measured(name, "times", 3.0, 1, *[grown / whole] * 3, "one process, its largest resident size"))
