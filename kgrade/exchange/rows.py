"""Grades and preferences as flat rows, for JSON Lines, CSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from kgrade.exchange.standing import Export, Graded
from kgrade.records.grade import Grade

APART = 10.0  # points; a smaller difference between two submissions is no preference

Row = dict[str, Any]


def grade_rows(found: Export, *, named: bool = True) -> Iterator[Row]:
    """Return one row for each grade; `named` tells who the authors are."""
    for item in found.items:
        for grade in item.grades:
            yield _grade_row(item, grade, named=named)


def preference_rows(found: Export) -> Iterator[Row]:
    """Return one row for each preference between two submissions of a task.

    A preference is an explicit comparison, or two grades of one evaluator under the same sheet whose points before
    gates are at least `APART` apart.
    """
    by_id = {str(item.id): item for item in found.items}
    for each in found.comparisons:
        if each.preferred != "neither":
            first, second = each.first.submission, each.second.submission
            better, worse = (first, second) if each.preferred == "first" else (second, first)
            yield {
                "task": each.task,
                "chosen": better,
                "rejected": worse,
                "evaluator": each.evaluator,
                "basis": "comparison",
                "reason": each.reason,
                "chosen_tree": (each.first if better == first else each.second).solution_tree,
                "rejected_tree": (each.second if better == first else each.first).solution_tree,
                "provenance": _both(by_id, each.task, better, worse),
            }
    for task, items in _by_task(found.items).items():
        for one, other in combinations(items, 2):
            yield from _by_points(task, one, other)


def as_jsonl(rows: Iterator[Row]) -> bytes:
    """Return `rows` as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows).encode()


def as_csv(rows: Iterator[Row]) -> bytes:
    """Return `rows` as CSV; lists and mappings inside are spread over columns or written as JSON.

    A cell that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    flat = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in flat)
    return text.getvalue().encode()


def as_parquet(rows: Iterator[Row]) -> bytes:
    """Return `rows` as Parquet; needs pyarrow."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    flat = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    table = arrow.table({name: [row.get(name) for row in flat] for name in names})
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def _grade_row(item: Graded, grade: Grade, *, named: bool) -> Row:
    decided = item.adjudication
    return {
        "item": grade.item,
        "task": item.id.task,
        "submission": item.id.submission,
        "type": item.task.type,
        "language": item.task.language,
        "author": item.submission.author if named and item.submission else None,
        "evaluator": grade.evaluator,
        "rubric": grade.rubric.id,
        "rubric_sha256": grade.rubric.sha256,
        "verdict": grade.verdict,
        "points": grade.points,
        "total": grade.total,
        "provenance": item.provenance,
        "adjudicated_verdict": decided.verdict if decided else None,
        "adjudicated_total": decided.total if decided else None,
        "scores": {name: score.score for name, score in grade.scores.items()},
        "comments": {name: score.comment for name, score in grade.scores.items() if score.comment},
        "gates": {name: answer.confirmed for name, answer in grade.gates.items()},
        "findings": {name: answer.disposition for name, answer in grade.findings.items()},
        "notes": [{"path": n.path, "lines": list(n.lines), "side": n.side, "text": n.text} for n in grade.comments],
        "feedback": grade.feedback,
        "task_tree": grade.about.task_tree,
        "solution_tree": grade.about.solution_tree,
        "opened": grade.times.opened,
        "saved": grade.times.saved,
        "active_s": grade.times.active_s,
    }


def _by_task(items: Sequence[Graded]) -> dict[str, list[Graded]]:
    found: dict[str, list[Graded]] = {}
    for item in items:
        if item.id.submission is not None:
            found.setdefault(item.id.task, []).append(item)
    return found


def _by_points(task: str, one: Graded, other: Graded) -> Iterator[Row]:
    theirs = {(grade.evaluator, grade.rubric.sha256): grade for grade in other.grades}
    for grade in one.grades:
        against = theirs.get((grade.evaluator, grade.rubric.sha256))
        if against is None or grade.points is None or against.points is None:
            continue
        if abs(grade.points - against.points) < APART or grade.about.task_tree != against.about.task_tree:
            continue
        better, worse = (grade, against) if grade.points > against.points else (against, grade)
        yield {
            "task": task,
            "chosen": better.item.partition("/")[2],
            "rejected": worse.item.partition("/")[2],
            "evaluator": grade.evaluator,
            "basis": "points",
            "reason": f"{better.points:g} against {worse.points:g} points under {grade.rubric.id}",
            "chosen_tree": better.about.solution_tree,
            "rejected_tree": worse.about.solution_tree,
            "provenance": _weaker(one.provenance, other.provenance),
        }


def _both(by_id: dict[str, Graded], task: str, better: str, worse: str) -> str:
    found = [by_id[name].provenance for name in (f"{task}/{better}", f"{task}/{worse}") if name in by_id]
    return _weaker(*found) if len(found) == 2 else "single"


def _weaker(one: str, other: str) -> str:
    order = ("unresolved", "imported", "single", "unanimous", "adjudicated")
    return min(one, other, key=order.index)


def _flat(row: Row) -> Row:
    """Spread a mapping of plain values over columns `name.key`; everything else that nests becomes JSON."""
    flat: Row = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": each for key, each in value.items()}
        else:
            flat[name] = json.dumps(value) if isinstance(value, list) else value
    return flat


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
