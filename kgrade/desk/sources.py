"""Where a desk reads from: the queue's branch, its settings, and every ref that holds grades."""

from __future__ import annotations

from kgrade.desk.sheet import Sheet
from kgrade.records import codec
from kgrade.records.grade import Grade
from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.branches import Branch
from kgrade.repository.opening import queue_snapshot, unread
from kgrade.repository.refs import read_refs
from kgrade.repository.tree import Snapshot, TreeReader


class Sources:
    """The branches of one evaluator's desk. Holds no state but names: safe to use from any thread."""

    def __init__(self, reader: TreeReader, queue: Branch, settings: Settings, evaluator: str) -> None:
        self.reader = reader
        self.queue = queue
        self.settings = settings
        self.grades = self._own_branch(evaluator)
        self.named = not settings.blind or evaluator in settings.leads
        """Whether this evaluator is told who else does what: in a blind queue only its leads are."""

    def snapshot(self) -> Snapshot:
        """The queue as it stands: the branch, and what waits in its outbox; NoQueueError before its first commit."""
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

    def graders_of(self, item: ItemId) -> set[str]:
        """Whose grade of `item` stands on any branch that is here."""
        folder = f"{item.folder}/grades"
        names = (entry.name for each in (self.snapshot(), *self.grade_snapshots()) for entry in each.list(folder))
        return {name.removesuffix(".yaml") for name in names if name.endswith(".yaml")}

    def unread(self) -> str:
        """What of the person's own is not read here, in one sentence; empty without a remote or unpushed commits."""
        return unread(self.queue)

    def _own_branch(self, evaluator: str) -> Branch:
        if self.settings.grades_ref is None:
            return self.queue
        ref = self.settings.grades_ref.replace("{evaluator}", evaluator)
        return self.queue if ref == self.queue.ref else Branch(self.reader, ref, remote=self.queue.remote)


def _prefix(template: str) -> str:
    return template.partition("{evaluator}")[0]
