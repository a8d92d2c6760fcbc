"""The whole audit of a queue in one record: what the command prints, the page shows and the screen reads."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kgrade.audit.agreement import Agreement, agreement
from kgrade.audit.coverage import Coverage, coverage
from kgrade.audit.drift import Standing, Suspicion, standings, suspicions
from kgrade.audit.findings import is_shallow
from kgrade.audit.gold import golden
from kgrade.audit.ratings import Graded
from kgrade.audit.reading import scales, standing_grades
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.grades import grade_branches
from kgrade.repository.opening import queue_snapshot
from kgrade.repository.plan import plan_of
from kgrade.repository.tree import TreeReader


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """An item on which grades differ: the widest gap in levels, where, and how far totals and verdicts part.

    In a blind queue `evaluators` is empty: who decides between the grades is not told whose they are.
    """

    item: str
    evaluators: list[str]
    gap: int
    criterion: str
    totals: list[float]
    verdicts: list[str]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The audit. `faults` are grades that cannot be read, `shallow` says that history was cut off."""

    agreement: Agreement
    coverage: Coverage
    standings: list[Standing]
    suspicions: list[Suspicion]
    disagreements: list[Disagreement]
    faults: list[str]
    shallow: bool


def overview(
    reader: TreeReader, queue: Branch, settings: Settings, told: Callable[[str], None] = lambda text: None
) -> Overview:
    """Read every grade of the queue as this clone has it, and compute all of it; `told` hears how far it is."""
    snapshot = queue_snapshot(queue)
    told("looking for grades")
    standing = standing_grades(reader, grade_branches(queue, settings), told)
    told(f"computing agreement over {len(standing.grades):,} grades")
    return Overview(
        agreement=agreement(standing.grades, scales(snapshot)),
        coverage=coverage(snapshot, standing.grades, plan_of(snapshot, settings)),
        standings=standings(standing.grades, {known.item: known.levels for known in golden(reader)}),
        suspicions=suspicions(standing.grades),
        disagreements=[
            msgspec.structs.replace(each, evaluators=[]) if settings.blind else each
            for each in disagreements(standing.grades)
        ],
        faults=standing.faults,
        shallow=is_shallow(reader.git),
    )


def blinded(found: Overview) -> Overview:
    """What a blind queue shows of `found` to those who do not lead it: figures of the whole, and nobody's own."""
    unreadable = f"{len(found.faults)} grades cannot be read; a lead sees which"
    return Overview(
        agreement=msgspec.structs.replace(found.agreement, evaluators=[], pairs=[]),
        coverage=msgspec.structs.replace(found.coverage, by_evaluator={}),
        standings=[],
        suspicions=[],
        disagreements=[],
        faults=[unreadable] if found.faults else [],
        shallow=found.shallow,
    )


def disagreements(grades: list[Graded]) -> list[Disagreement]:
    """The items on which levels or verdicts differ, the widest gap first."""
    by_item: dict[str, list[Graded]] = {}
    for grade in grades:
        by_item.setdefault(grade.item, []).append(grade)
    found = [_disagreement(item, on_item) for item, on_item in by_item.items() if len(on_item) > 1]
    apart = [each for each in found if each.gap > 0 or len(set(each.verdicts)) > 1]
    return sorted(apart, key=lambda each: (-each.gap, -_spread(each.totals), each.item))


def _disagreement(item: str, on_item: list[Graded]) -> Disagreement:
    gaps = {}
    for name in dict.fromkeys(name for grade in on_item for name in grade.scores):
        levels = [level for grade in on_item if (level := grade.scores.get(name)) is not None]
        gaps[name] = max(levels) - min(levels) if levels else 0
    widest = max(gaps, key=lambda name: gaps[name], default="")
    return Disagreement(
        item=item,
        evaluators=[grade.evaluator for grade in on_item],
        gap=gaps.get(widest, 0),
        criterion=widest,
        totals=[grade.total for grade in on_item if grade.total is not None],
        verdicts=[grade.verdict or "-" for grade in on_item],
    )


def _spread(totals: list[float]) -> float:
    return max(totals) - min(totals) if totals else 0.0
