"""The time stage: the candidate and its baselines in turn, by a clock that the code under test cannot reach.

What is kept is this process's monotonic clock around a request, less the round trip of an empty one. The two workers
take turns in random order, so that a drift of the machine meets both.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kgrade.harness.check import CANDIDATE, SEED_BITS
from kgrade.harness.drawing import NotDrawable, draw_arguments
from kgrade.harness.numerics.formats import numpy_dtype
from kgrade.harness.oracle import place
from kgrade.harness.progress import Watch
from kgrade.harness.standby import Standby
from kgrade.harness.timing.statistics import speedup, summarise
from kgrade.harness.workers import Argument, Lost
from kgrade.records.evidence import Case, CaseTiming, Samples, Speedup, StageStatus, Timing
from kgrade.records.expressions import Expression
from kgrade.records.task import Task

CASE_BOX_S = 6.0  # what one call may take on an interpreter, and about what a case's samples may take together
LARGEST_FLOPS = 2e9
LARGEST_BYTES = 64e6
SAMPLES = (5, 40)  # at least and at most, a side
EMPTY_TRIPS = 15
NOT_INDICATIVE = "interpreter: not indicative"


@dataclass
class Side:
    """One callable that is timed: its worker, its samples so far, its first call, or why it is missing."""

    name: str
    workers: Standby
    samples_us: list[float] = field(default_factory=list)
    first_us: float | None = None
    missing: str | None = None
    empty_us: float = 0.0

    def prepare(self, arguments: Sequence[Argument]) -> None:
        """Make the first call, which pays for compilation, and learn what an empty round trip costs."""
        worker = self.workers.get()
        trips = []
        for _ in range(EMPTY_TRIPS):
            begin = time.perf_counter_ns()
            worker.nothing()
            trips.append((time.perf_counter_ns() - begin) / 1000)
        self.empty_us = statistics.median(trips)
        self.first_us = self._once(arguments)

    def sample(self, arguments: Sequence[Argument]) -> None:
        """Take one sample."""
        self.samples_us.append(self._once(arguments))

    def _once(self, arguments: Sequence[Argument]) -> float:
        worker = self.workers.get()
        worker.hold(arguments, 1, CASE_BOX_S)
        begin = time.perf_counter_ns()
        worker.repeat(self.name, CASE_BOX_S)
        return max((time.perf_counter_ns() - begin) / 1000 - self.empty_us, 0.0)

    def attempt(self, arguments: Sequence[Argument], *, first: bool) -> None:
        """Sample, unless this side is missing; a call that is lost makes it missing, never slow."""
        if self.missing is not None:
            return
        try:
            self.prepare(arguments) if first else self.sample(arguments)
        except Lost as lost:
            slow = f"not run: too slow for an interpreter (no answer within {CASE_BOX_S:g} s)"
            self.missing = slow if lost.kind == "timeout" else lost.reason

    def samples(self) -> Samples | None:
        """Return the statistics, or None for a side that is missing."""
        if self.missing is not None or not self.samples_us:
            return None
        return summarise(self.samples_us, self.first_us)


@dataclass(frozen=True)
class Measuring:
    """What timing needs: the candidate's workers, those of the baselines, and how they run."""

    task: Task
    candidates: Standby
    baselines: Standby
    method: str

    def run(self, watch: Watch) -> Timing:
        """Time every benchmark case that an interpreter can finish; say why the others were left out."""
        cases = self.task.benchmark_cases()
        if not cases:
            return Timing(status="not-run", reason="the task names no benchmark")
        broken = self._load_baselines()
        timed = []
        for index, case in enumerate(cases):
            watch.step("time", index, len(cases), case.name)
            timed.append(self.case(case, broken, watch))
        status, reason = _stage(timed)
        return Timing(
            status=status,
            reason=reason,
            method=self.method,
            indicative=False,
            cases=timed,
            notes=[NOT_INDICATIVE],
        )

    def _load_baselines(self) -> dict[str, str]:
        """Import each baseline by itself, so that a broken one is missing and the others are not."""
        broken = {}
        assert self.task.benchmark is not None
        for name, where in self.task.benchmark.baselines.items():
            try:
                self.baselines.add(name, place(where), self.task.limits.build_s)
            except Lost as lost:
                broken[name] = lost.reason
        return broken

    def case(self, case: Case, broken: dict[str, str], watch: Watch) -> CaseTiming:
        """Time one case."""
        flops, moved = work(self.task, case)
        head = {"case": case, "flops": flops, "bytes": moved}
        if (flops or 0) > LARGEST_FLOPS or (moved or 0) > LARGEST_BYTES:
            size = f"{flops or 0:.3g} operations on {moved or 0:.3g} bytes"
            return CaseTiming(**head, missing={CANDIDATE: f"not run: too large for an interpreter ({size})"})
        try:
            arguments = draw_arguments(self.task, case, secrets.randbits(SEED_BITS))
        except NotDrawable as error:
            return CaseTiming(**head, missing={CANDIDATE: f"not run: {error}"})
        assert self.task.benchmark is not None
        sides = [Side(CANDIDATE, self.candidates)]
        sides += [Side(name, self.baselines, missing=broken.get(name)) for name in self.task.benchmark.baselines]
        self._take_turns(sides, arguments, watch)
        return _result(head, sides)

    def _take_turns(self, sides: list[Side], arguments: Sequence[Argument], watch: Watch) -> None:
        for side in sides:
            side.attempt(arguments, first=True)
        round_s = sum(side.first_us or 0.0 for side in sides) / 1e6
        rounds = int(np.clip(CASE_BOX_S / max(round_s, 1e-6), *SAMPLES))
        shuffle = secrets.SystemRandom().shuffle
        for _ in range(rounds):
            if watch.cancel.is_set():
                return
            order = list(sides)
            shuffle(order)
            for side in order:
                side.attempt(arguments, first=False)


def work(task: Task, case: Case) -> tuple[float | None, float | None]:
    """Return operations and bytes of one call at `case`, where the task says them."""
    symbols = {**case.symbols, "itemsize": numpy_dtype(case.dtype).itemsize}
    flops = task.work.flops
    parts = list(flops.values()) if isinstance(flops, dict) else [flops]
    operations = float(sum(Expression(part)(symbols) for part in parts))
    moved = float(Expression(task.work.bytes)(symbols))
    return operations or None, moved or None


def _result(head: dict[str, object], sides: list[Side]) -> CaseTiming:
    taken = {side.name: samples for side in sides if (samples := side.samples()) is not None}
    candidate = taken.pop(CANDIDATE, None)
    ratios: list[Speedup] = []
    if candidate is not None and candidate.median_us > 0:
        for name, samples in taken.items():
            ratios.append(speedup(name, samples.samples_us, candidate.samples_us, np.random.default_rng(0)))
    missing = {side.name: side.missing for side in sides if side.missing is not None}
    return CaseTiming(**head, candidate=candidate, baselines=taken, speedups=ratios, missing=missing)  # type: ignore[arg-type]


def _stage(cases: Sequence[CaseTiming]) -> tuple[StageStatus, str | None]:
    lost = [case for case in cases if not case.missing.get(CANDIDATE, "not run").startswith("not run")]
    if any(case.candidate is not None for case in cases):
        return "passed", None
    if lost:
        return "failed", f"{lost[0].case.name}: {lost[0].missing[CANDIDATE]}"
    return "not-run", cases[0].missing.get(CANDIDATE, "no case was timed")
