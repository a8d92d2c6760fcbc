"""The history of what people said: every commit that wrote a grade, a comparison, a lead's decision or the settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgrade.repository.moves import FileMove
from kgrade.repository.plan import ASSIGNMENTS
from kgrade.repository.runner import LOCAL_TIMEOUT_S, Git, printable

WATCHED = (
    ":(glob)queue/**/grades/*.yaml",
    ":(glob)queue/*/comparisons/*/*.yaml",
    ":(glob)queue/**/adjudication.yaml",
    ASSIGNMENTS,
    "kgrade.yaml",
)
_PATTERNS = {"GIT_LITERAL_PATHSPECS": "0"}
_LONG_S = 10 * LOCAL_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Step:
    """One commit: seconds since 1970 for both of its times, and what it did to the files that are watched."""

    commit: str
    parents: tuple[str, ...]
    email: str
    authored: int
    committed: int
    moves: tuple[FileMove, ...]


def steps(git: Git, tips: Sequence[str]) -> list[Step]:
    """Every commit in the history of `tips` that wrote a watched file, newest first, no side branch left out.

    A merge counts with the files in which it differs from all of its parents: what it changed by itself.
    """
    if not tips:
        return []
    form = "--format=%x01%H%x02%P%x02%ae%x02%at%x02%ct%x02"
    options = ["--full-history", "--topo-order", "-z", "--raw", "--no-abbrev", "--no-renames"]
    command = ["log", *options, "-c", form, *tips, "--", *WATCHED]
    output = git.run(command, env=_PATTERNS, timeout=_LONG_S).stdout
    return [_step(part, git.null_oid) for part in output.split(b"\x01")[1:]]


def dates(git: Git, commits: Iterable[str]) -> dict[str, int]:
    """When each of `commits` was committed, in seconds since 1970; those that are not here are left out."""
    asked = sorted(set(commits))
    if not asked:
        return {}
    command = ["log", "--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H %ct"]
    lines = git.run(command, input="".join(f"{c}\n" for c in asked).encode(), timeout=_LONG_S).text.splitlines()
    return {commit: int(at) for commit, _, at in (line.partition(" ") for line in lines)}


def present(git: Git, oids: Iterable[str]) -> set[str]:
    """Which of the objects `oids` this repository holds."""
    asked = sorted(set(oids))
    if not asked:
        return set()
    command = ["cat-file", "--batch-check=%(objectname) %(objecttype)"]
    lines = git.run(command, input="".join(f"{oid}\n" for oid in asked).encode(), timeout=_LONG_S).text.splitlines()
    return {line.split(" ")[0] for line in lines if not line.endswith(" missing")}


def _step(part: bytes, null: str) -> Step:
    commit, parents, email, authored, committed, raw = part.split(b"\x02", 5)
    fields = raw.strip(b"\n\0").split(b"\0") if raw.strip(b"\n\0") else []
    moves = [_move(head, path, null) for head, path in zip(fields[0::2], fields[1::2])]
    return Step(
        commit=commit.decode(),
        parents=tuple(parents.decode().split()),
        email=printable(email.decode("utf-8", "replace")),
        authored=int(authored),
        committed=int(committed),
        moves=tuple(moves),
    )


def _move(head: bytes, path: bytes, null: str) -> FileMove:
    """One raw entry: with n parents, n+1 modes and n+1 ids, the result last; the first parent's id is the old one."""
    parents = len(head) - len(head.lstrip(b":"))
    words = head.decode("ascii").lstrip(":").split(" ")
    ids = words[parents + 1 : 2 * parents + 2]
    old, new = (None if oid == null else oid for oid in (ids[0], ids[-1]))
    return FileMove(path.decode("utf-8", "surrogateescape"), old, new)
