"""A queue as it is committed: its items' bytes, the evidence that stands there, and where new evidence goes."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from kgrade.collection.events import CollectionError, Job, Skipped
from kgrade.harness.collect import UNSUPPORTED
from kgrade.harness.device.gpus import find_gpus, gpu_for
from kgrade.harness.device.nvml import Gpu, Nvml
from kgrade.harness.run import HandedIn, ItemSource
from kgrade.records import codec
from kgrade.records.evidence import NOT_COLLECTED, NOT_SUPPORTED, STAGES, Evidence
from kgrade.records.faults import BadRecord
from kgrade.records.slugs import ItemId, is_slug
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.repository.commits import Change, Identity
from kgrade.repository.opening import Signature, git_identity, open_queue, queue_snapshot, signature
from kgrade.repository.runner import Git, GitError
from kgrade.repository.tree import NOT_JUDGED, TreeReader

Logs = dict[str, bytes]
NEED_A_DEVICE = ("check", "time", "profile")


class Queue:
    """The queue as it is committed, where its evidence goes, and the Python that each target runs in."""

    def __init__(self, path: Path) -> None:
        try:
            self.git = Git.open(path)
            self._read(TreeReader(self.git))
        except GitError as why:
            raise CollectionError(str(why)) from None
        self._gpus: tuple[Gpu, ...] | None = None
        self._turn = threading.Lock()

    def as_it_stands(self) -> Queue:
        """This queue at the newest commit; this one keeps reading the one that it has."""
        newer = copy.copy(self)
        newer._read(self.branch.reader)
        return newer

    def _read(self, reader: TreeReader) -> None:
        self.branch, self.settings = open_queue(reader)
        self.snapshot = queue_snapshot(self.branch)
        self._handed_in: dict[str, dict[ItemId, tuple[Submission, str]]] = {}
        if self.settings.evidence_ref is not None:
            raise CollectionError(
                "kgrade.yaml names an evidence_ref, and this version keeps evidence on the queue's own branch only;"
                " remove evidence_ref"
            )

    def signature(self) -> Signature:
        """In whose name evidence is committed, and whether signed."""
        name, email = git_identity(self.git)
        return signature(self.git, Identity(name or "kgrade", email or "kgrade@localhost"), self.settings)

    def holds(self, item: ItemId) -> bool:
        """Whether the item is there."""
        return item in self._every_item()

    def wants(self, job: Job, stages: Collection[str]) -> bool:
        """Whether the evidence of a job lacks some of `stages`, or is about other bytes, or is not there.

        Evidence of a machine that has no device for the target is wanted again where there is one.
        """
        standing = self.standing(job)
        return standing is None or not _has(standing, stages) or self._can_run_now(job, standing, stages)

    def _can_run_now(self, job: Job, standing: Evidence, stages: Collection[str]) -> bool:
        """Whether some of `stages` were not run where no device was, and this machine has one for the target."""
        waiting = [stage for stage in NEED_A_DEVICE if stage in stages and standing.state(stage) == "not-run"]
        if not waiting or standing.environment.driver is not None or standing.environment.interpreter:
            return False
        if self._gpus is None:
            self._gpus = find_gpus(Nvml.opened())
        return gpu_for(job.target, self._gpus) is not None

    def still_holds(self, job: Job, evidence: Evidence) -> bool:
        """Whether `evidence` is about the bytes that stand here."""
        about = (evidence.inputs.task_tree, evidence.inputs.solution_tree)
        return self.holds(job.item) and about == self._trees(job.item)

    def jobs(
        self, items: Sequence[ItemId], targets: Sequence[str], unless_fresh: Collection[str]
    ) -> tuple[list[Job], list[Skipped]]:
        """What is to be collected, and what is not and why: fresh evidence that has the stages `unless_fresh`."""
        every = list(self._every_item())
        for item in items:
            if item not in every:
                raise CollectionError(
                    f"there is no item {item} in this queue's commits; kgrade list shows what there is"
                )
        chosen = [each for each in every if not items or each in items or ItemId(each.task) in items]
        wanted: list[Job] = []
        skipped: list[Skipped] = []
        for item in chosen:
            try:
                task = self._task(item.task)
                self._trees(item)
            except (BadRecord, GitError) as why:
                sentence = str(why).splitlines()[0]
                skipped.append(Skipped(item=item, target="", why=sentence, fault=True))
                continue
            for target in _targets_of(task, item, targets):
                job = Job(item=item, target=target)
                if unless_fresh and not self.wants(job, unless_fresh):
                    skipped.append(Skipped(item=item, target=target, why="its evidence is fresh"))
                else:
                    wanted.append(job)
        return wanted, skipped

    def standing(self, job: Job) -> Evidence | None:
        """The evidence that stands there, if it can be read and is about the bytes that stand there too."""
        path = job.item.evidence_path(job.target)
        if self.snapshot.entry(path) is None:
            return None
        try:
            evidence = codec.decode(Evidence, self.snapshot.read(path), path)
        except BadRecord:
            return None
        about = (evidence.inputs.task_tree, evidence.inputs.solution_tree)
        return evidence if about == self._trees(job.item) else None

    def source(self, item: ItemId) -> ItemSource:
        """The item's bytes."""
        task_tree, solution_tree = self._trees(item)
        below = f"queue/{item.task}"
        own = [
            path
            for path, entry in self.snapshot.walk(below)
            if entry.kind == "file" and not entry.fault and path.split("/")[2] not in NOT_JUDGED
        ]
        solution = f"{item.folder}/solution"
        return ItemSource(
            item=str(item),
            task=self._task(item.task),
            task_tree=task_tree,
            task_files={path.removeprefix(f"{below}/"): self.snapshot.read(path) for path in own},
            solution_tree=solution_tree,
            solution=self._files(solution) if item.submission else None,
            others=self._others(item) if item.submission else {},
        )

    def python(self, target: str) -> str | None:
        """The Python that the settings name for the code of items on `target`; None: the one that runs kgrade."""
        configured = self.settings.targets.get(target)
        return configured.python if configured else None

    def commit(self, job: Job, evidence: Evidence, logs: Logs, said: str = "") -> None:
        """Commit evidence beside its item, in place of what was there for the target; `said` is for the log."""
        path = job.item.evidence_path(job.target)
        folder = path.rpartition("/")[0]
        old = [entry.name for entry in self.snapshot.list(folder) if entry.name.startswith(f"{job.target}.")]
        kept = {*logs, *_logs_of(evidence)}
        changes = [Change(path, codec.encode_json(evidence))]
        changes += [Change(f"{folder}/{name}", data) for name, data in logs.items()]
        changes += [Change(f"{folder}/{name}", None) for name in old if name.endswith(".log") and name not in kept]
        states = " ".join(f"{stage} {evidence.state(stage)}" for stage in ("build", "check", "time"))
        message = f"evidence: {job.item} {job.target}: {said or states}\n\nItem: {job.item}\nTarget: {job.target}\n"
        with self._turn:
            by = self.signature()
            self.branch.commit(changes, message, by.identity, sign=by.sign)

    def write(self, job: Job, evidence: Evidence, logs: Logs) -> None:
        """Write evidence into the working folder, beside its item."""
        if self.git.work_tree is None:
            raise CollectionError("this repository has no working folder to write evidence into; collect with commits")
        path = self.git.work_tree / job.item.evidence_path(job.target)
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{job.target}.*.log"):
            if old.name not in {*logs, *_logs_of(evidence)}:
                old.unlink()
        for name, data in logs.items():
            _replace(path.parent / name, data)
        _replace(path, codec.encode_json(evidence))

    def _every_item(self) -> Iterator[ItemId]:
        for task in self.snapshot.tasks():
            if is_slug(task):
                yield ItemId(task)
                yield from (ItemId(task, name) for name in self.snapshot.submissions(task) if is_slug(name))

    def _task(self, task: str) -> Task:
        path = f"queue/{task}/task.yaml"
        return codec.decode(Task, self.snapshot.read(path), path)

    def _trees(self, item: ItemId) -> tuple[str, str | None]:
        return self.snapshot.task_tree(item.task), self.snapshot.solution_tree(item) if item.submission else None

    def _others(self, item: ItemId) -> dict[str, HandedIn]:
        """What others handed in for the task before this submission; one's own earlier work is no copy."""
        submissions = self._submissions(item.task)
        if item not in submissions:
            return {}
        mine, _ = submissions[item]
        return {
            str(other): HandedIn(tree, partial(self._files, f"{other.folder}/solution"))
            for other, (theirs, tree) in submissions.items()
            if theirs.author != mine.author and theirs.created < mine.created
        }

    def _submissions(self, task: str) -> dict[ItemId, tuple[Submission, str]]:
        """The task's submissions that can be read, and their trees; read once for all that are compared to them."""
        with self._turn:
            if task not in self._handed_in:
                found = self._handed_in[task] = {}
                for item in (ItemId(task, name) for name in self.snapshot.submissions(task) if is_slug(name)):
                    submission = self._submission(item)
                    with contextlib.suppress(GitError):  # one without a solution; it is named where it is collected
                        if submission is not None:
                            found[item] = submission, self.snapshot.solution_tree(item)
            return self._handed_in[task]

    def _submission(self, item: ItemId) -> Submission | None:
        path = f"{item.folder}/submission.yaml"
        try:
            return codec.decode(Submission, self.snapshot.read(path), path)
        except (BadRecord, GitError):
            return None  # its own fault is named where it is looked at; here it only has no date

    def _files(self, folder: str) -> dict[str, bytes]:
        return {
            path.removeprefix(f"{folder}/"): self.snapshot.read(path)
            for path, entry in self.snapshot.walk(folder)
            if entry.kind == "file" and not entry.fault
        }


def _targets_of(task: Task, item: ItemId, asked: Sequence[str]) -> list[str]:
    """A task's own evidence needs no device; a submission's is for each target that it names, or that was asked for."""
    if item.submission is None:
        return ["cpu"] if not asked or "cpu" in asked else []
    return [target for target in task.targets if not asked or target in asked]


def _logs_of(evidence: Evidence) -> set[str]:
    return {log for stage in STAGES if (log := getattr(evidence.stages, stage).log)}


def _replace(path: Path, data: bytes) -> None:
    """Write a file in one step that no reader sees half done."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()


def _has(evidence: Evidence, stages: Collection[str]) -> bool:
    """Whether all of `stages` were collected, whatever came of them.

    What an earlier version could not collect is still to come where this one can.
    """
    waiting = {stage: (NOT_COLLECTED,) if stage in UNSUPPORTED else (NOT_COLLECTED, NOT_SUPPORTED) for stage in stages}
    return all(getattr(evidence.stages, stage).reason not in reasons for stage, reasons in waiting.items())
