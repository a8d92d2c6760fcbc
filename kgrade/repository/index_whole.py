"""All that a commit holds of a queue, taken down in one pass over git's own listing of it."""

from __future__ import annotations

import re
from typing import NamedTuple

from kgrade.records.slugs import ItemId, is_slug
from kgrade.repository.index_paths import Found
from kgrade.repository.index_rows import Key
from kgrade.repository.moves import FileMove
from kgrade.repository.tree import NOT_JUDGED, TreeReader

_TOLD = re.compile(
    rb"\0\d{5}(\d) (blob|tree) ([0-9a-f]{40,64})\tqueue/([^/\0]+)(?:/submissions/([^/\0]+))?"
    rb"(?:/(?:(submission\.yaml|solution)|(grades|evidence)/([^/\0]+)(\.yaml|\.json)))?(?=\0)"
)
"""The folders of tasks and submissions, what makes a submission, and what was written about either.

A name may hold anything but a slash and a NUL, so a line begins at one of those alone.
"""


class Plain(NamedTuple):
    """A submission with nothing odd about it: the ids of its record, a file, and of its `solution/`."""

    item: Key
    record: str
    solution: str


class Whole(NamedTuple):
    """What a commit holds: submissions that are plain, other items, grades, and evidence as item, target and blob."""

    plain: list[Plain]
    others: set[Key]
    grades: list[Found]
    evidence: list[tuple[str, str, str, str]]


def whole_of(reader: TreeReader, commit: str) -> Whole:
    """Take down what `commit` holds below `queue/`. The cost is that of git's listing, and as much again."""
    listed = b"\0" + reader.git.run(["ls-tree", "-r", "-t", "-z", "--full-tree", commit, "queue/"]).stdout
    tasks: dict[bytes, tuple[str, bool]] = {}
    folders: dict[tuple[bytes, bytes], str] = {}
    records: dict[tuple[bytes, bytes], str] = {}
    solutions: dict[tuple[bytes, bytes], str] = {}
    grades: list[Found] = []
    evidence: list[tuple[str, str, str, str]] = []
    for last, kind, oid, task, submission, part, about, name, suffix in _TOLD.findall(listed):
        if task not in tasks:
            shown = _text(task)
            tasks[task] = shown, is_slug(shown)
        if not tasks[task][1]:
            continue
        key = task, submission
        if part:
            if part == b"solution" and kind == b"tree":
                solutions.setdefault(key, oid.decode())
            elif part != b"solution" and last in (b"4", b"5"):  # 100644 and 100755 are files, 120000 is a symlink
                records.setdefault(key, oid.decode())
        elif about:
            item, told = (tasks[task][0], _text(submission)), _text(name)
            if kind == b"blob" and about == b"evidence" and suffix == b".json":
                evidence.append((*item, told, oid.decode()))
            elif kind == b"blob" and about == b"grades" and suffix == b".yaml":
                path = f"{ItemId(item[0], item[1] or None).folder}/grades/{told}.yaml"
                grades.append(Found(item, "grades", told, FileMove(path, None, oid.decode())))
        elif kind == b"tree":
            folders[key] = oid.decode()
    plain, others = _sorted_out(reader, tasks, folders, records, solutions)
    return Whole(plain, others, grades, evidence)


def _sorted_out(
    reader: TreeReader,
    tasks: dict[bytes, tuple[str, bool]],
    folders: dict[tuple[bytes, bytes], str],
    records: dict[tuple[bytes, bytes], str],
    solutions: dict[tuple[bytes, bytes], str],
) -> tuple[list[Plain], set[Key]]:
    plain: list[Plain] = []
    others: set[Key] = set()
    for key, folder in folders.items():
        task, submission = tasks[key[0]][0], _text(key[1])
        if key in records and key in solutions and is_slug(submission):
            plain.append(Plain((task, submission), records[key], solutions[key]))
        # One that holds nothing but grades and evidence is no item yet.
        elif any(entry.name not in NOT_JUDGED for entry in reader.entries(folder)):
            others.add((task, submission))
    return plain, others


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
