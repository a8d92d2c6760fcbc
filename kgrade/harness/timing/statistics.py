"""Statistics of timing samples. Every figure goes with its n, and none is given that n cannot carry.

Timing samples are correlated (clocks drift, caches warm), so intervals come from a moving-block bootstrap
(Künsch, 1989): runs of consecutive samples are drawn with replacement, which keeps the correlation within a run.
Simulated on log-normal samples, the 95 % interval of a median held the truth in about 91 % of cases at n = 30, 93 % at
n = 100 to 200, and 91 % at n = 200 with an autocorrelation of 0.4: short series make it somewhat too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kgrade.records.evidence import Samples, Speedup

Floats = np.ndarray[Any, np.dtype[np.float64]]

CONFIDENCE = 0.95
RESAMPLES = 2000
FEWEST_SAMPLES = 30
_SEED = 20
_ELEMENTS_AT_ONCE = 1 << 20


def summarise(samples_us: Sequence[float], first_call_us: float | None = None) -> Samples:
    """Return the statistics of samples in microseconds, in the order in which they were taken.

    The median absolute deviation is not scaled; quartiles interpolate linearly. The interval of the median is absent
    under 30 samples. Its resampling is seeded, so that it can be recomputed from the samples that are kept. Raises
    ValueError without samples, or when one is negative or not finite.
    """
    samples = _checked(samples_us)
    median = float(np.median(samples))
    lower, upper = np.percentile(samples, (25, 75))
    interval = None
    if samples.size >= FEWEST_SAMPLES:
        interval = _interval(resampled_medians(samples, np.random.default_rng(_SEED)))
    return Samples(
        samples_us=[float(sample) for sample in samples],
        n=samples.size,
        median_us=median,
        mad_us=float(np.median(np.abs(samples - median))),
        iqr_us=float(upper - lower),
        min_us=float(samples.min()),
        interval_us=interval,
        first_call_us=first_call_us,
    )


def speedup(
    baseline: str, base_us: Sequence[float], candidate_us: Sequence[float], rng: np.random.Generator
) -> Speedup:
    """Return the baseline's median over the candidate's, with the interval of that ratio.

    Both sides are resampled apart; the interval is absent when either has fewer than 30 samples. Raises ValueError
    without samples, or when the candidate's median is zero, of which no ratio can be made.
    """
    base, candidate = _checked(base_us), _checked(candidate_us)
    if np.median(candidate) == 0:
        raise ValueError("the candidate's median time is zero, so there is no ratio to the baseline's")
    interval = None
    if min(base.size, candidate.size) >= FEWEST_SAMPLES:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = resampled_medians(base, rng) / resampled_medians(candidate, rng)
        interval = _interval(ratios) if np.isfinite(ratios).all() else None
    return Speedup(baseline=baseline, ratio=float(np.median(base) / np.median(candidate)), interval=interval)


def block_length(count: int) -> int:
    """Return the block length for `count` samples: its cube root, rounded up, the rate that keeps the bias small."""
    return max(1, int(np.ceil(count ** (1 / 3) - 1e-9)))


def resampled_medians(samples: Floats, rng: np.random.Generator) -> Floats:
    """Return the medians of RESAMPLES moving-block resamples of `samples`, each as long as they are."""
    length = block_length(samples.size)
    blocks = -(-samples.size // length)
    within = np.arange(length)
    medians = []
    at_once = max(1, _ELEMENTS_AT_ONCE // samples.size)
    for start in range(0, RESAMPLES, at_once):
        rows = min(at_once, RESAMPLES - start)
        starts = rng.integers(0, samples.size - length + 1, (rows, blocks, 1))
        places = (starts + within).reshape(rows, -1)[:, : samples.size]
        medians.append(np.median(samples[places], axis=1))
    return np.concatenate(medians)


def _interval(values: Floats) -> tuple[float, float]:
    tail = 100 * (1 - CONFIDENCE) / 2
    lower, upper = np.percentile(values, (tail, 100 - tail))
    return float(lower), float(upper)


def _checked(samples_us: Sequence[float]) -> Floats:
    samples = np.asarray(samples_us, dtype=np.float64)
    if samples.size == 0:
        raise ValueError("no timing samples: a callable that was not timed is missing, it has no statistics")
    if not np.isfinite(samples).all() or (samples < 0).any():
        raise ValueError("a timing sample is negative or not finite")
    return samples
