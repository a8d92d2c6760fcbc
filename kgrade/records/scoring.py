"""Points and totals of a sheet: decimal arithmetic, half-even, one digit.

Points = 100 x sum(weight x level / scale) / sum(weight) over the criteria that have a level. A confirmed gate acts on
the total only: fail, then cap, then points; `set`, `limit` and `na` change the levels that the total is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal

import msgspec

from kgrade.records.grade import GateAnswer, Score
from kgrade.records.rubric import Effect, Gate, Rubric

LEAST_SCORED = Decimal("0.70")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a sheet comes to. `missing` holds one sentence for each thing still wanted, with the place to go to."""

    points: float | None
    total: float | None
    fired: list[str]
    hold: bool
    missing: list[tuple[str, str]]


def score(
    rubric: Rubric,
    scores: Mapping[str, Score],
    gates: Mapping[str, GateAnswer],
    verdict: str | None,
    suggested: frozenset[str] = frozenset(),
) -> Result:
    """Compute the result of `scores` and `gates` under `rubric`; `suggested` are gates that evidence pre-fills."""
    fired = list(_fired(rubric, gates))
    effects = [effect for gate in fired for effect in gate.effects]
    imposed = {name for effect in effects for name in effect.na or ()}
    levels = {name: entry.score for name, entry in scores.items() if entry.score is not None and rubric.criterion(name)}
    return Result(
        points=_float(_points(rubric, levels)),
        total=_float(_total(rubric, levels, effects, imposed)),
        fired=[gate.id for gate in fired],
        hold=any(effect.hold for effect in effects),
        missing=list(_missing(rubric, scores, gates, verdict, imposed, suggested)),
    )


def _fired(rubric: Rubric, gates: Mapping[str, GateAnswer]) -> Iterator[Gate]:
    waiting = [name for name, answer in gates.items() if answer.confirmed]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        gate = rubric.gate(name)
        if gate is None or name in seen:
            continue
        seen.add(name)
        yield gate
        waiting += [effect.also for effect in gate.effects if effect.also is not None]


def _points(rubric: Rubric, levels: Mapping[str, int]) -> Decimal | None:
    scored = [criterion for criterion in rubric.criteria if criterion.id in levels]
    if not scored:
        return None
    weight = sum((_decimal(criterion.weight) for criterion in scored), Decimal(0))
    gained = sum((_decimal(criterion.weight) * levels[criterion.id] / rubric.scale for criterion in scored), Decimal(0))
    return 100 * gained / weight


def _total(rubric: Rubric, levels: Mapping[str, int], effects: list[Effect], imposed: set[str]) -> Decimal | None:
    if any(effect.fail for effect in effects):
        return Decimal(0)
    changed = {name: level for name, level in levels.items() if name not in imposed}
    for effect in effects:
        changed.update({name: level for name, level in (effect.set or {}).items() if name not in imposed})
    for effect in effects:
        for name, most in (effect.limit or {}).items():
            if name in changed:
                changed[name] = min(changed[name], most)
    total = _points(rubric, changed)
    caps = [_decimal(effect.cap) for effect in effects if effect.cap is not None]
    return total if total is None else min([total, *caps])


def _missing(
    rubric: Rubric,
    scores: Mapping[str, Score],
    gates: Mapping[str, GateAnswer],
    verdict: str | None,
    imposed: set[str],
    suggested: frozenset[str],
) -> Iterator[tuple[str, str]]:
    for criterion in rubric.criteria:
        entry = scores.get(criterion.id)
        if entry is None or (entry.score is None and not entry.na):
            if criterion.id not in imposed:
                yield criterion.id, f"{criterion.id} has no score"
        elif entry.na and not entry.comment.strip():
            yield criterion.id, f"{criterion.id} is not applicable without a reason"
        elif entry.score in criterion.comment_required_at and not entry.comment.strip():
            yield criterion.id, f"{criterion.id} at level {entry.score} needs a comment"
    for gate in rubric.gates:
        answer = gates.get(gate.id)
        if answer is None and gate.id in suggested:
            yield gate.id, f"the gate {gate.id} is suggested by the evidence and not answered"
        elif answer is not None and answer.confirmed and not answer.comment.strip():
            yield gate.id, f"the gate {gate.id} needs a comment"
    if verdict is None:
        yield "verdict", "no verdict"
    share = _scored_share(rubric, scores, imposed)
    if share < LEAST_SCORED and not any(entry is None for entry in (scores.get(c.id) for c in rubric.criteria)):
        yield "scores", f"only {share:.0%} of the weight is scored; at least {LEAST_SCORED:.0%} must be"


def _scored_share(rubric: Rubric, scores: Mapping[str, Score], imposed: set[str]) -> Decimal:
    wanted = [criterion for criterion in rubric.criteria if criterion.id not in imposed]
    weight = sum((_decimal(criterion.weight) for criterion in wanted), Decimal(0))
    scored = sum((_decimal(c.weight) for c in wanted if c.id in scores and scores[c.id].score is not None), Decimal(0))
    return scored / weight if weight else Decimal(1)


def _decimal(value: float) -> Decimal:
    return Decimal(repr(value))


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value.quantize(Decimal("0.1"), rounding=ROUND_HALF_EVEN))
