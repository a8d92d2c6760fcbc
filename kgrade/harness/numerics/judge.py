"""The verdict on one output of one case: form first, then NaN and Inf, then every finite element."""

from __future__ import annotations

import numpy as np

from kgrade.harness.numerics.comparison import BLOCK, Comparison, NonFinite
from kgrade.harness.numerics.formats import Array, FloatFormat, float_format, numpy_dtype, widen
from kgrade.harness.numerics.tally import Tally, tally
from kgrade.records.evidence import CaseStatus, Element, Figures, Magnitude, Number, OutputCheck, ToleranceUsed, number

_EXACT = ToleranceUsed(atol=0.0, rtol=0.0)
_LARGEST_EXACT_INTEGER = 2.0**53


def judge(
    name: str,
    got: Array,
    oracle: Array,
    framework: Array | None,
    dtype: str,
    tolerance: ToleranceUsed,
    nonfinite: NonFinite,
    matched_ratio: float | None,
    error_cap: float | None,
) -> OutputCheck:
    """Compare the output called `name` with its oracle and say whether it passes.

    Shape and dtype are compared before any value. `oracle` holds float64 (integers for an integer output, which is
    compared exactly); `framework` is the reference's own result in `dtype`, measured the same way and shown beside.
    `nonfinite`: under `match`, NaN must stand where the oracle has NaN and Inf with its sign where it has Inf; under
    `any`, every value passes where the oracle is not finite; under `forbid`, a NaN or Inf is wrong wherever it stands.
    Those places leave the figures, and the finite rest must pass on its own. With `matched_ratio` that share of the
    compared elements must lie within the tolerance, and the absolute error of the rest within `error_cap` (none: no
    bound). An oracle that cannot be judged against is a fault of the task: status `error`, with the reason.
    """
    form = float_format(dtype)
    head = OutputCheck(name=name, shape=list(got.shape), dtype=got.dtype.name, status="failed")
    if got.shape != oracle.shape:
        return _with(head, "failed", f"shape {list(got.shape)} where {list(oracle.shape)} was expected")
    if got.dtype != numpy_dtype(dtype):
        return _with(head, "failed", f"dtype {got.dtype.name} where {dtype} was expected")
    fault = _oracle_fault(oracle, form)
    if fault:
        return _with(head, "error", f"task fault: {fault}")
    used = tolerance if form else _EXACT
    comparison = Comparison(got, oracle, form, used, nonfinite)
    counted = tally(comparison, oracle.size)
    reason = _complaint(comparison, counted, used, matched_ratio, error_cap)
    return OutputCheck(
        name=name,
        shape=list(got.shape),
        dtype=dtype,
        status="failed" if reason else "passed",
        reason=reason,
        tolerance=used,
        magnitude=_magnitude(oracle),
        figures=counted.figures,
        framework=_framework_figures(framework, oracle, form, used, nonfinite),
        first=[comparison.element(index) for index in counted.first],
        worst=[comparison.element(index) for index in counted.worst],
    )


def acceptable(
    got: Array,
    oracle: Array,
    dtype: str,
    tolerance: ToleranceUsed,
    nonfinite: NonFinite,
    matched_ratio: float | None,
    error_cap: float | None,
) -> bool:
    """Whether `judge` would pass this output. It reads it once and makes no figures."""
    form = float_format(dtype)
    if got.shape != oracle.shape or got.dtype != numpy_dtype(dtype) or _oracle_fault(oracle, form):
        return False
    comparison = Comparison(got, oracle, form, tolerance if form else _EXACT, nonfinite)
    compared = outside = 0
    largest = 0.0
    for block in comparison.blocks():
        if block.wrong.size:
            return False
        compared += block.at.size
        outside += int((~block.within).sum())
        largest = max(largest, float(np.max(block.errors.absolute[~block.within], initial=0.0)))
    return not outside or (
        _enough_within(compared, outside, matched_ratio) and (error_cap is None or largest <= error_cap)
    )


def _enough_within(compared: int, outside: int, matched_ratio: float | None) -> bool:
    return matched_ratio is not None and compared - outside >= matched_ratio * compared


def _with(head: OutputCheck, status: CaseStatus, reason: str) -> OutputCheck:
    return OutputCheck(name=head.name, shape=head.shape, dtype=head.dtype, status=status, reason=reason)


def _oracle_fault(oracle: Array, form: FloatFormat | None) -> str | None:
    if oracle.dtype.kind in "iub":
        return None
    flat = oracle.reshape(-1)
    blocks = (widen(flat[start : start + BLOCK]) for start in range(0, flat.size, BLOCK))
    if form is None:
        whole = all(_whole(values) for values in blocks)
        return None if whole else "the reference's output is not whole where the task says an integer dtype"
    if oracle.size and all(np.isnan(values).all() for values in blocks):
        return "the reference is NaN everywhere, so nothing can be compared with it"
    return None


def _whole(values: Array) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(((values == np.rint(values)) & (np.abs(values) <= _LARGEST_EXACT_INTEGER)).all())


def _complaint(
    comparison: Comparison,
    counted: Tally,
    tolerance: ToleranceUsed,
    matched_ratio: float | None,
    error_cap: float | None,
) -> str | None:
    """Say in one sentence why the output fails, or None."""
    worst = f"; worst {_place(comparison.element(counted.worst[0]))}" if counted.worst else ""
    if counted.wrong:
        return f"{counted.wrong} of {counted.figures.elements} elements have NaN or Inf on one side only{worst}"
    if not counted.outside:
        return None
    share = f"{counted.outside} of {counted.compared} compared elements are outside {_allowance(tolerance)}"
    if not _enough_within(counted.compared, counted.outside, matched_ratio):
        wanted = "" if matched_ratio is None else f", and {matched_ratio:.6g} of them must be within"
        return f"{share}{wanted}{worst}"
    if error_cap is not None and counted.largest_outside > error_cap:
        return f"{share}, and the largest error of those, {counted.largest_outside:.6g}, passes the cap {error_cap:.6g}"
    return None


def _allowance(tolerance: ToleranceUsed) -> str:
    if tolerance == _EXACT:
        return "exact equality"
    ulp = "" if tolerance.ulp is None else f" or {tolerance.ulp:g} ulp"
    return f"{tolerance.atol:g} + {tolerance.rtol:g} * |expected|{ulp}"


def _place(element: Element) -> str:
    return f"at {element.index}: got {_short(element.got)}, expected {_short(element.expected)}"


def _short(value: Number) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"


def _magnitude(oracle: Array) -> Magnitude:
    """Return the largest and the mean magnitude of the oracle's finite elements; `nan` when there is none."""
    flat = oracle.reshape(-1)
    largest, total, count = 0.0, 0.0, 0
    for start in range(0, flat.size, BLOCK):
        values = np.abs(widen(flat[start : start + BLOCK]))
        values = values[np.isfinite(values)]
        largest = max(largest, float(np.max(values, initial=0.0)))
        total += float(values.sum())
        count += values.size
    if not count:
        return Magnitude(max_abs="nan", mean_abs="nan")
    return Magnitude(max_abs=number(largest), mean_abs=number(total / count))


def _framework_figures(
    framework: Array | None, oracle: Array, form: FloatFormat | None, tolerance: ToleranceUsed, nonfinite: NonFinite
) -> Figures | None:
    if framework is None or framework.shape != oracle.shape or (form is None and framework.dtype.kind not in "iub"):
        return None
    return tally(Comparison(framework, oracle, form, tolerance, nonfinite), oracle.size).figures
