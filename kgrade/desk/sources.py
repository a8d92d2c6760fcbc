"""Where a desk reads from: the queue's branch, its settings, and every ref that holds grades."""

from __future__ import annotations

import msgspec

from kgrade.desk.people import DeskError
from kgrade.desk.sheet import Sheet
from kgrade.records import codec
from kgrade.records.grade import Grade
from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.branches import Branch
from kgrade.repository.commits import Identity
from kgrade.repository.refs import read_refs
from kgrade.repository.runner import Git, GitError
from kgrade.repository.tree import Snapshot, TreeReader

SETTINGS = "kgrade.yaml"


class Sources:
    """The branches of one evaluator's desk. Holds no state but names: safe to use from any thread."""

    def __init__(self, reader: TreeReader, queue: Branch, settings: Settings, evaluator: str) -> None:
        self.reader = reader
        self.queue = queue
        self.settings = settings
        self.grades = self._own_branch(evaluator)

    def snapshot(self) -> Snapshot:
        """The queue as it stands: the branch, and what waits in its outbox; DeskError before its first commit."""
        return queue_snapshot(self.queue)

    def grade_refs(self) -> dict[str, str]:
        """Every other ref that holds grades, with its commit: all that the template matches, mine with its outbox."""
        if self.grades is self.queue:
            return {}
        git = self.reader.git
        prefix = _prefix(self.settings.grades_ref or "")
        found = {ref: oid for ref, oid in read_refs(git, prefix.rstrip("/")).items() if ref.startswith(prefix)}
        if self.queue.remote is not None:
            seen = f"refs/kgrade/remotes/{self.queue.remote}/{prefix.removeprefix('refs/heads/')}"
            found |= {ref: oid for ref, oid in read_refs(git, seen.rstrip("/")).items() if ref.startswith(seen)}
        head = self.grades.head()
        return {**found, self.grades.ref: head} if head else found

    def grade_snapshots(self) -> list[Snapshot]:
        """The commits beside the queue's own that hold grades."""
        return [Snapshot(self.reader, commit) for commit in dict.fromkeys(self.grade_refs().values())]

    def followed(self, *, others: bool) -> tuple[str, ...]:
        """The remote's branches to fetch beside my own, as patterns; without `others` their grades stay unseen."""
        if self.grades is self.queue:
            return ()
        template = self.settings.grades_ref or ""
        return (self.queue.ref, template.replace("{evaluator}", "*")) if others else (self.queue.ref,)

    def grade_of(self, item: ItemId, evaluator: str) -> tuple[str | None, Sheet]:
        """The blob id and the sheet of `evaluator`'s grade on their branch as it stands here."""
        path = item.grade_path(evaluator)
        head = self.grades.head()
        snapshot = Snapshot(self.reader, head) if head else None
        entry = snapshot.entry(path) if snapshot else None
        if snapshot is None or entry is None:
            return None, Sheet()
        return entry.oid, Sheet.of(codec.decode(Grade, snapshot.read(path), path))

    def unread(self) -> str:
        """What of the person's own is not read here, in one sentence; empty without a remote or unpushed commits."""
        return _unread(self.queue)

    def _own_branch(self, evaluator: str) -> Branch:
        if self.settings.grades_ref is None:
            return self.queue
        ref = self.settings.grades_ref.replace("{evaluator}", evaluator)
        return self.queue if ref == self.queue.ref else Branch(self.reader, ref, remote=self.queue.remote)


def open_queue(reader: TreeReader) -> tuple[Branch, Settings]:
    """The branch that holds the queue, and the settings that stand there; DeskError when there is no queue."""
    git = reader.git
    branch = Branch(reader, _queue_ref(git), remote=_remote(git, None))
    snapshot = queue_snapshot(branch)
    if snapshot.entry("queue") is None:
        sentence = f"{git.work_tree or git.git_dir} holds no queue/ folder in its commits; make one with: kgrade init"
        raise DeskError("; ".join(filter(None, [sentence, _unread(branch)])))
    data = snapshot.read(SETTINGS) if snapshot.entry(SETTINGS) else b""
    settings = codec.decode(Settings, data, SETTINGS) if data.strip() else Settings()
    if settings.remote is not None:
        branch = Branch(reader, branch.ref, remote=_remote(git, settings.remote))
    return branch, settings


def queue_snapshot(branch: Branch) -> Snapshot:
    """The queue on `branch` as it stands; DeskError before its first commit."""
    head = branch.head()
    if head is None:
        folder = branch.git.work_tree or branch.git.git_dir
        raise DeskError(f"{folder} has no commit yet; make one with: git add queue rubrics && git commit")
    return Snapshot(branch.reader, head)


class Signature(msgspec.Struct, frozen=True):
    """Who makes this desk's commits, and whether they are signed."""

    identity: Identity
    sign: bool


def git_identity(git: Git) -> tuple[str, str]:
    """The name and e-mail that git knows for the person, empty where it knows none."""
    values = [git.run(["config", "--get", f"user.{key}"], check=False).text for key in ("name", "email")]
    return values[0], values[1]


def signature(git: Git, identity: Identity, settings: Settings) -> Signature:
    """Who commits, and whether signed: as the queue demands, or else as the person's git does by itself."""
    if settings.sign == "auto":
        signs = git.run(["config", "--type=bool", "--get", "commit.gpgSign"], check=False).text == "true"
        return Signature(identity, signs)
    return Signature(identity, settings.sign == "always")


def _unread(branch: Branch) -> str:
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


def _prefix(template: str) -> str:
    return template.partition("{evaluator}")[0]


def _queue_ref(git: Git) -> str:
    """The branch checked out; where none is, the only branch there is."""
    head = git.run(["symbolic-ref", "--quiet", "HEAD"], check=False)
    if not head.code:
        return head.text
    branches = [
        ref
        for ref in read_refs(git, "refs/heads")
        if not ref.startswith(("refs/heads/grades/", "refs/heads/evidence/"))
    ]
    usual = [ref for ref in ("refs/heads/main", "refs/heads/master") if ref in branches]
    if len(branches) == 1 or usual:
        return branches[0] if len(branches) == 1 else usual[0]
    raise DeskError(
        "no branch is checked out here and several could be the queue's; check one out, such as: git switch main"
    )


def _remote(git: Git, wanted: str | None) -> str | None:
    names = git.run(["remote"]).text.split()
    if wanted is not None and wanted not in names:
        raise DeskError(
            f"kgrade.yaml names the remote {wanted}, which this clone does not have; add it with git remote add"
        )
    return wanted or ("origin" if "origin" in names else None)
