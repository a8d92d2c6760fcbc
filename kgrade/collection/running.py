"""One job through the harness, and several of them at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

import msgspec

from kgrade.collection.events import CollectionError, Event, Job, Noted, Stepped
from kgrade.collection.queue import Logs, Queue
from kgrade.harness.channel import Cancelled
from kgrade.harness.engines import Engine, EngineError, opened
from kgrade.harness.progress import Step
from kgrade.records.evidence import STAGES, Evidence, Profiling


@contextmanager
def engine_named(name: str, on_event: Callable[[Event], None]) -> Iterator[Engine]:
    """The engine called `name` while the block runs; CollectionError where it cannot be used."""
    try:
        with opened(name, lambda text: on_event(Noted(text=text))) as engine:
            yield engine
    except EngineError as why:
        raise CollectionError(str(why)) from None


def collect_job(
    engine: Engine,
    queue: Queue,
    job: Job,
    stages: Collection[str],
    on_event: Callable[[Event], None],
    cancel: threading.Event,
) -> tuple[Evidence, Logs] | None:
    """Collect `stages` for one job; None when it was cancelled. Stages that were not asked for stay as they stand.

    Raises `Undone` when the engine could not run it.
    """

    def step(made: Step) -> None:
        on_event(Stepped(job=job, step=made))

    try:
        found, logs = engine.collect(queue.source(job.item), job.target, stages, step, cancel, queue.python(job.target))
    except Cancelled:
        return None
    return _joined(queue.standing(job), found, stages), logs


def _with_added(standing: Profiling, found: Profiling) -> Profiling:
    """`found`, with the profiles that people added to the evidence that stood there; they cannot be collected anew."""
    added = [profile for profile in standing.profiles if profile.is_added]
    if not added:
        return found
    ran = found.status not in ("not-run", "error")
    facts = found.facts if ran else [*found.facts, f"no profile was collected: {found.reason}"]
    status = found.status if ran else "passed"
    reason = found.reason if ran else None
    profiles = [*added, *found.profiles]
    return msgspec.structs.replace(found, status=status, reason=reason, facts=facts, profiles=profiles)


def run_jobs(wanted: Sequence[Job], one: Callable[[Job, int], bool], at_once: int, cancel: threading.Event) -> int:
    """Call `one` with each job and its number from 1 on, `at_once` at a time; return how many answered True."""
    done = 0
    running: set[Future[bool]] = set()
    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        for number, job in enumerate(wanted, 1):
            while len(running) >= max(1, at_once):
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                done += sum(each.result() for each in ended)
            if cancel.is_set():
                break
            running.add(pool.submit(one, job, number))
        return done + sum(each.result() for each in running)


def _joined(standing: Evidence | None, found: Evidence, stages: Collection[str]) -> Evidence:
    """`found`, with the stages that were not asked for as they stand in evidence on the same bytes."""
    if standing is None:
        return found
    others = {name: getattr(standing.stages, name) for name in STAGES if name not in stages}
    if "profile" in stages:
        others["profile"] = _with_added(standing.stages.profile, found.stages.profile)
    versions = {**standing.environment.versions, **found.environment.versions}
    return msgspec.structs.replace(
        found,
        stages=msgspec.structs.replace(found.stages, **others),
        environment=msgspec.structs.replace(found.environment, versions=versions),
    )
