"""What every stage of evidence is written down in: states, figures, one case, one classified failure."""

from __future__ import annotations

import math
from typing import Literal

from kgrade.records.base import Part

StageStatus = Literal["passed", "failed", "flagged", "not-run", "error"]
CaseStatus = Literal["passed", "failed", "error", "not-run"]
Fault = Literal["submission", "task", "environment", "harness"]
Number = float | Literal["nan", "inf", "-inf"]


def number(value: float) -> Number:
    """Return `value` in the form that JSON can hold."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


class Failure(Part, frozen=True, kw_only=True):
    """One classified failure: class, the line that proves it, whose fault it is, whether to retry, advice."""

    kind: str
    line: str
    fault: Fault
    retry: bool = False
    advice: str


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
