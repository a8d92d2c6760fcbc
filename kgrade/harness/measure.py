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

import msgspec
import numpy as np

from kgrade.harness.check import CANDIDATE, SEED_BITS
from kgrade.harness.drawing import NotDrawable, rooms
from kgrade.harness.foreign import called
from kgrade.harness.numerics.formats import numpy_dtype
from kgrade.harness.oracle import Expected, Oracle
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
SAMPLE_US = 5000.0  # a sample should last so long, for a round trip takes some 100 us and varies
LARGEST_CALLS = 64
SLOW_US = 1e6  # a first call that takes longer was not slow for want of warming up
EMPTY_TRIPS = 15
CLOCK_SLACK = 1 / 3  # the clocks disagree when one tells more than 1.5 times the other
CLOCK_SLACK_US = 2000.0  # a sample, for waking a process on a busy machine takes that long
NOT_INDICATIVE = "interpreter: not indicative"


@dataclass
class Side:
    """One callable that is timed: its worker, its samples so far, its first call, or why it is missing."""

    name: str
    workers: Standby
    samples_us: list[float] = field(default_factory=list)
    claimed_us: list[float] = field(default_factory=list)
    calls: int = 1
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
        warm_us = self._once(arguments) if self.first_us < SLOW_US else self.first_us
        room = LARGEST_BYTES / max(1, sum(np.asarray(argument.value).nbytes for argument in arguments))
        self.calls = int(np.clip(SAMPLE_US / max(warm_us, 1.0), 1, min(LARGEST_CALLS, max(1.0, room))))
        self.claimed_us.clear()

    def sample(self, arguments: Sequence[Argument]) -> None:
        """Take one sample: the mean of as many calls, each on inputs of its own, as make it worth measuring."""
        self.samples_us.append(self._once(arguments))

    def _once(self, arguments: Sequence[Argument]) -> float:
        worker = self.workers.get()
        worker.hold(arguments, self.calls, CASE_BOX_S)
        begin = time.perf_counter_ns()
        claimed = worker.repeat(self.name, CASE_BOX_S)
        taken = (time.perf_counter_ns() - begin) / 1000
        self.claimed_us.append(statistics.fmean(claimed) if claimed else 0.0)
        return max(taken - self.empty_us, 0.0) / self.calls

    def attempt(self, arguments: Sequence[Argument], *, first: bool) -> None:
        """Sample, unless this side is missing; a call that is lost makes it missing, never slow."""
        if self.missing is not None:
            return
        try:
            self.prepare(arguments) if first else self.sample(arguments)
        except Lost as lost:
            slow = f"not run: too slow for an interpreter (no answer within {CASE_BOX_S:g} s)"
            self.missing = slow if lost.kind == "timeout" else lost.reason

    def disagreement(self) -> str | None:
        """Say so when the worker's own clock tells another story: then one of the two is not to be trusted.

        The fastest of each is compared: a busy machine only ever adds to what is seen from outside.
        """
        taken = min(self.samples_us)
        claimed = min(self.claimed_us, default=0.0)
        if abs(taken - claimed) <= max(CLOCK_SLACK_US / self.calls, CLOCK_SLACK * max(taken, claimed)):
            return None
        return f"the clocks disagree: {taken:.0f} us a call from outside, {claimed:.0f} us from inside"

    def samples(self) -> Samples | None:
        """Return the statistics, or None for a side that is missing."""
        if self.missing is not None or not self.samples_us:
            return None
        return summarise(self.samples_us, self.first_us)


@dataclass(frozen=True)
class Measuring:
    """What timing needs: the candidate's workers, the oracle (baselines run in its worker), and how they run."""

    task: Task
    candidates: Standby
    oracle: Oracle
    method: str

    def run(self, watch: Watch) -> Timing:
        """Time every benchmark case that an interpreter can finish; say why the others were left out."""
        cases = self.task.benchmark_cases()
        if not cases:
            return Timing(status="not-run", reason="the task names no benchmark")
        broken = self._load_baselines()
        timed, doubts = [], []
        for index, case in enumerate(cases):
            watch.step("time", index, len(cases), case.name)
            timing, doubt = self.case(case, broken, watch)
            timed.append(timing)
            doubts += [f"{case.name}: {doubt}"] if doubt else []
        status, reason = _stage(timed)
        if doubts and status == "passed":
            status, reason = "flagged", doubts[0]
        return Timing(
            status=status,
            reason=reason,
            method=self.method,
            indicative=False,
            cases=timed,
            notes=[NOT_INDICATIVE, *doubts],
        )

    def _load_baselines(self) -> dict[str, str]:
        """Import each baseline by itself, so that a broken one is missing and the others are not."""
        broken = {}
        assert self.task.benchmark is not None
        for name, where in self.task.benchmark.baselines.items():
            try:
                self.oracle.workers.add(name, called(self.task, where), self.task.limits.build_s)
            except Lost as lost:
                broken[name] = lost.reason
        return broken

    def case(self, case: Case, broken: dict[str, str], watch: Watch) -> tuple[CaseTiming, str | None]:
        """Time one case; return the timing, and why it should not be trusted where the timed outputs are wrong."""
        flops, moved = work(self.task, case)
        head = CaseTiming(case=case, flops=flops, bytes=moved)
        if (flops or 0) > LARGEST_FLOPS or (moved or 0) > LARGEST_BYTES:
            size = f"{flops or 0:.3g} operations on {moved or 0:.3g} bytes"
            return _without(head, f"not run: too large for an interpreter ({size})"), None
        seed = secrets.randbits(SEED_BITS)
        try:
            arguments = self.oracle.draw(case, seed)
        except (NotDrawable, Lost) as error:
            return _without(head, f"not run: {error}"), None
        assert self.task.benchmark is not None
        sides = [Side(CANDIDATE, self.candidates)]
        workers = self.oracle.workers
        sides += [Side(name, workers, missing=broken.get(name)) for name in self.task.benchmark.baselines]
        self._take_turns(sides, arguments, watch)
        doubt = None
        if sides[0].missing is None:
            doubts = [self._wrong(case, arguments, seed), sides[0].disagreement()]
            doubt = "; ".join(each for each in doubts if each) or None
        return _result(head, sides), doubt

    def _wrong(self, case: Case, arguments: Sequence[Argument], seed: int) -> str | None:
        """Compare what the last timed call returned: a kernel that skips its work when timed must not look fast."""
        if self.task.stochastic is not None:
            return None
        try:
            got = self.candidates.get().fetch(rooms(self.task, case), self.task.limits.run_s)
            everything = self.oracle.expected(case, arguments, seed)
            expected = Expected({name: everything.arrays[name] for name in got}, everything.framework)
            wrong = self.oracle.verdict(case, arguments, expected, got).reason
        except Lost as lost:
            return f"the outputs of the timed calls could not be compared: {lost.reason}"
        return f"the outputs of the timed calls are wrong: {wrong}" if wrong else None

    def _take_turns(self, sides: list[Side], arguments: Sequence[Argument], watch: Watch) -> None:
        for side in sides:
            side.attempt(arguments, first=True)
        round_s = sum(max(side.first_us or 0.0, SAMPLE_US) for side in sides) / 1e6
        rounds = int(np.clip(CASE_BOX_S / max(round_s, 1e-6), *SAMPLES))
        shuffle = secrets.SystemRandom().shuffle
        for _ in range(rounds):
            watch.go_on("the next round")
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


def _without(head: CaseTiming, reason: str) -> CaseTiming:
    return msgspec.structs.replace(head, missing={CANDIDATE: reason})


def _result(head: CaseTiming, sides: list[Side]) -> CaseTiming:
    taken = {side.name: samples for side in sides if (samples := side.samples()) is not None}
    candidate = taken.pop(CANDIDATE, None)
    ratios: list[Speedup] = []
    if candidate is not None and candidate.median_us > 0:
        for name, samples in taken.items():
            ratios.append(speedup(name, samples.samples_us, candidate.samples_us, np.random.default_rng(0)))
    missing = {side.name: side.missing for side in sides if side.missing is not None}
    return msgspec.structs.replace(head, candidate=candidate, baselines=taken, speedups=ratios, missing=missing)


def _stage(cases: Sequence[CaseTiming]) -> tuple[StageStatus, str | None]:
    lost = [case for case in cases if not case.missing.get(CANDIDATE, "not run").startswith("not run")]
    if any(case.candidate is not None for case in cases):
        return "passed", None
    if lost:
        return "failed", f"{lost[0].case.name}: {lost[0].missing[CANDIDATE]}"
    return "not-run", cases[0].missing.get(CANDIDATE, "no case was timed")
