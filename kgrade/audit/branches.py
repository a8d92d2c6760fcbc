"""The branches that hold grades, by the names that they have for everyone."""

from __future__ import annotations

from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.refs import read_refs
from kgrade.repository.runner import Git

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


def _renamed(refs: dict[str, str], prefix: str) -> dict[str, str]:
    return {HEADS + ref.removeprefix(prefix): oid for ref, oid in refs.items() if ref != f"{prefix}HEAD"}
