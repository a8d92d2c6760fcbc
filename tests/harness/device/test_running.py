"""What runs on a device, shown where there is none: when it is run, what is arranged around a call, what ends a worker.

The tests marked `gpu` in `test_gpu.py` show the same on a device.
"""

from __future__ import annotations

import ctypes
import dataclasses
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kgrade.harness.arguments import Argument
from kgrade.harness.device.nvml import Gpu
from kgrade.harness.losses import failure
from kgrade.harness.methods import why_not_run
from kgrade.harness.run import Machine
from kgrade.harness.standby import Standby
from kgrade.harness.timing.sides import CASE_BOX_S, ON_DEVICE, SPIN_SHARE, SPIN_US, WARM_CALLS, Side
from kgrade.harness.watchdog import Limits
from kgrade.harness.worker.device_clock import LEAST_FLUSH, DeviceClock
from kgrade.harness.workers import Lost, Worker
from kgrade.records import codec
from kgrade.records.task import Task
from tests.harness.device.conftest import Driver

GPU = Gpu("GPU-1", "NVIDIA H200", (9, 0), "575.57.08", 1, 1)
TASK = """\
schema: kgrade/task@1
title: Row sums
type: generation
language: LANGUAGE
targets: [sm_90]
entry: rows
reference: reference.py:rows
inputs: {x: {shape: [M, N], dtype: $dtype}}
outputs: {y: {shape: [M], dtype: $dtype}}
cases: [{M: 3, N: 5, dtype: float32}]
tolerance: {float32: {atol: 1e-6, rtol: 1e-6}}
rubric: generation
"""
FAULTY = """
import gc
def fault(x):
    for each in gc.get_objects():
        if type(each).__name__ == "NumpyArrays":
            each.broken = lambda: True
    raise RuntimeError("CUDA error: an illegal memory access was encountered")
def slip(x):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")
def double(x):
    return 2 * x
"""


def task(language: str) -> Task:
    return codec.decode(Task, TASK.replace("LANGUAGE", language).encode(), "task.yaml")


@pytest.mark.parametrize("language", ["triton", "python", "pallas", "cuda"])
def test_no_device_is_said_only_where_there_is_none(language: str) -> None:
    record = task(language)
    said = why_not_run(record, "sm_90")
    assert said is not None
    assert said.startswith("no GPU of compute capability 9.0 is here, so nothing was run on sm_90")
    assert why_not_run(record, "sm_90", GPU) is None
    assert why_not_run(record, "cpu") is None
    assert "NVIDIA GPUs only" in (why_not_run(record, "gfx942") or "")


def test_the_gpus_that_the_driver_tells_are_run_on(driver: Driver, machine: Machine) -> None:
    nvml = driver.opened()
    here = dataclasses.replace(machine, gpus=tuple(nvml.gpus()), nvml=nvml)
    assert here.gpu("sm_90") == GPU
    assert here.gpu("sm_100") is None
    assert here.gpu("cpu") is None


def test_a_fault_that_stays_ends_the_worker_and_the_next_call_has_a_fresh_one(machine: Machine, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "kernel.py").write_text(FAULTY)
    functions = {name: ("kernel.py", name) for name in ("fault", "slip", "double")}
    standby = Standby(Worker(machine.wall, machine.interpreter, tmp_path, "numpy", None, Limits()), functions, 60)
    x = np.arange(4, dtype=np.float32)

    def call(name: str) -> Any:
        return standby.get().call(name, [Argument("x", x)], {"y": x.nbytes}, 60).arrays["y"]

    try:
        with pytest.raises(Lost) as lost:
            call("slip")
        assert lost.value.alive, "the device still answers, so the process goes on"
        with pytest.raises(Lost) as lost:
            call("fault")
        assert not lost.value.alive
        assert standby.started == 1
        found = failure(lost.value)
        assert (found.kind, found.fault) == ("device-fault", "submission")
        assert np.array_equal(call("double"), 2 * x)
        assert standby.started == 2
    finally:
        standby.close()


class Events:
    """As much of `torch` as the clock uses, on the clock of the CPU; `log` is what it was asked, in order."""

    def __init__(self) -> None:
        log: list[str] = []
        self.log = log
        self.uint8 = "uint8"
        self.flushed = 0
        self.spun: list[int] = []

        def spin(cycles: int) -> None:
            log.append("spin")
            self.spun.append(cycles)

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing
                self.at = 0.0

            def record(self) -> None:
                log.append("event")
                self.at = time.perf_counter()

            def elapsed_time(self, other: Event) -> float:
                return (other.at - self.at) * 1000

        self.cuda = SimpleNamespace(
            Event=Event,
            synchronize=lambda: log.append("wait"),
            _sleep=spin,
            get_device_properties=lambda device: SimpleNamespace(L2_cache_size=50 << 20),
        )

    def empty(self, size: int, dtype: str, device: str) -> Any:
        assert (dtype, device) == ("uint8", "cuda")
        self.flushed = size
        return SimpleNamespace(zero_=lambda: self.log.append("flush"))


@pytest.mark.parametrize(("cold", "before"), [(True, ["flush", "spin"]), (False, ["spin"])])
def test_events_stand_around_each_call_alone_and_what_is_arranged_lies_outside(cold: bool, before: list[str]) -> None:
    torch = Events()
    clock = DeviceClock(torch)
    seen: list[int] = []

    def kernel(x: int) -> int:
        torch.log.append("call")
        seen.append(x)
        time.sleep(0.01)
        return 2 * x

    taken, launch_us, last = clock.repeat(kernel, [{"x": number} for number in range(3)], cold=cold, spin_us=30)
    assert torch.log == [*before, "event", "call", "event", "wait"] * 3
    assert (seen, last) == ([0, 1, 2], 4), "each call has inputs of its own"
    assert min(taken) >= 10_000, "microseconds"
    assert launch_us >= 10_000, "the slowest"
    assert torch.spun == 3 * [60_000], "cycles"
    assert torch.flushed == (2 * (50 << 20) if cold else 0), "twice the cache"
    torch.log.clear()
    clock.repeat(None, [{}], cold=cold, spin_us=30)
    assert torch.log == [*before, "event", "event", "wait"]


def test_a_device_that_does_not_tell_its_cache_is_flushed_all_the_same() -> None:
    torch = Events()
    torch.cuda.get_device_properties = lambda device: SimpleNamespace()
    DeviceClock(torch).repeat(lambda: None, [{}], cold=True, spin_us=30)
    assert torch.flushed == LEAST_FLUSH


class Launching:
    """A worker on a device that needs longer and longer to launch: it tells, and keeps what it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []
        self.launch_us = iter([30.0, 2e6, 90.0, *(200.0 + number for number in range(1000))])

    def get(self) -> Launching:
        return self

    def nothing(self) -> None:
        pass

    def hold(self, *arguments: Any) -> float:
        return 0.0

    def repeat(self, function: str, within_s: float, *, cache: str | None, spin_us: float) -> tuple[list[float], float]:
        self.asked.append((function, spin_us))
        return [1.0], next(self.launch_us) if function else 0.0


def test_the_device_is_kept_busy_as_long_in_a_sample_as_in_what_is_subtracted_from_it() -> None:
    worker: Any = Launching()
    side = Side("kernel", worker, how=ON_DEVICE, cache="cold")
    side.prepare([])
    for _ in range(5):
        side.sample([])
    empty = {spin_us for function, spin_us in worker.asked if not function}
    sampled = {spin_us for _, spin_us in worker.asked[-5:]}
    assert empty == sampled, "a launch that is slower than those before must not lengthen what is subtracted"
    assert next(iter(empty)) >= SPIN_SHARE * 90, "longer than the slowest launch took"
    assert next(iter(empty)) <= SPIN_US[1], "what took two seconds compiled"


def test_a_first_call_that_compiles_is_warmed_up_and_has_the_tasks_time() -> None:
    worker: Any = Launching()
    limits: list[float] = []
    repeat = worker.repeat

    def slow_at_first(function: str, within_s: float, **named: Any) -> Any:
        if function:
            limits.append(within_s)
            time.sleep(0.05 if len(limits) == 1 else 0.0001)
        return repeat(function, within_s, **named)

    worker.repeat = slow_at_first
    side = Side("kernel", worker, how=ON_DEVICE, cache="cold", first_s=77)
    side.prepare([])
    assert (limits[0], set(limits[1:])) == (77, {CASE_BOX_S})
    assert side.warmups >= WARM_CALLS[0]
    assert side.first_us is not None
    assert side.first_us >= 50_000 > 10 * side.warm_us
    assert side.calls > 1, "a sample holds as many calls as the warm ones allow"


def test_the_nvml_structure_has_the_size_that_the_driver_writes() -> None:
    from kgrade.harness.device.nvml import _Process

    assert ctypes.sizeof(_Process) == 24
