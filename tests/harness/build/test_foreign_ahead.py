"""Triton answers to problems of other benchmarks, as they are, compiled for GPUs that are not here."""

from __future__ import annotations

import json
from itertools import product

import pytest

from kgrade.harness.run import Machine
from kgrade.records.evidence import Build
from tests.harness.items import gather, need
from tests.harness.test_interfaces import (
    FI_DEFINITION,
    FI_TASK,
    GM_REFERENCE,
    GM_TASK,
    GM_TASK_PY,
    GM_UTILS,
    KB_ANSWER,
    KB_PROBLEM,
    KB_TASK,
    safetensors,
    solution,
    workloads,
)

pytestmark = [pytest.mark.xdist_group("triton-capture"), pytest.mark.usefixtures("shared_workers")]
GM_ANSWER = """
import torch, triton
import triton.language as tl
from task import input_t, output_t

@triton.jit
def scaled(x, w, y, size, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * size + i, mask=i < size, other=0.0).to(tl.float32) * tl.load(w + row)
    tl.store(y + row * size + i, v.to(y.dtype.element_ty), mask=i < size)

def custom_kernel(data: input_t) -> output_t:
    x, scales, out = data
    assert x.is_cuda and scales["order"] == [2, 1]
    scaled[(x.shape[0],)](x, scales["w"], out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""
FI_ANSWER = """
import torch, triton
import triton.language as tl

@triton.jit
def scaled(x, index, scale, y, total, COUNT: tl.constexpr, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    more = 0
    for place in tl.static_range(COUNT):
        more += tl.load(index + place)
    v = tl.load(x + row * N + i).to(tl.float32) * scale + more
    tl.store(y + row * N + i, v.to(y.dtype.element_ty))
    tl.store(total + row, tl.sum(v, 0))

def run(x, index, scale, y, total):
    assert y.is_cuda and total.shape == (x.shape[0],)
    scaled[(x.shape[0],)](x, index, scale, y, total, COUNT=index.numel(), N=x.shape[1])
"""


def kernelbench(machine: Machine, target: str, answer: str = KB_ANSWER, problem: str = KB_PROBLEM) -> Build:
    files = {"3_Linear_LeakyReLU.py": problem}
    task = {**KB_TASK, "cases": [{"batch_size": 5, "width": 24, "dtype": "float32"}]}
    return gather(machine, answer, task, files, ["build"], target=target)[0].stages.build


def gpumode(machine: Machine, target: str, answer: str = GM_ANSWER, reference: str = GM_REFERENCE) -> Build:
    files = {"reference.py": reference, "task.py": GM_TASK_PY, "utils.py": GM_UTILS}
    task = {**GM_TASK, "language": "triton"}
    return gather(machine, {"submission.py": answer}, task, files, ["build"], target=target)[0].stages.build


def flashinfer(machine: Machine, target: str, answer: str = FI_ANSWER) -> Build:
    files = {"scaled_rows_n16.json": json.dumps(FI_DEFINITION), "scaled_rows_n16.jsonl": workloads()}
    blob = {"index.safetensors": safetensors([1, 2, -3])}
    given = {"solution.json": solution(answer, language="triton")}
    task = {**FI_TASK, "language": "triton"}
    return gather(machine, given, task, files, ["build"], blob, target)[0].stages.build


FIT = {
    kernelbench: {"leaky(*fp32, *i8, *fp32)"},
    gpumode: {"scaled(*fp16, *fp32, *fp16)"},
    flashinfer: {"scaled(*bf16, *i32, *bf16, *fp32)"},
}


@pytest.mark.parametrize(
    ("interface", "target"),
    [
        pytest.param(interface, target, id=f"{interface.__name__}-{target}", marks=[pytest.mark.long] * bool(number))
        for number, (interface, target) in enumerate(product(FIT, ("sm_90", "gfx942")))
    ],
)
def test_an_answer_is_compiled_for_a_gpu_that_is_not_here(machine: Machine, interface, target: str) -> None:
    need("torch", "triton")
    build = interface(machine, target)
    assert build.status == "passed", build.reason
    assert build.method is not None
    assert "compiled ahead of time" in build.method
    assert {kernel.kernel for kernel in build.kernels} == FIT[interface]
    assert {kernel.target for kernel in build.kernels} == {target}
    for kernel in build.kernels:
        assert kernel.registers
        assert kernel.code_bytes
        assert kernel.occupancy is not None
        assert kernel.grid[0] >= 1


@pytest.mark.long
@pytest.mark.parametrize("interface", FIT, ids=lambda interface: interface.__name__)
def test_a_kernel_that_does_not_compile_fails(machine: Machine, interface) -> None:
    need("torch", "triton")
    answer = {kernelbench: KB_ANSWER, gpumode: GM_ANSWER, flashinfer: FI_ANSWER}[interface]
    wrong = answer.replace("tl.arange(0, ", "tl.arange(1, ")
    assert wrong != answer
    build = interface(machine, "sm_90", wrong)
    assert build.status == "failed"
    assert "arange's range must be a power of 2" in (build.reason or "")
    assert build.targets[0].failure is not None
    assert build.targets[0].failure.fault == "submission"


@pytest.mark.long
def test_inputs_that_look_at_their_values_are_made_in_full(machine: Machine) -> None:
    need("torch", "triton")
    looking = "    x, scales, out = x, {**scales, 'most': float(x.max())}, out\n    return x, scales, out\n\ndef ref"
    reference = GM_REFERENCE.replace("    return x, scales, out\n\ndef ref", looking)
    assert reference != GM_REFERENCE
    build = gpumode(machine, "sm_90", reference=reference)
    assert (build.status, len(build.kernels)) == ("passed", 2), build.reason


@pytest.mark.long
def test_host_code_that_asks_for_values_gets_those_of_the_smallest_case(machine: Machine) -> None:
    need("torch", "triton")
    build = gpumode(machine, "sm_90", GM_ANSWER.replace("x.is_cuda", "x.is_cuda and bool((x == x).all())"))
    assert build.status == "passed", build.reason
    assert [fact for fact in build.facts if "host code asks for values" in fact and "size=64" in fact]


@pytest.mark.long
def test_inputs_that_cannot_be_made_are_the_reason(machine: Machine) -> None:
    need("torch", "triton")
    build = kernelbench(machine, "sm_90", problem=KB_PROBLEM.replace("torch.rand(batch_size, width", "torch.rnd(width"))
    assert build.status == "not-run"
    assert "its inputs at 3_Linear_LeakyReLU.py:Model" in (build.reason or "")
    assert "has no attribute 'rnd'" in (build.reason or "")
