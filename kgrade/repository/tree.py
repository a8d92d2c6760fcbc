"""Reading a commit: its folders and files, and the ids of what is judged."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from kgrade.records import codec
from kgrade.records.neutral import neutral
from kgrade.records.slugs import ItemId
from kgrade.repository.objects import ObjectReader, TooLargeError, object_id
from kgrade.repository.runner import Git, GitError
from kgrade.repository.spool import Spool

Kind = Literal["file", "folder", "symlink", "submodule"]

READ_LIMIT = 8 << 20  # bytes; formats.md refuses larger files
TREE_LIMIT = 64 << 20
DEPTH_LIMIT = 64
TREES_KEPT = 4096

_TOO_DEEP = f"nested deeper than {DEPTH_LIMIT} folders"
NOT_JUDGED = ("submissions", "evidence", "grades", "comparisons")

_KINDS: dict[str, Kind] = {"100644": "file", "100755": "file", "40000": "folder", "120000": "symlink"}
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
"""Names that nothing below has to look at twice, which is nearly all."""

_DOT_GIT = re.compile(r"\.git|git~\d+", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class TreeError(GitError):
    """A path that a commit does not have, or that must not be read."""


class PathMissingError(TreeError):
    """A path that a commit does not have."""


class Entry(msgspec.Struct, frozen=True):
    """One entry of a tree.

    `fault` is one sentence for an entry that must not be followed, and empty for a sound one.
    """

    name: str
    kind: Kind
    mode: str
    oid: str
    fault: str = ""


def name_fault(name: str) -> str:
    """Why `name` may not be one part of a path, or nothing."""
    if _PLAIN.fullmatch(name):
        return ""
    if name in ("", ".", ".."):
        return f"a path part may not be {name!r}"
    if "/" in name or "\\" in name:
        return f"a path part may not hold a slash: {neutral(name)!r}"
    if _CONTROL.search(name):
        return f"a path part may not hold control characters: {neutral(name)!r}"
    # Filesystems ignore trailing dots and spaces, and these zero-width characters, in names.
    if _DOT_GIT.fullmatch(re.sub("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]", "", name).rstrip(". ")):
        return f"a path part may not be git's own folder: {neutral(name)!r}"
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return f"a path part must be valid UTF-8: {neutral(name.encode('utf-8', 'replace').decode())!r}"
    return ""


def split_path(path: str) -> tuple[str, ...]:
    """The parts of a path inside a repository; TreeError for one that could lead out of it."""
    if path == "":
        return ()
    parts = tuple(path.split("/"))
    if len(parts) > DEPTH_LIMIT:
        raise TreeError(f"the path {neutral(path)[:80]!r}… is nested deeper than {DEPTH_LIMIT} folders")
    for part in parts:
        if fault := name_fault(part):
            raise TreeError(f"the path {neutral(path)!r} cannot be used: {fault}")
    return parts


def parse_tree(content: bytes, oid_bytes: int) -> tuple[Entry, ...]:
    """The entries of a raw tree object, in git's order, each with its fault if it has one."""
    entries: list[Entry] = []
    seen: set[str] = set()
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        mode = content[at:space].decode("ascii").lstrip("0")
        name = content[space + 1 : end].decode("utf-8", "surrogateescape")
        oid = content[end + 1 : end + 1 + oid_bytes].hex()
        at = end + 1 + oid_bytes
        fault = name_fault(name)
        if name in seen:
            fault = f"the name {neutral(name)!r} occurs twice in one folder"
        seen.add(name)
        entries.append(Entry(name, _KINDS.get(mode, "submodule"), mode, oid, fault))
    return tuple(entries)


def format_tree(entries: Sequence[Entry]) -> bytes:
    """The raw tree object made of `entries`, sorted the way git sorts them."""
    return raw_tree(sorted(entries, key=place_in_tree))


def raw_tree(entries: Sequence[Entry]) -> bytes:
    """The raw tree object made of `entries`, which are in git's order."""
    return b"".join(
        [
            b"%b %b\0%b" % (e.mode.encode(), e.name.encode("utf-8", "surrogateescape"), bytes.fromhex(e.oid))
            for e in entries
        ]
    )


def place_in_tree(entry: Entry) -> bytes:
    """What git sorts the entries of a tree by."""
    name = entry.name.encode("utf-8", "surrogateescape")
    return name + b"/" if entry.kind == "folder" else name


def judged_tree(entries: Sequence[Entry], object_format: str) -> str:
    """The id of the tree of a task's `entries` without submissions, evidence and grades."""
    judged = [entry for entry in entries if entry.name not in NOT_JUDGED]
    return object_id("tree", format_tree(judged), object_format)


class _Tree(msgspec.Struct):
    """A parsed tree; `by_name`, in which the first of two equal names stands, is made when it is first asked for."""

    entries: tuple[Entry, ...]
    by_name: dict[str, Entry] | None = None


class TreeReader:
    """Trees and files of one repository by object id; parsed trees are kept."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self.objects = ObjectReader(git)
        self._trees: OrderedDict[str, _Tree] = OrderedDict()
        self._turn = threading.Lock()

    def entries(self, oid: str) -> tuple[Entry, ...]:
        """The entries of a tree."""
        return self._tree(oid).entries

    def named(self, oid: str) -> Mapping[str, Entry]:
        """The entries of a tree by name, the first of two that are called the same."""
        tree = self._tree(oid)
        if tree.by_name is None:
            tree.by_name = {entry.name: entry for entry in reversed(tree.entries)}
        return tree.by_name

    def keep(self, oid: str, entries: tuple[Entry, ...]) -> None:
        """Take over a tree that was just made, so that it need not be read; none of its `entries` has a fault."""
        with self._turn:
            self._keep(oid, _Tree(entries))

    def _tree(self, oid: str) -> _Tree:
        with self._turn:
            known = self._trees.get(oid)
            if known is not None:
                self._trees.move_to_end(oid)
                return known
        kind, content = self.objects.object(oid, TREE_LIMIT)
        if kind != "tree":
            raise TreeError(f"object {oid} is a {kind} where a folder was expected; see: git fsck")
        try:
            parsed = _Tree(parse_tree(content, len(oid) // 2))
        except ValueError:
            raise TreeError(f"tree {oid} is malformed; see: git fsck") from None
        with self._turn:
            self._keep(oid, parsed)
        return parsed

    def _keep(self, oid: str, tree: _Tree) -> None:
        self._trees[oid] = tree
        if len(self._trees) > TREES_KEPT:
            self._trees.popitem(last=False)

    def ahead(self, oids: Sequence[str]) -> None:
        """Read these trees in one go, but for those that are kept already; faults show when they are asked for."""
        with self._turn:
            wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._trees]
        self.objects.ahead(wanted, TREE_LIMIT)
        for oid in wanted:
            with contextlib.suppress(GitError):
                self.entries(oid)

    def root(self, commit: str) -> str:
        """The id of a commit's root tree."""
        kind, content = self.objects.object(commit)
        if kind != "commit" or not content.startswith(b"tree "):
            raise TreeError(f"object {commit} is not a readable commit; see: git fsck")
        return content[5 : content.index(b"\n")].decode("ascii")


class Snapshot:
    """The files of one commit; paths are relative to the repository's root and use `/`."""

    def __init__(self, reader: TreeReader, commit: str) -> None:
        self.commit = commit
        self._reader = reader
        self._root = reader.root(commit)

    def entry(self, path: str) -> Entry | None:
        """What the commit has at `path`, or None.

        A symlink on the way is never followed: what lies behind it is None too.
        """
        found = Entry("", "folder", "40000", self._root)
        for part in split_path(path):
            if found.kind != "folder":
                return None
            step = self._reader.named(found.oid).get(part)
            if step is None:
                return None
            found = step
        return found

    def list(self, path: str) -> tuple[Entry, ...]:
        """The entries of the folder at `path`, in git's order; nothing when there is no such folder."""
        found = self.entry(path)
        if found is None or found.kind != "folder":
            return ()
        return self._reader.entries(found.oid)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The bytes of the file at `path`.

        Raises PathMissingError, TreeError for anything but a file, and TooLargeError above `limit` bytes: those of a
        record where none are given.
        """
        limit = codec.largest(path) if limit is None else limit
        found = self.entry(path)
        if found is None:
            raise PathMissingError(f"{path} is missing from commit {self.commit[:12]}")
        if found.kind != "file":
            raise TreeError(f"{path} is a {found.kind} where a file was expected")
        try:
            kind, content = self._reader.objects.object(found.oid, limit)
        except TooLargeError as error:
            raise TooLargeError(f"{path} has {error.size} bytes, above the limit of {limit}", error.size) from None
        if kind != "blob":
            raise TreeError(f"{path} points at a {kind} where a file was expected; see: git fsck")
        return content

    def spool(self, path: str, size: int) -> Spool:
        """The file at `path`, too large to hold; `size` is what TooLargeError said. PathMissingError as for `read`."""
        found = self.entry(path)
        if found is None or found.kind != "file":
            raise PathMissingError(f"{path} is missing from commit {self.commit[:12]}")
        return Spool(self._reader.git, found.oid, size)

    def walk(self, path: str) -> Iterator[tuple[str, Entry]]:
        """Every entry below `path` that is not a folder, and every faulty one, with its path, in git's order."""
        waiting = last_first(path, self.list(path))
        while waiting:
            below, entry = waiting.pop()
            if entry.kind != "folder" or entry.fault:
                yield below, entry
            elif below.count("/") >= DEPTH_LIMIT - 1:
                yield below, Entry(entry.name, entry.kind, entry.mode, entry.oid, _TOO_DEEP)
            else:
                waiting += last_first(below, self.list(below))

    def link_target(self, path: str) -> str:
        """Where the symlink at `path` points, as text that is safe to print; it is never followed."""
        found = self.entry(path)
        if found is None or found.kind != "symlink":
            raise TreeError(f"{path} is not a symlink")
        return neutral(self._reader.objects.object(found.oid, 4096)[1].decode("utf-8", "replace"))

    def tasks(self) -> tuple[str, ...]:
        """The names of the folders under `queue/`, sorted."""
        return _folders(self.list("queue"))

    def submissions(self, task: str) -> tuple[str, ...]:
        """The names of a task's submissions, sorted."""
        return _folders(self.list(f"queue/{task}/submissions"))

    def task_tree(self, task: str) -> str:
        """The id of the tree of `queue/<task>/` without submissions, evidence and grades.

        It is what `git mktree` would give, without writing anything. Raises PathMissingError when there is
        no such task.
        """
        found = self.entry(f"queue/{task}")
        if found is None or found.kind != "folder":
            raise PathMissingError(f"queue/{task} is missing from commit {self.commit[:12]}")
        return judged_tree(self._reader.entries(found.oid), self._reader.git.object_format)

    def solution_tree(self, item: ItemId) -> str:
        """The id of a submission's `solution/`; PathMissingError when it has none."""
        path = f"{item.folder}/solution"
        found = self.entry(path)
        if found is None or found.kind != "folder":
            raise PathMissingError(f"{path} is missing from commit {self.commit[:12]}")
        return found.oid


def last_first(folder: str, entries: Sequence[Entry]) -> list[tuple[str, Entry]]:
    """The entries of a folder with their paths, the last first: what a walk takes from the end."""
    return [(f"{folder}/{entry.name}" if folder else entry.name, entry) for entry in reversed(entries)]


def _folders(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(sorted(e.name for e in entries if e.kind == "folder" and not e.fault))
