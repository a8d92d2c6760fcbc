"""Opening a queue: which branch and which remote it is on, whose name is on commits, and its settings."""

from __future__ import annotations

import re

import msgspec

from kgrade.records import codec
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.commits import Identity
from kgrade.repository.refs import head_ref, read_refs
from kgrade.repository.runner import Git, GitError
from kgrade.repository.signing import key_at_hand
from kgrade.repository.tree import Snapshot, TreeReader

_YES = ("true", "yes", "on", "1")
_REMOTE = re.compile(r"remote\.(.+)\.(?:url|pushurl|fetch)")
_NOT_QUEUES = ("refs/heads/grades/", "refs/heads/evidence/", "refs/heads/seals")


class NoQueueError(GitError):
    """The repository holds no queue that can be worked on; the sentence says what to do."""


class Signature(msgspec.Struct, frozen=True):
    """Who makes commits, and whether they are signed."""

    identity: Identity
    sign: bool


def open_queue(reader: TreeReader) -> tuple[Branch, Settings]:
    """Return the branch that holds the queue, and the settings that stand there; raise NoQueueError or BadRecord."""
    git = reader.git
    branch = Branch(reader, _queue_ref(git), remote=_remote(git, None))
    snapshot = queue_snapshot(branch)
    if snapshot.entry("queue") is None:
        sentence = f"{git.work_tree or git.git_dir} holds no queue/ folder in its commits; make one with: kgrade init"
        raise NoQueueError("; ".join(filter(None, [sentence, unread(branch)])))
    settings = _settings(snapshot)
    if settings.remote is not None:
        branch = Branch(reader, branch.ref, remote=_remote(git, settings.remote))
    return branch, settings


def queue_snapshot(branch: Branch) -> Snapshot:
    """The queue on `branch` as it stands; NoQueueError before its first commit."""
    head = branch.head()
    if head is None:
        root = branch.git.work_tree or branch.git.git_dir
        raise NoQueueError(f"{root} has no commit yet; make one with: git add queue rubrics && git commit")
    return Snapshot(branch.reader, head)


def git_identity(git: Git) -> tuple[str, str]:
    """Name and e-mail as git knows them; empty where it does not."""
    return git.settings.get("user.name", ""), git.settings.get("user.email", "")


def signature(git: Git, identity: Identity, settings: Settings, evaluator: str = "") -> Signature:
    """Who commits, and whether signed: as the queue demands, or else where a key of `evaluator`'s is at hand."""
    if settings.sign == "never":
        return Signature(identity, sign=False)
    key = key_at_hand(git, settings, evaluator)
    signs = git.settings.get("commit.gpgsign", "").lower() in _YES
    return Signature(msgspec.structs.replace(identity, key=key), sign=bool(settings.sign == "always" or signs or key))


def unread(branch: Branch) -> str:
    """What of the person's own is not read here, in one sentence; empty without a remote or unpushed commits."""
    try:
        ahead = branch.ahead()
    except GitError as why:
        return f"whether all of {branch.short} is at {branch.remote} could not be seen: {why}"
    if not ahead:
        return ""
    commits = "1 commit that is" if ahead == 1 else f"{ahead} commits that are"
    return (
        f"your {branch.short} has {commits} not at {branch.remote}, and what only they hold is not read here;"
        f" send them with: git push {branch.remote} {branch.short}"
    )


def _settings(snapshot: Snapshot) -> Settings:
    if snapshot.entry("kgrade.yaml") is None:
        return Settings()
    data = snapshot.read("kgrade.yaml")
    return codec.decode(Settings, data, "kgrade.yaml") if data.strip() else Settings()


def _queue_ref(git: Git) -> str:
    """The branch checked out; where none is, the only branch there is, or the usual one."""
    head = head_ref(git)
    if head is not None:
        return head
    branches = [ref for ref in read_refs(git, "refs/heads") if not ref.startswith(_NOT_QUEUES)]
    usual = [ref for ref in ("refs/heads/main", "refs/heads/master") if ref in branches]
    if len(branches) == 1 or usual:
        return branches[0] if len(branches) == 1 else usual[0]
    raise NoQueueError(
        "no branch is checked out here and several could be the queue's; check one out, such as: git switch main"
    )


def _remote(git: Git, wanted: str | None) -> str | None:
    names = {found[1] for found in map(_REMOTE.fullmatch, git.settings) if found}
    if wanted is not None and wanted not in names:
        raise NoQueueError(
            f"kgrade.yaml names the remote {wanted}, which this clone does not have;"
            f" add it with: git remote add {wanted} URL"
        )
    return wanted or ("origin" if "origin" in names else None)
