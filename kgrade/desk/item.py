"""Everything there is to show of one item, read at one commit. Text is raw here: the screen neutralises it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import msgspec

from kgrade.desk.anchors import OldNote, find_again
from kgrade.desk.suggestions import suggested_gates
from kgrade.records import codec
from kgrade.records.base import Record
from kgrade.records.evidence import Build, Evidence, Profiling
from kgrade.records.faults import BadRecord, Fault
from kgrade.records.grade import About, Grade, SheetRef
from kgrade.records.rubric import Rubric, sheet_sha256
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.repository.objects import TooLargeError
from kgrade.repository.runner import GitError
from kgrade.repository.spool import Spool
from kgrade.repository.tree import Snapshot

REVIEW_RUBRIC = "task-review"
LARGEST_FILE = 64 * 1024 * 1024
LARGEST_LOG = 1024 * 1024
"""Bytes up to which a log is read with its item; of a larger one only what is looked at."""

_OWN_FOLDERS = ("submissions/", "evidence/", "grades/")
R = TypeVar("R", bound=Record)


class EvidenceFile(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence for one target. `stale`: it was collected on other bytes than those that stand there now.

    A log is there as its bytes, or, where it is large, as a spool that brings them when somebody looks.
    """

    evidence: Evidence
    stale: bool
    blob: str
    logs: dict[str, bytes | Spool]


class GradeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluator's grade as it stands."""

    evaluator: str
    grade: Grade


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One commit that touched the item. `when` is RFC 3339, `changed` the paths below the item's folder."""

    commit: str
    when: str
    who: str
    what: str
    changed: list[str]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One item with all that belongs to it. Paths in `files` and `solution` are relative to their folders."""

    id: ItemId
    task: Task
    submission: Submission | None
    rubric: Rubric
    rubric_ref: SheetRef
    about: About
    prompt: str
    files: dict[str, bytes]
    solution: dict[str, bytes]
    bases: dict[str, dict[str, bytes]]
    evidence: dict[str, EvidenceFile]
    grades: list[GradeEntry]
    previous: Grade | None
    notes_before: list[OldNote]
    suggestions: dict[str, str]
    faults: list[Fault]
    start: Build | None = None
    start_profiles: dict[str, Profiling] = {}

    @property
    def note_files(self) -> dict[str, bytes]:
        """The files that line notes can stand on, by the paths that notes use."""
        return self.files if self.submission is None else _under_solution(self.solution)

    def fresh_evidence(self) -> dict[str, Evidence]:
        """Evidence by target, without what is stale."""
        return {target: each.evidence for target, each in self.evidence.items() if not each.stale}


def load_item(
    snapshot: Snapshot,
    item: ItemId,
    evaluator: str,
    *,
    blind: bool = False,
    grades_in: Sequence[Snapshot] = (),
) -> Item:
    """Read `item` at `snapshot`; raise BadRecord when its task, submission or rubric cannot be read.

    Other faults (a grade or evidence file that does not parse) are listed in `faults` and the rest goes on.
    `blind` leaves out the author's name, and others' grades until one's own stands there. `grades_in` are further
    commits that hold grades; where several hold an evaluator's, the last one counts.
    """
    faults: list[Fault] = []
    task = _record(snapshot, Task, f"queue/{item.task}/task.yaml")
    submission = _submission(snapshot, item)
    if submission is not None and blind:
        submission = msgspec.structs.replace(submission, author="hidden")
    rubric_id = REVIEW_RUBRIC if item.submission is None else task.rubric
    rubric_path = f"rubrics/{rubric_id}.yaml"
    rubric = _record(snapshot, Rubric, rubric_path)
    files = _files(snapshot, f"queue/{item.task}", faults, skip=_OWN_FOLDERS)
    solution = _files(snapshot, f"{item.folder}/solution", faults) if submission is not None else {}
    about = _about(snapshot, item)
    evidence = _evidence(snapshot, item, about, faults)
    about = msgspec.structs.replace(about, evidence={target: each.blob for target, each in evidence.items()})
    grades = _grades([snapshot, *grades_in], item, faults)
    previous = _previous_grade(snapshot, item, submission, evaluator, faults)
    shows_others = not blind or any(entry.evaluator == evaluator for entry in grades)
    missing = _missing(item, files, solution, faults)
    fresh = {target: each.evidence for target, each in evidence.items() if not each.stale}
    about_task = _evidence_of_task(snapshot, item) if submission is not None else {}
    return Item(
        id=item,
        task=task,
        submission=submission,
        rubric=rubric,
        rubric_ref=SheetRef(id=rubric_id, sha256=sheet_sha256(snapshot.read(rubric_path))),
        about=about,
        prompt=files.get("prompt.md", b"").decode("utf-8", "replace"),
        files=files,
        solution=solution,
        bases=dict(_bases(snapshot, item, task, submission, files, faults)),
        evidence=evidence,
        grades=[entry for entry in grades if shows_others or entry.evaluator == evaluator],
        previous=previous,
        notes_before=find_again(previous.comments, _under_solution(solution), files) if previous else [],
        suggestions=suggested_gates(rubric, task, fresh, missing),
        faults=[fault for fault in faults if shows_others or "/grades/" not in fault.path],
        start=next((each.stages.build for each in about_task.values() if each.stages.build.kernels), None),
        start_profiles={
            target: each.stages.profile for target, each in about_task.items() if each.stages.profile.profiles
        },
    )


def _evidence_of_task(snapshot: Snapshot, item: ItemId) -> dict[str, Evidence]:
    """The task's own evidence by target, where it is about the bytes that stand there: what its start costs."""
    review = ItemId(item.task)
    found = _evidence(snapshot, review, _about(snapshot, review), [])
    return {target: each.evidence for target, each in found.items() if not each.stale}


def _under_solution(solution: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"solution/{path}": data for path, data in solution.items()}


def about_now(snapshot: Snapshot, item: ItemId) -> About:
    """The tree ids of the item's bytes and its evidence files' blob ids, as they stand at `snapshot`."""
    about = _about(snapshot, item)
    evidence = {
        entry.name.removesuffix(".json"): entry.oid
        for entry in snapshot.list(f"{item.folder}/evidence")
        if entry.kind == "file" and not entry.fault and entry.name.endswith(".json")
    }
    return msgspec.structs.replace(about, evidence=evidence)


def evidence_now(snapshot: Snapshot, item: ItemId) -> dict[str, str]:
    """The blob ids of those evidence files at `snapshot` that can be read, by target: what is shown of the item."""
    return {target: each.blob for target, each in _evidence(snapshot, item, _about(snapshot, item), []).items()}


def _about(snapshot: Snapshot, item: ItemId) -> About:
    solution = snapshot.entry(f"{item.folder}/solution") if item.submission else None
    return About(task_tree=snapshot.task_tree(item.task), solution_tree=solution.oid if solution else None)


def _record(snapshot: Snapshot, kind: type[R], path: str) -> R:
    try:
        data = snapshot.read(path)
    except TooLargeError as why:
        expected = f"at most {codec.largest(path)}"
        raise BadRecord([Fault(path=path, found=f"{why.size} bytes", expected=expected)]) from None
    except GitError as why:
        name = kind.__name__.lower()
        raise BadRecord([Fault(path=path, found=str(why), expected=f"a {name}", advice=f"write {path}")]) from None
    # One item after the other is of the same task and rubric; grades and evidence are each item's own.
    return _read_before(kind, data, path) if kind in (Task, Rubric) else codec.decode(kind, data, path)


@lru_cache(maxsize=16)
def _read_before(kind: type[R], data: bytes, path: str) -> R:
    return codec.decode(kind, data, path)


def _submission(snapshot: Snapshot, item: ItemId) -> Submission | None:
    return None if item.submission is None else _record(snapshot, Submission, f"{item.folder}/submission.yaml")


def _files(snapshot: Snapshot, folder: str, faults: list[Fault], skip: tuple[str, ...] = ()) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path, entry in snapshot.walk(folder):
        name = path.removeprefix(f"{folder}/")
        if name.startswith(skip):
            continue
        if entry.fault or entry.kind != "file":
            why = entry.fault or f"a {entry.kind}"
            faults.append(Fault(path=path, found=why, expected="a file", advice="its content is not shown"))
            continue
        try:
            found[name] = snapshot.read(path, LARGEST_FILE)
        except GitError as why_not:
            faults.append(Fault(path=path, found=str(why_not), expected="a file that can be read"))
    return found


def _evidence(snapshot: Snapshot, item: ItemId, about: About, faults: list[Fault]) -> dict[str, EvidenceFile]:
    folder = f"{item.folder}/evidence"
    found: dict[str, EvidenceFile] = {}
    for entry in snapshot.list(folder):
        if entry.kind != "file" or entry.fault or not entry.name.endswith(".json"):
            continue
        path = f"{folder}/{entry.name}"
        try:
            evidence = _record(snapshot, Evidence, path)
        except BadRecord as bad:
            faults += bad.faults
            continue
        judged = (evidence.inputs.task_tree, evidence.inputs.solution_tree)
        found[entry.name.removesuffix(".json")] = EvidenceFile(
            evidence=evidence,
            stale=judged != (about.task_tree, about.solution_tree),
            blob=entry.oid,
            logs=_logs(snapshot, folder, evidence, faults),
        )
    return found


def _logs(snapshot: Snapshot, folder: str, evidence: Evidence, faults: list[Fault]) -> dict[str, bytes | Spool]:
    stages = evidence.stages
    names = {stage.log for stage in (stages.build, stages.check, stages.time, stages.integrity, stages.sanitize)}
    logs: dict[str, bytes | Spool] = {}
    for name in sorted(name for name in names | {stages.profile.log} if name):
        try:
            logs[name] = snapshot.read(f"{folder}/{name}", LARGEST_LOG)
        except TooLargeError as large:
            logs[name] = snapshot.spool(f"{folder}/{name}", large.size)
        except GitError as why:
            faults.append(Fault(path=f"{folder}/{name}", found=str(why), expected="the log that the evidence names"))
    return logs


def _grades(snapshots: Sequence[Snapshot], item: ItemId, faults: list[Fault]) -> list[GradeEntry]:
    found: dict[str, GradeEntry] = {}
    for snapshot in snapshots:
        for entry in snapshot.list(f"{item.folder}/grades"):
            if entry.kind != "file" or entry.fault or not entry.name.endswith(".yaml"):
                continue
            evaluator = entry.name.removesuffix(".yaml")
            try:
                grade = _record(snapshot, Grade, f"{item.folder}/grades/{entry.name}")
            except BadRecord as bad:
                faults += bad.faults
            else:
                found[evaluator] = GradeEntry(evaluator=evaluator, grade=grade)
    return [found[evaluator] for evaluator in sorted(found)]


def _previous_grade(
    snapshot: Snapshot, item: ItemId, submission: Submission | None, evaluator: str, faults: list[Fault]
) -> Grade | None:
    if submission is None or submission.supersedes is None:
        return None
    path = ItemId(item.task, submission.supersedes).grade_path(evaluator)
    if snapshot.entry(path) is None:
        return None
    try:
        return _record(snapshot, Grade, path)
    except BadRecord as bad:
        faults += bad.faults
        return None


def _bases(
    snapshot: Snapshot,
    item: ItemId,
    task: Task,
    submission: Submission | None,
    files: Mapping[str, bytes],
    faults: list[Fault],
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """What the solution can be compared with, by name, the nearest first."""
    if submission is None:
        return
    if submission.supersedes:
        previous = _files(snapshot, f"{ItemId(item.task, submission.supersedes).folder}/solution", faults)
        if previous:
            yield "previous", previous
    start = {path.removeprefix("start/"): data for path, data in files.items() if path.startswith("start/")}
    if start:
        yield "start", start
    reference = task.reference.partition(":")[0]
    if reference in files:
        yield "reference", {reference: files[reference]}


def _missing(
    item: ItemId, files: Mapping[str, bytes], solution: Mapping[str, bytes], faults: list[Fault]
) -> str | None:
    if item.submission is not None and not solution:
        return f"{item.folder}/solution holds no file"
    if "prompt.md" not in files:
        return f"queue/{item.task}/prompt.md is missing"
    damaged = [fault.path for fault in faults if "/solution/" in fault.path]
    return f"{damaged[0]} cannot be read" if damaged else None
