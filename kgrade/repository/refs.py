"""Refs: where they stand, and moving them by compare-and-swap."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from kgrade.repository.objects import ObjectReader
from kgrade.repository.ref_files import are_read_here, ref_in_files, refs_in_files
from kgrade.repository.runner import Git, GitError, Result, reason

BUSY = "File exists"
_PARENT = re.compile(rb"^parent ([0-9a-f]+)$", re.MULTILINE)
_FEW = 64
MOVED = (
    "but expected",
    "reference already exists",
    "unable to resolve reference",
    "reference is missing but expected",
)


class RefMove(msgspec.Struct, frozen=True):
    """One step of one ref; None stands for no ref."""

    ref: str
    new: str | None
    old: str | None


class RefMovedError(GitError):
    """A ref was not where the caller had seen it."""


class RefBusyError(GitError):
    """Another process holds the lock of a ref, or left it behind."""


def read_refs(git: Git, *prefixes: str) -> dict[str, str]:
    """Every ref that is one of `prefixes` or lies below one, with its object id, by name."""
    if are_read_here(git.common_dir):
        found = {name: oid for prefix in prefixes for name, oid in refs_in_files(git.common_dir, prefix).items()}
        return dict(sorted(found.items()))
    listed = git.run(["for-each-ref", "--format=%(objectname) %(refname)", *prefixes])
    lines = (line.partition(" ") for line in listed.text.splitlines())
    return {name: oid for oid, _, name in lines}


def read_ref(git: Git, ref: str) -> str | None:
    """The object id of one ref, or None when there is no such ref."""
    return ref_in_files(git.common_dir, ref) if are_read_here(git.common_dir) else read_refs(git, ref).get(ref)


def head_ref(git: Git) -> str | None:
    """The branch that is checked out in this working tree, by its full name; None for a detached HEAD."""
    if are_read_here(git.common_dir):
        head = (git.git_dir / "HEAD").read_text("utf-8", "replace").strip()
        return head.removeprefix("ref:").strip() if head.startswith("ref:") else None
    return git.run(["symbolic-ref", "--quiet", "HEAD"], check=False).text or None


def move_ref(
    git: Git, ref: str, new: str | None, old: str | None, why: str = "kgrade", *, durable: bool = True
) -> None:
    """Set `ref` to `new` if it still stands at `old`; None means that the ref does not exist.

    Raises RefMovedError when it stands elsewhere, RefBusyError when its lock is held.
    """
    move_refs(git, [RefMove(ref, new, old)], why, durable=durable)


def move_command(why: str) -> list[str]:
    """The git command by which `move_refs` moves refs for the reason `why`."""
    return ["update-ref", "-m", why, "-z", "--stdin"]


def move_refs(git: Git, moves: Sequence[RefMove], why: str = "kgrade", *, durable: bool = True) -> None:
    """Make all of `moves` or none of them; raises as `move_ref` does. `durable`: on the disk when it returns."""
    records = []
    for move in moves:
        if move.new is None:
            if move.old is not None:
                records.append(f"delete {move.ref}\0{move.old}\0")
        else:
            records.append(f"update {move.ref}\0{move.new}\0{move.old or git.null_oid}\0")
    text = "".join(records).encode()
    command = move_command(why)
    result = git.ask(command, b"start\0" + text + b"commit\0", b"start: ok\ncommit: ok\n") if durable else None
    if result is None:
        result = git.run(command, input=text, check=False, durable=durable)
    if result.code:
        raise _refusal(" and ".join(move.ref for move in moves), result)


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Whether `newer` contains the history of `older`; a commit contains itself."""
    if older == newer:
        return True
    result = git.run(["merge-base", "--is-ancestor", older, newer], check=False)
    if result.code not in (0, 1):
        raise GitError(f"git cannot compare {older[:12]} with {newer[:12]}: {reason(result)}")
    return result.code == 0


def merge_base(git: Git, one: str, other: str) -> str | None:
    """The newest commit that both histories hold, None when they share nothing."""
    return git.run(["merge-base", one, other], check=False).text or None


def straight(reader: ObjectReader, older: str | None, newer: str) -> list[str] | None:
    """The commits after `older` up to `newer`, oldest first, where each has one parent; None: that is git's to find.

    Read here, because each turn of a race for a branch asks for a few commits several times.
    """
    found: list[str] = []
    at = newer
    while at != older:
        parents = _PARENT.findall(reader.object(at)[1].partition(b"\n\n")[0]) if older else []
        if len(parents) != 1 or len(found) == _FEW:
            return None
        found.append(at)
        at = parents[0].decode()
    return found[::-1]


def commits_between(git: Git, older: str | None, newer: str) -> list[str]:
    """The commits of `newer`'s history that `older`'s lacks, oldest first."""
    exclude = [f"^{older}"] if older else []
    return git.run(["rev-list", "--reverse", "--topo-order", newer, *exclude]).text.split()


def _refusal(ref: str, result: Result) -> GitError:
    words = result.words
    if any(sign in words for sign in MOVED):
        return RefMovedError(f"{ref} was moved by another process", code=result.code, stderr=words)
    if BUSY in words and ".lock" in words:
        return RefBusyError(f"{ref} is locked by another process", code=result.code, stderr=words)
    return GitError(f"{ref} could not be moved: {reason(result)}", code=result.code, stderr=words)
