"""A queue at a glance: an SQLite cache under the git folder, rebuilt at will, brought up to date by the change alone.

It holds what lists and the choice of the next item need. Its truth is git's: for each ref it keeps the commit that
it knows, and follows `diff-tree old new`. Records that cannot be read are kept as faults, and the rest goes on.
"""

from __future__ import annotations

import contextlib
import gc
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
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
from kgrade.repository.index_paths import AT_ONCE, Found, folders_of, record_name, some_at_once, sorted_out
from kgrade.repository.index_rows import ItemRow, Key, evidence_row, grade_row, item_row, key_of
from kgrade.repository.index_whole import Plain, whole_of
from kgrade.repository.moves import FileMove, moves_between
from kgrade.repository.runner import GitError
from kgrade.repository.tree import READ_LIMIT, Entry, Snapshot, TreeReader, judged_tree

VERSION = 3
WAIT_S = 5.0
_FEW_EVIDENCE = 512
"""Files of evidence that a step reads at once; those of a longer one are read later, by `read_evidence`."""

_FEW_ITEMS = 2048
"""Items whose rows are made anew one by one; where more were touched, all rows are."""

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
CREATE INDEX unread ON evidence (ref) WHERE stages IS NULL;
CREATE TABLE notes (name TEXT PRIMARY KEY, refs TEXT NOT NULL, data BLOB NOT NULL);
"""


_PLAIN_ROW = """
INSERT OR REPLACE INTO items (task, submission, author, created, supersedes, tree, faults) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_UNREAD_ROW = "INSERT OR REPLACE INTO evidence (ref, task, submission, target, blob) VALUES (?, ?, ?, ?, ?)"


class Index:
    """The cache of one repository. Not for use by several threads at once."""

    def __init__(self, reader: TreeReader, path: Path | None = None) -> None:
        """Open the cache at `path`, by default the repository's own; in memory where that cannot be written."""
        self._reader = reader
        self._few_evidence = _FEW_EVIDENCE if reader.objects.partial.remote is None else -1
        """Files of evidence that a step may read; less than none where even one would have to be fetched."""
        self._path = path or reader.git.common_dir / "kgrade" / "index.sqlite"
        self._base = self._open()
        self._made: dict[Key, ItemRow] = {}
        """The rows as they were made last, by name."""
        self._by_task: dict[str, dict[Key, ItemRow]] = {}
        """The same, task by task."""
        self._changed: dict[Key, ItemRow] | None = None
        """Those made anew since `changes` was asked last; None: all."""
        self._made_at: dict[str, str] | None = None
        """The refs for which `_made` stands; None before the first look."""

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
            self._made_at = None
            return self._follow(queue[0], wanted)

    def rows(self) -> list[ItemRow]:
        """Every item, tasks before their submissions, in the order of names.

        An item that did not change since the last call is the same object.
        """
        self._make_all()
        return list(self._made.values())

    def changes(self) -> list[ItemRow] | None:
        """The items that changed since `rows` or this was called last; None where `rows` must be asked for all."""
        if self._made_at is None or self._changed is None:
            return None
        found, self._changed = list(self._changed.values()), {}
        return found

    def read_evidence(self, most: int = AT_ONCE) -> bool:
        """Read up to `most` files of evidence that were too many at once; whether any was left to read.

        None is read in a partial clone: evidence is most of what it has left at its remote.
        """
        if self._few_evidence < 0:
            return False
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            touched = self._read_unread(most)
        if self._made_at is not None:
            self._make_again(touched)
        return bool(touched)

    def note(self, name: str, refs: Mapping[str, str], data: bytes) -> None:
        """Keep `data`, which follows from the rows as of `refs`, in the place of what was kept as `name` before."""
        with contextlib.suppress(sqlite3.DatabaseError):  # a note is for speed alone
            self._base.execute("REPLACE INTO notes VALUES (?, ?, ?)", (name, _text_of(refs), data))

    def noted(self, name: str, refs: Mapping[str, str]) -> bytes | None:
        """What was kept as `name`, if that was as of the same `refs`."""
        try:
            found = self._base.execute("SELECT data FROM notes WHERE name = ? AND refs = ?", (name, _text_of(refs)))
            row = found.fetchone()
        except sqlite3.DatabaseError:
            return None
        return row["data"] if row else None

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def _make_all(self) -> None:
        if self._made_at is not None and self._changed is not None:
            self._changed = {}
            return
        if self._made_at is None:
            with _no_collection():
                self._made = self._rows_of("", ())
            self._by_task = {}
            for key, row in self._made.items():
                self._by_task.setdefault(key[0], {})[key] = row
            self._made_at = dict(self._base.execute("SELECT ref, oid FROM known"))
        self._changed = {}

    def _rows_of(self, where: str, values: Sequence[str]) -> dict[Key, ItemRow]:
        """The rows that `where` (SQL, empty for all) selects, by name and in the order of names."""
        trees = {key_of(row): row["tree"] for row in self._base.execute(f"SELECT * FROM items {where}", values)}
        grades = self._grouped(f"SELECT * FROM grades {where} ORDER BY ref", values, grade_row)
        evidence = self._grouped(
            f"SELECT * FROM evidence {where} ORDER BY ref", values, lambda row: evidence_row(row, trees)
        )
        found = self._base.execute(f"SELECT * FROM items {where} ORDER BY task, submission", values)
        return {key_of(row): item_row(row, grades, evidence) for row in found}

    def _grouped(self, query: str, values: Sequence[str], make: Callable[[sqlite3.Row], Any]) -> dict[Key, list[Any]]:
        groups: dict[Key, list[Any]] = {}
        for row in self._base.execute(query, values):
            groups.setdefault(key_of(row), []).append(make(row))
        return groups

    def _make_again(self, touched: Collection[Key]) -> None:
        """Make the rows of `touched` anew; with a task those of its submissions, whose evidence may be stale now."""
        if len(touched) > _FEW_ITEMS:
            self._made_at = None
            return
        tasks = {task for task, submission in touched if not submission}
        for task in tasks:
            fresh = self._rows_of("WHERE task = ?", (task,))
            if fresh.keys() != self._by_task.get(task, {}).keys():
                self._made_at = None
                return
            self._replace(fresh)
        for task, submission in touched:
            if task not in tasks:
                fresh = self._rows_of("WHERE task = ? AND submission IN ('', ?)", (task, submission))
                if (task, submission) not in fresh or not fresh.keys() <= self._made.keys():
                    self._made_at = None
                    return
                self._replace(fresh)

    def _replace(self, fresh: Mapping[Key, ItemRow]) -> None:
        others = {key: row for key, row in fresh.items() if row != self._made[key]}
        self._made.update(others)
        for key, row in others.items():
            self._by_task[key[0]][key] = row
        if self._changed is not None:
            self._changed.update(others)

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
        if known != self._made_at:  # another process brought the cache further
            self._made_at = None
        if known == dict(wanted):
            return False
        touched: set[Key] = set()
        with self._base, _no_collection():
            self._base.execute("BEGIN IMMEDIATE")
            for ref in known.keys() - wanted.keys():
                self._forget(ref)
            for ref, commit in wanted.items():
                if known.get(ref) != commit:
                    touched |= self._step(ref, known.get(ref), commit, whole=ref == queue_ref)
        if self._made_at is not None:
            self._made_at = dict(wanted)
            self._make_again(touched)
        return True

    def _forget(self, ref: str) -> None:
        for table in ("grades", "evidence", "known"):
            self._base.execute(f"DELETE FROM {table} WHERE ref = ?", (ref,))
        self._made_at = None

    def _step(self, ref: str, old: str | None, new: str, *, whole: bool) -> set[Key]:
        """Bring what `ref` holds from the commit `old` to `new`; return the items that this touched."""
        if old is None and whole:
            return self._begin(ref, new)
        try:
            moves = moves_between(self._reader, old, new, "queue")
        except GitError:  # the old commit is gone, or the history was rewritten: begin anew
            self._forget(ref)
            if whole:
                self._base.execute("DELETE FROM items")
                return self._begin(ref, new)
            moves = moves_between(self._reader, None, new, "queue")
        found, items = sorted_out(moves)
        self._written(ref, found)
        if whole:
            self._others(new, items)
        self._base.execute("REPLACE INTO known VALUES (?, ?)", (ref, new))
        return items | {each.item for each in found}

    def _begin(self, ref: str, new: str) -> set[Key]:
        """Take down all that the queue's commit `new` holds; return the items."""
        held = whole_of(self._reader, new)
        grades = (each.move.new for each in held.grades if each.move.new)
        self._reader.objects.partial.bring(chain((each.record for each in held.plain), grades))
        self._base.executemany(_UNREAD_ROW, ((ref, *each) for each in held.evidence))
        self._written(ref, held.grades)
        if len(held.evidence) <= self._few_evidence:
            self._read_unread(_FEW_EVIDENCE)
        for some in some_at_once(held.plain):
            self._reader.objects.ahead([each.record for each in some], READ_LIMIT)
            self._base.executemany(_PLAIN_ROW, [self._plain(each) for each in some])
        self._others(new, held.others)
        self._base.execute("REPLACE INTO known VALUES (?, ?)", (ref, new))
        return held.others | {each.item for each in held.plain}

    def _written(self, ref: str, found: Sequence[Found]) -> None:
        """Take down grades and evidence; where that is much evidence, its names for now."""
        evidence = [each for each in found if each.kind == "evidence" and each.move.new is not None]
        if len(evidence) > self._few_evidence:
            found = [each for each in found if each.kind != "evidence" or each.move.new is None]
            rows = [(ref, *each.item, each.name, each.move.new) for each in evidence]
            self._base.executemany(_UNREAD_ROW, rows)
        for each in self._each_ahead(found):
            (self._grade if each.kind == "grades" else self._evidence)(ref, each)

    def _read_unread(self, most: int) -> set[Key]:
        query = "SELECT ref, task, submission, target, blob FROM evidence WHERE stages IS NULL LIMIT ?"
        rows = self._base.execute(query, (most,)).fetchall()
        found = [
            Found(key_of(row), "evidence", row["target"], FileMove(_evidence_path(row), None, row["blob"]))
            for row in rows
        ]
        for row, each in zip(rows, self._each_ahead(found), strict=True):
            self._evidence(row["ref"], each)
        return {key_of(row) for row in rows}

    def _others(self, commit: str, items: Collection[Key]) -> None:
        snapshot = Snapshot(self._reader, commit)
        for several in some_at_once(sorted(items)):
            self._items(snapshot, several)
        self._reader.objects.ahead([], READ_LIMIT)

    def _plain(self, each: Plain) -> tuple[str | None, ...]:
        """The row of a submission that has its record and its solution."""
        path = f"{ItemId(*each.item).folder}/submission.yaml"
        record, fault = self._blob(Submission, each.record, path)
        if record is None:
            return (*each.item, None, None, None, each.solution, fault)
        return (*each.item, record.author, record.created, record.supersedes, each.solution, "")

    def _each_ahead(self, found: Sequence[Found]) -> Iterator[Found]:
        """Each of `found` once it was asked for, many in one go."""
        for some in some_at_once(found):
            self._reader.objects.ahead([each.move.new for each in some if each.move.new], READ_LIMIT)
            yield from some
        self._reader.objects.ahead([], READ_LIMIT)

    def _items(self, snapshot: Snapshot, items: Sequence[Key]) -> None:
        """Take down `items` as they stand, asking git in few goes instead of several for each."""
        folders = folders_of(snapshot, items)
        self._reader.ahead([folder.oid for folder in folders.values()])
        inside: dict[Key, dict[str, Entry]] = {}
        damage: dict[Key, str] = {}
        for item, folder in folders.items():
            try:
                inside[item] = {entry.name: entry for entry in reversed(self._reader.entries(folder.oid))}
            except GitError as why:
                inside[item], damage[item] = {}, str(why)
        records = [level.get(record_name(item)) for item, level in inside.items()]
        self._reader.objects.ahead([entry.oid for entry in records if entry and entry.kind == "file"], READ_LIMIT)
        for item in items:
            self._base.execute("DELETE FROM items WHERE task = ? AND submission = ?", item)
            if item in damage:
                self._put("items", {"task": item[0], "submission": item[1], "faults": damage[item]})
            elif item in inside:
                self._put("items", self._submission(item, inside[item]) if item[1] else self._task(item, inside[item]))

    def _submission(self, item: Key, inside: Mapping[str, Entry]) -> dict[str, Any]:
        task, submission = item
        record, faults = self._at(Submission, item, inside)
        solution = inside.get("solution")
        if not is_slug(submission):
            faults.append(f"{submission!r} is no name for a submission; expected a-z, 0-9 and -")
        if solution is None:
            faults.append(f"queue/{task}/submissions/{submission}/solution is missing")
        row: dict[str, Any] = {"task": task, "submission": submission, "faults": "\n".join(faults)}
        row |= {"tree": solution.oid if solution else None}
        if record is not None:
            row |= {"author": record.author, "created": record.created, "supersedes": record.supersedes}
        return row

    def _task(self, item: Key, inside: Mapping[str, Entry]) -> dict[str, Any]:
        record, faults = self._at(Task, item, inside)
        row: dict[str, Any] = {"task": item[0], "submission": "", "faults": "\n".join(faults)}
        row |= {"tree": judged_tree(list(inside.values()), self._reader.git.object_format)}
        if record is not None:
            row |= {"title": record.title, "type": record.type, "language": record.language}
            row |= {"targets": " ".join(record.targets)}
        return row

    def _at(self, kind: type[R], item: Key, inside: Mapping[str, Entry]) -> tuple[R | None, list[str]]:
        """The record of `item` among the entries of its folder, and what is wrong with it."""
        path = f"{ItemId(item[0], item[1] or None).folder}/{record_name(item)}"
        entry = inside.get(record_name(item))
        if entry is None:
            return None, [f"{path} is missing"]
        if entry.kind != "file":
            return None, [f"{path} is a {entry.kind} where a file was expected"]
        record, fault = self._blob(kind, entry.oid, path)
        return record, fault.split("\n") if fault else []

    def _grade(self, ref: str, found: Found) -> None:
        key = {"ref": ref, "task": found.item[0], "submission": found.item[1], "evaluator": found.name}
        self._drop("grades", key)
        if found.move.new is None:
            return
        grade, fault = self._blob(Grade, found.move.new, found.move.path)
        row: dict[str, Any] = {**key, "blob": found.move.new, "fault": fault, "saved": "", "sheet": ""}
        if grade is not None:
            row |= {"verdict": grade.verdict, "total": grade.total, "points": grade.points}
            row |= {"saved": grade.times.saved, "sheet": grade.rubric.sha256}
        self._put("grades", row)

    def _evidence(self, ref: str, found: Found) -> None:
        key = {"ref": ref, "task": found.item[0], "submission": found.item[1], "target": found.name}
        self._drop("evidence", key)
        if found.move.new is None:
            return
        evidence, fault = self._blob(Evidence, found.move.new, found.move.path)
        row: dict[str, Any] = {**key, "blob": found.move.new, "fault": fault, "stages": "{}"}
        if evidence is not None:
            row |= {"task_tree": evidence.inputs.task_tree, "solution_tree": evidence.inputs.solution_tree}
            row |= {"stages": msgspec.json.encode({stage: evidence.state(stage) for stage in STAGES}).decode()}
        self._put("evidence", row)

    def _blob(self, kind: type[R], blob: str, path: str) -> tuple[R | None, str | None]:
        try:
            return codec.decode(kind, self._reader.objects.object(blob, codec.largest(path))[1], path), None
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


def _text_of(refs: Mapping[str, str]) -> str:
    return "\n".join(f"{oid} {ref}" for ref, oid in sorted(refs.items()))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Without the search for cycles, which looks again and again at all that is made meanwhile, and holds none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _evidence_path(row: sqlite3.Row) -> str:
    return f"{ItemId(row['task'], row['submission'] or None).folder}/evidence/{row['target']}.json"


def _connect(path: Path | str) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
    base.row_factory = sqlite3.Row
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = OFF")  # a cache: what is lost is built again
    return base


def _create(base: sqlite3.Connection) -> sqlite3.Connection:
    base.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
    return base
