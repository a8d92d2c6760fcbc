"""Making a commit by plumbing: blobs, the trees on the path, the commit.

Nothing here looks at the person's working tree, HEAD or index, and nothing here moves a ref.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kgrade.repository.moves import FileMove, moves_between
from kgrade.repository.objects import object_id
from kgrade.repository.runner import Git, GitError
from kgrade.repository.signing import signing_environment
from kgrade.repository.tree import Entry, Snapshot, TreeError, TreeReader, format_tree, split_path

ANY = "any"
FILE_MODE = "100644"
FOLDER_MODE = "40000"
_AUTHOR = re.compile(r"author (.*) <(.*)> (\d+ [+-]\d{4})")

Wanted = dict[str, "Wanted | str | None"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who makes a commit. `key` is a public SSH key to sign with whose other half an agent holds; "" for git's own."""

    name: str
    email: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One file to write, or to delete when `content` is None.

    `base` is the blob id the change was made from (None: there was no file), or ANY. The change is refused
    with CollisionError when the branch holds neither that nor already the change's own result.
    """

    path: str
    content: bytes | None
    base: str | None = ANY


class CollisionError(GitError):
    """Somebody else wrote the same file since the change was begun.

    `mine` and `theirs` are blob ids, None for no file.
    """

    def __init__(self, path: str, mine: str | None, theirs: str | None) -> None:
        super().__init__(f"{path} was changed elsewhere since this version was begun; choose one of the two")
        self.path = path
        self.mine = mine
        self.theirs = theirs


class Committer:
    """Writes commits into one repository's object store, signed when asked."""

    def __init__(self, reader: TreeReader, identity: Identity, *, sign: bool = False) -> None:
        self._git = reader.git
        self._reader = reader
        self._identity = identity
        self._sign = sign

    def commit(self, parent: str | None, changes: Sequence[Change], message: str) -> str:
        """A commit on `parent` with `changes`; its id, or `parent` itself when they change nothing.

        Raises CollisionError where a change was not made from what `parent` holds.
        """
        return self._commit(parent, self._store(parent, changes), message, self._author())

    def replay(self, commit: str, onto: str | None, *, over: Collection[str] = ()) -> str:
        """The same changes, message and author as `commit`, on `onto`; `onto` itself when it has them.

        Raises CollisionError where `onto` holds neither the old nor the new version of a file, except for the paths
        in `over`, whose versions there are replaced.
        """
        kind, content = self._reader.objects.object(commit)
        if kind != "commit":
            raise GitError(f"object {commit} is a {kind} where a commit was expected")
        head, _, message = content.decode("utf-8", "surrogateescape").partition("\n\n")
        author = _AUTHOR.search(head)
        if author is None:
            raise GitError(f"commit {commit} names no author; see: git fsck")
        parents = re.findall(r"^parent (\w+)$", head, re.MULTILINE)
        moves = moves_between(self._git, parents[0] if parents else None, commit)
        self._check(onto, [move for move in moves if move.path not in over])
        name, email, date = author.groups()
        return self._commit(onto, moves, message, self._author(name, email, date))

    def put(self, parent: str, path: str, blob: str | None, message: str) -> str:
        """A commit on `parent` in which `path` holds a stored blob, or nothing."""
        return self._commit(parent, [FileMove(path, None, blob)], message, self._author())

    def _store(self, parent: str | None, changes: Sequence[Change]) -> list[FileMove]:
        snapshot = Snapshot(self._reader, parent) if parent else None
        moves = []
        for change in changes:
            found = snapshot.entry(change.path) if snapshot else None
            if found is not None and found.kind != "file":
                raise TreeError(f"{change.path} is a {found.kind} where a file was expected")
            old = found.oid if found else None
            new = None if change.content is None else write_blob(self._git, change.content)
            if change.base not in (ANY, old) and new != old:
                raise CollisionError(change.path, new, old)
            moves.append(FileMove(change.path, old, new))
        return moves

    def _check(self, parent: str | None, moves: Sequence[FileMove]) -> None:
        snapshot = Snapshot(self._reader, parent) if parent else None
        for move in moves:
            found = snapshot.entry(move.path) if snapshot else None
            theirs = found.oid if found else None
            if theirs not in (move.old, move.new):
                raise CollisionError(move.path, move.new, theirs)

    def _commit(self, parent: str | None, moves: Sequence[FileMove], message: str, variables: dict[str, str]) -> str:
        root = self._reader.root(parent) if parent else None
        tree = write_tree(self._reader, root, moves)
        if parent and tree == root:
            return parent
        command = ["commit-tree", tree, "-F", "-"]
        if parent:
            command += ["-p", parent]
        if self._sign:
            command.append("-S")
            variables = variables | signing_environment(self._identity.key)
        else:
            command.append("--no-gpg-sign")
        text = message.encode("utf-8", "surrogateescape")
        return self._git.run(command, input=text, env=variables).text

    def _author(self, name: str = "", email: str = "", date: str = "") -> dict[str, str]:
        variables = {
            "GIT_AUTHOR_NAME": name or self._identity.name,
            "GIT_AUTHOR_EMAIL": email or self._identity.email,
            "GIT_COMMITTER_NAME": self._identity.name,
            "GIT_COMMITTER_EMAIL": self._identity.email,
        }
        if date:
            variables["GIT_AUTHOR_DATE"] = f"@{date}"
        return variables


def write_blob(git: Git, content: bytes) -> str:
    """Store `content` unfiltered; its id."""
    return git.run(["hash-object", "-w", "--stdin", "--no-filters"], input=content).text


def write_tree(reader: TreeReader, root: str | None, moves: Sequence[FileMove]) -> str:
    """Store the tree `root` (None: an empty one) with `moves` applied; its id.

    Only the trees on the paths of `moves` are read and written.
    """
    wanted: Wanted = {}
    for move in moves:
        *folders, name = split_path(move.path)
        level = wanted
        for folder in folders:
            step = level.setdefault(folder, {})
            if not isinstance(step, dict):
                raise TreeError(f"{move.path} lies below a file of the same commit")
            level = step
        level[name] = move.new
    fresh: list[tuple[str, bytes]] = []
    top = _rebuild(reader, root, wanted, "", fresh)
    if not top:
        top = object_id("tree", b"", reader.git.object_format)
        fresh.append((top, b""))
    _store_trees(reader.git, fresh)
    return top


def _rebuild(
    reader: TreeReader, tree: str | None, wanted: Wanted, path: str, fresh: list[tuple[str, bytes]]
) -> str | None:
    """The id of `tree` with `wanted` applied, None when nothing is left.

    New trees go to `fresh`, deepest first.
    """
    entries = {e.name: e for e in reader.entries(tree)} if tree else {}
    for name, value in wanted.items():
        found = entries.pop(name, None)
        if isinstance(value, dict):
            if found is not None and found.kind != "folder":
                raise TreeError(f"{path}{name} is a {found.kind} where a folder was expected")
            below = _rebuild(reader, found.oid if found else None, value, f"{path}{name}/", fresh)
            if below:
                entries[name] = Entry(name, "folder", FOLDER_MODE, below)
        elif value:
            mode = found.mode if found is not None and found.kind == "file" else FILE_MODE
            entries[name] = Entry(name, "file", mode, value)
    if not entries:
        return None
    content = format_tree(list(entries.values()))
    oid = object_id("tree", content, reader.git.object_format)
    if oid != tree:
        fresh.append((oid, content))
    return oid


def _store_trees(git: Git, trees: Sequence[tuple[str, bytes]]) -> None:
    """Write raw `trees`, checking git's ids against the ones computed here.

    Not by mktree: it does not read `core.fsync`, so its trees could be lost with the power. `--literally`, because a
    neighbour that git finds fault with must not keep a grade from being saved.
    """
    for expected, content in trees:
        written = git.run(["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], input=content).text
        if written != expected:
            raise GitError(f"git wrote the tree {written} where {expected} was computed; nothing was committed")
