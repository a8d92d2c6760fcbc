"""Reading a working folder with the calls of a commit's `Snapshot`, following no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from kgrade.records import codec
from kgrade.records.neutral import neutral
from kgrade.repository.objects import TooLargeError
from kgrade.repository.tree import (
    DEPTH_LIMIT,
    Entry,
    Kind,
    PathMissingError,
    TreeError,
    last_first,
    name_fault,
    split_path,
)

_MODES: dict[Kind, str] = {"file": "100644", "folder": "40000", "symlink": "120000", "submodule": "160000"}


class Folder:
    """The files below `root` as they lie on disk; entries carry no object id."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def entry(self, path: str) -> Entry | None:
        """What lies at `path`, or None; what lies behind a link is None too."""
        found = Entry("", "folder", _MODES["folder"], "")
        here = self.root
        for part in split_path(path):
            if found.kind != "folder":
                return None
            here = here / part
            step = _entry(here, part)
            if step is None:
                return None
            found = step
        return found

    def list(self, path: str) -> tuple[Entry, ...]:
        """The entries of the folder at `path`, by name; nothing when there is no such folder."""
        found = self.entry(path)
        if found is None or found.kind != "folder":
            return ()
        here = self.root / path
        entries = (_entry(here / name, name) for name in sorted(os.listdir(here)) if name != ".git")
        return tuple(entry for entry in entries if entry is not None)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The bytes of the file at `path`; raises as `Snapshot.read` does."""
        limit = codec.largest(path) if limit is None else limit
        found = self.entry(path)
        if found is None:
            raise PathMissingError(f"{path} is missing from {neutral(str(self.root))}")
        if found.kind != "file":
            raise TreeError(f"{path} is a {found.kind} where a file was expected")
        try:
            handle = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise TreeError(f"{path} cannot be read ({error.strerror})") from None
        with os.fdopen(handle, "rb") as file:
            size = os.fstat(handle).st_size
            if size > limit:
                raise TooLargeError(f"{path} has {size} bytes, above the limit of {limit}", size)
            return file.read(limit)

    def walk(self, path: str) -> Iterator[tuple[str, Entry]]:
        """Every entry below `path` that is not a folder, and every faulty one, with its path, by name."""
        waiting = last_first(path, self.list(path))
        while waiting:
            below, entry = waiting.pop()
            if entry.kind != "folder" or entry.fault or below.count("/") >= DEPTH_LIMIT - 1:
                yield below, entry
            else:
                waiting += last_first(below, self.list(below))

    def link_target(self, path: str) -> str:
        """Where the symlink at `path` points, as text that is safe to print."""
        return neutral(os.readlink(self.root / path))


def _entry(path: Path, name: str) -> Entry | None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    fault = name_fault(name)
    kind: Kind = "file"
    if stat.S_ISLNK(mode):
        kind = "symlink"
    elif stat.S_ISDIR(mode):
        kind = "folder"
    elif not stat.S_ISREG(mode):
        fault = fault or "it is neither a file nor a folder"
    return Entry(name, kind, _MODES[kind], "", fault)
