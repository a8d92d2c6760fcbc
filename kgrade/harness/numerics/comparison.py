"""One output beside its oracle, element by element: which places are compared as numbers, and what stands there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kgrade.harness.numerics.errors import (
    Errors,
    float_errors,
    integer_errors,
    largest_step,
)
from kgrade.harness.numerics.formats import Array, FloatFormat, round_to, ulp_exponent, widen
from kgrade.records.evidence import Element, ToleranceUsed, number

NonFinite = Literal["match", "any", "forbid"]
BLOCK = 1 << 15  # elements whose float64 values stay in a core's own cache while they are worked on
LARGEST_STEPS = 2**63 - 1  # what readers of JSON keep whole
_Indices = np.ndarray[Any, np.dtype[np.int64]]
_Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Block:
    """A run of elements. `at` are the flat indices of the finite pairs that are compared, in order.

    `excess` is each pair's error over what the tolerance allows it (over 1: a mismatch); `wrong` are the flat
    indices of NaN and Inf that stand where they must not, or are absent where they must stand; `steps` is the largest
    integer distance.
    """

    at: _Indices
    errors: Errors
    within: _Mask
    excess: Array
    wrong: _Indices
    specials: tuple[int, int, int, int]
    steps: int | None


class Comparison:
    """`got` against `oracle` (same shape) at a tolerance, read block by block as often as needed.

    `form` is the output's float format; None compares integers exactly. A finite expectation that the format
    rounds to infinity counts as infinite; formats without an infinity may hold NaN or, like every 8-bit format,
    their largest value there.
    """

    def __init__(
        self, got: Array, oracle: Array, form: FloatFormat | None, tolerance: ToleranceUsed, nonfinite: NonFinite
    ) -> None:
        self._got = got.reshape(-1)
        self._oracle = oracle.reshape(-1)
        self._shape = oracle.shape
        self._form = form
        self._tolerance = tolerance
        self._nonfinite = nonfinite

    def blocks(self) -> Iterator[Block]:
        """Yield every element once, in order."""
        for part in parts(0, self._oracle.size, BLOCK):
            yield self.block(part)

    def block(self, part: slice) -> Block:
        """Return the elements of one part."""
        return self._float_block(part) if self._form else self._integer_block(part)

    def errors(self, part: slice) -> Errors:
        """Return the errors of one part, as its block holds them."""
        if self._form is None:
            return integer_errors(self._got[part].astype(np.int64), self._oracle[part].astype(np.int64))
        got, ref = widen(self._got[part]), widen(self._oracle[part])
        if not _plain(got, ref, self._form):
            at = np.flatnonzero(self._sort_out(got, ref, self._form)[0])
            got, ref = got[at], ref[at]
        return float_errors(got, ref, self._form)

    def element(self, index: int) -> Element:
        """Return the element at a flat index."""
        place = [int(axis) for axis in np.unravel_index(index, self._shape)]
        got, expected = self._got[index : index + 1], self._oracle[index : index + 1]
        steps = None
        if self._form:
            raw = got
            got, expected = widen(got), widen(expected)
            finite = bool(np.isfinite(got[0]) and np.isfinite(expected[0]))
            errors = float_errors(got, expected, self._form) if finite else _unmeasured(got, expected)
            steps = self._steps(raw, expected) if finite else None
        else:
            steps = self._steps(got, expected.astype(np.int64))
            errors = integer_errors(got.astype(np.int64), expected.astype(np.int64))
        return Element(
            index=place,
            got=number(float(got[0])),
            expected=number(float(expected[0])),
            absolute=number(float(errors.absolute[0])),
            relative=number(float(errors.relative[0])),
            ulp=number(float(errors.ulp[0])),
            steps=steps,
        )

    def _integer_block(self, part: slice) -> Block:
        got, ref = self._got[part].astype(np.int64), self._oracle[part].astype(np.int64)
        errors = integer_errors(got, ref)
        within = got == ref
        at = np.arange(part.start, part.start + got.size)
        return Block(
            at,
            errors,
            within,
            np.where(within, 0.0, 1.0 + errors.absolute),
            at[:0],
            (0, 0, 0, 0),
            self._steps(got, ref),
        )

    def _float_block(self, part: slice) -> Block:
        form = self._form
        assert form is not None
        got, ref = widen(self._got[part]), widen(self._oracle[part])
        if _plain(got, ref, form):
            errors = float_errors(got, ref, form)
            within, excess = self._weigh(errors, ref, form)
            at = np.arange(part.start, part.start + got.size)
            steps = largest_step(self._got[part], round_to(ref, form.name)) if got.size else None
            return Block(at, errors, within, excess, at[:0], (0, 0, 0, 0), steps)
        compared, wrong, specials = self._sort_out(got, ref, form)
        at = np.flatnonzero(compared)
        steps = self._steps(self._got[part][at], ref[at])
        got, ref = got[at], ref[at]
        errors = float_errors(got, ref, form)
        within, excess = self._weigh(errors, ref, form)
        return Block(at + part.start, errors, within, excess, np.flatnonzero(wrong) + part.start, specials, steps)

    def _steps(self, got: Array, ref: Array) -> int | None:
        """Return the largest integer distance, leaving out expected values that the format cannot hold."""
        rounded = ref if self._form is None else round_to(ref, self._form.name)
        counted = np.isfinite(rounded)
        if not counted.any():
            return None
        if not counted.all():
            got, rounded = got[counted], rounded[counted]
        return min(largest_step(got, rounded), LARGEST_STEPS)

    def _sort_out(self, got: Array, ref: Array, form: FloatFormat) -> tuple[_Mask, _Mask, tuple[int, int, int, int]]:
        """Return which pairs are compared as numbers, which are wrong, and how many NaN and Inf there are."""
        nan_got, nan_ref = np.isnan(got), np.isnan(ref)
        finite_got = np.isfinite(got)
        beyond = np.abs(ref) >= form.overflow
        stands_for_overflow = _overflowed(got, ref, form)
        compared = finite_got & np.isfinite(ref)
        if self._nonfinite == "forbid":
            accepted = finite_got
        elif self._nonfinite == "any":
            accepted = nan_ref | beyond | (self._may_overflow(ref, form) & stands_for_overflow)
            compared &= ~beyond
        else:
            accepted = (nan_ref & nan_got) | (self._may_overflow(ref, form) & stands_for_overflow)
            compared &= ~(beyond & stands_for_overflow)
        counts = (nan_got.sum(), nan_ref.sum(), np.isinf(got).sum(), (beyond & ~nan_ref).sum())
        nan_got_count, nan_ref_count, inf_got_count, inf_ref_count = (int(count) for count in counts)
        return compared, ~compared & ~accepted, (nan_got_count, nan_ref_count, inf_got_count, inf_ref_count)

    def _may_overflow(self, ref: Array, form: FloatFormat) -> _Mask:
        """Whether a value that the tolerance allows for `ref` rounds to infinity."""
        with np.errstate(all="ignore"):
            reached: _Mask = np.abs(ref) + self._allowed(ref, form) >= form.overflow
        return reached

    def _allowed(self, ref: Array, form: FloatFormat) -> Array:
        allowed = self._permitted(ref)
        if self._tolerance.ulp is not None:
            with np.errstate(all="ignore"):
                np.maximum(allowed, np.ldexp(self._tolerance.ulp, ulp_exponent(ref, form)), out=allowed)
        return allowed

    def _permitted(self, ref: Array) -> Array:
        """Return what the absolute and the relative tolerance allow together."""
        with np.errstate(all="ignore"):
            allowed: Array = np.abs(ref)
            allowed *= self._tolerance.rtol
            allowed += self._tolerance.atol
        return allowed

    def _weigh(self, errors: Errors, ref: Array, form: FloatFormat) -> tuple[_Mask, Array]:
        allowed = self._permitted(ref)
        with np.errstate(all="ignore"):
            within = errors.absolute <= allowed
            if self._tolerance.ulp is not None:
                within |= errors.ulp <= self._tolerance.ulp
                allowed = self._allowed(ref, form)
            excess = np.divide(errors.absolute, allowed, out=allowed)
        if self._tolerance.atol == 0:  # nothing may be allowed at 0, and 0 over 0 is no number
            excess[errors.absolute == 0] = 0.0
        return within, excess


def parts(start: int, stop: int, length: int) -> Iterator[slice]:
    """Yield slices of at most `length` that cover `start` to `stop` in order."""
    for begin in range(start, stop, length):
        yield slice(begin, min(begin + length, stop))


def _plain(got: Array, ref: Array, form: FloatFormat) -> bool:
    """Whether every pair is compared as numbers: nothing is NaN or infinite, or would become so in `form`."""
    return bool(np.isfinite(got).all() and np.max(np.abs(ref), initial=0.0) < form.overflow)


def _overflowed(got: Array, ref: Array, form: FloatFormat) -> _Mask:
    """Whether `got` is what `form` may hold for a value past its end, with the sign of `ref`."""
    same_sign = np.signbit(got) == np.signbit(ref)
    held: _Mask = (np.isinf(got) & same_sign) if form.has_infinity else np.isnan(got)
    if form.precision <= 4:
        held |= (np.abs(got) == form.largest) & same_sign & (np.abs(ref) >= form.overflow)
    return held


def _unmeasured(got: Array, expected: Array) -> Errors:
    with np.errstate(all="ignore"):
        absolute = np.abs(got - expected)
        nothing = np.full_like(absolute, np.nan)
        return Errors(absolute, np.where(np.isfinite(expected), absolute, nothing), absolute)
