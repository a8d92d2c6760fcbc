"""The check stage: how far each output lies from the oracle, and what the task's own check would pass."""

from __future__ import annotations

from kgrade.records.base import Part
from kgrade.records.evidence_common import Case, CaseStatus, Failure, Number, StageStatus


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
