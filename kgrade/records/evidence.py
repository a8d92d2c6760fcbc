"""`evidence/<target>.json`: what a machine found out about an item on a target. Never edited by hand.

Durations named `*_s` are seconds, `*_us` microseconds, sizes `*_bytes` bytes. Indices are row-major tuples.
Non-finite figures cannot be written as JSON numbers; they are kept as the strings `nan`, `inf` and `-inf`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from kgrade.records.base import Part, Record
from kgrade.records.faults import Problem
from kgrade.records.profile import Profile

StageStatus = Literal["passed", "failed", "flagged", "not-run", "error"]
CaseStatus = Literal["passed", "failed", "error", "not-run"]
TimingVerdict = Literal["faster", "slower", "no difference", "noise forbids"]
Severity = Literal["tell", "suspect", "note"]
Fault = Literal["submission", "task", "environment", "harness"]
Number = float | Literal["nan", "inf", "-inf"]

STAGES = ("build", "check", "time", "integrity", "sanitize", "profile")


def number(value: float) -> Number:
    """Return `value` in the form that JSON can hold."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


class Inputs(Part, frozen=True, kw_only=True):
    """The git tree ids of the bytes that were examined; evidence whose ids no longer match is stale."""

    task_tree: str
    solution_tree: str | None = None


class Tool(Part, frozen=True, kw_only=True):
    """What collected the evidence."""

    name: str = "kgrade"
    version: str


class Environment(Part, frozen=True, kw_only=True):
    """Where the evidence came from. `sandbox` names the wall, `lacks` what that wall could not enforce."""

    hardware: str
    driver: str | None = None
    toolkit: str | None = None
    versions: dict[str, str] = {}
    clocks: str | None = None
    interpreter: bool
    sandbox: str
    lacks: list[str] = []


class Failure(Part, frozen=True, kw_only=True):
    """One classified failure: class, the line that proves it, whose fault it is, whether to retry, advice."""

    kind: str
    line: str
    fault: Fault
    retry: bool = False
    advice: str


class Occupancy(Part, frozen=True, kw_only=True):
    """Resident warps of one multiprocessor over its maximum, and the resource that sets the limit."""

    block_threads: int
    active_warps: int
    max_warps: int
    limiter: str


class KernelResources(Part, frozen=True, kw_only=True):
    """What one compiled kernel costs on one target (an architecture such as `sm_90`).

    One that host code launches has its compile-time constants and options in `config`, and the grid of its last
    launch; `tried` marks a config that only the autotuner tries, `failure` why it does not build or does not fit.
    `registers` are those of a thread (AMD: vector registers, of which `accumulators` are AccVGPRs, with
    `scalar_registers` beside; there `spilled_registers` counts what ptxas gives as bytes). `instructions` counts
    those of the listing by kind, `tensor` the matrix instructions among them by full name.
    """

    kernel: str
    target: str
    config: dict[str, str] = {}
    grid: list[int] = []
    tried: bool = False
    failure: Failure | None = None
    registers: int = 0
    accumulators: int = 0
    scalar_registers: int = 0
    spilled_registers: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0
    constant_bytes: int = 0
    code_bytes: int = 0
    occupancy: Occupancy | None = None
    instructions: dict[str, int] = {}
    tensor: dict[str, int] = {}

    @property
    def variant(self) -> str:
        """What distinguishes this kernel from others on its target, such as `matmul BLOCK=128 num_warps=8`."""
        return " ".join([self.kernel, *(f"{name}={value}" for name, value in self.config.items())])

    @property
    def spills(self) -> bool:
        """Whether registers are spilled to memory."""
        return bool(self.spill_store_bytes or self.spill_load_bytes or self.spilled_registers)


class BuildTarget(Part, frozen=True, kw_only=True):
    """One compilation: its command, how long it took and what it said. `log` is a file beside the evidence."""

    target: str
    status: StageStatus
    reason: str | None = None
    command: list[str] = []
    seconds: float = 0.0
    warnings: list[str] = []
    failure: Failure | None = None


class Build(Part, frozen=True, kw_only=True):
    """The build stage: does it compile or import, and what does it cost."""

    status: StageStatus
    reason: str | None = None
    method: str | None = None
    log: str | None = None
    targets: list[BuildTarget] = []
    kernels: list[KernelResources] = []
    facts: list[str] = []


class Spread(Part, frozen=True, kw_only=True):
    """Max and percentiles of one kind of error over the elements of an output."""

    max: Number
    p50: Number
    p99: Number
    p999: Number


class Element(Part, frozen=True, kw_only=True):
    """One element that is wrong, or the most wrong: where it is and what stands there.

    `steps` counts the values of the format from the expected value, rounded to it, to the one that stands there.
    """

    index: list[int]
    got: Number
    expected: Number
    absolute: Number
    relative: Number
    ulp: Number
    steps: int | None = None


class Magnitude(Part, frozen=True, kw_only=True):
    """How large the expected output is, so that a tolerance which would pass zeros is seen at once."""

    max_abs: Number
    mean_abs: Number


class ToleranceUsed(Part, frozen=True, kw_only=True):
    """Pass: |got - ref| <= atol + rtol * |ref|, or within `ulp` units in the last place."""

    atol: float
    rtol: float
    ulp: float | None = None


class Figures(Part, frozen=True, kw_only=True):
    """Errors of one output against the float64 oracle. Counts are elements; NaN and Inf are counted apart.

    `nonfinite_wrong` counts places where NaN or Inf stands on one side only, or with the other sign;
    `steps` is the largest integer distance: how many values of the format lie from the expected value, rounded to
    it, to the result (None where nothing was compared). `histogram[k]` counts finite elements whose ULP error lies in
    [2**(k-1), 2**k), `histogram[0]` those under 1.
    """

    elements: int
    mismatched: int
    nonfinite_wrong: int = 0
    nan_got: int = 0
    nan_expected: int = 0
    inf_got: int = 0
    inf_expected: int = 0
    absolute: Spread
    relative: Spread
    ulp: Spread
    steps: int | None = None
    histogram: list[int] = []


class OutputCheck(Part, frozen=True, kw_only=True):
    """One output of one case: its form, its errors, the framework's own errors beside, the worst elements."""

    name: str
    shape: list[int]
    dtype: str
    status: CaseStatus
    reason: str | None = None
    tolerance: ToleranceUsed | None = None
    magnitude: Magnitude | None = None
    figures: Figures | None = None
    framework: Figures | None = None
    first: list[Element] = []
    worst: list[Element] = []


class Case(Part, frozen=True, kw_only=True):
    """One shape x dtype x input family (x layout) at which a submission is checked or timed."""

    symbols: dict[str, int]
    dtype: str
    family: str = "normal"
    layout: str = "contiguous"

    @property
    def name(self) -> str:
        """A short unique name, such as `M=128 N=781 bfloat16 neg-inf`."""
        parts = [f"{key}={value}" for key, value in self.symbols.items()]
        parts += [self.dtype, self.family]
        if self.layout != "contiguous":
            parts.append(self.layout)
        return " ".join(parts)


class CaseCheck(Part, frozen=True, kw_only=True):
    """The check of one case. Only `required` cases can fail a submission; `seed` is recorded after the run."""

    case: Case
    status: CaseStatus
    required: bool = True
    reason: str | None = None
    seed: int | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    outputs: list[OutputCheck] = []
    touched: list[str] = []


class Control(Part, frozen=True, kw_only=True):
    """A candidate that ought to fail, such as all zeros, and the required cases at which it passes all the same.

    `tried` counts the required cases at which it is wrong; `undetected` are the case dtypes in which none of them
    tells it from a right kernel, so that a submission which is wrong in this way would pass the check.
    """

    name: str
    passes: list[str] = []
    tried: int = 0
    undetected: list[str] = []


class Proposal(Part, frozen=True, kw_only=True):
    """A tolerance that the reference's own errors in a dtype bear out, how it is derived, and what it would pass."""

    dtype: str
    atol: float
    rtol: float
    derivation: str
    passes: list[str] = []


class SeenFault(Part, frozen=True, kw_only=True):
    """A fault that the checks of an emulated run saw: what it is, where, and the first case that showed it.

    `path` is relative to the item's folder; `line` counts from 1, and is 0 where the line is not known.
    """

    kind: str
    path: str = ""
    line: int = 0
    kernel: str = ""
    text: str
    case: str


class Check(Part, frozen=True, kw_only=True):
    """The check stage: cases x outputs against the oracle. `unseen` lists what this method cannot see.

    `seen` holds what the checks of CPU emulation saw: accesses, races and barriers that results alone do not show.
    """

    status: StageStatus
    reason: str | None = None
    method: str | None = None
    log: str | None = None
    cases: list[CaseCheck] = []
    unseen: list[str] = []
    controls: list[Control] = []
    seen: list[SeenFault] = []
    proposals: list[Proposal] = []


class Samples(Part, frozen=True, kw_only=True):
    """Timing samples of one callable in microseconds, raw, with the statistics that their number carries.

    `processes` says how many of the samples each process gave, in order, `warmups` how many calls came before them.
    `outliers` lie over three quartile ranges outside the quartiles; `drift` is the relative change over the run, where
    there is one. `prepare_us` is the worker's own word for what preparing one call takes, outside the clock; None where
    nothing is prepared.
    """

    samples_us: list[float]
    n: int
    median_us: float
    mad_us: float
    iqr_us: float
    min_us: float
    interval_us: tuple[float, float] | None = None
    first_call_us: float | None = None
    prepare_us: float | None = None
    processes: list[int] = []
    warmups: int = 0
    outliers: int = 0
    drift: float | None = None


class Speedup(Part, frozen=True, kw_only=True):
    """Baseline time over candidate time, with its 95 % interval (None: too few samples), from `n` samples a side.

    `verdict` takes into account how the candidate compares with itself in the same run; `visible` is the smallest
    relative difference that 8 of 10 such runs would have shown.
    """

    baseline: str
    ratio: float
    interval: tuple[float, float] | None = None
    n: int = 0
    method: str = ""
    verdict: TimingVerdict | None = None
    visible: float | None = None

    @property
    def difference(self) -> bool:
        """Whether there is one: by the verdict, or where there is none, whether the interval excludes 1."""
        if self.verdict is not None:
            return self.verdict in ("faster", "slower")
        return self.interval is not None and not self.interval[0] <= 1.0 <= self.interval[1]


class CaseTiming(Part, frozen=True, kw_only=True):
    """Candidate and baselines at one case; a callable that failed is missing and its reason is in `missing`.

    `against_itself` compares the candidate with a second process of the same candidate: what is seen there is noise.
    """

    case: Case
    candidate: Samples | None = None
    baselines: dict[str, Samples] = {}
    speedups: list[Speedup] = []
    against_itself: Speedup | None = None
    missing: dict[str, str] = {}
    flops: float | None = None
    bytes: float | None = None


class Ceilings(Record, frozen=True, kw_only=True):
    """What a device was measured to reach: they draw the roofline, and nothing is judged by them.

    `flops_per_s` is by kind of arithmetic (a dtype, or `tfloat32`); `refused` says why a kind is missing.
    """

    schema: Literal["kgrade/ceilings@1"] = "kgrade/ceilings@1"

    device: str
    measured: str
    method: str
    copy_bytes_per_s: float
    flops_per_s: dict[str, float] = {}
    refused: dict[str, str] = {}


class Timing(Part, frozen=True, kw_only=True):
    """The time stage. `indicative` is False on an interpreter, and such numbers are never scored."""

    status: StageStatus
    reason: str | None = None
    method: str | None = None
    log: str | None = None
    indicative: bool = True
    cases: list[CaseTiming] = []
    notes: list[str] = []
    ceilings: Ceilings | None = None


class Finding(Part, frozen=True, kw_only=True):
    """One sign of cheating, unfairness or fragility: a matter for a person, never a verdict.

    `path` is relative to the item's folder; `line` counts from 1; `result` is the settling test's, if it ran.
    """

    rule: str
    name: str
    severity: Severity
    path: str
    line: int
    snippet: str
    why: str
    settles: str
    result: str | None = None

    @property
    def key(self) -> str:
        """The key under which a grade records its disposition, such as `dead-kernel@solution/kernel.py:41`."""
        return f"{self.name}@{self.path}:{self.line}"


class SettlingTest(Part, frozen=True, kw_only=True):
    """One test that was run to settle findings, by name: whether it saw the sign it looks for, and what it saw.

    `settles` are the ids of the rules whose findings it settles.
    """

    name: str
    status: Literal["seen", "not-seen", "not-run"]
    said: str
    settles: list[str] = []


class Integrity(Part, frozen=True, kw_only=True):
    """The integrity stage: findings, static and dynamic, and the tests that were run for them."""

    status: StageStatus
    reason: str | None = None
    log: str | None = None
    findings: list[Finding] = []
    tests: list[SettlingTest] = []


class Stage(Part, frozen=True, kw_only=True):
    """A stage of which only the state is known, such as sanitize where nothing can run it."""

    status: StageStatus
    reason: str | None = None
    log: str | None = None
    facts: list[str] = []


class Profiling(Part, frozen=True, kw_only=True):
    """The profile stage: what profilers saw, run here (`method` says how) or added by a person."""

    status: StageStatus
    reason: str | None = None
    method: str | None = None
    log: str | None = None
    facts: list[str] = []
    profiles: list[Profile] = []


NOT_COLLECTED = "not collected yet"


class Stages(Part, frozen=True, kw_only=True):
    """All stages; one that was not asked for says so."""

    build: Build = Build(status="not-run", reason=NOT_COLLECTED)
    check: Check = Check(status="not-run", reason=NOT_COLLECTED)
    time: Timing = Timing(status="not-run", reason=NOT_COLLECTED)
    integrity: Integrity = Integrity(status="not-run", reason=NOT_COLLECTED)
    sanitize: Stage = Stage(status="not-run", reason=NOT_COLLECTED)
    profile: Profiling = Profiling(status="not-run", reason=NOT_COLLECTED)


class Evidence(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/evidence@1"):
    """Everything one machine found out about one item on one target."""

    item: str
    target: str
    collected: str
    inputs: Inputs
    tool: Tool
    environment: Environment
    stages: Stages

    def problems(self) -> Iterator[Problem]:
        """A stage that did not run or broke must carry a reason."""
        for stage in STAGES:
            if self.state(stage) in ("not-run", "error") and not getattr(self.stages, stage).reason:
                yield Problem(
                    where=f"stages.{stage}",
                    found=f"{self.state(stage)} without a reason",
                    expected="a reason",
                )

    def state(self, stage: str) -> StageStatus:
        """Return the status of the stage called `stage`, one of `STAGES`."""
        status: StageStatus = getattr(self.stages, stage).status
        return status
