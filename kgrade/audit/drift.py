"""How each evaluator stands to the others: severity, drift, time, and grades that look rushed or copied.

Differences are in levels of the scale, this evaluator less the mean of the others on the same item and criterion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np

from kgrade.audit.ratings import Graded
from kgrade.records.slugs import is_foreign

RECENT = 20  # items over which drift is told
RUSHED = 0.25  # of the median time that others took for items of the same rubric
LEAST_TIMED = 5


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluator. `severity` and `recent` need items that others graded too, `to_gold` known levels.

    `golden` counts their grades of items with known levels; `to_gold` is over the last 20 of those.
    """

    evaluator: str
    grades: int
    shared: int
    severity: float | None
    recent: float | None
    golden: int
    to_gold: float | None
    median_s: float | None


class Suspicion(msgspec.Struct, frozen=True, kw_only=True):
    """A grade that wants a look, and why, in one sentence."""

    item: str
    evaluator: str
    kind: str
    why: str


def standings(grades: Sequence[Graded], gold: Mapping[str, Mapping[str, int]]) -> list[Standing]:
    """Tell each evaluator's place; `gold` maps items to the levels that are known to be right."""
    of_item = _by_item(grades)
    return [_standing(name, own, of_item, gold) for name, own in sorted(_by_evaluator(grades).items())]


def suspicions(grades: Sequence[Graded]) -> list[Suspicion]:
    """Name grades saved much faster than others of their rubric, and pairs with the same levels in the same words."""
    return [*_rushed(grades), *_copied(grades)]


def _standing(
    name: str,
    own: Sequence[Graded],
    of_item: Mapping[str, Sequence[Graded]],
    gold: Mapping[str, Mapping[str, int]],
) -> Standing:
    in_time = sorted(own, key=lambda each: each.saved)
    shared = [_ahead_of_peers(grade, of_item[grade.item]) for grade in in_time]
    apart = [difference for difference in shared if difference is not None]
    golden = [_ahead(grade.scores, gold[grade.item]) for grade in in_time if grade.item in gold]
    known = [difference for difference in golden if difference is not None]
    times = [grade.active_s for grade in own if grade.active_s > 0]
    return Standing(
        evaluator=name,
        grades=len(own),
        shared=len(apart),
        severity=_mean(apart),
        recent=_mean(apart[-RECENT:]),
        golden=len(known),
        to_gold=_mean(known[-RECENT:]),
        median_s=float(np.median(times)) if times else None,
    )


def _ahead_of_peers(grade: Graded, on_item: Sequence[Graded]) -> float | None:
    peers = [each for each in on_item if each.evaluator != grade.evaluator and each.rubric == grade.rubric]
    means: dict[str, float] = {}
    for name in grade.scores:
        levels = [level for each in peers if (level := each.scores.get(name)) is not None]
        if levels:
            means[name] = sum(levels) / len(levels)
    return _ahead(grade.scores, means)


def _ahead(scores: Mapping[str, int | None], of: Mapping[str, float]) -> float | None:
    return _mean([level - of[name] for name, level in scores.items() if level is not None and name in of])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _rushed(grades: Sequence[Graded]) -> list[Suspicion]:
    times: dict[str, list[int]] = {}
    for grade in grades:
        if grade.active_s > 0:
            times.setdefault(grade.rubric, []).append(grade.active_s)
    usual = {rubric: float(np.median(each)) for rubric, each in times.items() if len(each) >= LEAST_TIMED}
    return [
        Suspicion(
            item=grade.item,
            evaluator=grade.evaluator,
            kind="rushed",
            why=f"graded in {grade.active_s} s; the median for {grade.rubric} is {usual[grade.rubric]:.0f} s",
        )
        for grade in grades
        if grade.rubric in usual and not is_foreign(grade.evaluator) and grade.active_s < RUSHED * usual[grade.rubric]
    ]


def _copied(grades: Sequence[Graded]) -> list[Suspicion]:
    found = []
    for item, on_item in sorted(_by_item(grades).items()):
        for first, second in combinations(sorted(on_item, key=lambda each: each.saved), 2):
            if first.words and first.words == second.words and first.scores == second.scores:
                why = f"the same levels in the same words as {first.evaluator}'s, saved {first.saved}"
                found.append(Suspicion(item=item, evaluator=second.evaluator, kind="copied", why=why))
    return found


def _by_item(grades: Sequence[Graded]) -> dict[str, list[Graded]]:
    found: dict[str, list[Graded]] = {}
    for grade in grades:
        found.setdefault(grade.item, []).append(grade)
    return found


def _by_evaluator(grades: Sequence[Graded]) -> dict[str, list[Graded]]:
    found: dict[str, list[Graded]] = {}
    for grade in grades:
        found.setdefault(grade.evaluator, []).append(grade)
    return found
