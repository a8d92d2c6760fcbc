"""A kernel against itself on the machine at hand: how often the time stage says that there is no difference.

An interval of 95 % leaves out the truth in 5 of 100 runs, so what may be asked of a number of runs is the binomial
bound: fewer than that many would come up in one of 100 such tests. It is 89 for 100 runs.
"""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest

from kgrade.harness.check import CANDIDATE
from kgrade.harness.foreign import oracle_functions
from kgrade.harness.measure import Measuring
from kgrade.harness.oracle import Oracle
from kgrade.harness.progress import Watch
from kgrade.harness.run import ItemSource, Machine
from kgrade.harness.standby import Standby
from kgrade.harness.timing.statistics import visible_difference
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Worker
from kgrade.records import codec
from kgrade.records.evidence import Timing
from kgrade.records.task import Task

pytestmark = pytest.mark.alone
CONFIDENCE = 0.95
TASK = """\
schema: kgrade/task@1
title: Doubling
type: generation
language: python
targets: [cpu]
entry: double
reference: reference.py:double
inputs: {x: {shape: [N], dtype: $dtype}}
outputs: {y: {shape: [N], dtype: $dtype}}
cases: [{N: 8, dtype: float32}]
benchmark: {cases: [{N: [SIZES], dtype: float32}], baselines: {}}
tolerance: {float32: {atol: 1e-6, rtol: 1e-6}}
work: {flops: N, bytes: 2*N*itemsize}
rubric: generation
"""
KERNEL = "def double(x):\n    for _ in range(40):\n        y = 2 * x\n    return y\n"


def fewest(runs: int, chance: float = 0.01) -> int:
    """The number of runs without a difference that fewer than `chance` of such tests would fall below."""
    below, number = 0.0, 0
    while True:
        below += math.comb(runs, number) * CONFIDENCE**number * (1 - CONFIDENCE) ** (runs - number)
        if below >= chance:
            return number
        number += 1


def sitting(machine: Machine, folder: Path, runs: int) -> Timing:
    """So many runs in the same processes, each at a size of its own."""
    sizes = ", ".join(str(20_000 + number) for number in range(runs))
    record = codec.decode(Task, TASK.replace("SIZES", sizes).encode(), "task.yaml")
    (folder / "kernel.py").write_text(KERNEL)
    folder.chmod(0o755)

    def standby(functions: dict[str, tuple[str, str]]) -> Standby:
        return Standby(Worker(machine.wall, machine.interpreter, folder, "numpy", None, Limits()), functions, 60)

    (folder / "reference.py").write_text(KERNEL)
    candidates = standby({CANDIDATE: ("kernel.py", "double")})
    source = ItemSource("double/s01", record, "1" * 40, {"reference.py": KERNEL.encode()})
    oracle = Oracle(source, standby(oracle_functions(record)))
    try:
        return Measuring(record, candidates, oracle, "numpy").run(Watch(lambda step: None, threading.Event()))
    finally:
        candidates.close()
        oracle.workers.close()


def test_what_is_asked_of_a_number_of_runs() -> None:
    assert fewest(100) == 89
    assert fewest(20) == 16


@pytest.mark.parametrize(
    ("sittings", "together"),
    [(5, 4), pytest.param(20, 5, marks=pytest.mark.long)],
    ids=["20 runs, 4 in the same processes", "100 runs, 5 in the same processes"],
)
def test_a_kernel_does_not_differ_from_itself(tmp_path: Path, sittings: int, together: int) -> None:
    machine = Machine.here()
    without, visible = 0, []
    for number in range(sittings):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = sitting(machine, folder, together)
        assert found.status in ("passed", "flagged"), found.reason
        for case in found.cases:
            twin = case.against_itself
            assert twin is not None
            assert twin.interval is not None
            without += not twin.difference
            seen = visible_difference(twin)
            assert seen is not None
            visible.append(seen)
            said = [note for note in found.notes if note.startswith(f"{case.case.name}: A against A: ")]
            assert len(said) == 1, "the report states what difference the run could have seen"
            assert f"a difference of {100 * seen:.2g} % would have been seen" in said[0]
    runs = sittings * together
    print(f"no difference in {without} of {runs}; visible in the median run: {100 * sorted(visible)[runs // 2]:.2g} %")
    assert without >= fewest(runs), f"no difference in {without} of {runs} runs, {fewest(runs)} at least were expected"
