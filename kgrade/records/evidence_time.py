"""The time stage: samples, their statistics, what may be said of a ratio, and a device's measured ceilings."""

from __future__ import annotations

from typing import Literal

from kgrade.records.base import Part, Record
from kgrade.records.evidence_common import Case, StageStatus

TimingVerdict = Literal["faster", "slower", "no difference", "noise forbids"]


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
