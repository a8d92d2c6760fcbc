"""Where what was brought lands in a queue: what is new, what is here already, what cannot come and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from kgrade.exchange.brought import (
    OF_THE_QUEUE,
    Arrivals,
    Brought,
    BroughtGrade,
    BroughtResult,
    BroughtSubmission,
    BroughtTask,
    Noted,
    Refused,
)
from kgrade.exchange.carried import ADJUDICATION
from kgrade.exchange.fields import name_of
from kgrade.exchange.hollow import HOLLOW
from kgrade.records import codec
from kgrade.records.adjudication import Adjudication
from kgrade.records.evidence import (
    NOT_COLLECTED,
    Environment,
    Evidence,
    Inputs,
    Integrity,
    Profiling,
    Stage,
    Stages,
    Tool,
)
from kgrade.records.faults import BadRecord
from kgrade.records.grade import About, Grade, SheetRef, Times
from kgrade.records.rubric import sheet_sha256
from kgrade.records.slugs import ItemId, is_slug
from kgrade.records.task import Task
from kgrade.repository.commits import rebuilt
from kgrade.repository.moves import FileMove
from kgrade.repository.objects import object_id
from kgrade.repository.tree import Snapshot, TreeError, TreeReader, split_path

State = Literal["new", "changed", "here already", "refused", "note"]
NOT_THERE = "the foreign format has no place for it"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table: what it is, where it lands, and why it does not where it does not."""

    state: State
    kind: str
    place: str
    lands: str = ""
    why: str = ""


class Landing:
    """Takes what is brought, piece by piece, and gathers the files to be committed; nothing is written here.

    `grades` tells what stands at a path where grades are kept, which need not be the queue's own branch.
    """

    def __init__(self, snapshot: Snapshot, reader: TreeReader, by: str, grades: Callable[[str], bytes | None]) -> None:
        self.snapshot, self.reader, self.by, self.grades = snapshot, reader, by, grades
        self.files: dict[str, bytes | None] = {}
        self.grade_files: dict[str, dict[str, bytes]] = {}
        self._trees: dict[str, str] = {}
        self._tasks: dict[str, BroughtTask] = {}
        self._named: dict[tuple[str, str], str] = {}

    def take(self, arrivals: Arrivals, told: Callable[[int], None] = lambda count: None) -> list[Row]:
        """Land everything in the order that it needs: tasks, submissions, results, verdicts."""
        kept: dict[type, list[Brought]] = {}
        for count, arrival in enumerate(arrivals, 1):
            kept.setdefault(type(arrival), []).append(arrival)
            told(count)
        order = (BroughtTask, BroughtSubmission, BroughtResult, BroughtGrade, Noted, Refused)
        return [self._landed(arrival) for kind in order for arrival in kept.get(kind, [])]

    def _landed(self, arrival: Brought) -> Row:
        match arrival:
            case Refused():
                return Row(state="refused", kind="", place=arrival.place, why=arrival.why)
            case Noted():
                return Row(state="note", kind="", place=arrival.place, why=arrival.what)
        try:
            match arrival:
                case BroughtTask():
                    return self._task(arrival)
                case BroughtSubmission():
                    return self._submission(arrival)
                case BroughtResult():
                    return self._result(arrival)
                case BroughtGrade():
                    return self._grade(arrival)
        except (BadRecord, TreeError) as why:
            return _row("refused", arrival, why=str(why).splitlines()[0])

    def _task(self, task: BroughtTask) -> Row:
        folder = f"queue/{task.name}"
        if (first := self._tasks.get(task.name)) is not None:
            if first.files == task.files or task.hollow:
                return _row("here already", task, folder)
            return _row("refused", task, why=f"{first.place} is called {task.name} too and has other bytes")
        problems = list(task.record.problems())
        if problems:
            first_problem = problems[0]
            why = f"{first_problem.where}: found {first_problem.found}, expected {first_problem.expected}"
            return _row("refused", task, why=why)
        own = {"task.yaml": codec.encode_yaml(task.record), "prompt.md": task.prompt.encode()}
        taken = next((path for path in sorted(task.files) if path in own or path.startswith(OF_THE_QUEUE)), None)
        if taken is not None:
            return _row("refused", task, why=f"its file {taken} would land where the queue keeps its own; rename it")
        standing = self._below(folder)
        if standing and (task.hollow or self._holds(standing, task.files)):
            return _row("here already", task, folder)
        replaces = bool(standing) and self._is_hollow(folder)
        if standing and not replaces:
            return _row(
                "refused", task, why=f"{folder} is here with other bytes, and what is here is never overwritten"
            )
        files = {**own, **task.files}
        self._tasks[task.name] = task
        self._trees[folder] = self._tree(files)
        gone = {f"{folder}/{path}": None for path in standing if path not in files}
        self.files |= {**gone, **{f"{folder}/{path}": data for path, data in files.items()}}
        return _row("changed" if replaces else "new", task, folder)

    def _submission(self, brought: BroughtSubmission) -> Row:
        if not self._has_task(brought.task):
            return _row("refused", brought, why=f"there is no task {brought.task} here or beside it; import that first")
        item = ItemId(brought.task, brought.name)
        tree = self._tree(brought.files)
        key = (brought.task, brought.name)
        standing = self._solution(item)
        if standing is not None and standing != tree:
            if brought.hollow:
                self._named[key] = brought.name
                return _row("here already", brought, str(item))
            if not self._is_hollow(f"{item.folder}/solution"):
                item = ItemId(brought.task, name_of(brought.name[:55], tree[:8]))
                record = msgspec.structs.replace(brought.record, supersedes=brought.name)
                brought = msgspec.structs.replace(brought, record=record)
                standing = self._solution(item)
        assert item.submission is not None
        self._named[key] = item.submission
        if standing == tree:
            return _row("here already", brought, str(item))
        self.files[f"{item.folder}/submission.yaml"] = codec.encode_yaml(brought.record)
        old = {f"{item.folder}/solution/{path}": None for path in self._below(f"{item.folder}/solution")}
        self.files |= old | {f"{item.folder}/solution/{path}": data for path, data in brought.files.items()}
        self._trees[f"{item.folder}/solution"] = tree
        return _row("changed" if standing else "new", brought, str(item))

    def _result(self, brought: BroughtResult) -> Row:
        item = self._item(brought.task, brought.submission)
        if item is None:
            return _row("refused", brought, why=f"there is no submission {brought.submission} that it could be about")
        target = name_of("imported", brought.hardware)
        path, log = item.evidence_path(target), f"{target}.{brought.source}.log"
        beside = f"{item.folder}/evidence/{log}"
        if self._read(beside) == brought.raw:
            return _row("here already", brought, path)
        task_tree, solution_tree = self._trees_of(item)
        none = Stage(status="not-run", reason=NOT_THERE)
        evidence = Evidence(
            item=str(item),
            target=target,
            collected=brought.collected,
            inputs=Inputs(task_tree=task_tree, solution_tree=solution_tree),
            tool=Tool(name=brought.source, version="not told"),
            environment=Environment(
                hardware=brought.hardware or "not told",
                versions=brought.versions,
                interpreter=False,
                sandbox=f"imported by {self.by}; how {brought.source} ran it is not known here",
            ),
            stages=Stages(
                build=msgspec.structs.replace(brought.build, log=log),
                check=brought.check,
                time=brought.time,
                integrity=Integrity(status="not-run", reason=NOT_COLLECTED),
                sanitize=none,
                profile=Profiling(status="not-run", reason=NOT_THERE),
            ),
        )
        state: State = "changed" if self._read(path) is not None else "new"
        self.files |= {path: codec.encode_json(evidence), beside: brought.raw}
        return _row(state, brought, path)

    def _grade(self, brought: BroughtGrade) -> Row:
        item = self._item(brought.task, brought.submission)
        if item is None:
            return _row("refused", brought, why=f"there is no submission {brought.submission} that it could be about")
        path = item.grade_path(brought.evaluator)
        if (home := self._given_here(item, brought)) is not None:
            return _row("here already", brought, home)
        standing = self.grades(path)
        old = codec.decode(Grade, standing, path) if standing is not None else None
        if old is not None and not old.private_note.startswith(brought.note.partition("\n")[0]):
            return _row("refused", brought, why=f"{path} is a grade given here, and is never overwritten")
        if old is not None and (old.private_note, old.verdict) == (brought.note, brought.verdict):
            return _row("here already", brought, path)
        if (written := self.grade_files.get(brought.evaluator, {}).get(path)) is not None:
            same = codec.decode(Grade, written, path).private_note == brought.note
            why = "" if same else f"another verdict of {brought.evaluator} on {item} comes with it; use --as for one"
            return _row("here already" if same else "refused", brought, path if same else "", why=why)
        task_tree, solution_tree = self._trees_of(item)
        rubric = self._rubric(item.task)
        grade = Grade(
            item=str(item),
            evaluator=brought.evaluator,
            rubric=rubric,
            about=About(task_tree=task_tree, solution_tree=solution_tree),
            comments=brought.comments,
            verdict=brought.verdict,
            feedback=brought.feedback,
            private_note=brought.note,
            times=Times(opened=brought.saved, saved=brought.saved),
        )
        self.grade_files.setdefault(brought.evaluator, {})[path] = codec.encode_yaml(grade)
        return _row("changed" if old is not None else "new", brought, path)

    def _given_here(self, item: ItemId, brought: BroughtGrade) -> str | None:
        """The file of this queue that says what is brought, where it is a word that left from here."""
        if brought.given_by == ADJUDICATION:
            path = f"{item.folder}/adjudication.yaml"
            data = self._read(path)
            there = data is not None and codec.decode(Adjudication, data, path).decided == brought.saved
            return path if there else None
        if brought.given_by is not None and is_slug(brought.given_by):
            for path in (item.grade_path(brought.given_by), item.grade_path(brought.evaluator)):
                data = self.grades(path)
                old = codec.decode(Grade, data, path) if data is not None else None
                if old is not None and (old.times.saved, old.verdict) == (brought.saved, brought.verdict):
                    return path
        return None

    def _rubric(self, task: str) -> SheetRef:
        path = f"queue/{task}/task.yaml"
        data = self._read(path)
        name = codec.decode(Task, data or b"", path).rubric
        sheet = self._read(f"rubrics/{name}.yaml")
        if sheet is None:
            raise TreeError(f"rubrics/{name}.yaml, which {task} is graded by, is missing; get it with: kgrade init")
        return SheetRef(id=name, sha256=sheet_sha256(sheet))

    def _item(self, task: str, submission: str) -> ItemId | None:
        item = ItemId(task, self._named.get((task, submission), submission))
        return item if self._solution(item) is not None else None

    def _trees_of(self, item: ItemId) -> tuple[str, str]:
        task = self._trees.get(f"queue/{item.task}") or self.snapshot.task_tree(item.task)
        return task, self._solution(item) or ""

    def _has_task(self, name: str) -> bool:
        return name in self._tasks or self.snapshot.entry(f"queue/{name}/task.yaml") is not None

    def _solution(self, item: ItemId) -> str | None:
        path = f"{item.folder}/solution"
        if path in self._trees:
            return self._trees[path]
        found = self.snapshot.entry(path)
        return found.oid if found is not None and found.kind == "folder" else None

    def _read(self, path: str) -> bytes | None:
        if path in self.files:
            return self.files[path]
        found = self.snapshot.entry(path)
        return self.snapshot.read(path) if found is not None and found.kind == "file" else None

    def _below(self, folder: str) -> dict[str, str]:
        """Blob ids by path of what stands in a folder of the queue, a task's submissions and findings left out."""
        skipped = OF_THE_QUEUE if folder.count("/") == 1 else ()
        found = {path.removeprefix(f"{folder}/"): entry.oid for path, entry in self.snapshot.walk(folder)}
        return {path: oid for path, oid in found.items() if not path.startswith(skipped)} if skipped else found

    def _holds(self, standing: Mapping[str, str], files: Mapping[str, bytes]) -> bool:
        kind = self.reader.git.object_format
        return all(standing.get(path) == object_id("blob", data, kind) for path, data in files.items())

    def _is_hollow(self, folder: str) -> bool:
        return self.snapshot.entry(f"{folder}/{HOLLOW}") is not None

    def _tree(self, files: Mapping[str, bytes]) -> str:
        kind = self.reader.git.object_format
        for path in files:
            split_path(path)
        moves = [FileMove(path, None, object_id("blob", data, kind)) for path, data in files.items()]
        return rebuilt(self.reader, None, moves)[0]


def tally(rows: Iterable[Row]) -> dict[State, int]:
    """How many rows there are of each state."""
    found: dict[State, int] = {}
    for row in rows:
        found[row.state] = found.get(row.state, 0) + 1
    return found


_KINDS = {BroughtTask: "task", BroughtSubmission: "submission", BroughtResult: "result", BroughtGrade: "verdict"}


def _row(
    state: State,
    brought: BroughtTask | BroughtSubmission | BroughtResult | BroughtGrade,
    lands: str = "",
    *,
    why: str = "",
) -> Row:
    return Row(state=state, kind=_KINDS[type(brought)], place=brought.place, lands=lands, why=why)
