"""Events, L2 flush, second clock, management library, sticky faults and throttling, on a GPU: `pytest -m gpu`."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from kgrade.harness.collect import collect
from kgrade.harness.device.nvml import Gpu, Nvml
from kgrade.harness.device.observer import Observer
from kgrade.harness.run import ItemSource, Machine
from kgrade.harness.worker.device_clock import DeviceClock
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.task import Task
from tests.harness.items import IN_TRITON, REFERENCE, TASK

pytestmark = pytest.mark.gpu
FAULT = """
import torch, triton
import triton.language as tl

@triton.jit
def kernel(x, y, far):
    tl.store(y + far, tl.load(x))

def scale(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, 1 << 44)
    return y
"""
LIAR = IN_TRITON.replace("def scale(x):", "torch.cuda.Event.elapsed_time = lambda self, other: 0.0001\n\ndef scale(x):")


@pytest.fixture
def nvml() -> Nvml:
    found = Nvml.opened()
    if found is None:
        pytest.skip("no GPU: the driver's management library is not here or does not answer")
    return found


@pytest.fixture
def gpu(machine: Machine) -> Gpu:
    if not machine.gpus:
        pytest.skip("no GPU: the driver's management library is not here, or tells of none")
    return machine.gpus[0]


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("no GPU that torch can use")
    return found


def on_device(machine: Machine, gpu: Gpu, solution: str, stages: tuple[str, ...], **changes: Any) -> Evidence:
    target = "sm_{}{}".format(*gpu.capability)
    record: Mapping[str, Any] = {**TASK, "language": "triton", "targets": [target], **changes}
    source = ItemSource(
        item="scale/s01",
        task=codec.decode(Task, yaml.safe_dump(record).encode(), "task.yaml"),
        task_tree="1" * 40,
        task_files={"reference.py": REFERENCE.encode()},
        solution_tree="2" * 40,
        solution={"kernel.py": solution.encode()},
    )

    evidence, _ = collect(source, target, stages, lambda step: None, threading.Event(), machine)
    return evidence


def timed(torch: Any, call: Callable[..., Any], sets: list[dict[str, Any]], cold: bool) -> float:
    clock = DeviceClock(torch)
    clock.repeat(call, sets, cold=cold)
    return statistics.median(clock.repeat(call, sets, cold=cold)[0])


def test_events_measure_what_the_device_does(torch: Any) -> None:
    one, two = (
        timed(torch, lambda cycles=cycles: torch.cuda._sleep(cycles), [{}] * 21, False) for cycles in (10**6, 2 * 10**6)
    )
    assert 1.8 < two / one < 2.2
    assert timed(torch, lambda: None, [{}] * 21, False) < one / 10


def test_a_flushed_cache_makes_a_small_read_slower(torch: Any) -> None:
    values = torch.ones(2 << 20, device="cuda")  # 8 MiB, which every L2 since Ampere holds
    out = torch.empty((), device="cuda")
    call: Callable[..., Any] = lambda: torch.sum(values, dim=0, out=out)  # noqa: E731
    assert timed(torch, call, [{}] * 41, True) > 1.1 * timed(torch, call, [{}] * 41, False)


TIMED = {
    "benchmark": {
        "cases": [{"M": 4096, "N": 4096, "dtype": "float32"}],
        "baselines": {"eager": "reference.py:scale"},
    },
    "work": {"flops": "2*M*N", "bytes": "2*M*N*itemsize"},
}


def test_both_clocks_tell_the_same_and_a_claim_that_does_not_is_flagged(machine: Machine, gpu: Gpu, torch: Any) -> None:
    honest = on_device(machine, gpu, IN_TRITON, ("check", "time"), **TIMED)
    assert honest.state("check") == "passed"
    assert honest.stages.time.indicative
    (case,) = honest.stages.time.cases
    assert case.candidate is not None, case.missing
    assert case.speedups
    assert not any("clocks disagree" in note for note in honest.stages.time.notes), honest.stages.time.notes
    assert honest.environment.driver == gpu.driver
    assert honest.environment.hardware == gpu.name
    lying = on_device(machine, gpu, LIAR, ("time",), **TIMED)
    assert lying.state("time") == "flagged"
    assert any("clocks disagree" in note for note in lying.stages.time.notes)


def test_the_driver_tells_clocks_temperature_and_who_uses_the_device(nvml: Nvml, gpu: Gpu, torch: Any) -> None:
    held = torch.ones(1 << 20, device="cuda")
    state = nvml.state(gpu)
    assert state.sm_mhz is not None
    assert 0 < state.sm_mhz <= (state.sm_most_mhz or 0)
    assert state.celsius is not None
    assert 5 < state.celsius < 110
    assert state.throttle is not None
    observer = Observer(nvml, gpu)
    observer.begin()
    seen = observer.end()
    assert seen.sm_mhz is not None
    assert state.processes, f"{held.device} is in use"
    assert os.getpid() in state.processes or seen.others == (), "a driver that numbers as the host names nobody"


def test_a_sticky_fault_fails_its_submission_and_the_next_one_runs(machine: Machine, gpu: Gpu, torch: Any) -> None:
    faulty = on_device(machine, gpu, FAULT, ("check",))
    assert faulty.state("check") == "failed"
    case = faulty.stages.check.cases[0]
    assert case.failure is not None, case.reason
    assert (case.failure.kind, case.failure.fault) == ("device-fault", "submission")
    assert on_device(machine, gpu, IN_TRITON, ("check",)).state("check") == "passed"


def test_throttle_reasons_are_those_that_the_vendors_tool_prints(nvml: Nvml, gpu: Gpu) -> None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        pytest.skip("nvidia-smi is not installed")
    for _ in range(20):  # reasons change from moment to moment
        before = nvml.state(gpu).throttle
        query = [tool, f"--id={gpu.index}", "--query-gpu=clocks_throttle_reasons.active", "--format=csv,noheader"]
        said = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
        if before == nvml.state(gpu).throttle:
            assert before == int(said, 16)
            return
    pytest.fail("the reasons changed between every two looks")
