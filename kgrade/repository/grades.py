"""The branches that hold grades, by the names that they have for everyone, and the grades that stand on them."""

from __future__ import annotations

from collections.abc import Mapping

from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.refs import read_refs
from kgrade.repository.runner import Git
from kgrade.repository.tree import TreeReader

HEADS = "refs/heads/"
SEALS = "refs/heads/seals"


def grade_branches(queue: Branch, settings: Settings) -> dict[str, str]:
    """Return every branch that holds grades with its commit: the remote's where there is one, as last fetched.

    The queue's own branch comes first; where grades go to it, it is the only one.
    """
    head = queue.remote_tip() or queue.tip()
    found = {queue.ref: head} if head else {}
    template = settings.grades_ref
    if template is None or template == queue.ref:
        return found
    prefix = template.partition("{evaluator}")[0]
    return found | {ref: oid for ref, oid in branches(queue.git, queue.remote).items() if ref.startswith(prefix)}


def branches(git: Git, remote: str | None) -> dict[str, str]:
    """Return every branch by its full name: the remote's as last seen, or the repository's own without one.

    Where both kgrade and a plain `git fetch` saw the remote's branch, kgrade's word counts: it notices rewrites.
    """
    if remote is None:
        return read_refs(git, HEADS.rstrip("/"))
    fetched = _renamed(read_refs(git, f"refs/remotes/{remote}"), f"refs/remotes/{remote}/")
    return fetched | _renamed(read_refs(git, f"refs/kgrade/remotes/{remote}"), f"refs/kgrade/remotes/{remote}/")


def grade_files(reader: TreeReader, commit: str) -> list[tuple[str, str]]:
    """Return path and blob of every grade in `commit`."""
    output = reader.git.run(["ls-tree", "-r", "-z", "--full-tree", commit, "queue/"]).stdout
    entries = [entry.partition(b"\t") for entry in output.split(b"\0") if b"/grades/" in entry]
    return [(path.decode("utf-8", "surrogateescape"), head.split(b" ")[2].decode()) for head, _, path in entries]


def standing(reader: TreeReader, stand: Mapping[str, str]) -> dict[str, str]:
    """Return the blob of each grade on the branches `stand`; an evaluator's own branch has the last word on theirs."""
    blobs: dict[str, str] = {}
    for ref, commit in stand.items():
        for path, blob in grade_files(reader, commit):
            evaluator = path.rpartition("/")[2].removesuffix(".yaml")
            if path not in blobs or ref.removeprefix(HEADS).endswith(f"/{evaluator}"):
                blobs[path] = blob
    return blobs


def _renamed(refs: dict[str, str], prefix: str) -> dict[str, str]:
    return {HEADS + ref.removeprefix(prefix): oid for ref, oid in refs.items() if ref != f"{prefix}HEAD"}
