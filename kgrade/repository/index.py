"""A queue at a glance: an SQLite cache under the git folder, rebuilt at will, brought up to date by the change alone.

It holds what lists and the choice of the next item need. Its truth is git's: for each ref it keeps the commit that
it knows, and follows `diff-tree old new`. Records that cannot be read are kept as faults, and the rest goes on.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kgrade.records import codec
from kgrade.records.base import Record
from kgrade.records.evidence import STAGES, Evidence
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId, is_slug
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.repository.moves import moves_between
from kgrade.repository.runner import GitError
from kgrade.repository.tree import READ_LIMIT, Snapshot, TreeReader

VERSION = 1
WAIT_S = 5.0
R = TypeVar("R", bound=Record)

_TABLES = """
CREATE TABLE known (ref TEXT PRIMARY KEY, oid TEXT NOT NULL);
CREATE TABLE items (
    task TEXT, submission TEXT, title TEXT, type TEXT, language TEXT, targets TEXT, author TEXT, created TEXT,
    supersedes TEXT, tree TEXT, faults TEXT NOT NULL, PRIMARY KEY (task, submission)) WITHOUT ROWID;
CREATE TABLE grades (
    ref TEXT, task TEXT, submission TEXT, evaluator TEXT, verdict TEXT, total REAL, points REAL, saved TEXT,
    sheet TEXT, blob TEXT, fault TEXT, PRIMARY KEY (task, submission, evaluator, ref)) WITHOUT ROWID;
CREATE TABLE evidence (
    ref TEXT, task TEXT, submission TEXT, target TEXT, task_tree TEXT, solution_tree TEXT, stages TEXT, blob TEXT,
    fault TEXT, PRIMARY KEY (task, submission, target, ref)) WITHOUT ROWID;
"""


class GradeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One grade: who, what, when, under which sheet; `fault` for a file that cannot be read."""

    evaluator: str
    verdict: str | None
    total: float | None
    points: float | None
    saved: str
    sheet: str
    fault: str | None = None


class EvidenceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence for one target: the status of each stage, and whether its tree ids no longer match."""

    target: str
    stages: dict[str, str]
    stale: bool
    fault: str | None = None


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the queue. `created` and `author` are empty for a task; `faults` are sentences."""

    id: ItemId
    title: str
    type: str
    language: str
    targets: list[str]
    author: str
    created: str
    supersedes: str | None
    faults: list[str]
    grades: list[GradeRow]
    evidence: list[EvidenceRow]


class Index:
    """The cache of one repository. Not for use by several threads at once."""

    def __init__(self, reader: TreeReader, path: Path | None = None) -> None:
        """Open the cache at `path`, by default the repository's own; in memory where that cannot be written."""
        self._reader = reader
        self._path = path or reader.git.common_dir / "kgrade" / "index.sqlite"
        self._base = self._open()

    def update(self, queue: tuple[str, str], others: Mapping[str, str] | None = None) -> bool:
        """Follow the refs: `queue` is (ref, commit) of the queue itself, `others` hold grades and evidence alone.

        Return whether anything changed. The cost follows the change.
        """
        wanted = {queue[0]: queue[1], **(others or {})}
        try:
            return self._follow(queue[0], wanted)
        except sqlite3.DatabaseError:
            self._base.close()
            self._base = self._fresh()
            return self._follow(queue[0], wanted)

    def rows(self) -> list[ItemRow]:
        """Every item, tasks before their submissions, in the order of names."""
        grades = self._grouped("SELECT * FROM grades ORDER BY ref", _grade_row)
        trees = {(row["task"], row["submission"]): row["tree"] for row in self._base.execute("SELECT * FROM items")}
        evidence = self._grouped("SELECT * FROM evidence ORDER BY ref", lambda row: _evidence_row(row, trees))
        found = self._base.execute("SELECT * FROM items ORDER BY task, submission")
        return [_item_row(row, grades, evidence) for row in found]

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def _grouped(self, query: str, make: Callable[[sqlite3.Row], Any]) -> dict[tuple[str, str], list[Any]]:
        groups: dict[tuple[str, str], list[Any]] = {}
        for row in self._base.execute(query):
            groups.setdefault((row["task"], row["submission"]), []).append(make(row))
        return groups

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            base = _connect(self._path)
            if base.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                return base
            base.close()
        except (OSError, sqlite3.DatabaseError):
            pass  # an unreadable cache is rebuilt, or kept in memory, by what follows
        return self._fresh()

    def _fresh(self) -> sqlite3.Connection:
        try:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()
            return _create(_connect(self._path))
        except (OSError, sqlite3.DatabaseError):
            return _create(_connect(":memory:"))

    def _follow(self, queue_ref: str, wanted: Mapping[str, str]) -> bool:
        known = dict(self._base.execute("SELECT ref, oid FROM known"))
        if known == dict(wanted):
            return False
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            for ref in known.keys() - wanted.keys():
                self._forget(ref)
            for ref, commit in wanted.items():
                if known.get(ref) != commit:
                    self._step(ref, known.get(ref), commit, whole=ref == queue_ref)
        return True

    def _forget(self, ref: str) -> None:
        for table in ("grades", "evidence", "known"):
            self._base.execute(f"DELETE FROM {table} WHERE ref = ?", (ref,))

    def _step(self, ref: str, old: str | None, new: str, *, whole: bool) -> None:
        try:
            moves = moves_between(self._reader.git, old, new, "queue")
        except GitError:  # the old commit is gone, or the history was rewritten: begin anew
            self._forget(ref)
            if whole:
                self._base.execute("DELETE FROM items")
            moves = moves_between(self._reader.git, None, new, "queue")
        snapshot = Snapshot(self._reader, new)
        items: set[tuple[str, str]] = set()
        for move in moves:
            parts = move.path.split("/")
            if len(parts) < 3 or not is_slug(parts[1]):
                continue
            item, rest = _place(parts)
            if rest[0] == "grades" and len(rest) == 2:
                self._grade(ref, item, rest[1], move.path, move.new)
            elif rest[0] == "evidence" and len(rest) == 2:
                self._evidence(ref, item, rest[1], move.path, move.new)
            elif rest[0] not in ("grades", "evidence"):
                items.add(item)
        if whole:
            for item in sorted(items):
                self._item(snapshot, *item)
        self._base.execute("REPLACE INTO known VALUES (?, ?)", (ref, new))

    def _item(self, snapshot: Snapshot, task: str, submission: str) -> None:
        self._base.execute("DELETE FROM items WHERE task = ? AND submission = ?", (task, submission))
        folder = snapshot.entry(ItemId(task, submission or None).folder)
        if folder is None or folder.kind != "folder":
            return
        row: dict[str, Any] = {"task": task, "submission": submission}
        if submission:
            record, faults = self._at(snapshot, Submission, f"queue/{task}/submissions/{submission}/submission.yaml")
            solution = snapshot.entry(f"queue/{task}/submissions/{submission}/solution")
            row |= {"tree": solution.oid if solution else None}
            if not is_slug(submission):
                faults.append(f"{submission!r} is no name for a submission; expected a-z, 0-9 and -")
            if solution is None:
                faults.append(f"queue/{task}/submissions/{submission}/solution is missing")
            if record is not None:
                row |= {"author": record.author, "created": record.created, "supersedes": record.supersedes}
        else:
            asked, faults = self._at(snapshot, Task, f"queue/{task}/task.yaml")
            row |= {"tree": snapshot.task_tree(task)}
            if asked is not None:
                row |= {"title": asked.title, "type": asked.type, "language": asked.language}
                row |= {"targets": " ".join(asked.targets)}
        self._put("items", row | {"faults": "\n".join(faults)})

    def _at(self, snapshot: Snapshot, kind: type[R], path: str) -> tuple[R | None, list[str]]:
        try:
            return codec.decode(kind, snapshot.read(path), path), []
        except BadRecord as bad:
            return None, [str(fault) for fault in bad.faults]
        except GitError as why:
            return None, [str(why)]

    def _grade(self, ref: str, item: tuple[str, str], name: str, path: str, blob: str | None) -> None:
        key = {"ref": ref, "task": item[0], "submission": item[1], "evaluator": name.removesuffix(".yaml")}
        self._drop("grades", key)
        if blob is None or not name.endswith(".yaml"):
            return
        grade, fault = self._blob(Grade, blob, path)
        row: dict[str, Any] = {**key, "blob": blob, "fault": fault, "saved": "", "sheet": ""}
        if grade is not None:
            row |= {"verdict": grade.verdict, "total": grade.total, "points": grade.points}
            row |= {"saved": grade.times.saved, "sheet": grade.rubric.sha256}
        self._put("grades", row)

    def _evidence(self, ref: str, item: tuple[str, str], name: str, path: str, blob: str | None) -> None:
        if not name.endswith(".json"):
            return
        key = {"ref": ref, "task": item[0], "submission": item[1], "target": name.removesuffix(".json")}
        self._drop("evidence", key)
        if blob is None:
            return
        evidence, fault = self._blob(Evidence, blob, path)
        row: dict[str, Any] = {**key, "blob": blob, "fault": fault, "stages": "{}"}
        if evidence is not None:
            row |= {"task_tree": evidence.inputs.task_tree, "solution_tree": evidence.inputs.solution_tree}
            row |= {"stages": msgspec.json.encode({stage: evidence.state(stage) for stage in STAGES}).decode()}
        self._put("evidence", row)

    def _blob(self, kind: type[R], blob: str, path: str) -> tuple[R | None, str | None]:
        try:
            return codec.decode(kind, self._reader.objects.object(blob, READ_LIMIT)[1], path), None
        except BadRecord as bad:
            return None, "\n".join(str(fault) for fault in bad.faults)
        except GitError as why:
            return None, f"{path}: {why}"

    def _put(self, table: str, row: Mapping[str, Any]) -> None:
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self._base.execute(f"REPLACE INTO {table} ({names}) VALUES ({marks})", list(row.values()))

    def _drop(self, table: str, key: Mapping[str, str]) -> None:
        where = " AND ".join(f"{name} = ?" for name in key)
        self._base.execute(f"DELETE FROM {table} WHERE {where}", list(key.values()))


def _connect(path: Path | str) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
    base.row_factory = sqlite3.Row
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = OFF")  # a cache: what is lost is built again
    return base


def _create(base: sqlite3.Connection) -> sqlite3.Connection:
    base.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
    return base


def _place(parts: Sequence[str]) -> tuple[tuple[str, str], Sequence[str]]:
    """The item (task, submission or "") that a path under `queue/` belongs to, and the path below its folder."""
    if parts[2] == "submissions" and len(parts) > 4:
        return (parts[1], parts[3]), parts[4:]
    return (parts[1], ""), parts[2:]


def _grade_row(row: sqlite3.Row) -> GradeRow:
    return GradeRow(**{name: row[name] for name in GradeRow.__struct_fields__})


def _evidence_row(row: sqlite3.Row, trees: Mapping[tuple[str, str], str]) -> EvidenceRow:
    task, submission = row["task"], row["submission"]
    stale = row["task_tree"] != trees.get((task, "")) or (
        bool(submission) and row["solution_tree"] != trees.get((task, submission))
    )
    return EvidenceRow(target=row["target"], stages=msgspec.json.decode(row["stages"]), stale=stale, fault=row["fault"])


_Groups = Mapping[tuple[str, str], Iterable[Any]]


def _item_row(row: sqlite3.Row, grades: _Groups, evidence: _Groups) -> ItemRow:
    key = (row["task"], row["submission"])
    return ItemRow(
        id=ItemId(row["task"], row["submission"] or None),
        title=row["title"] or "",
        type=row["type"] or "",
        language=row["language"] or "",
        targets=(row["targets"] or "").split(),
        author=row["author"] or "",
        created=row["created"] or "",
        supersedes=row["supersedes"],
        faults=list(_sentences(row["faults"])),
        grades=list(grades.get(key, ())),
        evidence=list(evidence.get(key, ())),
    )


def _sentences(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line)
