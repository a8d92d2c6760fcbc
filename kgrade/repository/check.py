"""Every fault of a queue, at a commit or in a working folder: each told once, and the rest goes on."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from kgrade.records import codec, scoring
from kgrade.records.adjudication import Adjudication
from kgrade.records.assignments import Assignments
from kgrade.records.base import Record
from kgrade.records.comparison import Comparison
from kgrade.records.evidence import Evidence
from kgrade.records.faults import BadRecord, Fault
from kgrade.records.grade import Grade
from kgrade.records.neutral import neutral
from kgrade.records.rubric import Rubric, sheet_sha256
from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId, is_slug
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.repository.plan import ASSIGNMENTS
from kgrade.repository.runner import GitError
from kgrade.repository.tree import READ_LIMIT, Entry, TreeError, split_path

R = TypeVar("R", bound=Record)

REVIEW_RUBRIC = "task-review"
KEEPS_FOLDER = ".gitkeep"  # git holds no empty folder, and a queue begins with one
SLUG_RULE = "a-z, 0-9 and -, at most 64, such as softmax-rows"
RECORDS = ("task.yaml", "submission.yaml", "adjudication.yaml")


class Files(Protocol):
    """A commit (`Snapshot`) or a working folder (`Folder`)."""

    def entry(self, path: str) -> Entry | None:
        """What stands at `path`, or None."""

    def list(self, path: str) -> tuple[Entry, ...]:
        """The entries of a folder."""

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The bytes of a file, of at most `limit` bytes."""

    def walk(self, path: str) -> Iterable[tuple[str, Entry]]:
        """Everything below a folder that is not a folder, and every faulty entry."""

    def link_target(self, path: str) -> str:
        """Where a symlink points."""


def check(files: Files) -> list[Fault]:
    """Every fault of the queue in `files`, by path; an empty list means that all of it can be graded."""
    return sorted(set(_Check(files).faults()), key=lambda fault: (fault.path, fault.line or 0, fault.where))


class _Check:
    """One pass over a queue."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.rubrics: dict[str, tuple[Rubric, str]] = {}

    def faults(self) -> Iterator[Fault]:
        yield from self._entries()
        yield from self._settings()
        yield from self._rubrics()
        if self.files.entry("queue") is None:
            yield Fault(path="queue", found="nothing", expected="a folder with a folder for each task")
        for entry in self.files.list("queue"):
            if entry.kind == "folder" and not entry.fault:
                yield from self._task(entry.name)
            elif entry.kind == "file" and entry.name != KEEPS_FOLDER:
                yield Fault(path=f"queue/{entry.name}", found="a file", expected="only folders, one for each task")

    def _entries(self) -> Iterator[Fault]:
        """Names that cannot be used, links, and files that are not text, wherever they stand."""
        for top in ("queue", "rubrics"):
            for path, entry in self.files.walk(top):
                shown = neutral(path)
                if entry.fault:
                    yield Fault(path=shown, found=entry.fault, expected="a plain name", advice="rename it")
                elif entry.kind == "symlink":
                    yield from self._link(path)
                elif entry.kind != "file":
                    yield Fault(path=shown, found=f"a {entry.kind}", expected="files", advice="put the files here")
                elif not _is_read_elsewhere(path):
                    yield from self._text(path)

    def _link(self, path: str) -> Iterator[Fault]:
        target = self.files.link_target(path)
        lands = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        inside = not target.startswith("/") and lands.startswith(f"{_item_folder(path)}/")
        where = "inside" if inside else "out of the item"
        advice = "put a copy of the file there: links are never followed"
        yield Fault(
            path=neutral(path), found=f"a symlink that leads {where}, to {target}", expected="a file", advice=advice
        )

    def _text(self, path: str) -> Iterator[Fault]:
        try:
            data = self.files.read(path, READ_LIMIT)
        except GitError as why:
            yield Fault(path=path, found=str(why), expected="a file that can be read")
            return
        if b"\0" in data:
            advice = "keep binaries out of git and refer to them by path and sha256"
            yield Fault(path=path, found="a binary file", expected="text that a person can read", advice=advice)
            return
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as why:
            line = data.count(b"\n", 0, why.start) + 1
            found = f"the byte 0x{data[why.start]:02x}, which is not UTF-8"
            yield Fault(path=path, line=line, found=found, expected="UTF-8 text", advice="convert the file to UTF-8")

    def _settings(self) -> Iterator[Fault]:
        if self.files.entry("kgrade.yaml") is not None:
            _, faults = self._record(Settings, "kgrade.yaml")
            yield from faults
        if self.files.entry(ASSIGNMENTS) is not None:
            assignments, faults = self._record(Assignments, ASSIGNMENTS)
            yield from faults
            for key in assignments.items if assignments else ():
                if self.files.entry(ItemId.parse(key).folder) is None:
                    yield Fault(path=ASSIGNMENTS, where=f"items.{key}", found=key, expected="an item of this queue")

    def _rubrics(self) -> Iterator[Fault]:
        for entry in self.files.list("rubrics"):
            path = f"rubrics/{entry.name}"
            if entry.kind != "file" or entry.fault:
                continue
            name = entry.name.removesuffix(".yaml")
            if not entry.name.endswith(".yaml") or not is_slug(name):
                yield Fault(path=neutral(path), found="this name", expected="NAME.yaml with NAME of a-z, 0-9 and -")
                continue
            rubric, faults = self._record(Rubric, path)
            yield from faults
            if rubric is not None:
                self.rubrics[name] = (rubric, sheet_sha256(self.files.read(path)))

    def _task(self, name: str) -> Iterator[Fault]:
        folder = f"queue/{name}"
        if not is_slug(name):
            yield Fault(path=neutral(folder), found="this name", expected=f"a task's name of {SLUG_RULE}")
            return
        task, faults = self._record(Task, f"{folder}/task.yaml")
        yield from faults
        if self.files.entry(f"{folder}/prompt.md") is None:
            yield Fault(path=f"{folder}/prompt.md", found="nothing", expected="what was asked, in Markdown")
        if task is not None:
            yield from self._task_files(folder, task)
            if task.rubric not in self.rubrics:
                known = ", ".join(sorted(self.rubrics)) or "there are none"
                path = f"{folder}/task.yaml"
                yield Fault(path=path, where="rubric", found=repr(task.rubric), expected=f"one of rubrics/: {known}")
        yield from self._graded(ItemId(name), REVIEW_RUBRIC)
        yield from self._comparisons(folder)
        names = [entry.name for entry in self.files.list(f"{folder}/submissions") if entry.kind == "folder"]
        for submission in names:
            yield from self._submission(name, submission, names, task)

    def _task_files(self, folder: str, task: Task) -> Iterator[Fault]:
        """The files that task.yaml names must lie in the task's own folder."""
        places = {"reference": task.reference, "checker": task.checker}
        places |= {f"inputs.{name}.generator": spec.generator for name, spec in task.inputs.items()}
        if task.benchmark:
            places |= {f"benchmark.baselines.{name}": place for name, place in task.benchmark.baselines.items()}
        for where, place in places.items():
            if place is None:
                continue
            named = place.partition(":")[0]
            try:
                split_path(named)
                entry = self.files.entry(f"{folder}/{named}")
            except TreeError:
                found, expected = f"the path {named}", "a path inside the task's folder"
                yield Fault(path=f"{folder}/task.yaml", where=where, found=found, expected=expected)
                continue
            if entry is None or entry.kind != "file":
                found = f"{named}, which is missing" if entry is None else f"{named}, a {entry.kind}"
                yield Fault(path=f"{folder}/task.yaml", where=where, found=found, expected=f"a file in {folder}/")

    def _submission(self, task: str, name: str, names: Sequence[str], asked: Task | None) -> Iterator[Fault]:
        if not is_slug(name):
            path = neutral(f"queue/{task}/submissions/{name}")
            yield Fault(path=path, found="this name", expected=f"a submission's name of {SLUG_RULE}")
            return
        item = ItemId(task, name)
        record, faults = self._record(Submission, f"{item.folder}/submission.yaml")
        yield from faults
        if not any(True for _ in self.files.walk(f"{item.folder}/solution")):
            yield Fault(path=f"{item.folder}/solution", found="nothing", expected="the files that were handed in")
        if record is not None and record.supersedes is not None and record.supersedes not in names:
            path, known = f"{item.folder}/submission.yaml", ", ".join(n for n in names if n != name) or "there is none"
            expected = f"another submission of this task: {known}"
            yield Fault(path=path, where="supersedes", found=repr(record.supersedes), expected=expected)
        yield from self._graded(item, asked.rubric if asked else None)
        if self.files.entry(f"{item.folder}/adjudication.yaml") is not None:
            final, faults = self._record(Adjudication, f"{item.folder}/adjudication.yaml")
            yield from faults
            if final is not None:
                yield from _same(f"{item.folder}/adjudication.yaml", "item", final.item, str(item))

    def _comparisons(self, folder: str) -> Iterator[Fault]:
        for path, entry in self.files.walk(f"{folder}/comparisons"):
            if entry.kind == "file" and not entry.fault:
                record, faults = self._record(Comparison, path)
                yield from faults
                if record is not None and record.path != path:
                    yield Fault(path=path, found="a comparison at the wrong place", expected=record.path)

    def _graded(self, item: ItemId, rubric: str | None) -> Iterator[Fault]:
        """The grades and the evidence of one item."""
        for entry in self.files.list(f"{item.folder}/grades"):
            path = f"{item.folder}/grades/{entry.name}"
            if entry.kind == "file" and not entry.fault:
                grade, faults = self._record(Grade, path)
                yield from faults
                if grade is not None:
                    yield from _same(path, "item", grade.item, str(item))
                    yield from _same(path, "evaluator", grade.evaluator, entry.name.removesuffix(".yaml"))
                    yield from self._sums(path, grade, rubric)
        for entry in self.files.list(f"{item.folder}/evidence"):
            path = f"{item.folder}/evidence/{entry.name}"
            if entry.kind == "file" and not entry.fault and entry.name.endswith(".json"):
                evidence, faults = self._record(Evidence, path)
                yield from faults
                if evidence is not None:
                    yield from _same(path, "item", evidence.item, str(item))
                    yield from _same(path, "target", evidence.target, entry.name.removesuffix(".json"))

    def _sums(self, path: str, grade: Grade, name: str | None) -> Iterator[Fault]:
        """Points and total as the sheet gives them, where the very sheet that was scored is still here."""
        sheet = next((r for r, sha256 in self.rubrics.values() if sha256 == grade.rubric.sha256), None)
        if sheet is None:
            return
        if name is not None and grade.rubric.id != name:
            yield from _same(path, "rubric.id", grade.rubric.id, name)
            return
        result = scoring.score(sheet, grade.scores, grade.gates, grade.verdict)
        for where, found, expected in (
            ("points", grade.points, result.points),
            ("total", grade.total, result.total),
        ):
            if found != expected:
                advice = "save the grade again with kgrade"
                shown = f"{expected}, which its scores and gates come to"
                yield Fault(path=path, where=where, found=str(found), expected=shown, advice=advice)

    def _record(self, kind: type[R], path: str) -> tuple[R | None, list[Fault]]:
        try:
            return codec.decode(kind, self.files.read(path), path), []
        except BadRecord as bad:
            return None, bad.faults
        except TreeError as why:
            name = kind.__name__.lower()
            return None, [Fault(path=path, found=str(why), expected=f"a {name} file", advice=f"write {path}")]
        except GitError as why:
            return None, [Fault(path=path, found=str(why), expected="a file that can be read")]


def _same(path: str, where: str, found: str, expected: str) -> Iterator[Fault]:
    if found != expected:
        yield Fault(path=path, where=where, found=repr(found), expected=f"{expected!r}, from where the file stands")


def _item_folder(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[: 4 if parts[2:3] == ["submissions"] else 2])


def _is_read_elsewhere(path: str) -> bool:
    """Records, which the codec reads and judges, and evidence, whose logs may hold any bytes."""
    below = path.removeprefix(f"{_item_folder(path)}/")
    return path.startswith("rubrics/") or below in RECORDS or below.startswith(("grades/", "evidence/", "comparisons/"))
