"""Absolute, relative and ULP error of elements, and exact order statistics of a stream of them.

ULP error is |got - ref| / ulp(ref), where ulp(ref) is the spacing of the output's format at ref: it counts across
zero and through denormals (the spacing at zero is the smallest denormal). Every figure is made block by block, so
that the memory needed beside the two arrays does not grow with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kgrade.harness.numerics.formats import Array, FloatFormat, ordinals, ulp_exponent
from kgrade.records.evidence import Spread, number

Floats = np.ndarray[Any, np.dtype[np.float64]]

PERCENTILES_PER_MILLE = (500, 990, 999)
HISTOGRAM_BINS = 64
_DIGIT_BITS = 16


class Errors(NamedTuple):
    """Errors of the same elements in three measures, float64, one-dimensional."""

    absolute: Floats
    relative: Floats
    ulp: Floats


def float_errors(got: Floats, ref: Floats, form: FloatFormat) -> Errors:
    """Return the errors of finite `got` against finite `ref`, in units of `form`'s spacing for the ULP error.

    A relative error against zero is inf unless `got` is zero too.
    """
    exponent = ulp_exponent(ref, form)
    with np.errstate(all="ignore"):
        absolute = np.abs(got - ref)
        ulp = np.abs(np.ldexp(got, -exponent) - np.ldexp(ref, -exponent))
        return Errors(absolute, _relative(absolute, ref), ulp)


def step_distance(got: Array, ref: Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return how many values of their common format lie from finite `ref` to finite `got`; integers count as they are.

    Neighbours are 1 apart, also across zero and from a denormal to a normal value, and both zeros are one value.
    """
    a, b = (each.astype(np.int64) if each.dtype.kind in "iub" else ordinals(each) for each in (got, ref))
    return np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)


def integer_errors(got: Array, ref: Array) -> Errors:
    """Return the errors of int64 `got` against int64 `ref`; the spacing of integers is 1."""
    larger, smaller = np.maximum(got, ref), np.minimum(got, ref)
    absolute = (larger.astype(np.uint64) - smaller.astype(np.uint64)).astype(np.float64)
    return Errors(absolute, _relative(absolute, ref.astype(np.float64)), absolute)


def _relative(absolute: Floats, ref: Floats) -> Floats:
    with np.errstate(all="ignore"):
        relative: Floats = np.where(absolute == 0, 0.0, absolute / np.abs(ref))
    return relative


def ulp_histogram(ulp: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Count elements by ULP error: bin 0 holds those under 1, bin k those in [2**(k-1), 2**k), the last all beyond."""
    _, exponent = np.frexp(ulp)
    bins = np.where(np.isinf(ulp), HISTOGRAM_BINS - 1, np.clip(exponent, 0, HISTOGRAM_BINS - 1))
    return np.bincount(bins, minlength=HISTOGRAM_BINS)


def spreads(blocks: Callable[[], Iterable[Errors]], count: int) -> tuple[Spread, Spread, Spread]:
    """Return the spread of each measure over the `count` errors that every call of `blocks` yields anew.

    Percentiles are nearest-rank: the smallest error that at least p of the elements do not exceed, so each is the
    error of an element and none is interpolated. No elements: all `nan`.
    """
    if count == 0:
        empty = Spread(max="nan", p50="nan", p99="nan", p999="nan")
        return empty, empty, empty
    ranks = [(count * mille + 999) // 1000 - 1 for mille in PERCENTILES_PER_MILLE] + [count - 1]
    selectors = [RankSelector(ranks) for _ in Errors._fields]
    for _ in range(RankSelector.PASSES):
        for block in blocks():
            for selector, values in zip(selectors, block, strict=True):
                selector.observe(values)
        for selector in selectors:
            selector.advance()
    absolute, relative, ulp = (_spread(selector.values()) for selector in selectors)
    return absolute, relative, ulp


def _spread(values: Sequence[float]) -> Spread:
    p50, p99, p999, largest = (number(value) for value in values)
    return Spread(max=largest, p50=p50, p99=p99, p999=p999)


class RankSelector:
    """Exact order statistics of a stream of non-negative floats, read a fixed number of times in bounded memory.

    The bit patterns of non-negative float64 sort as the values do, so each pass settles the next digit of every
    wanted rank by counting (a radix selection).
    """

    PASSES = 64 // _DIGIT_BITS

    def __init__(self, ranks: Sequence[int]) -> None:
        """Select the values at the 0-based `ranks` in ascending order."""
        self._ranks = list(ranks)
        self._prefixes = [0] * len(self._ranks)
        self._shift = 64 - _DIGIT_BITS
        self._counts: dict[int, np.ndarray[Any, np.dtype[np.int64]]] = {}

    def observe(self, values: Floats) -> None:
        """Count one block of this pass."""
        bits = np.ascontiguousarray(values).view(np.uint64)
        digits = ((bits >> np.uint64(self._shift)) & np.uint64(2**_DIGIT_BITS - 1)).astype(np.int64)
        for prefix in set(self._prefixes):
            chosen = digits
            if self._shift + _DIGIT_BITS < 64:
                chosen = digits[(bits >> np.uint64(self._shift + _DIGIT_BITS)) == np.uint64(prefix)]
            counted = np.bincount(chosen, minlength=2**_DIGIT_BITS)
            self._counts[prefix] = self._counts.get(prefix, 0) + counted

    def advance(self) -> None:
        """End a pass: settle one digit of every rank."""
        for place, (prefix, rank) in enumerate(zip(self._prefixes, self._ranks, strict=True)):
            running = np.cumsum(self._counts[prefix])
            digit = int(np.searchsorted(running, rank, side="right"))
            self._ranks[place] = rank - (int(running[digit - 1]) if digit else 0)
            self._prefixes[place] = (prefix << _DIGIT_BITS) | digit
        self._counts = {}
        self._shift -= _DIGIT_BITS

    def values(self) -> list[float]:
        """Return the selected values, in the order of the ranks; all passes must be over."""
        return [float(value) for value in np.array(self._prefixes, dtype=np.uint64).view(np.float64)]
