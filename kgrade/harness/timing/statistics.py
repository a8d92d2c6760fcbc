"""Statistics of timing samples. Every figure goes with its n, and none is given that n cannot carry.

The interval of a median comes from order statistics (see intervals.py). Two callables that were timed in turn are
compared round by round: what slows the machine slows both, and their ratio does not move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from kgrade.harness.timing.intervals import FEWEST_SAMPLES, Floats, median_intervals
from kgrade.records.evidence import Samples, Speedup, TimingVerdict

NOISE_FORBIDS = 0.05  # the widest interval of A against A at which a difference may still be denied
PAIRED = "median over rounds of the ratio within a round; interval from order statistics"
APART = "ratio of the medians; interval from both medians' intervals (Zou and Donner, 2008)"
POWER = (1.960 + 0.842) / 1.960  # from half an interval's width to a difference seen in 8 of 10 runs
_DRIFT_Z = 3.3
_DRIFT_SHARE = 0.02
_FAR = 3.0  # quartile ranges


def summarise(
    samples_us: Sequence[float],
    first_call_us: float | None = None,
    *,
    processes: Sequence[int] = (),
    warmups: int = 0,
) -> Samples:
    """Return the statistics of samples in microseconds, in the order in which they were taken.

    `processes` says how many of them each process gave, `warmups` how many calls came before. The median absolute
    deviation is not scaled; quartiles interpolate linearly; an outlier lies over three quartile ranges outside them.
    The interval of the median is absent under 30 samples. Raises ValueError without samples, or when one is negative
    or not finite.
    """
    samples = _checked(samples_us)
    median = float(np.median(samples))
    lower, upper = (float(quartile) for quartile in np.percentile(samples, (25, 75)))
    far = _FAR * (upper - lower)
    return Samples(
        samples_us=[float(sample) for sample in samples],
        n=samples.size,
        median_us=median,
        mad_us=float(np.median(np.abs(samples - median))),
        iqr_us=upper - lower,
        min_us=float(samples.min()),
        interval_us=_interval(samples, processes) if samples.size >= FEWEST_SAMPLES else None,
        first_call_us=first_call_us,
        processes=list(processes),
        warmups=warmups,
        outliers=int(((samples < lower - far) | (samples > upper + far)).sum()),
        drift=drift(samples),
    )


def speedup(
    baseline: str,
    base_us: Sequence[float],
    candidate_us: Sequence[float],
    *,
    paired: bool = False,
    processes: Sequence[int] = (),
) -> Speedup:
    """Return how much faster the candidate is than the baseline, with the 95 % interval of that ratio.

    `paired` samples stand in the same rounds, in order, and are compared round by round; others by their medians.
    Where the ratio differs between `processes` (samples of each, in order), the samples are worth less. The interval is
    absent when either side has fewer than 30 samples. Raises ValueError without samples, for pairs of unequal number,
    or when a time is zero, of which no ratio can be made.
    """
    base, candidate = _checked(base_us), _checked(candidate_us)
    if not np.median(candidate) > 0:
        raise ValueError("the candidate's median time is zero, so there is no ratio to the baseline's")
    enough = min(base.size, candidate.size) >= FEWEST_SAMPLES
    if not paired:
        ratio = float(np.median(base) / np.median(candidate))
        interval = _interval_of_ratio(base, candidate) if enough and min(base.min(), candidate.min()) > 0 else None
        n = int(min(base.size, candidate.size))
        return Speedup(baseline=baseline, ratio=ratio, interval=interval, n=n, method=APART)
    if base.size != candidate.size:
        raise ValueError(f"{base.size} and {candidate.size} samples are no pairs")
    if min(base.min(), candidate.min()) <= 0:
        raise ValueError("a timing sample is zero, so there is no ratio in its round")
    logs = np.log(base) - np.log(candidate)
    interval = None
    if enough:
        low, high = _interval(logs, processes)
        interval = (math.exp(low), math.exp(high))
    ratio = math.exp(float(np.median(logs)))
    return Speedup(baseline=baseline, ratio=ratio, interval=interval, n=logs.size, method=PAIRED)


def judged(found: Speedup, against_itself: Speedup | None) -> Speedup:
    """Return `found` with what may be said of it, given how the candidate compares with itself in the same run.

    A difference must exclude 1 and lie outside what A against A shows. It is denied, unless A against A is so uncertain
    (wider than 5 %) that the noise forbids to say anything.
    """
    if found.interval is None or against_itself is None or against_itself.interval is None:
        return found
    low, high = against_itself.interval
    apart = not min(low, 1.0) <= found.ratio <= max(high, 1.0)
    verdict: TimingVerdict
    if apart and not found.interval[0] <= 1 <= found.interval[1]:
        verdict = "faster" if found.ratio > 1 else "slower"
    else:
        verdict = "noise forbids" if is_too_noisy(against_itself) else "no difference"
    return msgspec.structs.replace(found, verdict=verdict, visible=visible_difference(against_itself))


def is_too_noisy(against_itself: Speedup) -> bool:
    """Whether A against A is so uncertain that a difference may not be denied."""
    if against_itself.interval is None:
        return False
    low, high = against_itself.interval
    return high / low - 1 > NOISE_FORBIDS


def visible_difference(against_itself: Speedup) -> float | None:
    """Return the smallest relative difference that 8 of 10 runs as noisy as this one would show; None: not known."""
    if against_itself.interval is None:
        return None
    low, high = against_itself.interval
    return math.expm1(POWER * math.log(high / low) / 2)


def drift(samples: Floats) -> float | None:
    """Return the relative change from the first third to the last, where the samples rise or fall beyond chance.

    The trend is tested by Kendall's tau (Mann, 1945); a change under 2 % is not named. None: no drift.
    """
    count = samples.size
    if count < FEWEST_SAMPLES:
        return None
    later = np.sign(samples[None, :] - samples[:, None])
    score = float(np.triu(later, 1).sum())
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    third = count // 3
    start = float(np.median(samples[:third]))
    if abs(score) / spread < _DRIFT_Z or start <= 0:
        return None
    change = float(np.median(samples[-third:])) / start - 1
    return change if abs(change) >= _DRIFT_SHARE else None


def _interval(values: Floats, processes: Sequence[int] = ()) -> tuple[float, float]:
    lower, upper = median_intervals(values[None, :], processes=processes)
    return float(lower[0]), float(upper[0])


def _interval_of_ratio(base: Floats, candidate: Floats) -> tuple[float, float]:
    """Combine the intervals of both medians (on a log scale) into that of their ratio, without assuming symmetry."""
    sides = []
    for samples in (np.log(base), np.log(candidate)):
        lower, upper = _interval(samples)
        middle = float(np.median(samples))
        sides.append((middle, middle - lower, upper - middle))
    (over, over_down, over_up), (under, under_down, under_up) = sides
    middle = over - under
    return (
        math.exp(middle - math.hypot(over_down, under_up)),
        math.exp(middle + math.hypot(over_up, under_down)),
    )


def _checked(samples_us: Sequence[float]) -> Floats:
    samples = np.asarray(samples_us, dtype=np.float64)
    if samples.size == 0:
        raise ValueError("no timing samples: a callable that was not timed is missing, it has no statistics")
    if not np.isfinite(samples).all() or (samples < 0).any():
        raise ValueError("a timing sample is negative or not finite")
    return samples
