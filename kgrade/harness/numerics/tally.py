"""What a comparison counts over all of an output: its figures, and which elements to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kgrade.harness.numerics.brackets import Bracketed
from kgrade.harness.numerics.comparison import BLOCK, Block, Comparison, parts
from kgrade.harness.numerics.errors import HISTOGRAM_BINS, Counts, Errors, RankSelector, spread, ulp_histogram
from kgrade.harness.numerics.formats import Array
from kgrade.records.evidence import Figures

SHOWN = 8
STRETCH = 4 * BLOCK  # elements of which the percentiles are counted at a time
SAMPLED = (1 << 18, 1 << 28)  # elements of outputs whose percentiles are guessed from a sample
SAMPLE = 1 << 18  # elements at most
SAMPLE_SHARE = 16
SAMPLE_RUN = 512


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
    selectors = [RankSelector() for _ in Errors._fields]
    guesses = _guessed(comparison, elements)
    count = _Count()
    for stretch in parts(0, elements, STRETCH):
        errors = []
        for part in parts(stretch.start, stretch.stop, BLOCK):
            block = comparison.block(part)
            count.offer(block)
            errors.append(block.errors)
        _read(guesses or selectors, errors)
    if guesses:
        held = [guess.values() for guess in guesses]
        if None not in held:
            return count.told(elements, [values for values in held if values is not None])
        _read_again(selectors, comparison, elements)
    while True:
        for selector in selectors:
            selector.advance()
        if all(selector.settled for selector in selectors):
            return count.told(elements, [selector.values() for selector in selectors])
        _read_again(selectors, comparison, elements)


def _guessed(comparison: Comparison, elements: int) -> list[Bracketed]:
    """Return what may tell the percentiles from one reading; nothing for few elements, or more than it has memory for.

    The sample is a short run of elements from each of many places.
    """
    if not SAMPLED[0] <= elements <= SAMPLED[1]:
        return []
    runs = min(SAMPLE, elements // SAMPLE_SHARE) // SAMPLE_RUN
    starts = (run * elements // runs for run in range(runs))
    errors = [comparison.errors(slice(start, start + SAMPLE_RUN)) for start in starts]
    return [Bracketed(np.concatenate(each)) for each in zip(*errors, strict=True)]


def _read_again(selectors: Sequence[RankSelector], comparison: Comparison, elements: int) -> None:
    for stretch in parts(0, elements, STRETCH):
        _read(selectors, [comparison.errors(part) for part in parts(stretch.start, stretch.stop, BLOCK)])


def _read(selectors: Sequence[RankSelector | Bracketed], errors: Sequence[Errors]) -> None:
    """Let each selector read the errors of a stretch in its measure, of which there are as many as in `Errors`."""
    for selector, values in zip(selectors, zip(*errors, strict=True), strict=True):
        selector.read(np.concatenate(values))


@dataclass
class _Count:
    """What is counted of blocks in their order."""

    compared: int = 0
    outside: int = 0
    wrong: int = 0
    largest_outside: float = 0.0
    specials: Counts = field(default_factory=lambda: np.zeros(4, dtype=np.int64))
    histogram: Counts = field(default_factory=lambda: np.zeros(HISTOGRAM_BINS, dtype=np.int64))
    first: list[int] = field(default_factory=list)
    steps: int | None = None
    worst: _Worst = field(default_factory=lambda: _Worst())

    def offer(self, block: Block) -> None:
        """Count the next block."""
        self.compared += block.at.size
        self.wrong += block.wrong.size
        self.specials += block.specials
        self.histogram += ulp_histogram(block.errors.ulp)
        self._step(block.steps)
        outside = np.flatnonzero(~block.within)
        self.outside += outside.size
        if outside.size:
            self.largest_outside = max(self.largest_outside, float(block.errors.absolute[outside].max()))
        both = np.sort(np.concatenate([block.at[outside[:SHOWN]], block.wrong[:SHOWN]]))
        self.first += both[: SHOWN - len(self.first)].tolist()
        self.worst.offer(block)

    def told(self, elements: int, ranked: Sequence[Sequence[float]]) -> Tally:
        """Return it all as figures over `elements`; `ranked` are percentiles and maximum of each measure."""
        absolute, relative, ulp = (spread(values) for values in ranked)
        nan_got, nan_expected, inf_got, inf_expected = (int(count) for count in self.specials)
        figures = Figures(
            elements=elements,
            mismatched=self.outside,
            nonfinite_wrong=self.wrong,
            nan_got=nan_got,
            nan_expected=nan_expected,
            inf_got=inf_got,
            inf_expected=inf_expected,
            absolute=absolute,
            relative=relative,
            ulp=ulp,
            steps=self.steps,
            histogram=np.trim_zeros(self.histogram, "b").tolist(),
        )
        worst = self.worst.indices.tolist()
        return Tally(self.compared, self.outside, self.wrong, self.largest_outside, self.first, worst, figures)

    def _step(self, steps: int | None) -> None:
        self.steps = max((each for each in (self.steps, steps) if each is not None), default=None)


class _Worst:
    """The elements furthest outside what is allowed, earlier ones first; wrong NaN and Inf before all others."""

    def __init__(self) -> None:
        self.indices: Counts = np.zeros(0, dtype=np.int64)
        self.excess: Array = np.zeros(0)

    def offer(self, block: Block) -> None:
        """Offer the next block: an element that only equals the last of those that stand comes too late."""
        bar = float(self.excess[-1]) if self.excess.size == SHOWN else 0.0
        further = np.flatnonzero(block.excess > bar)
        excess = block.excess[further]
        if excess.size > SHOWN:
            kept = excess >= np.partition(excess, -SHOWN)[-SHOWN]
            further, excess = further[kept], excess[kept]
        wrong = block.wrong[:SHOWN]
        self._keep(np.concatenate([wrong, block.at[further]]), np.concatenate([np.full(wrong.size, np.inf), excess]))

    def _keep(self, indices: Counts, excess: Array) -> None:
        if indices.size == 0:
            return
        indices, excess = np.concatenate([self.indices, indices]), np.concatenate([self.excess, excess])
        order = np.lexsort((indices, -excess))[:SHOWN]
        self.indices, self.excess = indices[order], excess[order]
