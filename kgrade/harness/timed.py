"""The time stage on a GPU: one's turn on the device, a worker for the baselines beside the candidate's, and a watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kgrade.harness.device.observer import Observer
from kgrade.harness.device.turn import NoTurn, turn
from kgrade.harness.measure import Measuring
from kgrade.harness.methods import Method, device_method
from kgrade.harness.oracle import Oracle
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.records.evidence import Case, Timing


def timed_on_device(
    run: Run,
    workers: Standby,
    oracle: Oracle,
    method: Method,
    launch: Callable[[Case], Mapping[str, Any]] | None = None,
) -> Timing:
    """Time the candidate that `workers` serve on the GPU of `run`, with the device to itself.

    `launch` is what a native launcher is told at a case. Waiting for the device is a step, and can be cancelled.
    """
    gpu, task = run.gpu, run.source.task
    assert gpu is not None, "timing on a device that is not there"
    baselines = run.workers("task", device_method(task) or method, {}, gpu=gpu)
    observer = Observer(run.machine.nvml, gpu) if run.machine.nvml is not None else None
    cache = (task.benchmark.cache if task.benchmark is not None else "cold") if method.framework == "torch" else None

    def waiting(holder: int, place: int) -> None:
        run.watch.step("time", 0, 1, f"waits for {gpu.name}: process {holder} has it, place {place} in the line")

    measuring = Measuring(
        task,
        workers,
        oracle,
        f"{method.text}; {_clock(cache)}",
        indicative=True,
        baselines=baselines,
        observer=observer,
        cache=cache,
        launch=launch,
    )
    try:
        with turn(gpu.uuid, waiting):
            found = measuring.run(run.watch)
    except NoTurn as why:
        return Timing(status="error", reason=f"the device cannot be had alone: {why}")
    finally:
        run.close("baselines", baselines)
    run.clocks = "; ".join(measuring.clocks) or None
    return found if observer is not None else msgspec.structs.replace(found, notes=[*found.notes, UNWATCHED])


UNWATCHED = "the driver's management library is not here: throttling and other processes were not looked for"


def _clock(cache: str | None) -> str:
    if cache is None:
        return "kgrade's clock around the calls; the framework gives no device events"
    state = "L2 written over before each call" if cache == "cold" else "caches as the call before left them"
    return f"kgrade's clock around the calls, device events beside, {state}"
