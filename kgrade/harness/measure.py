"""The time stage: the candidate and its baselines in turn, by a clock that the code under test cannot reach.

All sides take turns in random order, so that a drift of the machine meets each of them. Every side is restarted
twice: what one process happens to get (its addresses, its cores) is not taken for a property of the kernel. The
candidate also runs against a second process of itself: what that shows is noise, and bounds what may be said. Where it
shows too much for anything to be said, further processes are measured.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from kgrade.harness.arguments import Argument
from kgrade.harness.check import CANDIDATE, SEED_BITS
from kgrade.harness.device.observer import Observer, Seen
from kgrade.harness.drawing import NotDrawable, rooms
from kgrade.harness.foreign import called
from kgrade.harness.numerics.formats import numpy_dtype
from kgrade.harness.oracle import Expected, Oracle
from kgrade.harness.progress import Watch
from kgrade.harness.standby import Standby
from kgrade.harness.timing.sides import CASE_BOX_S, LARGEST_BYTES, ON_DEVICE, ON_INTERPRETER, Side
from kgrade.harness.timing.statistics import is_too_noisy, judged, speedup, visible_difference
from kgrade.harness.workers import REST_S, Lost
from kgrade.records.evidence import Case, CaseTiming, Samples, Speedup, StageStatus, Timing
from kgrade.records.expressions import Expression
from kgrade.records.task import Task

LARGEST_FLOPS = 2e9
PROCESSES = 3  # a side, at least
MOST_PROCESSES = 8
REPEATS = 2  # of a process in which the device was throttled or shared
SAMPLES = (2, 16)  # at least and at most, a process
ITSELF = "itself"
NOT_INDICATIVE = "interpreter: not indicative"


@dataclass
class Turn:
    """One case while it is timed: its sides, the inputs of the process at hand, and what makes its times doubtful."""

    case: Case
    head: CaseTiming
    sides: list[Side]
    doubts: list[str] = field(default_factory=list)
    given_up: str | None = None
    seen: Seen | None = None

    @property
    def candidate(self) -> Side:
        """The side that is judged."""
        return self.sides[0]

    @property
    def is_undecided(self) -> bool:
        """Whether noise forbids a verdict that a further process could still allow."""
        samples, itself = self.candidate.samples(), self.sides[1].samples()
        if self.given_up is not None or samples is None or itself is None:
            return False
        against = _compared(ITSELF, itself, samples)
        return against is not None and is_too_noisy(against)


@dataclass(frozen=True)
class Measuring:
    """What timing needs: the candidate's workers, the oracle, and how they run.

    Baselines run in the oracle's worker unless `baselines` names others, as on a device, where the oracle has none.
    There `observer` watches the device, `cache` says in which state a call meets its caches, and `launch` what a native
    launcher is told. `clocks` is filled with what was seen of the device at each case.
    """

    task: Task
    candidates: Standby
    oracle: Oracle
    method: str
    indicative: bool = False
    baselines: Standby | None = None
    observer: Observer | None = None
    cache: str | None = None
    launch: Callable[[Case], Mapping[str, Any]] | None = None
    clocks: list[str] = field(default_factory=list)

    def run(self, watch: Watch) -> Timing:
        """Time every benchmark case that can be finished here; say why the others were left out."""
        cases = self.task.benchmark_cases()
        if not cases:
            return Timing(status="not-run", reason="the task names no benchmark")
        broken = self._load_baselines()
        twin = self.candidates.twin()
        turns = [self._turn(case, twin, broken) for case in cases]
        idle, played = None, 0
        try:
            for number in range(MOST_PROCESSES):
                playing = turns if number < PROCESSES else [turn for turn in turns if turn.is_undecided]
                if not playing:
                    break
                if number > 0:
                    for standby in (self.candidates, twin, *([self._baselines] if self._names else [])):
                        standby.restart()
                for index, turn in enumerate(playing):
                    total = max(PROCESSES * len(turns), played + len(playing) - index)
                    watch.step("time", played, total, turn.case.name)
                    self._play(turn, watch)
                    played += 1
                idle = idle or self._idle(turns)
        finally:
            twin.close()
        return self._told(turns, idle)

    @property
    def _baselines(self) -> Standby:
        return self.baselines or self.oracle.workers

    @property
    def _names(self) -> dict[str, str]:
        return self.task.benchmark.baselines if self.task.benchmark is not None else {}

    def _load_baselines(self) -> dict[str, str]:
        """Import each baseline by itself, so that a broken one is missing and the others are not."""
        broken = {}
        for name, where in self._names.items():
            try:
                self._baselines.add(name, called(self.task, where), self.task.limits.build_s)
            except Lost as lost:
                broken[name] = lost.reason
        return broken

    def _turn(self, case: Case, twin: Standby, broken: dict[str, str]) -> Turn:
        flops, moved = work(self.task, case)
        how = ON_DEVICE if self.indicative else ON_INTERPRETER
        told = self.launch(case) if self.launch is not None else None
        first_s = self.task.limits.run_s if self.indicative else CASE_BOX_S
        common: dict[str, Any] = {"how": how, "cache": self.cache, "first_s": first_s}
        candidate = Side(CANDIDATE, self.candidates, launch=told, **common)
        sides = [candidate, Side(ITSELF, twin, CANDIDATE, launch=told, like=candidate, **common)]
        for name in self._names:
            sides.append(Side(name, self._baselines, missing=broken.get(name), like=candidate, **common))
        turn = Turn(case, CaseTiming(case=case, flops=flops, bytes=moved), sides)
        if not self.indicative and ((flops or 0) > LARGEST_FLOPS or (moved or 0) > LARGEST_BYTES):
            size = f"{flops or 0:.3g} operations on {moved or 0:.3g} bytes"
            turn.given_up = f"not run: too large for an interpreter ({size})"
        return turn

    def _play(self, turn: Turn, watch: Watch) -> None:
        """Let each side of one case take its samples; again where the device was disturbed meanwhile."""
        if turn.given_up is not None:
            return
        if self.observer is None:
            self._samples(turn, watch)
            return
        for left in reversed(range(REPEATS + 1)):
            self.observer.begin()
            try:
                self._samples(turn, watch)
            finally:
                seen = turn.seen = self.observer.end()
            if not seen.doubts:
                return
            if left:
                for side in turn.sides:
                    side.forget()
        turn.doubts += [doubt for doubt in seen.doubts if doubt not in turn.doubts]

    def _samples(self, turn: Turn, watch: Watch) -> None:
        """Let each side of one case take its samples in its process at hand, in random order round by round."""
        seed = secrets.randbits(SEED_BITS)
        try:
            arguments = self.oracle.draw(turn.case, seed)
        except (NotDrawable, Lost) as error:
            turn.given_up = f"not run: {error}"
            return
        for side in turn.sides:
            side.attempt(arguments, first=True)
        round_s = sum(side.sample_us for side in turn.sides) / 1e6
        rounds = int(np.clip(CASE_BOX_S / PROCESSES / max(round_s, 1e-6), *SAMPLES))
        shuffle = secrets.SystemRandom().shuffle
        for _ in range(rounds):
            watch.go_on("the next round")
            order = list(turn.sides)
            shuffle(order)
            for side in order:
                side.attempt(arguments, first=False)
        if turn.candidate.missing is None:
            wrong = self._wrong(turn.case, arguments, seed)
            turn.doubts += [wrong] if wrong and wrong not in turn.doubts else []

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

    def _idle(self, turns: Sequence[Turn]) -> str | None:
        """Say so when the candidate does not rest between calls."""
        if not any(turn.candidate.samples_us for turn in turns):
            return None
        try:
            return self.candidates.get().works_unasked(REST_S)
        except Lost as lost:
            return lost.reason

    def _told(self, turns: Sequence[Turn], idle: str | None) -> Timing:
        timed = [_result(turn) for turn in turns]
        self.clocks.extend(f"{turn.case.name}: {turn.seen.clocks}" for turn in turns if turn.seen is not None)
        doubts, remarks = [idle] if idle else [], []
        for turn, found in zip(turns, timed, strict=True):
            disagreement = turn.candidate.disagreement() if found.candidate is not None else None
            each = [*turn.doubts, *([disagreement] if disagreement else [])]
            doubts += [f"{turn.case.name}: {'; '.join(each)}"] if each else []
            remarks += [f"{turn.case.name}: {remark}" for remark in _remarks(found)]
        status, reason = _stage(timed)
        if doubts and status == "passed":
            status, reason = "flagged", doubts[0]
        return Timing(
            status=status,
            reason=reason,
            method=f"{self.method}; {PROCESSES} processes a side, up to {MOST_PROCESSES} where noise forbids a verdict,"
            " in turn, in random order",
            indicative=self.indicative,
            cases=timed,
            notes=[*([] if self.indicative else [NOT_INDICATIVE]), *doubts, *remarks],
        )


def work(task: Task, case: Case) -> tuple[float | None, float | None]:
    """Return operations and bytes of one call at `case`, where the task says them."""
    symbols = {**case.symbols, "itemsize": numpy_dtype(case.dtype).itemsize}
    flops = task.work.flops
    parts = list(flops.values()) if isinstance(flops, dict) else [flops]
    operations = float(sum(Expression(part)(symbols) for part in parts))
    moved = float(Expression(task.work.bytes)(symbols))
    return operations or None, moved or None


def _result(turn: Turn) -> CaseTiming:
    if turn.given_up is not None:
        return msgspec.structs.replace(turn.head, missing={CANDIDATE: turn.given_up})
    by_name = {side.name: side for side in turn.sides}
    taken = {side.name: samples for side in turn.sides if (samples := side.samples()) is not None}
    candidate, itself = taken.pop(CANDIDATE, None), taken.pop(ITSELF, None)
    against = _compared(ITSELF, itself, candidate) if itself is not None else None
    ratios = [_compared(name, samples, candidate) for name, samples in taken.items()]
    missing = {name: side.missing for name, side in by_name.items() if side.missing is not None and name != ITSELF}
    return msgspec.structs.replace(
        turn.head,
        candidate=candidate,
        baselines=taken,
        speedups=[judged(found, against) for found in ratios if found is not None],
        against_itself=against,
        missing=missing,
    )


def _compared(name: str, samples: Samples, candidate: Samples | None) -> Speedup | None:
    """Compare round by round where both sides have every round; a side that died in between is compared as a whole."""
    if candidate is None or candidate.median_us <= 0:
        return None
    paired = samples.processes == candidate.processes and min(samples.min_us, candidate.min_us) > 0
    return speedup(
        name, samples.samples_us, candidate.samples_us, paired=paired, processes=candidate.processes if paired else ()
    )


def _remarks(found: CaseTiming) -> list[str]:
    """Say in words what the samples show besides their middle."""
    remarks = []
    twin = found.against_itself
    if twin is not None and twin.interval is not None:
        low, high = twin.interval
        seen = visible_difference(twin)
        remarks.append(
            f"A against A: {low:.3f} to {high:.3f} (n={twin.n});"
            f" a difference of {100 * (seen or 0.0):.2g} % would have been seen in 8 of 10 such runs"
        )
    for name, samples in (("the candidate", found.candidate), *found.baselines.items()):
        if samples is not None and samples.drift is not None:
            remarks.append(f"{name} drifts: {100 * samples.drift:+.0f} % from the first third of the run to the last")
        if samples is not None and samples.outliers:
            remarks.append(f"{name} has {samples.outliers} outliers among {samples.n} samples")
    return remarks


def _stage(cases: Sequence[CaseTiming]) -> tuple[StageStatus, str | None]:
    lost = [case for case in cases if not case.missing.get(CANDIDATE, "not run").startswith("not run")]
    if any(case.candidate is not None for case in cases):
        return "passed", None
    if lost:
        return "failed", f"{lost[0].case.name}: {lost[0].missing[CANDIDATE]}"
    return "not-run", cases[0].missing.get(CANDIDATE, "no case was timed")
