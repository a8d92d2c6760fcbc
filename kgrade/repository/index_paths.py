"""Which item, and what of it, each path below `queue/` is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from kgrade.records.slugs import is_slug
from kgrade.repository.index_rows import Key
from kgrade.repository.moves import FileMove
from kgrade.repository.tree import Entry, Snapshot

AT_ONCE = 512
"""Objects asked of git in one go."""

T = TypeVar("T")


class Found(NamedTuple):
    """A grade or a piece of evidence that a step changed; `name` is the evaluator's or the target's."""

    item: Key
    kind: str
    name: str
    move: FileMove


SUFFIX = {"grades": ".yaml", "evidence": ".json"}


def sorted_out(moves: Iterable[FileMove]) -> tuple[list[Found], set[Key]]:
    """The grades and evidence among `moves`, and the items of which other files moved."""
    found: list[Found] = []
    items: set[Key] = set()
    for move in moves:
        parts = move.path.split("/")
        if len(parts) < 3 or not is_slug(parts[1]):
            continue
        item, rest = _place(parts)
        suffix = SUFFIX.get(rest[0])
        if suffix is None:
            items.add(item)
        elif len(rest) == 2 and rest[1].endswith(suffix):
            found.append(Found(item, rest[0], rest[1].removesuffix(suffix), move))
    return found, items


def _place(parts: Sequence[str]) -> tuple[Key, Sequence[str]]:
    """The item that a path under `queue/` belongs to, and the path below its folder."""
    if parts[2] == "submissions" and len(parts) > 4:
        return (parts[1], parts[3]), parts[4:]
    return (parts[1], ""), parts[2:]


def record_name(item: Key) -> str:
    """The file that says what `item` is."""
    return "submission.yaml" if item[1] else "task.yaml"


def folders_of(snapshot: Snapshot, items: Sequence[Key]) -> dict[Key, Entry]:
    """The folders of `items`, of those that have one; each task's list of submissions is gone through once."""
    lists: dict[str, dict[str, Entry]] = {}
    found = {}
    for task, submission in items:
        if submission and task not in lists:
            lists[task] = {entry.name: entry for entry in reversed(snapshot.list(f"queue/{task}/submissions"))}
        folder = lists[task].get(submission) if submission else snapshot.entry(f"queue/{task}")
        if folder is not None and folder.kind == "folder":
            found[task, submission] = folder
    return found


def some_at_once(all_of_them: Sequence[T]) -> Iterator[Sequence[T]]:
    """The same in pieces of which git is asked in one go."""
    return (all_of_them[start : start + AT_ONCE] for start in range(0, len(all_of_them), AT_ONCE))
