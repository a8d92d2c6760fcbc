"""A kernel against itself on the machine at hand: how often the time stage says that there is no difference.

The baseline is the candidate's own file, so a verdict of faster or slower is false. An interval of 95 % leaves out the
truth in 5 of 100 runs, so what may be asked of a number of runs is the binomial bound: fewer than that many without
such a verdict would come up in one of 100 such tests. It is 89 for 100 runs.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from kgrade.harness.check import CANDIDATE
from kgrade.harness.foreign import oracle_functions
from kgrade.harness.measure import MOST_PROCESSES, Measuring
from kgrade.harness.oracle import Oracle
from kgrade.harness.progress import Watch
from kgrade.harness.run import ItemSource, Machine
from kgrade.harness.standby import Standby
from kgrade.harness.timing.intervals import FEWEST_SAMPLES
from kgrade.harness.timing.statistics import NOISE_FORBIDS, visible_difference
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Worker
from kgrade.records import codec
from kgrade.records.evidence import CaseTiming, Speedup, Timing
from kgrade.records.task import Task

pytestmark = pytest.mark.alone
CONFIDENCE = 0.95
TASK = """\
schema: kgrade/task@1
title: A sine of a sine
type: generation
language: python
targets: [cpu]
entry: repeated
reference: reference.py:repeated
inputs: {x: {shape: [N], dtype: $dtype}}
outputs: {y: {shape: [N], dtype: $dtype}}
cases: [{N: 8, dtype: float32}]
benchmark: {cases: [{N: [SIZES], dtype: float32}], baselines: {same: "reference.py:repeated"}}
tolerance: {float32: {atol: 1e-6, rtol: 1e-6}}
work: {flops: N, bytes: 2*N*itemsize}
rubric: generation
"""
KERNEL = """\
import numpy


def repeated(x):
    y = x.copy()
    for _ in range(100):
        numpy.sin(y, out=y)
    return y
"""


def fewest(runs: int, chance: float = 0.01) -> int:
    """The number of runs without a verdict that fewer than `chance` of such tests would fall below."""
    below, number = 0.0, 0
    while True:
        below += math.comb(runs, number) * CONFIDENCE**number * (1 - CONFIDENCE) ** (runs - number)
        if below >= chance:
            return number
        number += 1


def sitting(machine: Machine, folder: Path, runs: int) -> Timing:
    """So many runs in the same processes, each at a size of its own."""
    sizes = ", ".join(str(1_000 + number) for number in range(runs))
    record = codec.decode(Task, TASK.replace("SIZES", sizes).encode(), "task.yaml")
    (folder / "kernel.py").write_text(KERNEL)
    folder.chmod(0o755)

    def standby(functions: dict[str, tuple[str, str]]) -> Standby:
        return Standby(Worker(machine.wall, machine.interpreter, folder, "numpy", None, Limits()), functions, 60)

    (folder / "reference.py").write_text(KERNEL)
    candidates = standby({CANDIDATE: ("kernel.py", "repeated")})
    source = ItemSource("repeated/s01", record, "1" * 40, {"reference.py": KERNEL.encode()})
    oracle = Oracle(source, standby(oracle_functions(record)))
    try:
        return Measuring(record, candidates, oracle, "numpy").run(Watch(lambda step: None, threading.Event()))
    finally:
        candidates.close()
        oracle.workers.close()


def test_what_is_asked_of_a_number_of_runs() -> None:
    assert fewest(100) == 89
    assert fewest(20) == 16


def width(against_itself: Speedup) -> float:
    """How far apart the ends of an interval are, as a share of the lower one."""
    assert against_itself.interval is not None
    low, high = against_itself.interval
    return high / low - 1


def said_of(case: CaseTiming, notes: Sequence[str]) -> str:
    """What is said of the baseline that is the candidate itself; the report must bear it out."""
    if not case.speedups or case.speedups[0].interval is None:
        missing = set(case.missing) & {CANDIDATE, "same"}
        assert missing or case.candidate is None or case.candidate.n < FEWEST_SAMPLES, "an interval is missing"
        return "no interval"
    found, itself = case.speedups[0], case.against_itself
    if itself is None or itself.interval is None:
        assert found.verdict is None
        return "no interval"
    assert found.verdict is not None
    assert found.visible == visible_difference(itself)
    assert (found.verdict == "noise forbids") == (width(itself) > NOISE_FORBIDS and not found.difference)
    assert case.candidate is not None
    assert width(itself) <= NOISE_FORBIDS or len(case.candidate.processes) == MOST_PROCESSES, "no more was tried"
    stated = f"a difference of {100 * (found.visible or 0):.2g} % would have been seen"
    assert [note for note in notes if note.startswith(f"{case.case.name}: A against A: ") and stated in note]
    return found.verdict


@pytest.mark.parametrize(
    ("sittings", "together"),
    [(2, 10), pytest.param(10, 10, marks=pytest.mark.long)],
    ids=["20 runs", "100 runs"],
)
def test_a_kernel_does_not_differ_from_itself(tmp_path: Path, sittings: int, together: int) -> None:
    machine = Machine.here()
    said: Counter[str] = Counter()
    seen = []
    for number in range(sittings):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = sitting(machine, folder, together)
        assert found.status in ("passed", "flagged"), found.reason
        said.update(said_of(case, found.notes) for case in found.cases)
        seen += [each.visible for case in found.cases for each in case.speedups if each.visible is not None]
    runs = said.total()
    assert runs == sittings * together
    assert seen, "no run at all had an interval"
    print(f"{runs} runs: {dict(said)}; visible in the median run: {100 * median(seen):.2g} %")
    claimed = said["faster"] + said["slower"]
    assert runs - claimed >= fewest(runs), f"{claimed} of {runs} runs say that a kernel differs from itself"
