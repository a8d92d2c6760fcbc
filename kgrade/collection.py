"""From a queue to evidence: what lacks it, the harness on one item after the other, files beside the item.

Evidence is fresh when it was collected on the bytes that stand there now (by tree ids); fresh evidence is skipped, so
a collection that was cancelled or killed goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import msgspec

from kgrade.harness import settling
from kgrade.harness.channel import Cancelled
from kgrade.harness.collect import collect
from kgrade.harness.probe import BadOrder, Order, probe, recorded
from kgrade.harness.progress import Step
from kgrade.harness.run import ItemSource, Machine
from kgrade.records import codec
from kgrade.records.evidence import NOT_COLLECTED, STAGES, CaseCheck, Evidence, Finding, SettlingTest
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Probe
from kgrade.records.slugs import ItemId, is_slug
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.repository.commits import Change, Identity
from kgrade.repository.opening import git_identity, open_queue, queue_snapshot, signature
from kgrade.repository.runner import Git, GitError
from kgrade.repository.tree import NOT_JUDGED, TreeReader


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence to collect: one item on one target."""

    item: ItemId
    target: str


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A job has begun, as number `number` of `total`."""

    job: Job
    number: int
    total: int


class Stepped(msgspec.Struct, frozen=True, kw_only=True):
    """A job is at a step of one of its stages."""

    job: Job
    step: Step


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A job is done and its evidence is kept."""

    job: Job
    evidence: Evidence


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was collected, and why: the evidence is fresh, or the item cannot be read."""

    item: ItemId
    target: str
    why: str
    fault: bool = False


Event = Started | Stepped | Finished | Skipped


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection came to."""

    finished: int
    skipped: int
    faults: int
    cancelled: bool


class CollectionError(Exception):
    """What was asked for cannot be collected, in one sentence."""


def collect_queue(
    path: Path,
    items: Sequence[ItemId] = (),
    targets: Sequence[str] = (),
    stages: Collection[str] = STAGES,
    *,
    jobs: int = 1,
    again: bool = False,
    commit: bool = True,
    on_event: Callable[[Event], None] = lambda event: None,
    cancel: threading.Event | None = None,
) -> Summary:
    """Collect evidence for the queue that holds `path`, as it is committed.

    `items` and `targets` limit what is collected (all by default; a task stands for its submissions too), `again`
    collects fresh evidence anew. `jobs` items run at once. Each item's evidence becomes a commit of its own, or files
    in the working folder when `commit` is false. Setting `cancel` ends what runs and keeps what is done.
    """
    cancel = cancel or threading.Event()
    queue = _Queue(path)
    wanted, skipped = queue.jobs(items, targets, () if again else stages)
    for event in skipped:
        on_event(event)
    keep = queue.commit if commit else queue.write
    finished = _run(queue, wanted, stages, jobs, keep, on_event, cancel)
    faults = sum(event.fault for event in skipped)
    return Summary(finished=finished, skipped=len(skipped) - faults, faults=faults, cancelled=finished < len(wanted))


def probe_item(
    path: Path,
    item: ItemId,
    text: str,
    on_step: Callable[[Step], None] = lambda step: None,
    cancel: threading.Event | None = None,
) -> tuple[Probe, CaseCheck]:
    """Run one case of a person's own, written as `probe.Order.read` takes it, on an item as it is committed.

    Nothing is kept: what comes back is what a grade records as a probe, and the check with all its figures. Raises
    `CollectionError` for an item or a text that is none, `Cancelled` when `cancel` is set meanwhile.
    """
    queue = _Queue(path)
    try:
        source = queue.source(item)
        order = Order.read(text, source.task)
    except (BadOrder, BadRecord, GitError) as why:
        raise CollectionError(str(why).splitlines()[0]) from None
    found = probe(source, order, on_step, cancel or threading.Event(), queue.machine(order.target))
    return recorded(order, found), found


def settle_finding(
    path: Path,
    item: ItemId,
    finding: Finding,
    target: str,
    on_step: Callable[[Step], None] = lambda step: None,
    cancel: threading.Event | None = None,
) -> tuple[Probe, list[SettlingTest]]:
    """Run the tests that settle `finding` on an item as it is committed, and no others.

    Nothing is kept: what comes back is what a grade records as a probe, and each test's result. Raises
    `CollectionError` for an item that cannot be read, `Cancelled` when `cancel` is set meanwhile.
    """
    queue = _Queue(path)
    try:
        source = queue.source(item)
    except (BadRecord, GitError) as why:
        raise CollectionError(str(why).splitlines()[0]) from None
    case, tests = settling.settle(
        source, finding.rule, target, on_step, cancel or threading.Event(), queue.machine(target)
    )
    return settling.recorded(finding, target, case, tests), tests


Logs = dict[str, bytes]
Keep = Callable[[Job, Evidence, Logs], None]


def _run(
    queue: _Queue,
    wanted: Sequence[Job],
    stages: Collection[str],
    at_once: int,
    keep: Keep,
    on_event: Callable[[Event], None],
    cancel: threading.Event,
) -> int:
    """Run the jobs, `at_once` at a time; return how many were finished and kept."""

    def one(job: Job) -> bool:
        try:
            step = _reporter(job, on_event)
            evidence, logs = collect(
                queue.source(job.item), job.target, stages, step, cancel, queue.machine(job.target)
            )
        except Cancelled:
            return False
        evidence = _joined(queue.standing(job), evidence, stages)
        keep(job, evidence, logs)
        on_event(Finished(job=job, evidence=evidence))
        return True

    done = 0
    running: set[Future[bool]] = set()
    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        for number, job in enumerate(wanted, 1):
            while len(running) >= max(1, at_once):
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                done += sum(each.result() for each in ended)
            if cancel.is_set():
                break
            on_event(Started(job=job, number=number, total=len(wanted)))
            running.add(pool.submit(one, job))
        return done + sum(each.result() for each in running)


class _Queue:
    """The queue as it is committed, where its evidence goes, and the machines that its targets run on."""

    def __init__(self, path: Path) -> None:
        try:
            self.git = Git.open(path)
            self.branch, self.settings = open_queue(TreeReader(self.git))
            self.snapshot = queue_snapshot(self.branch)
        except GitError as why:
            raise CollectionError(str(why)) from None
        if self.settings.evidence_ref is not None:
            raise CollectionError(
                "kgrade.yaml names an evidence_ref, and this version keeps evidence on the queue's own branch only;"
                " remove evidence_ref"
            )
        self._machines: dict[str | None, Machine] = {}
        self._turn = threading.Lock()

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
                standing = self.standing(job)
                if unless_fresh and standing is not None and _has(standing, unless_fresh):
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

    def machine(self, target: str) -> Machine:
        """What `target` is collected on: this machine, with the Python that the settings name for it."""
        configured = self.settings.targets.get(target)
        python = configured.python if configured else None
        with self._turn:
            if python not in self._machines:
                self._machines[python] = Machine.here(python)
            return self._machines[python]

    def commit(self, job: Job, evidence: Evidence, logs: Logs) -> None:
        """Commit evidence beside its item, in place of what was there for the target."""
        path = job.item.evidence_path(job.target)
        folder = path.rpartition("/")[0]
        old = [entry.name for entry in self.snapshot.list(folder) if entry.name.startswith(f"{job.target}.")]
        kept = {*logs, *_logs_of(evidence)}
        changes = [Change(path, codec.encode_json(evidence))]
        changes += [Change(f"{folder}/{name}", data) for name, data in logs.items()]
        changes += [Change(f"{folder}/{name}", None) for name in old if name.endswith(".log") and name not in kept]
        states = " ".join(f"{stage} {evidence.state(stage)}" for stage in ("build", "check", "time"))
        message = f"evidence: {job.item} {job.target}: {states}\n\nItem: {job.item}\nTarget: {job.target}\n"
        with self._turn:
            name, email = git_identity(self.git)
            by = signature(self.git, Identity(name or "kgrade", email or "kgrade@localhost"), self.settings)
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

    def _others(self, item: ItemId) -> dict[str, dict[str, bytes]]:
        """What others handed in for the task before this submission; one's own earlier work is no copy."""
        mine = self._submission(item)
        if mine is None:
            return {}
        found = {}
        for name in self.snapshot.submissions(item.task):
            other = ItemId(item.task, name)
            theirs = self._submission(other) if is_slug(name) else None
            if theirs is not None and theirs.author != mine.author and theirs.created < mine.created:
                found[str(other)] = self._files(f"{other.folder}/solution")
        return found

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


def _has(evidence: Evidence, stages: Collection[str]) -> bool:
    """Whether all of `stages` were collected, whatever came of them."""
    return all(getattr(evidence.stages, stage).reason != NOT_COLLECTED for stage in stages)


def _joined(standing: Evidence | None, found: Evidence, stages: Collection[str]) -> Evidence:
    """`found`, with the stages that were not asked for as they stand in evidence on the same bytes."""
    if standing is None:
        return found
    others = {name: getattr(standing.stages, name) for name in STAGES if name not in stages}
    versions = {**standing.environment.versions, **found.environment.versions}
    return msgspec.structs.replace(
        found,
        stages=msgspec.structs.replace(found.stages, **others),
        environment=msgspec.structs.replace(found.environment, versions=versions),
    )


def _logs_of(evidence: Evidence) -> set[str]:
    return {log for stage in STAGES if (log := getattr(evidence.stages, stage).log)}


def _reporter(job: Job, on_event: Callable[[Event], None]) -> Callable[[Step], None]:
    return lambda step: on_event(Stepped(job=job, step=step))


def _replace(path: Path, data: bytes) -> None:
    """Write a file in one step that no reader sees half done."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
