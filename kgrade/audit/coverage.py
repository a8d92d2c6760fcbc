"""How much of the queue is graded, how fast that goes, and when it will be done at that pace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from kgrade.audit.ratings import Graded
from kgrade.records.slugs import ItemId, is_foreign
from kgrade.repository.plan import Plan
from kgrade.repository.tree import Snapshot

PACE_DAYS = 7


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """`items` counts submissions that are not retired; `finished` those with all the grades that the plan asks of them.

    `wanted` counts the grades that are asked for in all; `days_left` needs a pace. `by_day` counts the grades of each
    day on which any was saved (ISO 8601, UTC), oldest first, and `as_of` is the day of the counting.
    """

    items: int
    graded: int
    finished: int
    wanted: int
    grades: int
    grades_left: int
    per_day: float
    days_left: float | None
    by_evaluator: dict[str, int]
    by_day: dict[str, int]
    as_of: str


def coverage(snapshot: Snapshot, grades: Sequence[Graded], plan: Plan, now: datetime | None = None) -> Coverage:
    """Count; the pace is that of the last `PACE_DAYS` days up to `now`. Verdicts from elsewhere grade nothing here."""
    grades = [grade for grade in grades if not is_foreign(grade.evaluator)]
    every = (ItemId(task, name) for task in snapshot.tasks() for name in snapshot.submissions(task))
    wanted = {str(item): plan.graders(item) for item in every if not plan.is_retired(item)}
    of_item = Counter(grade.item for grade in grades)
    left = sum(max(count - of_item[item], 0) for item, count in wanted.items())
    now = now or datetime.now(UTC)
    since = now - timedelta(days=PACE_DAYS)
    moments = [_when(grade.saved) for grade in grades]
    recent = sum(moment >= since for moment in moments)
    pace = recent / PACE_DAYS
    return Coverage(
        items=len(wanted),
        graded=sum(of_item[item] > 0 for item in wanted),
        finished=sum(of_item[item] >= count for item, count in wanted.items()),
        wanted=sum(wanted.values()),
        grades=len(grades),
        grades_left=left,
        per_day=pace,
        days_left=left / pace if pace else None,
        by_evaluator=dict(sorted(Counter(grade.evaluator for grade in grades).items())),
        by_day=dict(sorted(Counter(_day(moment) for moment in moments if moment.year > 1).items())),
        as_of=_day(now),
    )


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def _when(saved: str) -> datetime:
    try:
        found = datetime.fromisoformat(saved)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
