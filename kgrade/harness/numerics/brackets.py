"""Exact percentiles of a stream from one reading, where brackets that a sample suggests turn out to hold them.

What lies below a bracket is counted, what lies in it is kept, so that a percentile is exact or known to be elsewhere;
then `RankSelector` finds it in further readings. Brackets are five standard errors of the sample's rank wide on either
side (Floyd and Rivest, 1975, narrow a selection so), which leaves about a hundredth of the stream to keep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kgrade.harness.numerics.errors import KEPT, PERCENTILES_PER_MILLE, Floats, rank_of

_STANDARD_ERRORS = 5.0


class Held(NamedTuple):
    """What one block says of one bracket: how many lie below it and at its ends, and which lie inside."""

    below: int
    at_low: int
    inside: Floats
    at_high: int


class Seen(NamedTuple):
    """What one block says: its size, its maximum, and each bracket."""

    size: int
    largest: float
    brackets: list[Held]


class Bracketed:
    """Percentiles and maximum of a stream of non-negative floats; `sample` holds some of its values.

    Read every block with `counted` and add what it returns, then ask for `values`. `counted` changes nothing, so
    threads may share it.
    """

    def __init__(self, sample: Floats) -> None:
        ordered = np.sort(sample)
        self._ends = [_bracket(ordered, mille) for mille in PERCENTILES_PER_MILLE]
        self._seen = [Held(0, 0, ordered[:0], 0) for _ in self._ends]
        self._kept: list[list[Floats]] = [[] for _ in self._ends]
        self._room = KEPT
        self._count = 0
        self._largest = 0.0

    def counted(self, values: Floats) -> Seen:
        """Return what one block adds."""
        (low, high), *upper = self._ends
        brackets = [_held(values, low, high, 0)]
        from_here = min(low for low, _ in upper)
        high_part = values[values >= from_here]
        below = values.size - high_part.size
        brackets += [_held(high_part, low, high, below) for low, high in upper]
        return Seen(values.size, float(np.max(values, initial=0.0)), brackets)

    def add(self, found: Seen) -> None:
        """Add what a block gave."""
        self._count += found.size
        self._largest = max(self._largest, found.largest) if found.largest == found.largest else math.nan
        for index, held in enumerate(found.brackets):
            before = self._seen[index]
            self._seen[index] = Held(
                before.below + held.below, before.at_low + held.at_low, before.inside, before.at_high + held.at_high
            )
            self._room -= held.inside.size
            self._kept[index].append(held.inside)
        if self._room < 0:  # values crowd between the ends of a bracket: they are not worth their memory
            self._kept = [[] for _ in self._ends]

    def values(self) -> list[float] | None:
        """Return the percentiles and the maximum, nothing where nothing was read; None where a bracket missed."""
        if self._count == 0:
            return []
        if self._room < 0 or math.isnan(self._largest):
            return None
        found = [
            _at_rank(rank_of(mille, self._count), ends, held, kept)
            for mille, ends, held, kept in zip(PERCENTILES_PER_MILLE, self._ends, self._seen, self._kept, strict=True)
        ]
        return None if None in found else [*(value for value in found if value is not None), self._largest]


def _bracket(ordered: Floats, mille: int) -> tuple[float, float]:
    share, count = mille / 1000, ordered.size
    middle, half = share * count, _STANDARD_ERRORS * math.sqrt(share * (1 - share) * count) + 2
    low, high = math.floor(middle - half), math.ceil(middle + half)
    return float(ordered[low]) if 0 <= low < count else 0.0, float(ordered[high]) if high < count else math.inf


def _held(values: Floats, low: float, high: float, below: int) -> Held:
    under, up_to_low = values < low, values <= low
    beneath = values < high
    counts = (int(np.count_nonzero(mask)) for mask in (under, up_to_low, beneath, values <= high))
    under_low, to_low, under_high, to_high = counts
    at_high = to_high - under_high if high > low else 0
    np.logical_not(up_to_low, out=up_to_low)
    up_to_low &= beneath
    return Held(below + under_low, to_low - under_low, values[up_to_low], at_high)


def _at_rank(rank: int, ends: tuple[float, float], held: Held, kept: Sequence[Floats]) -> float | None:
    rank -= held.below
    if rank < 0:
        return None
    if rank < held.at_low:
        return ends[0]
    rank -= held.at_low
    inside = np.concatenate(kept)
    if rank < inside.size:
        inside.partition(rank)
        return float(inside[rank])
    return ends[1] if rank - inside.size < held.at_high else None
