"""The time stage on real workers: processes a side, A against A, rounds, what is missing, what is remarked."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from kgrade.harness.arguments import Argument
from kgrade.harness.check import CANDIDATE
from kgrade.harness.foreign import oracle_functions
from kgrade.harness.measure import MOST_PROCESSES, PROCESSES, Measuring
from kgrade.harness.oracle import Oracle
from kgrade.harness.progress import Step, Watch
from kgrade.harness.run import ItemSource, Machine
from kgrade.harness.standby import Standby
from kgrade.harness.timing import sides
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Worker
from kgrade.records import codec
from kgrade.records.evidence import Timing
from kgrade.records.task import Task

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
benchmark:
  cases: [{N: 64, dtype: float32}]
  baselines: {slow: "reference.py:slow", broken: "reference.py:nothing", dying: "reference.py:dying"}
tolerance: {float32: {atol: 1e-6, rtol: 1e-6}}
work: {flops: N, bytes: 2*N*itemsize}
rubric: generation
"""
REFERENCE = """
import os, time
def double(x):
    return 2 * x
def slow(x):
    time.sleep(0.004)
    return 2 * x
def dying(x):
    os._exit(3)
"""
KERNEL = """
import time
def double(x):
    time.sleep(0.002)
    return 2 * x
"""


def timed(machine: Machine, folder: Path, kernel: str, task: str = TASK) -> tuple[Timing, list[Step]]:
    for name, text in (("task", REFERENCE), ("item", kernel)):
        (folder / name).mkdir(mode=0o755)
        (folder / name / {"task": "reference.py", "item": "kernel.py"}[name]).write_text(text)
    folder.chmod(0o755)

    def standby(name: str, functions: dict[str, tuple[str, str]]) -> Standby:
        recipe = Worker(machine.wall, machine.interpreter, folder / name, "numpy", None, Limits())
        return Standby(recipe, functions, 60)

    record = codec.decode(Task, task.encode(), "task.yaml")
    candidates = standby("item", {CANDIDATE: ("kernel.py", "double")})
    source = ItemSource("double/s01", record, "1" * 40, {"reference.py": REFERENCE.encode()})
    oracle = Oracle(source, standby("task", oracle_functions(record)))
    steps: list[Step] = []
    try:
        measuring = Measuring(record, candidates, oracle, "numpy")
        return measuring.run(Watch(steps.append, threading.Event())), steps
    finally:
        candidates.close()
        oracle.workers.close()


def test_every_side_runs_in_three_processes_in_turn_and_against_itself(machine: Machine, tmp_path: Path) -> None:
    found, steps = timed(machine, tmp_path, KERNEL)
    assert found.status == "passed", found.reason
    (case,) = found.cases
    assert case.candidate is not None
    assert MOST_PROCESSES >= len(case.candidate.processes) >= PROCESSES >= 3
    assert sum(case.candidate.processes) == case.candidate.n == len(case.candidate.samples_us) >= 30
    assert case.candidate.min_us >= 2000
    assert case.candidate.warmups >= 2 * PROCESSES
    assert (case.candidate.first_call_us or 0) >= 2000
    assert case.baselines["slow"].processes == case.candidate.processes
    (ratio,) = case.speedups
    assert ratio.verdict == "faster"
    assert 1.2 < ratio.ratio < 3
    assert "order statistics" in ratio.method
    twin = case.against_itself
    assert twin is not None
    assert twin.interval is not None
    assert twin.n == case.candidate.n
    assert ratio.visible is not None
    assert any("A against A: " in note and "would have been seen" in note for note in found.notes)
    assert "3 processes a side" in (found.method or "")
    assert set(case.missing) == {"broken", "dying"}, "missing, never slow"
    assert "exit status 3" in case.missing["dying"]
    assert "defines no function 'nothing'" in case.missing["broken"]
    assert (case.flops, case.bytes) == (64, 512)
    assert [(step.done, step.total) for step in steps][:PROCESSES] == [(0, 3), (1, 3), (2, 3)]
    assert len(steps) == len(case.candidate.processes)


def test_a_kernel_that_skips_its_work_or_works_between_calls_is_flagged(machine: Machine, tmp_path: Path) -> None:
    lazy = """
import itertools, threading
def double(x):
    if threading.active_count() == 1:
        threading.Thread(target=lambda: all(True for _ in itertools.count()), daemon=True).start()
    return 0 * x
"""
    task = TASK.replace(', broken: "reference.py:nothing", dying: "reference.py:dying"', "")
    found, _ = timed(machine, tmp_path, lazy, task)
    assert found.status == "flagged"
    assert any("outputs of the timed calls are wrong" in note for note in found.notes)
    assert any("a thread was left" in note for note in found.notes)


def test_the_number_of_warm_up_calls_cannot_be_foreseen(machine: Machine, tmp_path: Path) -> None:
    """A kernel that counts its calls to know the timed one would have to know how many come before."""
    counts = set()
    (tmp_path / "item").mkdir(mode=0o755)
    tmp_path.chmod(0o755)
    (tmp_path / "item" / "kernel.py").write_text(KERNEL)
    recipe = Worker(machine.wall, machine.interpreter, tmp_path / "item", "numpy", None, Limits())
    standby = Standby(recipe, {CANDIDATE: ("kernel.py", "double")}, 60)
    try:
        for _ in range(30):
            side = sides.Side(CANDIDATE, standby)
            side.attempt([Argument("x", np.ones(4, np.float32))], first=True)
            assert side.missing is None
            counts.add(side.warmups)
    finally:
        standby.close()
    assert len(counts) > 1
