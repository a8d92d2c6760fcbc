"""Exact percentiles of a stream from one reading, where brackets that a sample suggests turn out to hold them.

What lies below a bracket is counted, what lies in it is kept, so that a percentile is exact or known to be elsewhere;
then `RankSelector` finds it in further readings. Brackets are five standard errors of the sample's rank wide on either
side (Floyd and Rivest, 1975, narrow a selection so), which leaves about a hundredth of the stream to keep.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from kgrade.harness.numerics.errors import KEPT, PERCENTILES_PER_MILLE, Floats, rank_of

_STANDARD_ERRORS = 5.0


class Bracketed:
    """Percentiles and maximum of a stream of non-negative floats; `sample` holds some of its values.

    `read` every block, then ask for `values`.
    """

    def __init__(self, sample: Floats) -> None:
        ordered = np.sort(sample)
        self._brackets = [_Bracket(*_ends(ordered, mille)) for mille in PERCENTILES_PER_MILLE]
        self._room = KEPT
        self._count = 0
        self._largest = 0.0

    def read(self, values: Floats) -> None:
        """Add one block."""
        middle, *upper = self._brackets
        high_part = values[values >= min(each.low for each in upper)]
        kept = middle.read(values, 0)
        kept += sum(each.read(high_part, values.size - high_part.size) for each in upper)
        largest = float(np.max(values, initial=0.0))
        self._largest = max(self._largest, largest) if largest == largest else math.nan
        self._count += values.size
        self._room -= kept
        if self._room < 0:  # values crowd between the ends of a bracket: they are not worth their memory
            for each in self._brackets:
                each.inside.clear()

    def values(self) -> list[float] | None:
        """Return the percentiles and the maximum, nothing where nothing was read; None where a bracket missed."""
        if self._count == 0:
            return []
        if self._room < 0 or math.isnan(self._largest):
            return None
        ranks = (rank_of(mille, self._count) for mille in PERCENTILES_PER_MILLE)
        found = [bracket.at(rank) for bracket, rank in zip(self._brackets, ranks, strict=True)]
        return None if None in found else [*(value for value in found if value is not None), self._largest]


def _ends(ordered: Floats, mille: int) -> tuple[float, float]:
    share, count = mille / 1000, ordered.size
    middle, half = share * count, _STANDARD_ERRORS * math.sqrt(share * (1 - share) * count) + 2
    low, high = math.floor(middle - half), math.ceil(middle + half)
    return float(ordered[low]) if 0 <= low < count else 0.0, float(ordered[high]) if high < count else math.inf


@dataclass
class _Bracket:
    """How many values lie below `low`, at either end, and which lie between `low` and `high`."""

    low: float
    high: float
    below: int = 0
    at_low: int = 0
    at_high: int = 0
    inside: list[Floats] = field(default_factory=list)

    def read(self, values: Floats, left_out: int) -> int:
        """Add a block without `left_out` values that lie below; return how many lie between the ends."""
        up_to_low, beneath = values <= self.low, values < self.high
        under_low, to_low = np.count_nonzero(values < self.low), np.count_nonzero(up_to_low)
        self.below += left_out + int(under_low)
        self.at_low += int(to_low - under_low)
        if self.high > self.low:
            self.at_high += int(np.count_nonzero(values <= self.high) - np.count_nonzero(beneath))
        np.logical_not(up_to_low, out=up_to_low)
        up_to_low &= beneath
        between = values[up_to_low]
        self.inside.append(between)
        return between.size

    def at(self, rank: int) -> float | None:
        """Return the value at a rank of the whole stream, from 0; None where it lies outside."""
        rank -= self.below
        if rank < 0:
            return None
        if rank < self.at_low:
            return self.low
        rank -= self.at_low
        inside = np.concatenate(self.inside)
        if rank < inside.size:
            inside.partition(rank)
            return float(inside[rank])
        return self.high if rank - inside.size < self.at_high else None
