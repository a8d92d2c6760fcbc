"""Random outputs, judged as a sample: no element has a right value, but their distribution has.

Every bound lies five standard errors out, so that a right kernel fails about once in a million outputs.
"""

from __future__ import annotations

import math

import numpy as np

from kgrade.harness.numerics.formats import Array, numpy_dtype, widen
from kgrade.records.evidence import OutputCheck, ToleranceUsed
from kgrade.records.task import Stochastic

ERRORS = 5.0
CHANCE = 1e-6
BLOCKS = 16


def judge_random(
    name: str, got: Array, sample: Array, source: Array | None, dtype: str, tolerance: ToleranceUsed, spec: Stochastic
) -> OutputCheck:
    """Compare `got` with what `spec` says, and with `sample`, which the reference drew for the same inputs.

    With `keep`, that share of the elements whose `source` is not zero must be kept (anywhere, not in one stretch),
    and what both kept must agree within the tolerance. Without it, mean and distribution (Kolmogorov and Smirnov's
    test of two samples) must be those of the reference.
    """
    head = OutputCheck(name=name, shape=list(got.shape), dtype=got.dtype.name, status="failed", tolerance=tolerance)
    reason = _form(got, sample, dtype)
    if reason is None:
        values, like = widen(got).reshape(-1), widen(sample).reshape(-1)
        reason = _mean(values, like, spec.mean) if spec.mean is not None else None
        if reason is None and spec.keep is not None:
            lives = widen(source).reshape(-1) != 0 if source is not None else np.ones(values.size, bool)
            reason = _kept(values[lives], like[lives], spec.keep, tolerance)
        elif reason is None:
            reason = _same_distribution(values, like)
    return OutputCheck(
        name=head.name,
        shape=head.shape,
        dtype=head.dtype,
        status="failed" if reason else "passed",
        reason=reason or "judged by its distribution",
        tolerance=tolerance,
    )


def _form(got: Array, sample: Array, dtype: str) -> str | None:
    if got.shape != sample.shape:
        return f"shape {list(got.shape)} where {list(sample.shape)} was expected"
    if got.dtype != numpy_dtype(dtype):
        return f"dtype {got.dtype.name} where {dtype} was expected"
    if not np.isfinite(widen(got)).all():
        return "NaN or Inf among random outputs"
    return None


def _mean(values: Array, like: Array, expected: float) -> str | None:
    if not values.size:
        return None
    error = max(float(np.std(like)), float(np.std(values))) / math.sqrt(values.size)
    found = float(values.mean())
    if abs(found - expected) <= ERRORS * error:
        return None
    return f"mean {found:.6g} of {values.size} elements, where {expected:.6g} was expected (standard error {error:.2g})"


def _kept(values: Array, like: Array, keep: float, tolerance: ToleranceUsed) -> str | None:
    """Say what is wrong with the share that is kept, with where it is, or with the values that are kept."""
    for number, part in enumerate(np.array_split(values != 0, BLOCKS) if values.size >= 64 * BLOCKS else []):
        if not _near(part, keep):
            return f"{part.mean():.4f} kept in part {number + 1} of {BLOCKS}, where {keep:g} was expected everywhere"
    if values.size and not _near(values != 0, keep):
        return f"{np.mean(values != 0):.4f} of {values.size} elements kept, where {keep:g} was expected"
    run, most = _longest_run(values == 0), _run_by_chance(values.size, keep)
    if run > most:
        return f"{run} elements in a row dropped, where chance explains {most}"
    both = (values != 0) & (like != 0)
    wrong = np.abs(values - like)[both] > tolerance.atol + tolerance.rtol * np.abs(like[both])
    if wrong.any():
        worst = int(np.argmax(np.abs(values - like)[both]))
        got, expected = values[both][worst], like[both][worst]
        return (
            f"{int(wrong.sum())} kept elements are outside the tolerance; worst got {got:.9g}, expected {expected:.9g}"
        )
    return None


def _longest_run(dropped: Array) -> int:
    kept = np.flatnonzero(~dropped)
    return int(np.diff(np.concatenate([[-1], kept, [dropped.size]])).max()) - 1


def _run_by_chance(size: int, keep: float) -> int:
    """Return the longest run of dropped elements of which the chance, at most size * (1 - keep)**run, is CHANCE."""
    if not size or not 0 < keep < 1:
        return size if keep <= 0 else 0
    return math.ceil(math.log(CHANCE / size) / math.log(1 - keep))


def _near(kept: Array, keep: float) -> bool:
    error = math.sqrt(keep * (1 - keep) / kept.size)
    return abs(float(kept.mean()) - keep) <= ERRORS * error + 1 / kept.size


def _same_distribution(values: Array, like: Array) -> str | None:
    """Kolmogorov-Smirnov, two samples: the largest gap of the empirical distributions against its asymptotic bound."""
    if not values.size:
        return None
    values, like = np.sort(values), np.sort(like)
    places = np.concatenate([values, like])
    below = np.searchsorted(values, places, "right") / values.size - np.searchsorted(like, places, "right") / like.size
    gap = float(np.abs(below).max())
    bound = math.sqrt(-math.log(CHANCE / 2) / 2 * (1 / values.size + 1 / like.size))
    if gap <= bound:
        return None
    return f"its distribution is not the reference's: they are {gap:.4f} apart, chance explains {bound:.4f}"
