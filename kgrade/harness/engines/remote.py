"""The far end: carries out an order on the machine that it is called on, and tells how it goes.

It needs kgrade and what the sandbox needs, no checkout and nothing of the cluster: who calls it fetches parcels and
takes along what it tells.
"""

from __future__ import annotations

import functools
import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import msgspec

import kgrade
from kgrade.harness.collect import collect
from kgrade.harness.engines import parcels
from kgrade.harness.progress import Step
from kgrade.harness.run import Machine
from kgrade.records import codec

BEAT_S = 5.0
EASE_S = 0.2  # between two steps that are told: they are for the eye


class Unfit(Exception):
    """This machine cannot carry out orders of the one that asks; one sentence says why."""


@dataclass(frozen=True)
class Beat:
    """The order is being carried out; `step` is the newest step where there is one."""

    step: Step | None = None


@dataclass(frozen=True)
class Done:
    """What came of the order: the evidence as JSON, and its logs by file name."""

    evidence: bytes
    logs: dict[str, bytes]


def carry_out(
    order: bytes, fetch: Callable[[str], bytes], *, on_gpu: bool, beat_s: float = BEAT_S
) -> Iterator[Beat | Done]:
    """Carry out an encoded `parcels.Order`; yield a `Beat` at least every `beat_s` seconds, and `Done` at the end.

    Without `on_gpu` no GPU of this machine is used: another order may be timed on it. A caller that stops listening
    (closes the iterator, or interrupts it) ends the run.
    """
    wanted = understood(order)
    if not on_gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    yield Beat()
    source = parcels.source(wanted, fetch)
    machine = _machine(wanted.python, os.environ.get("CUDA_VISIBLE_DEVICES"))
    told: queue.SimpleQueue[Step | None] = queue.SimpleQueue()
    cancel = threading.Event()
    with ThreadPoolExecutor(max_workers=1) as own:
        running = own.submit(collect, source, wanted.target, wanted.stages, told.put, cancel, machine)
        running.add_done_callback(lambda _: told.put(None))
        try:
            while not running.done():
                yield Beat(_newest(told, beat_s))
                wait([running], EASE_S)
            evidence, logs = running.result()
            yield Done(codec.encode_json(evidence), logs)
        finally:
            cancel.set()


def understood(order: bytes) -> parcels.Order:
    """Decode an order; raise `Unfit` when another version of kgrade wrote it: their evidence would differ."""
    version = msgspec.msgpack.decode(order).get("version")
    if version != kgrade.__version__:
        raise Unfit(f"it has kgrade {kgrade.__version__} and the one that asks has {version}; install the same on both")
    return msgspec.msgpack.decode(order, type=parcels.Order)


@functools.lru_cache
def _machine(python: str | None, visible: str | None) -> Machine:
    """This machine with the GPUs that are visible; looked at once."""
    return Machine.here(python)


def _newest(told: queue.SimpleQueue[Step | None], within_s: float) -> Step | None:
    """The newest step that was told, waiting for one if there is none."""
    newest: Step | None = None
    try:
        newest = told.get(timeout=within_s)
        while True:
            newest = told.get_nowait() or newest
    except queue.Empty:
        return newest
