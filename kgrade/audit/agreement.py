"""How far evaluators agree: per criterion, per gate, pair by pair, and on totals.

Every figure carries its n and, where there is one, its interval. Under `LEAST_ITEMS` doubly rated items there is no
coefficient, and a degenerate table says why it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np

from kgrade.audit.coefficients import (
    Array,
    Ratings,
    Undefined,
    ac,
    ac_interval,
    alpha,
    alpha_interval,
    counts_of,
    crossed,
    icc,
    kappa,
    observed,
)
from kgrade.audit.ratings import Graded, Tables

LEAST_ITEMS = 10
GOOD, TENTATIVE = 0.800, 0.667

Band = Literal["good", "tentative", "mend the sheet"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure over `n` items, with its 95 % interval; `why` says why there is no value."""

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


class OfCriterion(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement on one criterion; `items` were rated twice or more. Shares are 0 to 1."""

    rubric: str
    criterion: str
    items: int
    exact: Figure
    within_one: Figure
    alpha: Figure
    ac2: Figure
    band: Band | None


class OfGate(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement on whether a gate holds."""

    rubric: str
    gate: str
    items: int
    exact: Figure
    ac1: Figure


class OfPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two evaluators: quadratic weighted kappa over all criteria of one scale, and ICC(A,1) of their totals.

    `ahead` is the mean difference first - second, in levels.
    """

    first: str
    second: str
    items: int
    kappa: Figure
    icc: Figure
    ahead: float | None


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. Criteria come lowest agreement first, those without a coefficient last."""

    grades: int
    ratings: int
    evaluators: list[str]
    doubly_rated: int
    criteria: list[OfCriterion]
    gates: list[OfGate]
    pairs: list[OfPair]


def agreement(grades: Sequence[Graded], scales: Mapping[str, int]) -> Agreement:
    """Compute agreement; `scales` gives the highest level of each rubric, 4 where it is not known."""
    tables = Tables(grades)
    scores = tables.scores()
    criteria = [_criterion(key, table, scales.get(key[0], 4) + 1) for key, table in scores.items()]
    shown = tables.totals()
    return Agreement(
        grades=len(grades),
        ratings=sum(int((table >= 0).sum()) for table in scores.values()),
        evaluators=tables.evaluators,
        doubly_rated=int((_rated(grades, tables) >= 2).sum()),
        criteria=sorted(criteria, key=_lowest_first),
        gates=[_gate(key, table) for key, table in tables.gates().items()],
        pairs=[
            _pair(tables.evaluators, pair, scores, scales, shown) for pair in combinations(range(shown.shape[1]), 2)
        ],
    )


def band_of(value: float | None) -> Band | None:
    """Name the band of a coefficient; None where there is none."""
    if value is None:
        return None
    return "good" if value >= GOOD else "tentative" if value >= TENTATIVE else "mend the sheet"


def _criterion(key: tuple[str, str], table: Ratings, categories: int) -> OfCriterion:
    counts = counts_of(np.minimum(table, categories - 1), categories)
    items = int((counts.sum(axis=1) >= 2).sum())
    found = _coefficient(items, lambda: alpha(counts), lambda: alpha_interval(counts))
    return OfCriterion(
        rubric=key[0],
        criterion=key[1],
        items=items,
        exact=_figure(items, lambda: observed(counts)),
        within_one=_figure(items, lambda: observed(counts, 1)),
        alpha=found,
        ac2=_coefficient(items, lambda: ac(counts, "quadratic"), lambda: ac_interval(counts, "quadratic")),
        band=band_of(found.value),
    )


def _gate(key: tuple[str, str], table: Ratings) -> OfGate:
    counts = counts_of(table, 2)
    items = int((counts.sum(axis=1) >= 2).sum())
    return OfGate(
        rubric=key[0],
        gate=key[1],
        items=items,
        exact=_figure(items, lambda: observed(counts)),
        ac1=_coefficient(items, lambda: ac(counts), lambda: ac_interval(counts)),
    )


def _pair(
    evaluators: Sequence[str],
    pair: tuple[int, int],
    scores: Mapping[tuple[str, str], Ratings],
    scales: Mapping[str, int],
    shown: Array,
) -> OfPair:
    first, second = pair
    widest = max((scales.get(rubric, 4) for rubric, _ in scores), default=4) + 1
    cells = np.zeros((widest, widest))
    for (rubric, _), table in scores.items():
        if scales.get(rubric, 4) + 1 == widest:
            clipped = np.minimum(table[:, [first, second]], widest - 1)
            cells += crossed(clipped[:, 0], clipped[:, 1], widest)
    together = ~np.isnan(shown[:, [first, second]]).any(axis=1)
    items = int(together.sum())
    apart = np.subtract.outer(np.arange(widest), np.arange(widest))
    return OfPair(
        first=evaluators[first],
        second=evaluators[second],
        items=items,
        kappa=_coefficient(items, lambda: kappa(cells, "quadratic")[0], lambda: _normal(*kappa(cells, "quadratic"))),
        icc=_coefficient(items, lambda: icc(shown[together][:, [first, second]])["(A,1)"], None),
        ahead=float((cells * apart).sum() / cells.sum()) if cells.sum() else None,
    )


def _normal(value: float, error: float) -> tuple[float, float]:
    return max(value - 1.96 * error, -1.0), min(value + 1.96 * error, 1.0)


def _figure(n: int, compute: Callable[[], float]) -> Figure:
    try:
        return Figure(n=n, value=compute())
    except Undefined as why:
        return Figure(n=n, why=str(why))


def _coefficient(n: int, compute: Callable[[], float], interval: Callable[[], tuple[float, float]] | None) -> Figure:
    if n < LEAST_ITEMS:
        return Figure(n=n, why=f"{n} items rated twice; a coefficient needs {LEAST_ITEMS}")
    found = _figure(n, compute)
    if found.value is None or interval is None:
        return found
    try:
        low, high = interval()
    except Undefined:
        return found
    return msgspec.structs.replace(found, low=low, high=high)


def _rated(grades: Sequence[Graded], tables: Tables) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    row = {item: at for at, item in enumerate(tables.items)}
    return np.bincount([row[grade.item] for grade in grades], minlength=len(row))


def _lowest_first(of: OfCriterion) -> tuple[bool, float, str, str]:
    return of.alpha.value is None, of.alpha.value or 0.0, of.rubric, of.criterion
