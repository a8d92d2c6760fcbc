"""Intervals of a median from order statistics, without any assumption about the samples' distribution.

The interval between the k-th smallest and the k-th largest of n independent samples holds the median with a chance
that only n and k decide; between two whole k the chance is met by interpolation (Hettmansperger and Sheather, 1986).
Samples that resemble their neighbours tell less than as many independent ones: their number is lowered to what they
are worth. For that the autocorrelation is read from signs about the median, which outliers cannot disturb, and turned
into that of a latent process of first order by the arcsine law (Van Vleck and Middleton, 1966). Samples that resemble
others of their process tell less too: how far the processes' shares of signs lie apart, beside what independent samples
would show, is the design effect of such clusters (Kish, 1965), and their number is divided by it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

CONFIDENCE = 0.95
FEWEST_SAMPLES = 30
_CERTAIN = 1.64  # standard errors: a smaller autocorrelation is what independent samples show by chance
_LAGS = 200
_FEWEST_OF_PROCESS = 5


def median_intervals(
    rows: Floats, *, independent: bool = False, processes: Sequence[int] = ()
) -> tuple[Floats, Floats]:
    """Return lower and upper ends of the 95 % interval of the median of each row of shape (series, samples).

    `independent` says that the rows are known to be uncorrelated, so that their worth is not estimated. `processes`
    says how many samples of a row each process gave, in order.
    """
    series, count = rows.shape
    ordered = np.sort(rows, axis=1)
    worth = np.full(series, float(count)) if independent else worths(rows, processes)
    depths = np.array([_depth(max(1, int(one))) for one in worth])
    place = np.clip(depths * (count + 1) - 1, 0, count - 1)
    below = np.floor(place).astype(np.intp)
    part = place - below
    above = np.minimum(below + 1, count - 1)
    row = np.arange(series)
    lower = ordered[row, below] * (1 - part) + ordered[row, above] * part
    upper = ordered[row, count - 1 - below] * (1 - part) + ordered[row, count - 1 - above] * part
    return lower, upper


def worths(rows: Floats, processes: Sequence[int] = ()) -> Floats:
    """Return how many independent samples each row is worth for its median; at most as many as it has.

    `processes` says how many samples of a row each process gave, in order; under five of each tell nothing of it.
    """
    series, count = rows.shape
    worth = np.full(series, float(count))
    if count < 3:
        return worth
    signs = np.sign(rows - np.median(rows, axis=1, keepdims=True))
    power = np.maximum((signs * signs).sum(axis=1), 1)
    # Deviations about a median that the samples themselves set are correlated by -1/n where there is nothing.
    first = (signs[:, 1:] * signs[:, :-1]).sum(axis=1) / power + 1 / count
    certain = first > _CERTAIN / math.sqrt(count)
    latent = np.sin(np.pi / 2 * np.clip(first[certain], 0, 0.99))
    powers = latent[:, None] ** np.arange(1, _LAGS)
    worth[certain] = count / (1 + 2 * (2 / np.pi) * np.arcsin(powers).sum(axis=1))
    if len(processes) < 2 or sum(processes) != count or min(processes) < _FEWEST_OF_PROCESS:
        return worth
    starts = np.cumsum([0, *processes[:-1]])
    shares = np.add.reduceat(signs, starts, axis=1) / np.array(processes)
    effect = count / len(processes) * shares.var(axis=1, ddof=1) * count / power
    return np.asarray(np.minimum(worth, count / np.maximum(effect, 1)))


@functools.cache
def _depth(count: int) -> float:
    """Return the place of the interval's lower end among `count` independent samples, over count + 1.

    Under six samples no two of them hold the median with 95 %: then it is the smallest one.
    """
    if count < 6:
        return 1 / (count + 1)
    logs = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in range(count // 2 + 1)]
    tails = np.cumsum(np.exp(np.array(logs) - count * math.log(2)))
    held = 1 - 2 * tails  # held[k - 1]: the chance that the k-th smallest and largest enclose the median
    k = int(np.flatnonzero(held >= CONFIDENCE)[-1]) + 1
    outer, inner = held[k - 1], held[k]
    part = (outer - CONFIDENCE) / (outer - inner)
    shift = (count - k) * part / (k + (count - 2 * k) * part)
    return float((k + shift) / (count + 1))
