"""A submission under test: fresh inputs, watched calls, and verdicts against the oracle."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgrade.harness.arguments import Argument, Array
from kgrade.harness.check import CANDIDATE, SEED_BITS
from kgrade.harness.drawing import draw_arguments, rooms
from kgrade.harness.oracle import Expected, Oracle
from kgrade.harness.standby import Standby
from kgrade.records.evidence import Case, Severity, StageStatus
from kgrade.records.task import Task


class NotRun(Exception):
    """A test cannot be run here; the message says why, to stand behind "not run, because"."""


GROSS, FLOOR = 0.05, 2000.0
TELLING = 32  # fewer elements in the outputs may be the same by chance, as a softmax over one column is


@dataclass(frozen=True)
class Sighting:
    """What a test saw, as a finding in the making; without a place it is about the entry."""

    rule: str
    severity: Severity
    said: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a test came to, in one sentence, with what it saw."""

    said: str
    sightings: tuple[Sighting, ...] = ()


@dataclass
class Sample:
    """Inputs of one case, and what is right for them once it was asked for."""

    case: Case
    arguments: list[Argument]
    seed: int
    expected: Expected | None = None


@dataclass(frozen=True)
class Watched:
    """Outputs at return and later, and what the worker says of the call."""

    arrays: dict[str, Array]
    later: dict[str, Array]
    said: dict[str, Any]

    def same(self, other: Watched) -> bool:
        """Whether both calls returned the same bytes."""
        return same_bytes(self.arrays, other.arrays)

    def launches(self) -> dict[str, int] | None:
        """Launches by kernel as `file:line name`; None where nothing counts them."""
        counts = self.said.get("launches")
        if not isinstance(counts, dict):
            return None
        return {str(name)[:200]: count for name, count in counts.items() if isinstance(count, int)}

    def texts(self, key: str) -> list[str]:
        """A list of the worker's claims as text."""
        said = self.said.get(key)
        return [str(each)[:200] for each in said] if isinstance(said, list) else []


@dataclass
class Session:
    """One submission in its worker, beside the oracle. No test goes on when `deadline` (monotonic, s) has passed."""

    task: Task
    oracle: Oracle
    workers: Standby
    framework: str
    deadline: float
    checked: StageStatus | None = None
    cases: list[Case] = field(default_factory=list)
    sound: str | None = None
    remembers: bool = False
    _left: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        task = self.task
        wanted = [case for case in task.check_cases() if case.layout == "contiguous" and task.required(case)]
        wanted = [case for case in wanted if self._elements(case)]
        self.cases = sorted(wanted, key=lambda case: (case.family != "normal", self._bulk(case)))

    @property
    def case(self) -> Case:
        """The smallest required case that says something, of family normal if there is one."""
        if not self.cases:
            raise NotRun("the task has no required case with contiguous inputs and elements in them")
        return self.cases[0]

    @property
    def suspicion(self) -> Severity:
        """How much a wrong answer beside the checked cases weighs: little where it shows what is known already."""
        return "suspect" if self.checked in (None, "passed", "not-run") and not self.remembers else "note"

    @property
    def renews(self) -> bool:
        """Whether storage can be given new values in place."""
        return self.framework != "jax"

    def _elements(self, case: Case) -> int:
        shapes = [self.task.input_shape(name, case) for name, spec in self.task.inputs.items() if not spec.scalar]
        sizes = [math.prod(shape) for shape in shapes]
        return 0 if 0 in sizes else sum(sizes)

    def _bulk(self, case: Case) -> tuple[bool, int]:
        outputs = min(math.prod(self.task.output_shape(name, case)) for name in self.task.outputs)
        return outputs < TELLING and self._elements(case) < 8 * TELLING, self._elements(case)

    def on_time(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self.deadline

    def draw(self, case: Case | None = None) -> Sample:
        """Draw inputs that no one has seen before."""
        seed = secrets.randbits(SEED_BITS)
        case = case or self.case
        return Sample(case, draw_arguments(self.task, case, seed), seed)

    def expected(self, sample: Sample) -> Expected:
        """Return what is right for `sample`, of the outputs only."""
        if sample.expected is None:
            every = self.oracle.expected(sample.case, sample.arguments, sample.seed)
            arrays = {name: every.arrays[name] for name in self.task.outputs}
            sample.expected = Expected(arrays, every.framework)
        return sample.expected

    def wrong(self, sample: Sample, arrays: dict[str, Array]) -> str | None:
        """Say what is wrong with `arrays` as an answer to `sample`, or None."""
        return self.oracle.verdict(sample.case, sample.arguments, self.expected(sample), arrays).reason

    def grossly_wrong(self, sample: Sample, arrays: dict[str, Array]) -> str | None:
        """Say what is wrong where it is too wrong for rounding: NaN where none is due, or a part of the whole scale.

        An output's scale is its largest finite magnitude in the oracle, at least `FLOOR` times the tolerance's atol.
        """
        wrong = self.wrong(sample, arrays)
        if wrong is None:
            return None
        for name, expected in self.expected(sample).arrays.items():
            got, due = arrays[name].astype(np.float64), expected.astype(np.float64)
            if got.shape != due.shape or bool((np.isfinite(got) != np.isfinite(due)).any()):
                return wrong
            finite = np.isfinite(due)
            row = self.task.tolerance.get(self.task.dtype(self.task.outputs[name], sample.case))  # type: ignore[call-overload]
            floor = FLOOR * row.atol if row else 0.0
            scale = max(float(np.abs(due[finite]).max(initial=0.0)), floor)
            if float(np.abs(got[finite] - due[finite]).max(initial=0.0)) > GROSS * scale:
                return wrong
        return None

    def fair(self, sample: Sample) -> bool:
        """Whether the framework's own result in the case's dtype passes, so that the task can be met at `sample`."""
        own = self.expected(sample).framework
        if not all(name in own for name in self.task.outputs):
            return False
        arrays = {name: own[name] for name in self.task.outputs}
        return self.wrong(sample, arrays) is None

    def call(
        self, sample: Sample, slot: str, *, again: bool = False, delay_s: float = 0.0, retrace: bool = False
    ) -> Watched:
        """Call the submission once, on the storage `slot`."""
        returned, later, said = self.workers.get().watch(
            CANDIDATE,
            sample.arguments,
            rooms(self.task, sample.case),
            self.task.limits.run_s,
            slot=slot,
            again=again,
            delay_s=delay_s,
            retrace=retrace,
        )
        return Watched(returned.arrays, later, said)

    def timed(self, sample: Sample) -> dict[str, Array]:
        """Call as the timing does, on inputs that are held, and return the outputs of the last call."""
        worker = self.workers.get()
        limit = self.task.limits.run_s
        worker.hold(sample.arguments, 2, limit)
        worker.repeat(CANDIDATE, limit)
        return worker.fetch(rooms(self.task, sample.case), limit)

    def left(self) -> dict[str, Any]:
        """Return the worker's claims about what is not as it was before the import; asked once."""
        if self._left is None:
            self._left = self.workers.get().left(self.task.limits.run_s)
        return self._left

    def require_sound(self) -> None:
        """Raise `NotRun` when the submission's answer is wrong to begin with: what follows would say nothing."""
        if self.sound is not None:
            raise NotRun(f"its answer is wrong to begin with: {self.sound}")


def same_bytes(one: dict[str, Array], other: dict[str, Array]) -> bool:
    """Whether two sets of outputs are the same, NaN and all."""
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes() for name in one
    )


def arrays_of(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that are arrays with elements."""
    return [each for each in arguments if isinstance(each.value, np.ndarray) and each.value.size]
