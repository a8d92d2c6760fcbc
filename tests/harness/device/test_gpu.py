"""Events, L2 flush, second clock, management library, sticky faults and throttling, on a GPU: `pytest -m gpu`."""

from __future__ import annotations

import importlib
import os
import shutil
import statistics
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgrade.harness.collect import collect
from kgrade.harness.device.nvml import Gpu, Nvml
from kgrade.harness.device.observer import Observer
from kgrade.harness.run import ItemSource, Machine
from kgrade.harness.timing.sides import SPIN_SHARE, SPIN_US
from kgrade.harness.worker.device_clock import DeviceClock
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.task import Task
from tests.harness.items import IN_TRITON, REFERENCE, TASK

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]  # what measures a device has it to itself
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
CHASE = """
import triton
import triton.language as tl

@triton.jit
def chase(following, out, STEPS: tl.constexpr):
    place = tl.load(following)
    for _ in range(STEPS):
        place = tl.load(following + place)
    tl.store(out, place)
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
    _, launch_us, _ = clock.repeat(call, sets, cold=cold, spin_us=SPIN_US[0])
    _, launch_us, _ = clock.repeat(call, sets, cold=cold, spin_us=SPIN_US[1])
    return statistics.median(clock.repeat(call, sets, cold=cold, spin_us=max(SPIN_US[0], SPIN_SHARE * launch_us))[0])


def test_events_measure_what_the_device_does(torch: Any) -> None:
    one, two = (
        timed(torch, lambda cycles=cycles: torch.cuda._sleep(cycles), [{}] * 21, False) for cycles in (10**6, 2 * 10**6)
    )
    assert 1.8 < two / one < 2.2
    assert timed(torch, lambda: None, [{}] * 21, False) < one / 10


def test_a_flushed_cache_makes_reads_slower(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads that wait for each other tell memory from cache: in bandwidth the two differ little on some devices."""
    pytest.importorskip("triton", reason="triton is not installed")
    (tmp_path / "chasing_kernel.py").write_text(CHASE)
    monkeypatch.syspath_prepend(tmp_path)
    chase = importlib.import_module("chasing_kernel").chase
    size = 1 << 20  # 4 MiB of int32, in steps of 128 bytes: in every L2 since Volta, in no L1
    order = torch.randperm(size // 32, device="cuda", dtype=torch.int64) * 32
    following = torch.zeros(size, device="cuda", dtype=torch.int32)
    following[order] = order.roll(-1).to(torch.int32)
    out = torch.empty(1, device="cuda", dtype=torch.int32)
    call: Callable[..., Any] = lambda: chase[(1,)](following, out, STEPS=1000)  # noqa: E731
    cold, warm = (timed(torch, call, [{}] * 41, flushed) for flushed in (True, False))
    assert warm > 1000 * 0.05, "a read from L2 takes over 100 ns, one from L1 some 20"
    assert cold > 1.3 * warm


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
    if os.getpid() in state.processes:
        assert state.processes[os.getpid()] == 0 or state.processes[os.getpid()] >= held.nbytes
    else:  # in a container the driver numbers as the host does, or tells of nobody
        assert seen.others == ()


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
        said = queried(tool, gpu, "clocks_event_reasons.active") or queried(tool, gpu, "clocks_throttle_reasons.active")
        if before == nvml.state(gpu).throttle:
            assert said is not None, "nvidia-smi knows neither name of the field"
            assert before == int(said, 16)
            return
    pytest.fail("the reasons changed between every two looks")


def queried(tool: str, gpu: Gpu, field: str) -> str | None:
    """What nvidia-smi says of a field; None where this version does not know it (it was renamed with driver 535)."""
    command = [tool, f"--id={gpu.index}", f"--query-gpu={field}", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else None
