"""Making a commit by plumbing: blobs, the trees on the path, the commit.

Nothing here looks at the person's working tree, HEAD or index, and nothing here moves a ref.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence

import msgspec

from kgrade.records.neutral import neutral
from kgrade.repository.moves import FileMove, moves_between
from kgrade.repository.objects import object_id
from kgrade.repository.runner import GitError
from kgrade.repository.signing import signing_environment
from kgrade.repository.storing import NewObject, store
from kgrade.repository.tree import Entry, Snapshot, TreeError, TreeReader, place_in_tree, raw_tree, split_path

ANY = "any"
FILE_MODE = "100644"
FOLDER_MODE = "40000"
_AUTHOR = re.compile(r"author (.*) <(.*)> (\d+ [+-]\d{4})")
_CRUD = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
"""What git takes off the ends of a name (ident.c)."""

_NEVER_IN_A_NAME = str.maketrans("", "", "\n<>\0")

Wanted = dict[str, "Wanted | str | None"]


class Identity(msgspec.Struct, frozen=True):
    """Who makes a commit. `key` is a public SSH key to sign with whose other half an agent holds; "" for git's own."""

    name: str
    email: str
    key: str = ""


class Stamp(msgspec.Struct, frozen=True):
    """Who and when, as a commit says it; `when` is seconds since 1970 and the zone, such as `1790000000 +0100`."""

    identity: Identity
    when: str

    @classmethod
    def now(cls, identity: Identity) -> Stamp:
        """The present moment, in this machine's zone."""
        return cls(identity, f"{int(time.time())} {time.strftime('%z')}")

    @property
    def text(self) -> str:
        """The line without its first word; GitError where nothing is left of the name."""
        name, email = (_cleaned(text) for text in (self.identity.name, self.identity.email))
        if not name:
            raise GitError(f"the name {neutral(self.identity.name)!r} cannot stand on a commit; set git's user.name")
        return f"{name} <{email}> {self.when}"


class Change(msgspec.Struct, frozen=True):
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
        moves, blobs = self._moves(parent, changes)
        return self._commit(parent, moves, message, blobs=blobs)

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
        moves = moves_between(self._reader, parents[0] if parents else None, commit)
        self._check(onto, [move for move in moves if move.path not in over])
        name, email, date = author.groups()
        return self._commit(onto, moves, message, Stamp(Identity(name, email), date))

    def put(self, parent: str, path: str, blob: str | None, message: str) -> str:
        """A commit on `parent` in which `path` holds a stored blob, or nothing."""
        return self._commit(parent, [FileMove(path, None, blob)], message)

    def _moves(self, parent: str | None, changes: Sequence[Change]) -> tuple[list[FileMove], list[NewObject]]:
        """What `changes` do to `parent`, and the blobs that they need, which are not stored yet."""
        snapshot = Snapshot(self._reader, parent) if parent else None
        moves, blobs = [], []
        for change in changes:
            found = snapshot.entry(change.path) if snapshot else None
            if found is not None and found.kind != "file":
                raise TreeError(f"{change.path} is a {found.kind} where a file was expected")
            old = found.oid if found else None
            new = None
            if change.content is not None:
                new = object_id("blob", change.content, self._git.object_format)
                blobs.append(NewObject("blob", change.content))
            if change.base not in (ANY, old) and new != old:
                raise CollisionError(change.path, new, old)
            moves.append(FileMove(change.path, old, new))
        return moves, blobs

    def _check(self, parent: str | None, moves: Sequence[FileMove]) -> None:
        snapshot = Snapshot(self._reader, parent) if parent else None
        for move in moves:
            found = snapshot.entry(move.path) if snapshot else None
            theirs = found.oid if found else None
            if theirs not in (move.old, move.new):
                raise CollisionError(move.path, move.new, theirs)

    def _commit(
        self,
        parent: str | None,
        moves: Sequence[FileMove],
        message: str,
        author: Stamp | None = None,
        *,
        blobs: Sequence[NewObject] = (),
    ) -> str:
        root = self._reader.root(parent) if parent else None
        tree, trees = rebuilt(self._reader, root, moves)
        if parent and tree == root:
            return parent
        committer = Stamp.now(self._identity)
        if self._sign:
            store(self._git, [*blobs, *trees])
            return self._signed(tree, parent, author or committer, committer, message)
        commit = commit_object(tree, parent, author or committer, committer, message)
        return store(self._git, [*blobs, *trees, commit])[-1]

    def _signed(self, tree: str, parent: str | None, author: Stamp, committer: Stamp, message: str) -> str:
        stamps = {"AUTHOR": author, "COMMITTER": committer}
        variables = signing_environment(self._identity.key)
        for role, stamp in stamps.items():
            variables[f"GIT_{role}_NAME"] = stamp.identity.name
            variables[f"GIT_{role}_EMAIL"] = stamp.identity.email
            variables[f"GIT_{role}_DATE"] = f"@{stamp.when}"
        parents = ["-p", parent] if parent else []
        text = message.encode("utf-8", "surrogateescape")
        return self._git.run(["commit-tree", tree, "-F", "-", *parents, "-S"], input=text, env=variables).text


def commit_object(tree: str, parent: str | None, author: Stamp, committer: Stamp, message: str) -> NewObject:
    """An unsigned commit, as `git commit-tree` would make it; GitError for a message that holds a NUL."""
    if "\0" in message:
        raise GitError("a commit message cannot hold a NUL byte")
    head = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
    head += [f"author {author.text}", f"committer {committer.text}"]
    body = message if message.endswith("\n") else f"{message}\n"
    return NewObject("commit", ("\n".join(head) + f"\n\n{body}").encode("utf-8", "surrogateescape"))


def _cleaned(name: str) -> str:
    return name.strip(_CRUD).translate(_NEVER_IN_A_NAME)


def rebuilt(reader: TreeReader, root: str | None, moves: Sequence[FileMove]) -> tuple[str, list[NewObject]]:
    """The id of the tree `root` (None: an empty one) with `moves` applied, and the trees to store for it.

    Only the trees on the paths of `moves` are read.
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
    fresh: list[NewObject] = []
    top = _rebuild(reader, root, wanted, "", fresh)
    if not top:
        top = object_id("tree", b"", reader.git.object_format)
        fresh.append(NewObject("tree", b""))
    return top, fresh


def _rebuild(reader: TreeReader, tree: str | None, wanted: Wanted, path: str, fresh: list[NewObject]) -> str | None:
    """The id of `tree` with `wanted` applied, None when nothing is left.

    New trees go to `fresh`, deepest first.
    """
    held = reader.entries(tree) if tree else ()
    known = reader.named(tree) if tree else {}
    others: dict[str, Entry | None] = {}
    for name, value in wanted.items():
        found = known.get(name)
        others[name] = None
        if isinstance(value, dict):
            if found is not None and found.kind != "folder":
                raise TreeError(f"{path}{name} is a {found.kind} where a folder was expected")
            below = _rebuild(reader, found.oid if found else None, value, f"{path}{name}/", fresh)
            if below:
                others[name] = Entry(name, "folder", FOLDER_MODE, below)
        elif value:
            mode = found.mode if found is not None and found.kind == "file" else FILE_MODE
            others[name] = Entry(name, "file", mode, value)
    entries = _with_these(held, others)
    if not entries:
        return None
    content = raw_tree(entries)
    oid = object_id("tree", content, reader.git.object_format)
    if oid != tree:
        fresh.append(NewObject("tree", content))
        if not any(entry.fault for entry in entries):
            reader.keep(oid, entries)
    return oid


def _with_these(held: Sequence[Entry], others: Mapping[str, Entry | None]) -> tuple[Entry, ...]:
    """`held` with `others` (None: nothing) in the places of those called the same, in git's order."""
    left = {name: entry for name, entry in others.items() if entry is not None}
    entries = []
    for entry in held:
        if entry.name not in others:
            entries.append(entry)
        elif (other := left.get(entry.name)) is not None and place_in_tree(other) == place_in_tree(entry):
            entries.append(left.pop(entry.name))
    return tuple(sorted([*entries, *left.values()], key=place_in_tree) if left else entries)
