"""One output beside its oracle, element by element: which places are compared as numbers, and what stands there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kgrade.harness.numerics.errors import (
    HISTOGRAM_BINS,
    Errors,
    float_errors,
    integer_errors,
    spreads,
    step_distance,
    ulp_histogram,
)
from kgrade.harness.numerics.formats import Array, FloatFormat, round_to, ulp_exponent, widen
from kgrade.records.evidence import Element, Figures, ToleranceUsed, number

NonFinite = Literal["match", "any", "forbid"]
BLOCK = 1 << 18
LARGEST_STEPS = 2**63 - 1  # what readers of JSON keep whole
SHOWN = 8
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
        for start in range(0, self._oracle.size, BLOCK):
            part = slice(start, start + BLOCK)
            yield self._float_block(part) if self._form else self._integer_block(part)

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
        counted = np.isfinite(widen(rounded))
        if not counted.any():
            return None
        return min(int(step_distance(got[counted], rounded[counted]).max(initial=0)), LARGEST_STEPS)

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
        with np.errstate(all="ignore"):
            allowed: Array = self._tolerance.atol + self._tolerance.rtol * np.abs(ref)
            if self._tolerance.ulp is not None:
                allowed = np.maximum(allowed, np.ldexp(self._tolerance.ulp, ulp_exponent(ref, form)))
        return allowed

    def _weigh(self, errors: Errors, ref: Array, form: FloatFormat) -> tuple[_Mask, Array]:
        with np.errstate(all="ignore"):
            within = errors.absolute <= self._tolerance.atol + self._tolerance.rtol * np.abs(ref)
            if self._tolerance.ulp is not None:
                within |= errors.ulp <= self._tolerance.ulp
            excess = np.where(errors.absolute == 0, 0.0, errors.absolute / self._allowed(ref, form))
        return within, excess


@dataclass(frozen=True)
class Tally:
    """What one reading of a comparison counts; `first` and `worst` are flat indices of elements to show."""

    compared: int
    outside: int
    wrong: int
    largest_outside: float
    first: list[int]
    worst: list[int]
    figures: Figures


def tally(comparison: Comparison, elements: int) -> Tally:
    """Read `comparison` and return its figures over all `elements` of the output."""
    compared = outside = wrong = 0
    largest_outside = 0.0
    specials = np.zeros(4, dtype=np.int64)
    histogram = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    first: list[int] = []
    steps: int | None = None
    worst = _Worst()
    for block in comparison.blocks():
        compared += block.at.size
        mismatched = ~block.within
        outside += int(mismatched.sum())
        wrong += block.wrong.size
        largest_outside = max(largest_outside, float(np.max(block.errors.absolute[mismatched], initial=0.0)))
        specials += block.specials
        steps = max((each for each in (steps, block.steps) if each is not None), default=None)
        histogram += ulp_histogram(block.errors.ulp)
        if len(first) < SHOWN:
            both = np.concatenate([block.at[mismatched][:SHOWN], block.wrong[:SHOWN]])
            first += [int(index) for index in np.sort(both)[: SHOWN - len(first)]]
        worst.offer(block)
    absolute, relative, ulp = spreads(lambda: (block.errors for block in comparison.blocks()), compared)
    nan_got, nan_expected, inf_got, inf_expected = (int(count) for count in specials)
    figures = Figures(
        elements=elements,
        mismatched=outside,
        nonfinite_wrong=wrong,
        nan_got=nan_got,
        nan_expected=nan_expected,
        inf_got=inf_got,
        inf_expected=inf_expected,
        absolute=absolute,
        relative=relative,
        ulp=ulp,
        steps=steps,
        histogram=np.trim_zeros(histogram, "b").tolist(),
    )
    return Tally(compared, outside, wrong, largest_outside, first, worst.indices(), figures)


class _Worst:
    """The elements furthest outside what is allowed; wrong NaN and Inf before all others."""

    def __init__(self) -> None:
        self._indices = np.zeros(0, dtype=np.int64)
        self._excess = np.zeros(0)

    def offer(self, block: Block) -> None:
        wrong = block.wrong[:SHOWN]
        indices = np.concatenate([self._indices, wrong, block.at])
        excess = np.concatenate([self._excess, np.full(wrong.size, np.inf), block.excess])
        erring = excess > 0
        indices, excess = indices[erring], excess[erring]
        if excess.size > SHOWN:
            bar = np.partition(excess, -SHOWN)[-SHOWN]
            indices, excess = indices[excess >= bar], excess[excess >= bar]
        order = np.lexsort((indices, -excess))[:SHOWN]
        self._indices, self._excess = indices[order], excess[order]

    def indices(self) -> list[int]:
        return [int(index) for index in self._indices]


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
