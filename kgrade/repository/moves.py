"""What the step from one commit to another does to files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kgrade.repository.objects import object_id
from kgrade.repository.runner import Git
from kgrade.repository.tree import DEPTH_LIMIT, Entry, TreeReader

_FEW_TREES = 96
"""Folders up to which a step is followed through trees that are mostly kept; a longer one is git's to follow."""


class FileMove(msgspec.Struct, frozen=True):
    """What one step does to one file, in blob ids; None for no file."""

    path: str
    old: str | None
    new: str | None


class _LongStepError(Exception):
    """A step that changes too much to be followed folder by folder."""


def moves_between(reader: TreeReader, old: str | None, new: str | None, *below: str) -> list[FileMove]:
    """The files that differ from `old` to `new` (commits; None: no files), at or below the paths `below`.

    The cost follows the difference, not the size of the trees.
    """
    if old is not None and new is not None:
        try:
            return list(_Step(reader, below).moves(reader.root(old), reader.root(new), "", 0))
        except _LongStepError:
            pass
    return _moves_by_git(reader.git, old, new, below)


class _Step:
    """Two versions of a folder side by side; folders that are the same on both sides are never read."""

    def __init__(self, reader: TreeReader, below: tuple[str, ...]) -> None:
        self._reader = reader
        self._below = below
        self._read = 0

    def moves(self, old: str | None, new: str | None, folder: str, depth: int) -> Iterator[FileMove]:
        """The files that differ between the trees `old` and `new` of `folder` (empty, or with a slash at its end)."""
        if depth > DEPTH_LIMIT:
            raise _LongStepError
        before, after = _differing(self._entries(old), self._entries(new))
        for name in sorted(before.keys() | after.keys()):
            was, is_now, path = before.get(name), after.get(name), f"{folder}{name}"
            if was == is_now or not self._wanted(path):
                continue
            if _file(was) or _file(is_now):
                yield FileMove(path, _file(was), _file(is_now))
            if _folder(was) or _folder(is_now):
                yield from self.moves(_folder(was), _folder(is_now), f"{path}/", depth + 1)

    def _entries(self, tree: str | None) -> tuple[Entry, ...]:
        if tree is None:
            return ()
        self._read += 1
        if self._read > _FEW_TREES:
            raise _LongStepError
        return self._reader.entries(tree)

    def _wanted(self, path: str) -> bool:
        """Whether `path` is, lies below, or leads to one of the paths asked for."""
        return not self._below or any(
            path == each or path.startswith(f"{each}/") or each.startswith(f"{path}/") for each in self._below
        )


def _differing(before: Sequence[Entry], after: Sequence[Entry]) -> tuple[Mapping[str, Entry], Mapping[str, Entry]]:
    """By name what two versions of a folder hold between what they begin and what they end with alike."""
    shorter = min(len(before), len(after))
    first = next((at for at, (was, is_now) in enumerate(zip(before, after)) if was != is_now), shorter)
    ends = zip(reversed(before), reversed(after))
    last = next((at for at, (was, is_now) in enumerate(ends) if was != is_now), shorter)
    last = min(last, shorter - first)
    own = before[first : len(before) - last], after[first : len(after) - last]
    if any(entry.fault for entries in own for entry in entries):  # one of two equal names may be among those alike
        own = before, after
    was, is_now = ({entry.name: entry for entry in reversed(entries)} for entries in own)
    return was, is_now


def _file(entry: Entry | None) -> str | None:
    return entry.oid if entry is not None and entry.kind != "folder" else None


def _folder(entry: Entry | None) -> str | None:
    return entry.oid if entry is not None and entry.kind == "folder" else None


def _moves_by_git(git: Git, old: str | None, new: str | None, below: tuple[str, ...]) -> list[FileMove]:
    empty = object_id("tree", b"", git.object_format)
    command = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-abbrev",
    ]
    fields = git.run([*command, old or empty, new or empty, "--", *below]).stdout.split(b"\0")
    moves = []
    for head, path in zip(fields[0::2], fields[1::2]):
        _, _, before, after, _ = head.decode("ascii").split(" ")
        moves.append(
            FileMove(
                path.decode("utf-8", "surrogateescape"),
                None if before == git.null_oid else before,
                None if after == git.null_oid else after,
            )
        )
    return moves
