"""CUDA submissions on target cpu, behind the wall: what the evidence about those of the sample queue must say."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgrade.harness import launch_bounds
from kgrade.harness.build.toolkit import find_toolkit
from kgrade.harness.collect import collect
from kgrade.harness.emulator.compiler import NO_COMPILER, find_compiler
from kgrade.harness.run import ItemSource, Machine
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.task import Task

pytest.importorskip("torch", reason="torch is not installed: the references need it")
pytestmark = [pytest.mark.xdist_group("emulator"), pytest.mark.usefixtures("shared_workers", "runtime_here")]

PROJECT = Path(__file__).parents[3]
KNOWN: dict[str, dict[str, Any]] = {
    item: known["emulated"]
    for item, known in yaml.safe_load((PROJECT / "tests/queue/known_faults.yaml").read_text()).items()
    if "emulated" in known
}
SMALL: dict[str, list[dict[str, Any]]] = {
    "transpose-tiled": [{"M": 1024, "N": 64, "dtype": "float32"}, {"M": [1, 31], "N": [1, 33], "dtype": "float32"}],
    "histogram-u8": [{"N": [0, 4097], "dtype": "uint8", "families": ["uniform"]}],
    "scan-inclusive": [{"N": [1, 4097], "dtype": "float32", "families": ["uniform"]}],
    "gemm-epilogue-port": [
        {"M": 127, "N": 8, "K": 72, "dtype": "float16"}, {"M": 128, "N": 128, "K": 8192, "dtype": "float16"},
    ],
}  # fmt: skip
ALWAYS = ("histogram-u8/s02", "transpose-tiled/s02", "scan-inclusive/s01", "scan-inclusive/s03")


@pytest.fixture(scope="module")
def machine() -> Machine:
    if find_compiler() is None:
        pytest.skip(NO_COMPILER)
    return Machine.here()


def gather(machine: Machine, item: str, changes: Mapping[str, Any], edit: tuple[str, str] = ("", "")) -> Evidence:
    """Collect a submission of the sample queue under a changed task, with `edit` (old, new) made in its sources."""
    name, _, submission = item.partition("/")
    folder = PROJECT / "queue" / name
    stated = yaml.safe_load((folder / "task.yaml").read_text())
    solution = folder / "submissions" / submission / "solution"
    source = ItemSource(
        item=item,
        task=codec.decode(Task, yaml.safe_dump({**stated, **changes}, sort_keys=False).encode(), "task.yaml"),
        task_tree="1" * 40,
        task_files={path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()},
        solution_tree="2" * 40,
        solution={path.name: path.read_text().replace(*edit).encode() for path in solution.iterdir()},
    )
    stages = ("build", "check", "time")
    evidence, _ = collect(source, "cpu", stages, lambda step: None, threading.Event(), machine)
    assert codec.decode(Evidence, codec.encode_json(evidence), "cpu.json") == evidence
    return evidence


@pytest.fixture
def without_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the tests that do not ask for registers what ptxas costs."""
    monkeypatch.setattr(launch_bounds, "find_toolkit", lambda: None)


def _says_what_is_known(evidence: Evidence, known: Mapping[str, Any]) -> None:
    check = evidence.stages.check
    assert check.status == known["check"], [(case.case.name, case.reason) for case in check.cases]
    assert evidence.stages.time.reason == "CPU emulation yields no timing"
    if "says" in known:
        assert known["says"] in (check.reason or "")
        return
    assert evidence.environment.interpreter
    assert check.method is not None
    assert check.method.startswith("CPU emulation of sm_")
    assert check.unseen
    assert {fault.kind for fault in check.seen} >= set(known.get("seen", []))
    assert "seen" in known or not check.seen
    assert all(fault.path.startswith("solution/") and fault.line for fault in check.seen)
    for values, status in ((known.get("cases"), "failed"), (known.get("passing"), "passed")):
        assert values is None or {
            case.status for case in check.cases if case.case.symbols.items() >= values.items()
        } == {status}


@pytest.mark.usefixtures("without_nvcc")
@pytest.mark.parametrize("item", ALWAYS)
def test_the_evidence_says_the_known_fault_or_its_absence(machine: Machine, item: str) -> None:
    _says_what_is_known(gather(machine, item, {"cases": SMALL[item.split("/")[0]]}), KNOWN[item])


@pytest.mark.usefixtures("without_nvcc")
@pytest.mark.long
@pytest.mark.parametrize("item", [item for item in KNOWN if item not in ALWAYS])
def test_every_other_one_too(machine: Machine, item: str) -> None:
    _says_what_is_known(gather(machine, item, {"cases": SMALL[item.split("/")[0]]}), KNOWN[item])


@pytest.mark.usefixtures("without_nvcc")
def test_right_results_with_an_access_outside_are_flagged(machine: Machine) -> None:
    edit = ("if (row + r < m && column < n)", "if (column < n)")
    evidence = gather(machine, "transpose-tiled/s01", {"cases": SMALL["transpose-tiled"][1:]}, edit)
    check = evidence.stages.check
    assert check.status == "flagged", check.reason
    assert {case.status for case in check.cases} == {"passed"}
    (fault,) = check.seen
    assert (fault.kind, fault.path, fault.kernel) == (
        "global-out-of-bounds", "solution/transpose.cu", "transpose_kernel",
    )  # fmt: skip
    assert "of x (" in fault.text
    assert fault.text in (check.reason or "")


@pytest.mark.usefixtures("without_nvcc")
def test_a_kernel_that_does_not_compile_as_loops_runs_on_fibers(machine: Machine) -> None:
    changes_a_parameter = ("  __shared__ float tile", "  n += 0;\n  __shared__ float tile")
    evidence = gather(machine, "transpose-tiled/s01", {"cases": SMALL["transpose-tiled"][1:]}, changes_a_parameter)
    assert evidence.stages.check.status == "passed", evidence.stages.build.reason


@pytest.mark.usefixtures("without_nvcc")
def test_a_result_that_hangs_on_the_order_of_blocks_fails(machine: Machine) -> None:
    sum_up = "atomicAdd(&counts[threadIdx.x], sum);"
    first_writes = "counts[threadIdx.x] = blockIdx.x == 0 ? sum : counts[threadIdx.x] + sum;"
    cases = {"cases": [{"N": 300000, "dtype": "uint8", "families": ["uniform"]}]}
    check = gather(machine, "histogram-u8/s01", cases, (sum_up, first_writes)).stages.check
    assert check.status == "failed"
    assert all("in another order not: counts: " in (case.reason or "") for case in check.cases)
    assert [fault.kind for fault in check.seen] == ["race"]


WIDE = """
#include <cuda_runtime.h>
#include <cstdint>
namespace wide {
template <int kHeld>
__global__ void held(const float* x, float* y, int64_t m, int64_t n) {
  float v[kHeld];
  for (int64_t i = threadIdx.x; i < m * n; i += blockDim.x) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) v[k] = x[(i + k) % (m * n)];
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
#pragma unroll
      for (int l = 0; l < kHeld; ++l) v[k] = fmaf(v[l], v[k], v[(k + l) % kHeld]);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) sum += v[k];
    y[i % n * m + i / n] = sum == 12345.0f ? sum : x[i];
  }
}
}  // namespace wide
extern "C" int transpose(const float* x, float* y, int64_t m, int64_t n, cudaStream_t stream) {
  wide::held<72><<<1, THREADS, 0, stream>>>(x, y, m, n);
  return cudaGetLastError();
}
"""  # at 1024 threads, 64 registers are left for each


@pytest.mark.skipif(find_toolkit() is None, reason="nvcc is not installed")
def test_a_block_for_which_registers_do_not_suffice_is_refused_as_on_the_device(machine: Machine) -> None:
    whole = (PROJECT / "queue/transpose-tiled/submissions/s01/solution/transpose.cu").read_text()
    for threads, status in ((1024, "failed"), (256, "passed")):
        edit = (whole, WIDE.replace("THREADS", str(threads)))
        check = gather(machine, "transpose-tiled/s01", {"cases": SMALL["transpose-tiled"][1:]}, edit).stages.check
        assert check.status == status, [case.reason for case in check.cases]
        assert check.method is not None
        assert "registers from ptxas" in check.method
        assert not any("registers" in what for what in check.unseen)
        assert status == "passed" or "CUDA error 701: held: a block of 1024 threads" in (check.cases[0].reason or "")


@pytest.mark.parametrize(
    ("readable", "name"),
    [
        ("k(float const*, int)", "k"),
        ("void ns::k<float, (int)4>(float const*)", "k"),
        ("void (anonymous namespace)::inner::k<wide<int> >(wide<int>)", "k"),
        ("k", "k"),
    ],
)
def test_bounds_go_by_the_last_name_of_a_kernel(readable: str, name: str) -> None:
    assert launch_bounds.last_name(readable) == name
