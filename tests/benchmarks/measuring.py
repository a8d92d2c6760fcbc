"""The one way in which things are measured against a bound.

Machines differ and are busy, so a time is only ever compared with another one taken beside it: interleaved pairs,
the order turned round from pair to pair, and the median of the ratios within the pairs. Its interval is the 95 %
percentile bootstrap (Efron, 1979), drawn with a fixed seed. A bound fails only when the whole interval lies past it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

PAIRS = 15
"""Pairs of which a median is taken, at least."""

_RESAMPLES = 2000
_TAIL = 0.025


@dataclass(frozen=True)
class Measured:
    """A median of `n` values with its interval, and the bound that it must not pass; `beside` says what lies behind.

    `size` is how many submissions the queue held, where that is what the measurement is about; else 0.
    """

    what: str
    unit: str
    bound: float
    n: int
    median: float
    low: float
    high: float
    beside: str = ""
    size: int = 0

    @property
    def is_kept(self) -> bool:
        """Whether the bound holds as far as can be told."""
        return self.low <= self.bound


@dataclass(frozen=True)
class Pairs:
    """What two things cost, taken in turn; `ours[i]` and `theirs[i]` were taken one after the other."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """How many times theirs ours was, pair by pair."""
        return [mine / other for mine, other in zip(self.ours, self.theirs, strict=True)]


def interleaved(ours: Callable[[], float], theirs: Callable[[], float], pairs: int = PAIRS) -> Pairs:
    """Take `pairs` of both costs, after one of each that does not count; who goes first alternates."""
    ours()
    theirs()
    mine, others = [], []
    for number in range(pairs):
        for which in ("ours", "theirs") if number % 2 else ("theirs", "ours"):
            if which == "ours":
                mine.append(ours())
            else:
                others.append(theirs())
    return Pairs(tuple(mine), tuple(others))


def compared(what: str, pairs: Pairs, bound: float, *, unit: str = "s", size: int = 0) -> Measured:
    """How many times theirs ours is; `unit` is that of the costs themselves."""
    beside = f"{median(pairs.ours):.4g} {unit} beside {median(pairs.theirs):.4g} {unit}"
    return judged(what, pairs.ratios, bound, unit="times", beside=beside, size=size)


def judged(what: str, values: Sequence[float], bound: float, *, unit: str, beside: str = "", size: int = 0) -> Measured:
    """The median of `values` with its interval; ValueError for fewer than are worth a median."""
    if len(values) < PAIRS:
        raise ValueError(f"{what}: {len(values)} values; a median is taken of {PAIRS} or more")
    low, high = interval(values)
    return Measured(what, unit, bound, len(values), median(values), low, high, beside, size)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median lies with 95 % confidence: the percentile bootstrap."""
    draw = random.Random(20261103)
    medians = sorted(median(draw.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    return medians[int(_TAIL * _RESAMPLES)], medians[int((1 - _TAIL) * _RESAMPLES) - 1]
