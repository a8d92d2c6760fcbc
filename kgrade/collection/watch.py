"""Following a queue on a machine that collects: fetch, collect what is new or stale, commit, push, and again.

Several machines may follow one remote: each job is leased while it is collected, and before it begins the queue is
looked at once more, so that what another machine has just finished is not collected again. Where two did collect the
same, both commits are kept in history and the newer evidence stands.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from kgrade.collection.events import Event, Finished, Job, Noted, Skipped, Started, Summary
from kgrade.collection.queue import Queue
from kgrade.collection.running import collect_job, engine_named, run_jobs
from kgrade.collection.sending import Sender
from kgrade.collection.turns import LEASE_S, Busy, Turns
from kgrade.harness.engines import Engine, Undone
from kgrade.records.evidence import STAGES
from kgrade.records.faults import BadRecord
from kgrade.records.slugs import ItemId
from kgrade.repository.runner import GitCancelledError, GitError

EVERY_S = 60.0


def watch_queue(
    path: Path,
    items: Sequence[ItemId] = (),
    targets: Sequence[str] = (),
    stages: Collection[str] = STAGES,
    *,
    jobs: int | None = None,
    engine: str = "local",
    every_s: float = EVERY_S,
    lease_s: float = LEASE_S,
    on_event: Callable[[Event], None] = lambda event: None,
    cancel: threading.Event,
) -> Summary:
    """Follow the queue that holds `path` until `cancel` is set; what runs then is dropped, what is done is kept.

    The arguments are those of `collect_queue`. Looks for work every `every_s` seconds while there is none.
    """
    queue = Queue(path)
    with engine_named(engine, on_event) as runs:
        watch = _Watch(queue, runs, items, targets, stages, on_event, cancel, lease_s)
        while not cancel.is_set():
            watch.round(jobs or runs.at_once)
            cancel.wait(every_s)
    watch.sender.last_try()
    return Summary(finished=watch.finished, skipped=0, faults=len(watch.faults), cancelled=watch.cut_short)


class _Watch:
    def __init__(
        self,
        queue: Queue,
        engine: Engine,
        items: Sequence[ItemId],
        targets: Sequence[str],
        stages: Collection[str],
        on_event: Callable[[Event], None],
        cancel: threading.Event,
        lease_s: float,
    ) -> None:
        self.queue, self.engine = queue, engine
        self.items, self.targets, self.stages = items, targets, stages
        self.on_event, self.cancel = on_event, cancel
        by = self.queue.signature()
        self.sender = Sender(self.queue.branch, by, on_event, cancel)
        self.turns = Turns(self.queue.branch.reader, self.queue.branch.remote, by.identity, lease_s=lease_s)
        self.finished = 0
        self.cut_short = False
        self.faults: dict[tuple[str, str], str] = {}
        self._said = ""

    def round(self, at_once: int) -> None:
        """Fetch, and collect everything that is new or stale now."""
        try:
            self.sender.step()
            self.queue = self.queue.as_it_stands()
            wanted, skipped = self.queue.jobs(self._present(), self.targets, self.stages)
        except GitCancelledError:
            return
        except (GitError, BadRecord) as why:  # settings that were broken meanwhile: a later commit may mend them
            self._say(f"the queue cannot be read now: {str(why).splitlines()[0]}")
            return
        self._tell_faults(skipped)
        before = self.finished
        if wanted or not self.finished:
            self._say(f"{len(wanted)} to collect" if wanted else "nothing to collect yet; waiting for commits")
        self.finished += run_jobs(wanted, lambda job, number: self._one(job, number, len(wanted)), at_once, self.cancel)
        if self.finished > before and not self.cancel.is_set():
            self._say("waiting for commits")

    def _present(self) -> list[ItemId]:
        """The items asked for that are there: one may come, or go, while the queue is followed."""
        return [item for item in self.items if self.queue.holds(item)] or list(self.items)

    def _one(self, job: Job, number: int, total: int) -> bool:
        try:
            with self.turns.of(job) as without:
                if without:
                    self._say(f"working without a lease: {without}")
                return self._collected(job, number, total)
        except Busy as busy:
            self.on_event(Skipped(item=job.item, target=job.target, why=str(busy)))
        except GitCancelledError:
            self.cut_short = True
        except (GitError, BadRecord, Undone) as why:
            self.on_event(Skipped(item=job.item, target=job.target, why=str(why).splitlines()[0], fault=True))
        return False

    def _collected(self, job: Job, number: int, total: int) -> bool:
        self.sender.step()
        queue = self.queue.as_it_stands()
        if not queue.wants(job, self.stages):
            self.on_event(Skipped(item=job.item, target=job.target, why="another machine has collected it"))
            return False
        self.on_event(Started(job=job, number=number, total=total))
        found = collect_job(self.engine, queue, job, self.stages, self.on_event, self.cancel)
        if found is None:
            self.cut_short = True
            return False
        if not queue.as_it_stands().still_holds(job, found[0]):
            self.on_event(Skipped(item=job.item, target=job.target, why="it changed while it was collected"))
            return False
        queue.commit(job, *found)
        self.on_event(Finished(job=job, evidence=found[0]))
        self.sender.step(to_the_end=True)
        return True

    def _tell_faults(self, skipped: Sequence[Skipped]) -> None:
        """Tell each fault once, not every minute."""
        now = {(str(event.item), event.target): event.why for event in skipped if event.fault}
        for event in skipped:
            if event.fault and self.faults.get((str(event.item), event.target)) != event.why:
                self.on_event(event)
        self.faults = now

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self.on_event(Noted(text=text))
