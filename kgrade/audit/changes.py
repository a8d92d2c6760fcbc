"""What changed in the grades of an item, an evaluator or a criterion: when, by whom, from what to what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from kgrade.audit import walk
from kgrade.records import codec
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade
from kgrade.repository.runner import GitError
from kgrade.repository.tree import TreeReader

_AT_ONCE = 256


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One save. `moved` holds what differs from the grade before: from and to, "-" for nothing."""

    when: str
    item: str
    evaluator: str
    author: str
    commit: str
    rubric: str
    took_s: int | None
    evidence: dict[str, str]
    moved: dict[str, tuple[str, str]]


def changes(
    reader: TreeReader,
    stand: Mapping[str, str],
    *,
    item: str | None = None,
    evaluator: str | None = None,
    criterion: str | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> list[Change]:
    """Return the saves of every grade, newest first; of one item, one evaluator, or that moved one criterion.

    `told` hears how far it is; what it raises ends the reading.
    """
    found = []
    told("walking the history")
    steps = walk.steps(reader.git, list(dict.fromkeys(stand.values())))
    for number, step in enumerate(steps):
        if number % _AT_ONCE == 0:
            told(f"reading saves, {number:,} of {len(steps):,}")
        for move in step.moves:
            if "/grades/" not in move.path or (evaluator and not move.path.endswith(f"/{evaluator}.yaml")):
                continue
            before, after = _read(reader, move.old, move.path), _read(reader, move.new, move.path)
            shown = after or before
            if shown is None or (item and shown.item != item):
                continue
            moved = dict(_moved(before, after))
            if criterion is None or criterion in moved:
                found.append(_change(step, shown, after, moved))
    return sorted(found, key=lambda change: change.when, reverse=True)


def _change(step: walk.Step, shown: Grade, after: Grade | None, moved: dict[str, tuple[str, str]]) -> Change:
    when = datetime.fromtimestamp(step.authored, UTC).isoformat().replace("+00:00", "Z")
    return Change(
        when=when,
        item=shown.item,
        evaluator=shown.evaluator,
        author=step.email,
        commit=step.commit,
        rubric=f"{shown.rubric.id}@{shown.rubric.sha256[:12]}",
        took_s=after.times.active_s if after else None,
        evidence=dict(shown.about.evidence),
        moved=moved,
    )


def _read(reader: TreeReader, blob: str | None, path: str) -> Grade | None:
    try:
        return codec.decode(Grade, reader.objects.object(blob)[1], path) if blob else None
    except (BadRecord, GitError):
        return None  # verification names it; a history has nothing to compare


def _moved(before: Grade | None, after: Grade | None) -> Iterator[tuple[str, tuple[str, str]]]:
    old, new = _values(before), _values(after)
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield name, (old.get(name, "-"), new.get(name, "-"))


def _values(grade: Grade | None) -> dict[str, str]:
    if grade is None:
        return {}
    levels = {name: "n/a" if score.na else str(score.score) for name, score in grade.scores.items()}
    gates = {name: "yes" if answer.confirmed else "no" for name, answer in grade.gates.items()}
    ends = {"verdict": grade.verdict or "-", "total": "-" if grade.total is None else f"{grade.total:g}"}
    return levels | gates | ends
