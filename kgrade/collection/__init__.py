"""From a queue to evidence: what lacks it, the harness on one item after the other, files beside the item.

Evidence is fresh when it was collected on the bytes that stand there now (by tree ids); fresh evidence is skipped, so
a collection that was cancelled or killed goes on where it stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from kgrade.collection.events import (
    CollectionError,
    Event,
    Finished,
    Job,
    Noted,
    Skipped,
    Started,
    Stepped,
    Summary,
)
from kgrade.collection.queue import Queue
from kgrade.collection.running import collect_job, engine_named, run_jobs
from kgrade.harness import settling
from kgrade.harness.engines import Undone
from kgrade.harness.probe import BadOrder, Order, probe, recorded
from kgrade.harness.progress import Step
from kgrade.harness.run import Machine
from kgrade.records.evidence import STAGES, CaseCheck, Finding, SettlingTest
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Probe
from kgrade.records.slugs import ItemId
from kgrade.repository.runner import GitError

__all__ = [
    "CollectionError",
    "Event",
    "Finished",
    "Job",
    "Noted",
    "Skipped",
    "Started",
    "Stepped",
    "Summary",
    "collect_queue",
    "probe_item",
    "settle_finding",
]


def collect_queue(
    path: Path,
    items: Sequence[ItemId] = (),
    targets: Sequence[str] = (),
    stages: Collection[str] = STAGES,
    *,
    jobs: int | None = None,
    again: bool = False,
    commit: bool = True,
    engine: str = "local",
    on_event: Callable[[Event], None] = lambda event: None,
    cancel: threading.Event | None = None,
) -> Summary:
    """Collect evidence for the queue that holds `path`, as it is committed.

    `items` and `targets` limit what is collected (all by default; a task stands for its submissions too), `again`
    collects fresh evidence anew. `engine` says where: `local` is this machine, `ray` a cluster. `jobs` items run at
    once (by default as many as the engine has room for). Each item's evidence becomes a commit of its own, or files in
    the working folder when `commit` is false. Setting `cancel` ends what runs and keeps what is done.
    """
    cancel = cancel or threading.Event()
    queue = Queue(path)
    with engine_named(engine, on_event) as runs:
        wanted, skipped = queue.jobs(items, targets, () if again else stages)
        for event in skipped:
            on_event(event)
        keep = queue.commit if commit else queue.write

        undone: list[Job] = []

        def one(job: Job, number: int) -> bool:
            on_event(Started(job=job, number=number, total=len(wanted)))
            try:
                found = collect_job(runs, queue, job, stages, on_event, cancel)
            except Undone as why:
                on_event(Skipped(item=job.item, target=job.target, why=str(why), fault=True))
                undone.append(job)
                return False
            if found is None:
                return False
            keep(job, *found)
            on_event(Finished(job=job, evidence=found[0]))
            return True

        finished = run_jobs(wanted, one, jobs or runs.at_once, cancel)
    faults = sum(event.fault for event in skipped)
    return Summary(
        finished=finished,
        skipped=len(skipped) - faults,
        faults=faults + len(undone),
        cancelled=finished + len(undone) < len(wanted),
    )


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
    queue = Queue(path)
    try:
        source = queue.source(item)
        order = Order.read(text, source.task)
    except (BadOrder, BadRecord, GitError) as why:
        raise CollectionError(str(why).splitlines()[0]) from None
    found = probe(source, order, on_step, cancel or threading.Event(), Machine.here(queue.python(order.target)))
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
    queue = Queue(path)
    try:
        source = queue.source(item)
    except (BadRecord, GitError) as why:
        raise CollectionError(str(why).splitlines()[0]) from None
    case, tests = settling.settle(
        source, finding.rule, target, on_step, cancel or threading.Event(), Machine.here(queue.python(target))
    )
    return settling.recorded(finding, target, case, tests), tests
