"""Coefficients of agreement, each from its published definition, over the whole declared scale.

A table of ratings has shape (items, raters), holds category numbers 0 … q-1 and -1 where a rating is missing. What
cannot be computed raises `Undefined` with the reason: a number is never made up for a degenerate table.

Sources: Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011); Gwet, "Handbook of Inter-Rater Reliability"
(2014) for AC1 and AC2; Fleiss, Cohen and Everitt (1969) for weighted kappa and its standard error; Shrout and Fleiss
(1979) with McGraw and Wong (1996) for ICC.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ratings = npt.NDArray[np.integer[Any]]
Metric = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["identity", "linear", "quadratic"]

RESAMPLES = 1000
INTERVAL = (2.5, 97.5)
ROUNDING = 1e-12  # of a sum of at most some thousands of shares


class Undefined(ValueError):
    """The coefficient has no value here; the message says why."""


def counts_of(ratings: Ratings, categories: int) -> Array:
    """Return how often each item got each category: shape (items, categories)."""
    if ratings.size and (ratings.max() >= categories or ratings.min() < -1):
        raise ValueError(f"a rating outside 0 to {categories - 1}")
    return np.stack([(ratings == category).sum(axis=1) for category in range(categories)], axis=1).astype(float)


def alpha(counts: Array, metric: Metric = "ordinal", values: Array | None = None) -> float:
    """Return Krippendorff's alpha of `counts` (items, categories); `values` are what the categories stand for."""
    return float(_alpha_of(_coincidences(counts).sum(axis=0, keepdims=True), metric, values)[0])


def alpha_interval(counts: Array, metric: Metric = "ordinal", *, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile interval of alpha over resampled items."""
    return _interval(counts, lambda drawn, rows: _alpha_of(_sums(drawn, _coincidences(rows)), metric, None), seed)


def ac(counts: Array, weights: Weights = "identity") -> float:
    """Return Gwet's AC1 (identity weights) or AC2 of `counts` (items, categories), all categories counted."""
    drawn = np.ones((1, len(counts)))
    return float(_ac_of(drawn, counts, agreement_weights(counts.shape[1], weights))[0])


def ac_interval(counts: Array, weights: Weights = "identity", *, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile interval of AC1 or AC2 over resampled items."""
    matrix = agreement_weights(counts.shape[1], weights)
    return _interval(counts, lambda drawn, rows: _ac_of(drawn, rows, matrix), seed)


def observed(counts: Array, within: int = 0) -> float:
    """Return the mean share, over items rated twice or more, of pairs of ratings at most `within` categories apart."""
    q = counts.shape[1]
    near = (np.abs(np.subtract.outer(np.arange(q), np.arange(q))) <= within).astype(float)
    twice = counts[counts.sum(axis=1) >= 2]
    if not len(twice):
        raise Undefined("no item has two ratings")
    return float(_pair_agreement(twice, near).mean())


def kappa(table: Array, weights: Weights | Array = "identity") -> tuple[float, float]:
    """Return Cohen's kappa of two raters and its standard error, from their table of counts (categories, categories).

    `weights` may be a matrix of agreement weights of the same shape.
    """
    n = table.sum()
    if n == 0:
        raise Undefined("no item was rated by both")
    matrix = agreement_weights(len(table), weights) if isinstance(weights, str) else weights
    p = table / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    seen, chance = float((matrix * p).sum()), float(rows @ matrix @ columns)
    if 1 - chance < ROUNDING:
        raise Undefined("both gave every item the same rating")
    spread = matrix * (1 - chance) - np.add.outer(matrix @ columns, rows @ matrix) * (1 - seen)
    variance = float((p * (spread - (p * spread).sum()) ** 2).sum())
    return (seen - chance) / (1 - chance), float(np.sqrt(variance / n)) / (1 - chance) ** 2


def crossed(first: Ratings, second: Ratings, categories: int) -> Array:
    """Return the table of counts (categories, categories) of two raters' ratings of the same items, -1 for missing."""
    both = (first >= 0) & (second >= 0)
    cells = np.bincount(first[both] * categories + second[both], minlength=categories**2)
    return cells.reshape(categories, categories).astype(float)


def icc(scores: Array) -> dict[str, float]:
    """Return the six intraclass correlations of complete `scores` (items, raters), by their usual names."""
    n, k = scores.shape
    if n < 2 or k < 2:
        raise Undefined("fewer than two items or two raters")
    mean, items, raters = scores.mean(), scores.mean(axis=1), scores.mean(axis=0)
    between_items = k * float(((items - mean) ** 2).sum()) / (n - 1)
    between_raters = n * float(((raters - mean) ** 2).sum()) / (k - 1)
    within = float(((scores - items[:, None]) ** 2).sum()) / (n * (k - 1))
    rest = float(((scores - items[:, None] - raters[None, :] + mean) ** 2).sum()) / ((n - 1) * (k - 1))
    absolute = k * (between_raters - rest) / n
    below = {
        "(1,1)": (between_items - within, between_items + (k - 1) * within),
        "(A,1)": (between_items - rest, between_items + (k - 1) * rest + absolute),
        "(C,1)": (between_items - rest, between_items + (k - 1) * rest),
        "(1,k)": (between_items - within, between_items),
        "(A,k)": (between_items - rest, between_items + (between_raters - rest) / n),
        "(C,k)": (between_items - rest, between_items),
    }
    if any(abs(divisor) < ROUNDING for _, divisor in below.values()):
        raise Undefined("every item has the same score")
    return {name: over / under for name, (over, under) in below.items()}


def agreement_weights(categories: int, weights: Weights) -> Array:
    """Return the matrix of agreement weights, 1 on the diagonal, over all declared categories."""
    if weights == "identity":
        return np.eye(categories)
    apart = np.abs(np.subtract.outer(np.arange(categories), np.arange(categories))) / max(categories - 1, 1)
    return 1.0 - (apart if weights == "linear" else apart**2)


def _coincidences(counts: Array) -> Array:
    """Each item's coincidence matrix, flattened: shape (items, categories²); zero where it has fewer than two."""
    rated = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :]
    diagonal = np.arange(counts.shape[1])
    pairs[:, diagonal, diagonal] -= counts
    pairs[rated < 2] = 0.0
    return np.asarray(pairs / np.maximum(rated - 1, 1)[:, None, None]).reshape(len(counts), -1)


def _sums(drawn: Array, rows: Array) -> Array:
    """Add up `rows` (rows, columns) as often as each draw (samples, rows) holds them: shape (samples, columns).

    That is `drawn @ rows`, which hands even a product as small as this one to the threads of the linear algebra
    library; on a busy machine, waiting for those takes many times as long as the product itself.
    """
    return np.asarray(np.einsum("rs,rc->cs", np.ascontiguousarray(drawn.T), rows).T)


def _alpha_of(flat: Array, metric: Metric, values: Array | None) -> Array:
    """Alpha of each summed coincidence matrix: shape (samples, categories²) to (samples,); NaN where undefined."""
    q = int(np.sqrt(flat.shape[1]))
    pairs = flat.reshape(-1, q, q)
    margins = pairs.sum(axis=2)
    total = margins.sum(axis=1)
    apart = _distances(margins, metric, np.arange(q, dtype=float) if values is None else values)
    seen = (pairs * apart).sum(axis=(1, 2))
    chance = np.einsum("sc,sck,sk->s", margins, apart, margins)
    if len(flat) == 1 and total[0] < 2:
        raise Undefined("no item has two ratings")
    if len(flat) == 1 and chance[0] <= ROUNDING:
        raise Undefined("every rating is the same")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance > ROUNDING, 1.0 - (total - 1.0) * seen / chance, np.nan)


def _distances(margins: Array, metric: Metric, values: Array) -> Array:
    """Squared differences between categories: shape (samples or 1, categories, categories)."""
    if metric == "ordinal":
        middle = np.cumsum(margins, axis=1) - margins / 2
        return (middle[:, :, None] - middle[:, None, :]) ** 2
    if metric == "nominal":
        return np.asarray(1.0 - np.eye(len(values))[None])
    apart = np.subtract.outer(values, values)
    if metric == "ratio":
        apart = apart / np.where(np.add.outer(values, values) == 0, 1.0, np.add.outer(values, values))
    return np.asarray(apart**2)[None]


def _pair_agreement(counts: Array, weights: Array) -> Array:
    """The mean weight of the pairs of ratings of each item, which must have two or more."""
    rated = counts.sum(axis=1)
    agreed = (counts * (counts @ weights - np.diag(weights))).sum(axis=1)
    return np.asarray(agreed / (rated * (rated - 1)))


def _ac_of(drawn: Array, counts: Array, weights: Array) -> Array:
    rated = counts.sum(axis=1)
    twice, any_rating = rated >= 2, rated >= 1
    if not (drawn[:, twice].sum(axis=1) > 0).any():
        raise Undefined("no item has two ratings")
    q = counts.shape[1]
    agreed = np.zeros(len(counts))
    agreed[twice] = _pair_agreement(counts[twice], weights)
    shares = np.zeros_like(counts)
    shares[any_rating] = counts[any_rating] / rated[any_rating, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = drawn @ agreed / drawn[:, twice].sum(axis=1)
        prevalence = _sums(drawn, shares) / drawn[:, any_rating].sum(axis=1)[:, None]
        chance = weights.sum() / (q * (q - 1)) * (prevalence * (1 - prevalence)).sum(axis=1)
        return np.asarray((seen - chance) / (1 - chance))


def _interval(counts: Array, statistic: Callable[[Array, Array], Array], seed: int) -> tuple[float, float]:
    """Percentiles of `statistic` over `RESAMPLES` draws of items.

    Items with the same counts are exchangeable, so that a draw of n items is a multinomial draw over the few
    different rows there are: exact, and independent of the number of items.
    """
    rated = counts[counts.sum(axis=1) > 0]
    rows, times = np.unique(rated, axis=0, return_counts=True)
    if not len(rows):
        raise Undefined("no item has two ratings")
    drawn = np.random.default_rng(seed).multinomial(len(rated), times / len(rated), size=RESAMPLES).astype(float)
    found = statistic(drawn, rows)
    found = found[np.isfinite(found)]
    if len(found) < RESAMPLES / 2:
        raise Undefined("most resampled tables hold one rating only")
    low, high = np.percentile(found, INTERVAL)
    return float(low), float(high)
