"""Opening a queue: which branch and which remote it is on, whose name is on commits, and its settings."""

from __future__ import annotations

from kgrade.records import codec
from kgrade.records.settings import Settings
from kgrade.repository.branches import Branch
from kgrade.repository.commits import Identity
from kgrade.repository.refs import read_refs
from kgrade.repository.runner import Git, GitError
from kgrade.repository.tree import Snapshot, TreeReader

_NOT_QUEUES = ("refs/heads/grades/", "refs/heads/evidence/", "refs/heads/seals")


class NoQueueError(GitError):
    """The repository holds no queue that can be worked on; the sentence says what to do."""


def open_queue(reader: TreeReader) -> tuple[Branch, Snapshot, Settings]:
    """Return the queue's branch, what it holds now, and its settings; raise NoQueueError or BadRecord."""
    git = reader.git
    ref = _queue_ref(git)
    branch = Branch(reader, ref, remote=_remote(git, None))
    snapshot = _snapshot(branch)
    settings = _settings(snapshot)
    if settings.remote not in (None, branch.remote):
        branch = Branch(reader, ref, remote=_remote(git, settings.remote))
        snapshot = _snapshot(branch)
    return branch, snapshot, settings


def git_identity(git: Git) -> tuple[str, str]:
    """Name and e-mail as git knows them; empty where it does not."""
    values = [git.run(["config", "--get", f"user.{key}"], check=False).text for key in ("name", "email")]
    return values[0], values[1]


def committer(git: Git, otherwise: str) -> Identity:
    """The identity for commits; `otherwise` names the person where git does not."""
    name, email = git_identity(git)
    return Identity(name or otherwise, email or f"{otherwise}@localhost")


def signs(git: Git, settings: Settings) -> bool:
    """Whether commits are to be signed; `auto` does what git itself would do."""
    if settings.sign == "auto":
        return git.run(["config", "--type=bool", "--get", "commit.gpgSign"], check=False).text == "true"
    return settings.sign == "always"


def _snapshot(branch: Branch) -> Snapshot:
    head = branch.head()
    root = branch.git.work_tree or branch.git.git_dir
    if head is None:
        raise NoQueueError(f"{root} has no commit yet; make one with: git add queue rubrics && git commit")
    snapshot = Snapshot(branch.reader, head)
    if snapshot.entry("queue") is None:
        raise NoQueueError(f"{root} holds no queue/ folder in its commits; make one with: kgrade init")
    return snapshot


def _settings(snapshot: Snapshot) -> Settings:
    if snapshot.entry("kgrade.yaml") is None:
        return Settings()
    data = snapshot.read("kgrade.yaml")
    return codec.decode(Settings, data, "kgrade.yaml") if data.strip() else Settings()


def _queue_ref(git: Git) -> str:
    """The branch checked out; where none is, the only branch there is, or the usual one."""
    head = git.run(["symbolic-ref", "--quiet", "HEAD"], check=False)
    if not head.code:
        return head.text
    branches = [ref for ref in read_refs(git, "refs/heads") if not ref.startswith(_NOT_QUEUES)]
    usual = [ref for ref in ("refs/heads/main", "refs/heads/master") if ref in branches]
    if len(branches) == 1 or usual:
        return branches[0] if len(branches) == 1 else usual[0]
    raise NoQueueError(
        "no branch is checked out here and several could be the queue's; check one out, such as: git switch main"
    )


def _remote(git: Git, wanted: str | None) -> str | None:
    names = git.run(["remote"]).text.split()
    if wanted is not None and wanted not in names:
        raise NoQueueError(
            f"kgrade.yaml names the remote {wanted}, which this clone does not have;"
            f" add it with: git remote add {wanted} URL"
        )
    return wanted or ("origin" if "origin" in names else None)
