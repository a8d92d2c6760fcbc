"""Absolute, relative and ULP error of elements, and exact order statistics of a stream of them.

ULP error is |got - ref| / ulp(ref), where ulp(ref) is the spacing of the output's format at ref: it counts across
zero and through denormals (the spacing at zero is the smallest denormal). Every figure is made block by block, so
that the memory needed beside the two arrays does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kgrade.harness.numerics.formats import Array, FloatFormat, ordinals, ulp_exponent
from kgrade.records.evidence import Spread, number

Floats = np.ndarray[Any, np.dtype[np.float64]]
Bits = np.ndarray[Any, np.dtype[np.int64]]
Counts = Bits

PERCENTILES_PER_MILLE = (500, 990, 999)
HISTOGRAM_BINS = 64
KEPT = 1 << 22  # values of one measure, 32 MiB
_DIGIT_BITS = 16
_DOUBLE_PRECISION = 53
_FRACTION_BITS, _EXPONENT_MASK, _BIAS = 52, 0x7FF, 1023


class Errors(NamedTuple):
    """Errors of the same elements in three measures, float64, one-dimensional."""

    absolute: Floats
    relative: Floats
    ulp: Floats


def float_errors(got: Floats, ref: Floats, form: FloatFormat) -> Errors:
    """Return the errors of finite `got` against finite `ref`, in units of `form`'s spacing for the ULP error.

    A relative error against zero is inf unless `got` is zero too.
    """
    with np.errstate(all="ignore"):
        absolute = got - ref
        np.abs(absolute, out=absolute)
        if form.precision < _DOUBLE_PRECISION:
            ulp = absolute * _units(ref, form)
        else:  # the reciprocal of a spacing of float64 need not be a float64
            exponent = ulp_exponent(ref, form)
            ulp = np.abs(np.ldexp(got, -exponent) - np.ldexp(ref, -exponent))
        return Errors(absolute, _relative(absolute, ref), ulp)


def _units(ref: Floats, form: FloatFormat) -> Floats:
    """Return how many spacings of `form` at `ref` make 1: a power of two, put together from its bits."""
    binade = ref.view(np.uint64) & (_EXPONENT_MASK << _FRACTION_BITS)
    np.maximum(binade, (form.min_exponent + _BIAS) << _FRACTION_BITS, out=binade)
    np.minimum(binade, (form.max_exponent + _BIAS) << _FRACTION_BITS, out=binade)
    np.subtract((2 * _BIAS + form.precision - 1) << _FRACTION_BITS, binade, out=binade)
    return binade.view(np.float64)


def step_distance(got: Array, ref: Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return how many values of their common format lie from finite `ref` to finite `got`; integers count as they are.

    Neighbours are 1 apart, also across zero and from a denormal to a normal value, and both zeros are one value.
    """
    a, b = (each.astype(np.int64) if each.dtype.kind in "iub" else ordinals(each) for each in (got, ref))
    return np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)


def largest_step(got: Array, ref: Array) -> int:
    """Return the largest `step_distance`; 0 where there is nothing. Quicker where no pair lies across zero."""
    if got.dtype.kind not in "iub":
        a, b = (np.ascontiguousarray(each).view(f"i{each.dtype.itemsize}") for each in (got, ref))
        if np.min(a ^ b, initial=0) >= 0:
            apart = a - b
            return max(int(np.max(apart, initial=0)), -int(np.min(apart, initial=0)))
    return int(step_distance(got, ref).max(initial=0))


def integer_errors(got: Array, ref: Array) -> Errors:
    """Return the errors of int64 `got` against int64 `ref`; the spacing of integers is 1."""
    larger, smaller = np.maximum(got, ref), np.minimum(got, ref)
    absolute = (larger.astype(np.uint64) - smaller.astype(np.uint64)).astype(np.float64)
    return Errors(absolute, _relative(absolute, ref.astype(np.float64)), absolute)


def _relative(absolute: Floats, ref: Floats) -> Floats:
    with np.errstate(all="ignore"):
        relative: Floats = absolute / np.abs(ref)
    relative[absolute == 0] = 0.0
    return relative


def ulp_histogram(ulp: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Count elements by ULP error: bin 0 holds those under 1, bin k those in [2**(k-1), 2**k), the last all beyond."""
    top = np.ascontiguousarray(ulp, dtype="<f8").view("<u2")[3::4]  # the quarter that holds the exponent
    counts = np.bincount(top >> 4, minlength=_EXPONENT_MASK + 1)
    last = _BIAS + HISTOGRAM_BINS - 2
    return np.concatenate([[counts[:_BIAS].sum()], counts[_BIAS:last], [counts[last:].sum()]])


def spread(values: Sequence[float]) -> Spread:
    """Return the percentiles and the maximum that `RankSelector.values` found; `nan` where there are no elements."""
    if not values:
        return Spread(max="nan", p50="nan", p99="nan", p999="nan")
    p50, p99, p999, largest = (number(value) for value in values)
    return Spread(max=largest, p50=p50, p99=p99, p999=p999)


def rank_of(mille: int, count: int) -> int:
    """Return the nearest rank, from 0, of a percentile of `count` values, of which there is one at least."""
    return (count * mille + 999) // 1000 - 1


class RankSelector:
    """Exact percentiles and the maximum of a stream of non-negative floats, read a few times in bounded memory.

    Percentiles are nearest-rank: the smallest value that at least p of all do not exceed, so none is interpolated. The
    bit patterns of non-negative float64 sort as the values do, so each reading settles the next digit of every wanted
    rank by counting (a radix selection), and once few enough share the digits so far, these are kept and sorted out.

    `read` every block, then `advance`; again while not `settled`.
    """

    def __init__(self) -> None:
        self._sought: list[_Sought] | None = None
        self._shift = 64 - _DIGIT_BITS
        self._counts: dict[int, Counts] = {}
        self._kept: dict[int, list[Bits]] = {}

    @property
    def settled(self) -> bool:
        """Whether every rank is known."""
        return self._sought is not None and all(each.settled for each in self._sought)

    def read(self, values: Floats) -> None:
        """Add one block to this reading."""
        bits = np.ascontiguousarray(values).view(np.int64)
        if self._sought is None:
            self._count(0, bits >> self._shift)
            return
        above = bits >> (self._shift + _DIGIT_BITS)
        for prefix in {each.prefix for each in self._sought if not each.settled}:
            found = bits[above == prefix]
            if prefix in self._kept:
                self._kept[prefix].append(found)
            else:
                self._count(prefix, (found >> self._shift) & (2**_DIGIT_BITS - 1))

    def _count(self, prefix: int, digits: Bits) -> None:
        counts = np.bincount(digits, minlength=2**_DIGIT_BITS)
        if prefix in self._counts:
            counts += self._counts[prefix]
        self._counts[prefix] = counts

    def advance(self) -> None:
        """End a reading: settle the ranks whose values were kept, and one digit of every other."""
        if self._sought is None:
            count = int(self._counts[0].sum()) if self._counts else 0
            ranks = [rank_of(mille, count) for mille in PERCENTILES_PER_MILLE] + [count - 1]
            self._sought = [_Sought(0, rank) for rank in ranks] if count else []
        for prefix, parts in self._kept.items():
            whole = np.concatenate(parts)
            parts.clear()
            same = [each for each in self._sought if not each.settled and each.prefix == prefix]
            whole.partition([each.rank for each in same])
            for each in same:
                each.prefix, each.settled = int(whole[each.rank]), True
        self._kept = {}
        left = [each for each in self._sought if not each.settled]
        sharing = {}
        for each in left:
            running = np.cumsum(self._counts[each.prefix])
            digit = int(np.searchsorted(running, each.rank, side="right"))
            before = int(running[digit - 1]) if digit else 0
            each.rank -= before
            each.prefix = (each.prefix << _DIGIT_BITS) | digit
            each.settled = self._shift == 0
            sharing[each.prefix] = int(running[digit]) - before
        room = KEPT
        for prefix, count in sorted(sharing.items(), key=lambda item: item[1]):
            room -= count
            if room >= 0 and self._shift > 0:
                self._kept[prefix] = []
        self._counts = {}
        self._shift -= _DIGIT_BITS

    def values(self) -> list[float]:
        """Return the percentiles and the maximum; nothing where nothing was read. Every rank must be settled."""
        return [float(value) for value in np.array([each.prefix for each in self._sought or []]).view(np.float64)]


@dataclass
class _Sought:
    """One wanted rank among the values that begin with `prefix`, which is the value's own bits once it is settled."""

    prefix: int
    rank: int
    settled: bool = False
