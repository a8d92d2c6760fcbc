"""Where grades differ: the case laid out criterion by criterion, and a lead's decision of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kgrade.audit.lead import LeadError, Office, now
from kgrade.records import codec, scoring
from kgrade.records.adjudication import Adjudication, Cause
from kgrade.records.grade import GateAnswer, Grade, Score, SheetRef
from kgrade.records.rubric import Rubric, Verdict, sheet_sha256
from kgrade.records.slugs import ItemId
from kgrade.records.task import Task
from kgrade.repository.branches import Saved
from kgrade.repository.commits import Change
from kgrade.repository.grades import grade_branches, standing
from kgrade.repository.opening import Signature
from kgrade.repository.tree import Snapshot

REVIEW_RUBRIC = "task-review"
PSEUDONYMS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Undecided(LeadError):
    """A decision that lacks something; the sentence says what."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One criterion or gate: what each grader said, in the order of `Case.graders`; None for nothing said."""

    id: str
    title: str
    levels: list[int | None]
    comments: list[str]

    @property
    def gap(self) -> int:
        """How far the levels lie apart."""
        given = [level for level in self.levels if level is not None]
        return max(given) - min(given) if given else 0


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One item with all its grades; `criteria` come widest gap first. `graders` are pseudonyms in a blind queue."""

    item: ItemId
    title: str
    rubric_id: str
    rubric: Rubric
    sheet: str
    graders: list[str]
    grades: list[Grade]
    blobs: dict[str, str]
    criteria: list[Line]
    gates: list[Line]
    decided: Adjudication | None
    decided_blob: str | None
    moved: list[str]


def open_case(office: Office, item: ItemId) -> Case:
    """Lay out the grades of `item`; raise Undecided where there is none, BadRecord where one cannot be read."""
    snapshot = office.snapshot()
    blobs = {
        path.rpartition("/")[2].removesuffix(".yaml"): blob
        for path, blob in standing(office.reader, grade_branches(office.queue, office.settings)).items()
        if path.startswith(f"{item.folder}/grades/")
    }
    if not blobs:
        raise Undecided(
            f"{item} has no grade, so there is nothing to adjudicate; kgrade adjudicate lists what there is"
        )
    read = {who: _grade(office, item, who, blob) for who, blob in sorted(blobs.items())}
    grades = list(read.values())
    graders = [PSEUDONYMS[at % 26] for at in range(len(read))] if office.settings.blind else list(read)
    task = codec.decode(Task, snapshot.read(f"queue/{item.task}/task.yaml"), f"queue/{item.task}/task.yaml")
    rubric_id = task.rubric if item.submission else REVIEW_RUBRIC
    sheet = snapshot.read(f"rubrics/{rubric_id}.yaml")
    rubric = codec.decode(Rubric, sheet, f"rubrics/{rubric_id}.yaml")
    path = f"{item.folder}/adjudication.yaml"
    entry = snapshot.entry(path)
    criteria = [_criterion(each.id, each.title, grades) for each in rubric.criteria]
    return Case(
        item=item,
        title=task.title,
        rubric_id=rubric_id,
        rubric=rubric,
        sheet=sheet_sha256(sheet),
        graders=graders,
        grades=grades,
        blobs=blobs,
        criteria=sorted(criteria, key=lambda line: -line.gap),
        gates=[_gate(each.id, each.title, grades) for each in rubric.gates if any(each.id in g.gates for g in grades)],
        decided=codec.decode(Adjudication, snapshot.read(path), path) if entry else None,
        decided_blob=entry.oid if entry else None,
        moved=_moved(snapshot, item, dict(zip(graders, grades, strict=True)), sheet_sha256(sheet)),
    )


def total_of(case: Case, levels: Mapping[str, int], gates: Mapping[str, bool] | None = None) -> float | None:
    """Compute the total of the levels on which all agree, of those in `levels`, and of the gates that hold.

    A gate holds where `gates` says so, else where all confirmed it.
    """
    final = agreed(case) | dict(levels)
    scores = {name: Score(score=level) for name, level in final.items()}
    by_all = {line.id: bool(line.levels) and all(level == 1 for level in line.levels) for line in case.gates}
    held = [name for name, holds in (by_all | dict(gates or {})).items() if holds]
    answers = {name: GateAnswer(confirmed=True, comment="by the lead") for name in held}
    return scoring.score(case.rubric, scores, answers, None).total


def agreed(case: Case) -> dict[str, int]:
    """The criteria on which everyone gave the same level."""
    return {
        line.id: line.levels[0] for line in case.criteria if line.levels[0] is not None and len(set(line.levels)) == 1
    }


def decide(
    office: Office,
    case: Case,
    by: Signature,
    lead: str,
    *,
    verdict: Verdict,
    cause: Cause,
    reason: str,
    levels: Mapping[str, int],
    total: float | None = None,
    gates: Mapping[str, bool] | None = None,
) -> tuple[Saved, Adjudication]:
    """Commit a lead's decision; raise NotALead, Undecided, or CollisionError where somebody decided meanwhile.

    `gates` settles whether gates hold on which the grades differ; without it they need `total`.
    """
    office.admit(lead)
    _check(case, verdict, levels, reason)
    open_ones = [line.id for line in case.criteria if line.gap and line.id not in levels]
    if total is None and open_ones:
        raise Undecided(f"the levels of {', '.join(open_ones)} differ and are not settled; give each, or the total")
    settled = gates or {}
    open_gates = [line.id for line in case.gates if len(set(line.levels)) > 1 and line.id not in settled]
    if total is None and open_gates:
        raise Undecided(
            f"whether {', '.join(open_gates)} holds is not agreed; give the total that follows from your decision"
        )
    found = total_of(case, levels, settled) if total is None else total
    if found is None:
        raise Undecided("no criterion has a level; give the total")
    decision = Adjudication(
        item=str(case.item),
        lead=lead,
        decided=now(),
        rubric=SheetRef(id=case.rubric_id, sha256=case.sheet),
        grades=dict(sorted(case.blobs.items())),
        verdict=verdict,
        total=found,
        cause=cause,
        reason=reason,
        scores=dict(levels),
    )
    change = Change(f"{case.item.folder}/adjudication.yaml", codec.encode_yaml(decision), case.decided_blob)
    subject = f"adjudicate: {case.item} {verdict} {found:g} ({lead})"
    saved = office.commit(change, subject, {"Item": str(case.item), "Cause": cause}, by)
    return saved, decision


def _check(case: Case, verdict: str, levels: Mapping[str, int], reason: str) -> None:
    if verdict not in case.rubric.verdicts:
        raise Undecided(f"{verdict!r} is no verdict of {case.rubric_id}; expected {', '.join(case.rubric.verdicts)}")
    for name, level in levels.items():
        if case.rubric.criterion(name) is None:
            known = ", ".join(criterion.id for criterion in case.rubric.criteria)
            raise Undecided(f"{case.rubric_id} has no criterion {name!r}; expected one of {known}")
        if not 0 <= level <= case.rubric.scale:
            raise Undecided(f"the level {level} of {name} is outside 0 to {case.rubric.scale}")
    if not reason.strip():
        raise Undecided("a decision needs its reason, in a sentence that the evaluators will read")


def _grade(office: Office, item: ItemId, who: str, blob: str) -> Grade:
    return codec.decode(Grade, office.reader.objects.object(blob)[1], item.grade_path(who))


def _criterion(name: str, title: str, grades: Sequence[Grade]) -> Line:
    given = [grade.scores.get(name) for grade in grades]
    return Line(
        id=name,
        title=title,
        levels=[score.score if score else None for score in given],
        comments=[score.comment if score else "" for score in given],
    )


def _gate(name: str, title: str, grades: Sequence[Grade]) -> Line:
    given = [grade.gates.get(name) for grade in grades]
    return Line(
        id=name,
        title=title,
        levels=[int(answer.confirmed) if answer else 0 for answer in given],
        comments=[answer.comment if answer else "" for answer in given],
    )


def _moved(snapshot: Snapshot, item: ItemId, grades: Mapping[str, Grade], sheet: str) -> list[str]:
    """What stands otherwise now than when some grade was given: such grades want a look before they are weighed."""
    moved = set()
    trees = snapshot.task_tree(item.task), snapshot.solution_tree(item) if item.submission else None
    for grader, grade in grades.items():
        if grade.about.task_tree != trees[0]:
            moved.add(f"{grader} judged another version of the task")
        if grade.about.solution_tree != trees[1]:
            moved.add(f"{grader} judged another version of the submission")
        if grade.rubric.sha256 != sheet:
            moved.add(f"{grader} scored under another version of the sheet")
    return sorted(moved)
