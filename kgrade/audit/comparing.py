"""Two submissions of a task side by side, and a preference between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from kgrade.audit.lead import LeadError, Office, now
from kgrade.records import codec
from kgrade.records.comparison import Compared, Comparison
from kgrade.records.evidence import STAGES, Case, Evidence
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId
from kgrade.repository.branches import Saved
from kgrade.repository.commits import Change
from kgrade.repository.grades import grade_branches, standing
from kgrade.repository.opening import Signature
from kgrade.repository.runner import GitError
from kgrade.repository.tree import Snapshot


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two: its files, its evidence by target, and its grades by evaluator."""

    id: ItemId
    solution_tree: str
    files: dict[str, bytes]
    evidence: dict[str, Evidence]
    grades: dict[str, Grade]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two submissions of one task, in the order of their names."""

    task: str
    task_tree: str
    first: Side
    second: Side


def open_pair(office: Office, one: ItemId, other: ItemId) -> Pair:
    """Read both; raise LeadError unless they are two submissions of one task that are there."""
    if one.submission is None or other.submission is None or one.task != other.task or one == other:
        raise LeadError(f"{one} and {other} cannot be compared; expected two submissions of one task")
    snapshot = office.snapshot()
    first, second = sorted((one, other))
    stand = standing(office.reader, grade_branches(office.queue, office.settings))
    return Pair(
        task=one.task,
        task_tree=snapshot.task_tree(one.task),
        first=_side(office, snapshot, first, stand),
        second=_side(office, snapshot, second, stand),
    )


def blinded(pair: Pair, evaluator: str) -> Pair:
    """The pair as a blind queue shows it to `evaluator`: others' grades once one's own stands, and without names."""
    names = sorted({*pair.first.grades, *pair.second.grades} - {evaluator})
    shown = {name: f"grader {chr(65 + at % 26)}" for at, name in enumerate(names)} | {evaluator: evaluator}

    def side(of: Side) -> Side:
        grades = {shown[who]: grade for who, grade in of.grades.items()} if evaluator in of.grades else {}
        return msgspec.structs.replace(of, grades=grades)

    return msgspec.structs.replace(pair, first=side(pair.first), second=side(pair.second))


def earlier(office: Office, pair: Pair, evaluator: str) -> Comparison | None:
    """What `evaluator` said of the pair before, if that stands and can be read."""
    names = f"{pair.first.id.submission}--{pair.second.id.submission}"
    path = f"queue/{pair.task}/comparisons/{evaluator}/{names}.yaml"
    snapshot = office.snapshot()
    try:
        return codec.decode(Comparison, snapshot.read(path), path) if snapshot.entry(path) else None
    except (BadRecord, GitError):
        return None  # kgrade check names it; a new one takes its place


def rows(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """Yield what there is to compare, line by line: stages of each target, times, verdicts and totals."""
    for target in sorted(pair.first.evidence | pair.second.evidence):
        for stage in STAGES:
            both = [_stage(side.evidence.get(target), stage) for side in (pair.first, pair.second)]
            if set(both) != {"-"}:
                yield f"{target} {stage}", both[0], both[1]
        yield from _times(pair, target)
    for who in sorted(pair.first.grades | pair.second.grades):
        yield f"{who}'s grade", _word(pair.first.grades.get(who)), _word(pair.second.grades.get(who))


def prefer(
    office: Office,
    pair: Pair,
    by: Signature,
    evaluator: str,
    preferred: Literal["first", "second", "neither"],
    reason: str,
) -> tuple[Saved, Comparison]:
    """Commit a preference; an earlier one of the same evaluator is replaced, and stays in history."""
    if not reason.strip():
        raise LeadError("a preference needs its reason, in a sentence")
    made = Comparison(
        task=pair.task,
        evaluator=evaluator,
        task_tree=pair.task_tree,
        first=Compared(submission=pair.first.id.submission or "", solution_tree=pair.first.solution_tree),
        second=Compared(submission=pair.second.id.submission or "", solution_tree=pair.second.solution_tree),
        preferred=preferred,
        reason=reason,
        compared=now(),
    )
    entry = office.snapshot().entry(made.path)
    subject = f"compare: {pair.first.id} {preferred} {pair.second.id} ({evaluator})"
    change = Change(made.path, codec.encode_yaml(made), entry.oid if entry else None)
    return office.commit(change, subject, {"Task": pair.task}, by), made


def _side(office: Office, snapshot: Snapshot, item: ItemId, stand: dict[str, str]) -> Side:
    if snapshot.entry(f"{item.folder}/solution") is None:
        raise LeadError(f"there is no submission {item} in this queue; kgrade list shows what there is")
    walked = snapshot.walk(f"{item.folder}/solution")
    names = [path for path, entry in walked if entry.kind == "file" and not entry.fault]
    evidence, grades = {}, {}
    for entry in snapshot.list(f"{item.folder}/evidence"):
        target, mark, kind = entry.name.rpartition(".")
        if mark and kind == "json":
            found = _evidence(snapshot, f"{item.folder}/evidence/{entry.name}")
            if found is not None:
                evidence[target] = found
    for path, blob in stand.items():
        if path.startswith(f"{item.folder}/grades/"):
            try:
                grade = codec.decode(Grade, office.reader.objects.object(blob)[1], path)
            except (BadRecord, GitError):
                continue  # kgrade check names it; what cannot be read cannot be compared
            grades[grade.evaluator] = grade
    return Side(
        id=item,
        solution_tree=snapshot.solution_tree(item),
        files={path.removeprefix(f"{item.folder}/solution/"): snapshot.read(path) for path in names},
        evidence=evidence,
        grades=grades,
    )


def _evidence(snapshot: Snapshot, path: str) -> Evidence | None:
    try:
        return codec.decode(Evidence, snapshot.read(path), path)
    except (BadRecord, GitError):
        return None  # as above


def _stage(evidence: Evidence | None, stage: str) -> str:
    return "-" if evidence is None else evidence.state(stage)


def _times(pair: Pair, target: str) -> Iterator[tuple[str, str, str]]:
    """The median time of each benchmark case that both ran, in microseconds."""
    both = [side.evidence.get(target) for side in (pair.first, pair.second)]
    found: list[dict[str, str]] = []
    for evidence in both:
        stage = evidence.stages.time if evidence else None
        cases = stage.cases if stage else []
        found.append({_case(case.case): f"{case.candidate.median_us:.1f} us" for case in cases if case.candidate})
    for name in dict.fromkeys([*found[0], *found[1]]):
        yield f"{target} time {name}", found[0].get(name, "-"), found[1].get(name, "-")


def _case(case: Case) -> str:
    return " ".join([*(f"{name}={value}" for name, value in case.symbols.items()), case.dtype])


def _word(grade: Grade | None) -> str:
    if grade is None:
        return "-"
    return f"{grade.verdict or '-'} {'-' if grade.total is None else f'{grade.total:g}'}"
