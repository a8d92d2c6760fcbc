"""Two sections of the audit's page: what was saved of each item, and when the queue will be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from html import escape
from itertools import accumulate

import msgspec

from kgrade.audit.changes import Change, changes
from kgrade.audit.coverage import PACE_DAYS, Coverage
from kgrade.audit.phrases import moves
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.grades import grade_branches
from kgrade.repository.tree import TreeReader

SAVES = 2000
"""Saves that the page lists, the newest ones: more would make it slow to open."""

_WIDTH, _HEIGHT = 800, 160
_DAYS_AHEAD = 365


def page_history(
    reader: TreeReader, queue: Branch, settings: Settings, told: Callable[[str], None] = lambda text: None
) -> list[Change]:
    """The saves that the page tells, newest first; in a blind queue without names, as the disagreements are."""
    found = changes(reader, grade_branches(queue, settings), told=told)
    if not settings.blind:
        return found
    return [msgspec.structs.replace(change, evaluator="hidden", author="hidden") for change in found]


def histories(found: Sequence[Change]) -> Iterator[str]:
    """The saves of each item, newest first: who, when, what changed, under which rubric and evidence."""
    by_item: dict[str, list[Change]] = {}
    for change in found[:SAVES]:
        by_item.setdefault(change.item, []).append(change)
    if len(found) > SAVES:
        yield f"<p>The newest {SAVES:,} of {len(found):,} saves; kgrade audit --history lists all of them.</p>"
    head = "".join(
        f"<th>{name}</th>" for name in ("saved", "evaluator", "author", "took", "changed", "rubric", "evidence")
    )
    for item in sorted(by_item):
        rows = "".join(_row(change) for change in by_item[item])
        yield f'<h3>{escape(item)}</h3><table class="history"><thead><tr>{head}</tr></thead>{rows}</table>'


def _row(change: Change) -> str:
    took = "" if change.took_s is None else f"{change.took_s} s"
    evidence = ", ".join(f"{target} {blob[:12]}" for target, blob in change.evidence.items())
    cells = {
        "saved": change.when,
        "evaluator": change.evaluator,
        "author": change.author,
        "took": took,
        "changed": moves(change),
        "rubric": change.rubric,
        "evidence": evidence,
    }
    return "<tr>" + "".join(f'<td class="{name}">{escape(cell)}</td>' for name, cell in cells.items()) + "</tr>"


def forecast(covered: Coverage) -> str:
    """Grades over the days, and the straight line on which the pace of the last days ends; "" before the first day.

    The line is left out where there is no pace, nothing is left, or the end is more than a year away.
    """
    if not covered.by_day:
        return ""
    today = date.fromisoformat(covered.as_of)
    first = min(date.fromisoformat(next(iter(covered.by_day))), today)
    ahead = covered.days_left if covered.days_left and covered.days_left <= _DAYS_AHEAD else None
    days = max((today - first).days + 1 + (ahead or 0), 1)
    end = covered.grades + covered.grades_left

    def x(day: float) -> float:
        return 40 + (_WIDTH - 60) * day / days

    def y(grades: float) -> float:
        return 10 + (_HEIGHT - 40) * (1 - grades / max(end, 1))

    counts = accumulate(covered.by_day.values())
    points = [(0.0, 0)] + [
        (float((date.fromisoformat(day) - first).days + 1), count) for day, count in zip(covered.by_day, counts)
    ]
    now = (today - first).days + 1
    path = " ".join(f"{x(day):.1f},{y(count):.1f}" for day, count in (*points, (now, points[-1][1])))
    parts = [f'<polyline class="line" points="{path}"/>']
    parts.append(f'<line class="grid" x1="40" x2="{_WIDTH - 20}" y1="{y(end):.1f}" y2="{y(end):.1f}"/>')
    parts.append(f'<text class="soft" x="0" y="{y(end) + 4:.1f}">{end}</text>')
    parts.append(f'<text class="soft" x="40" y="{_HEIGHT - 6}">{first.isoformat()}</text>')
    if ahead is None:
        parts.append(f'<text class="soft" x="{x(now):.1f}" y="{_HEIGHT - 6}" text-anchor="end">{today}</text>')
    else:
        line = f'x1="{x(now):.1f}" x2="{x(now + ahead):.1f}" y1="{y(points[-1][1]):.1f}" y2="{y(end):.1f}"'
        parts.append(f'<line class="line ahead" {line}/>')
        last = (today + timedelta(days=round(ahead))).isoformat()
        parts.append(f'<text class="soft" x="{_WIDTH - 20}" y="{_HEIGHT - 6}" text-anchor="end">{last}</text>')
    label = f"grades by day, and when the queue is done at the pace of the last {PACE_DAYS} days"
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" aria-label="{label}">{"".join(parts)}</svg>'
