"""What a task's check is worth: which known-wrong kernels it would pass, and which tolerance its reference bears out.

The proposal, per dtype: a relative part of 1, 2, 4 or 8 units in the last place, the least that is twice the median
relative error of the reference itself; and an absolute part of four times the largest error that this leaves over
(sums that cancel err by the size of their terms, which no relative part covers).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from kgrade.harness.controls import Situation, attempts
from kgrade.harness.numerics.formats import Array, FloatFormat, float_format, widen
from kgrade.records.evidence import Control, Proposal

UNITS = (1, 2, 4, 8)
RELATIVE_ROOM = 2.0
ABSOLUTE_ROOM = 4.0
SHARE = 0.5
Excess = dict[int, float]  # by units: the largest error that a relative part of so many units leaves over


@dataclass
class _Of:
    """What was seen of one dtype: the reference's own errors, and per control those of each case."""

    relative: float = 0.0
    excess: Excess = field(default_factory=lambda: dict.fromkeys(UNITS, 0.0))
    where: str = ""
    controls: dict[str, Excess] = field(default_factory=dict)


class Examination:
    """Runs the controls at every required case of a task, and keeps what its reference needs."""

    def __init__(self) -> None:
        self._tried: dict[str, list[str]] = defaultdict(list)
        self._passes: dict[str, list[str]] = defaultdict(list)
        self._caught: dict[str, set[str]] = defaultdict(set)
        self._dtypes: dict[str, set[str]] = defaultdict(set)
        self._seen: dict[str, _Of] = defaultdict(_Of)

    def case(self, at: Situation) -> None:
        """Try every control at one case."""
        for name, got in attempts(at).items():
            self._tried[name].append(at.case.name)
            self._dtypes[name].add(at.case.dtype)
            if at.oracle.accepts(at.case, at.arguments, at.expected, got):
                self._passes[name].append(at.case.name)
            else:
                self._caught[name].add(at.case.dtype)
            self._measure(at, got, name)
        self._measure(at, at.expected.framework, None)

    def controls(self) -> list[Control]:
        """Return what came of each control; `undetected` are the dtypes in which no case tells it from a right one."""
        return [
            Control(
                name=name,
                passes=self._passes[name],
                tried=len(cases),
                undetected=sorted(self._dtypes[name] - self._caught[name]),
            )
            for name, cases in self._tried.items()
        ]

    def complaint(self) -> str | None:
        """Say in one sentence what the check would let pass, or None."""
        controls = self.controls()
        zeros = next((each for each in controls if each.name == "zeros" and each.passes), None)
        if zeros is not None:
            return f"zeros pass at the task's tolerance in {len(zeros.passes)} cases: {zeros.passes[0]}"
        unseen = [f"{each.name} ({', '.join(each.undetected)})" for each in controls if each.undetected]
        return f"no case tells these from a right kernel: {'; '.join(unseen)}" if unseen else None

    def proposals(self) -> list[Proposal]:
        """Return a tolerance for each float dtype of which the reference has results."""
        return [_proposal(dtype, seen) for dtype, seen in self._seen.items() if seen.where]

    def _measure(self, at: Situation, got: dict[str, Array], control: str | None) -> None:
        for output, array in got.items():
            form = float_format(at.dtype(output))
            exact = at.expected.arrays[output]
            if form is None or array.shape != exact.shape:
                continue
            seen = self._seen[form.name]
            relative, excess = _needs(widen(array).reshape(-1), widen(exact).reshape(-1), form)
            if control is None and not np.isfinite(relative):
                continue  # the reference itself overflows here: that tells nothing about rounding
            if control is not None:
                kept = seen.controls.setdefault(control, dict.fromkeys(UNITS, 0.0))
                seen.controls[control] = {units: max(kept[units], excess[units]) for units in UNITS}
                continue
            seen.relative = max(seen.relative, relative)
            if not seen.where or excess[UNITS[0]] > seen.excess[UNITS[0]]:
                seen.where = at.case.name
            seen.excess = {units: max(seen.excess[units], excess[units]) for units in UNITS}


def _needs(got: Array, exact: Array, form: FloatFormat) -> tuple[float, Excess]:
    """Return the median relative error of the finite elements, and the excess over each relative part."""
    compared = np.isfinite(exact) & (np.abs(exact) < form.overflow)
    if not np.isfinite(got[compared]).all():
        return np.inf, dict.fromkeys(UNITS, np.inf)
    got, exact = got[compared], exact[compared]
    if not exact.size:
        return 0.0, dict.fromkeys(UNITS, 0.0)
    error, size = np.abs(got - exact), np.abs(exact)
    normal = size >= 2.0**form.min_exponent
    relative = float(np.quantile(error[normal] / size[normal], SHARE)) if normal.any() else 0.0
    return relative, {units: float(np.max(error - _relative(units, form) * size, initial=0.0)) for units in UNITS}


def _relative(units: int, form: FloatFormat) -> float:
    return units * 2.0 ** (1 - form.precision)


def _proposal(dtype: str, seen: _Of) -> Proposal:
    form = float_format(dtype)
    assert form is not None
    wanted = RELATIVE_ROOM * seen.relative
    units = next((each for each in UNITS if _relative(each, form) >= wanted), UNITS[-1])
    atol = _up(ABSOLUTE_ROOM * seen.excess[units])
    rtol = _up(_relative(units, form))
    over = seen.excess[units]
    derivation = (
        f"rtol: {units} units in the last place of {dtype}, for the reference's median relative error is "
        f"{seen.relative:.2g}; atol: "
        + (
            f"four times the largest error beyond that, {over:.2g} at {seen.where}"
            if over
            else "nothing errs beyond that"
        )
    )
    passes = sorted(name for name, excess in seen.controls.items() if excess[units] <= atol)
    return Proposal(dtype=dtype, atol=atol, rtol=rtol, derivation=derivation, passes=passes)


def _up(value: float) -> float:
    """Round up to two significant digits."""
    if value <= 0 or not np.isfinite(value):
        return 0.0 if value <= 0 else float(np.finfo(np.float64).max)
    step = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / step - 1e-9) * step:.2g}")
