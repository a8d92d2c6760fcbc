"""Grades on their way without a network: out of one clone as a `git bundle`, into the outbox of another.

What a bundle brings is hostile until looked at: its commits are taken only where they write grades and nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path

from kgrade.repository.branches import OUTBOX, Branch, Outbox
from kgrade.repository.moves import moves_between
from kgrade.repository.refs import commits_between, is_ancestor, merge_base, move_ref, read_ref
from kgrade.repository.runner import Git, GitError, printable

_GRADE = re.compile(r"queue/[^/]+/(submissions/[^/]+/)?grades/[^/]+\.yaml")
_TAKEN = "refs/kgrade/bundle/"


class BundleError(GitError):
    """A bundle that cannot be written or taken; the sentence says why and what to do."""


def write_bundle(branch: Branch, file: Path) -> int:
    """Write what waits for the remote to `file`; how many commits that are."""
    box = branch.outbox()
    if box is None:
        raise BundleError(f"nothing waits for {branch.remote or branch.short}, so there is nothing to carry")
    base = branch.remote_tip() or box.base
    waiting = commits_between(branch.git, base, box.tip)
    known = [f"^{base}"] if base else []
    branch.git.run(["bundle", "create", "--quiet", str(file.absolute()), branch.outbox_ref, *known])
    return len(waiting)


def branches_in(git: Git, file: Path) -> list[str]:
    """The branches (full names) whose waiting commits `file` carries."""
    listed = git.run(["bundle", "list-heads", str(file.absolute())], check=False)
    if listed.code:
        raise BundleError(f"{file} is no bundle of grades: {printable(listed.words.strip().splitlines()[-1])}")
    heads = [line.split(" ", 1)[1] for line in listed.text.splitlines()]
    return ["refs/heads/" + head.removeprefix(OUTBOX) for head in heads if head.startswith(OUTBOX)]


def take_bundle(branch: Branch, file: Path) -> int:
    """Put the grades in `file` into the outbox of `branch`, from where they are sent like one's own; how many commits.

    Each keeps its author; one that can go on the branch as it is keeps its signature too.
    """
    if branch.outbox() is not None:
        raise BundleError(f"commits of your own wait for {branch.remote}; send them first with: kgrade sync")
    git, there = branch.git, _TAKEN + branch.short
    command = ["fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", str(file.absolute())]
    fetched = git.run([*command, f"+{OUTBOX}{branch.short}:{there}"], check=False)
    if fetched.code:
        raise BundleError(f"{file} needs commits that are not here; fetch first, or ask for a bundle from a newer one")
    tip = read_ref(git, there)
    assert tip is not None
    try:
        return _into_outbox(branch, tip, file)
    finally:
        move_ref(git, there, None, tip)


def _into_outbox(branch: Branch, tip: str, file: Path) -> int:
    head = branch.head()
    if head is not None and is_ancestor(branch.git, tip, head):
        return 0
    base = merge_base(branch.git, head, tip) if head else None
    commits = commits_between(branch.git, base, tip)
    known = [f"^{base}"] if base else []
    if branch.git.run(["rev-list", "--min-parents=2", "--max-count=1", tip, *known]).text:
        raise BundleError(f"{file} carries a merge; a bundle of grades holds one grade after the other")
    for commit, before in zip(commits, [base, *commits]):
        strange = [
            move.path for move in moves_between(branch.reader, before, commit) if not _GRADE.fullmatch(move.path)
        ]
        if strange:
            raise BundleError(
                f"{file} would change {printable(strange[0])} in {commit[:12]}; a bundle of grades holds nothing else"
            )
    branch.set_outbox(Outbox(tip, base), None)
    return len(commits)
