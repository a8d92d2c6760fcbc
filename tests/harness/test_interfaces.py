"""Problem folders in the shapes of KernelBench, GPU MODE and flashinfer-bench, run as they are on a CPU."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from kgrade.harness.run import Machine
from kgrade.records.evidence import Evidence
from tests.harness.items import gather, need, reasons

pytestmark = [pytest.mark.xdist_group("collect"), pytest.mark.usefixtures("shared_workers")]

KB_PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width, slope):
        super(Model, self).__init__()
        self.linear = nn.Linear(width, 7)
        self.slope = slope

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, nn.functional.leaky_relu(self.linear(x), self.slope), 0.0)

batch_size = 4096
width = 16384

def get_inputs():
    return [torch.rand(batch_size, width, device="cuda"), torch.rand(batch_size, 7).cuda() > 0.3]

def get_init_inputs():
    return [width, 0.25]
"""
KB_ANSWER = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def leaky(x, m, y, n, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    keep = tl.load(m + i, mask=i < n, other=0)
    v = tl.where(v >= 0, v, v * slope)
    tl.store(y + i, tl.where(keep != 0, v, 0.0), mask=i < n)

class ModelNew(nn.Module):
    def __init__(self, width, slope):
        super(ModelNew, self).__init__()
        self.linear = nn.Linear(width, 7)
        self.slope = slope

    def forward(self, x, mask):
        assert x.is_cuda and self.linear.weight.is_cuda
        h = self.linear(x)
        m = mask.expand_as(h).to(torch.int8).contiguous()
        y = torch.empty_like(h, device="cuda")
        leaky[(triton.cdiv(h.numel(), 64),)](h, m, y, h.numel(), self.slope, BLOCK=64)
        return y
"""
KB_TASK: dict[str, Any] = {
    "interface": "kernelbench",
    "language": "triton",
    "entry": "ModelNew",
    "reference": "3_Linear_LeakyReLU.py:Model",
    "inputs": {},
    "outputs": {"y": {"shape": ["batch_size", 7], "dtype": "$dtype"}},
    "cases": [{"batch_size": 5, "width": 24, "dtype": ["float32", "bfloat16"]}],
    "tolerance": {"float32": {"atol": 1e-6, "rtol": 1e-5}, "bfloat16": {"atol": 1e-2, "rtol": 2e-2}},
    "limits": {"run_s": 20, "build_s": 60},
}


def kernelbench(machine: Machine, answer: str | None, **changes: Any) -> Evidence:
    need("torch", "triton")
    files = {"3_Linear_LeakyReLU.py": KB_PROBLEM}
    return gather(machine, answer, {**KB_TASK, **changes}, files, ["build", "check", "time"])[0]


def test_a_kernelbench_problem_runs_unchanged(machine: Machine) -> None:
    evidence = kernelbench(machine, KB_ANSWER)
    check = evidence.stages.check
    assert (evidence.stages.build.status, check.status) == ("passed", "passed"), reasons(evidence)
    output = check.cases[0].outputs[0]
    assert (output.shape, output.dtype) == ([5, 7], "float32")
    assert output.figures is not None
    assert float(output.figures.ulp.max) > 0, "weights and inputs were widened for the oracle"
    assert output.framework is not None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("v * slope)", "v * 0.5)"), "compared elements are outside"),
        (("nn.Linear(width, 7)\n        self.slope = slope\n\n    def forward(self, x, mask):\n        assert",
          "nn.Linear(width + 1, 7)\n        self.slope = slope\n\n    def forward(self, x, mask):\n        assert"),
         "RuntimeError: mat1 and mat2"),
        (("return y\n", "x.zero_()\n        return y\n"), "inputs written: args.0"),
    ],
)  # fmt: skip
def test_a_wrong_kernelbench_answer_fails(machine: Machine, change: tuple[str, str], reason: str) -> None:
    wrong = KB_ANSWER.replace(*change)
    assert wrong != KB_ANSWER
    evidence = kernelbench(machine, wrong)
    assert evidence.stages.check.status == "failed"
    assert reason in reasons(evidence)


def test_a_kernelbench_task_is_reviewed_and_timed_like_any_other(machine: Machine) -> None:
    check = kernelbench(machine, None).stages.check
    caught = {control.name for control in check.controls if not control.undetected}
    assert caught >= {"zeros", "mean", "one element off", "last block missing", "last block not read"}
    benchmark = {
        "cases": [{"batch_size": 8, "width": 32, "dtype": "float32"}],
        "baselines": {"eager": "3_Linear_LeakyReLU.py:Model"},
    }
    timing = kernelbench(machine, KB_ANSWER, benchmark=benchmark).stages.time
    # On a busy machine the two clocks may disagree, and nothing else may be wrong.
    assert timing.status == "passed" or "the clocks disagree" in (timing.reason or ""), (timing.reason, timing.cases)
    assert [speedup.baseline for speedup in timing.cases[0].speedups] == ["eager"]


def test_a_size_that_a_kernelbench_problem_lacks_is_named(machine: Machine) -> None:
    cases = [{"batch_size": 5, "depth": 3, "dtype": "float32"}]
    check = kernelbench(machine, KB_ANSWER, cases=cases).stages.check
    assert check.status == "error"
    assert "the problem defines no size 'depth' at the top of its module" in (check.reason or "")


GM_TASK_PY = (
    "import torch\nfrom typing import TypeVar\n\ninput_t = TypeVar('input_t')\noutput_t = TypeVar('output_t')\n"
)
GM_UTILS = """
import torch

def verbose_allclose(received, expected, rtol=1e-5, atol=1e-8):
    if received.shape != expected.shape:
        return ["SIZE MISMATCH"]
    bad = ~torch.isclose(received, expected, rtol=rtol, atol=atol)
    return [f"ERROR at {index.tolist()}" for index in torch.nonzero(bad)[:3]]
"""
GM_REFERENCE = """
import torch
from task import input_t, output_t
from utils import verbose_allclose

def generate_input(size: int, groups: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    x = torch.randn(groups, size, device="cuda", dtype=torch.float16, generator=gen).contiguous()
    scales = {"w": torch.rand(groups, device="cuda", generator=gen), "eps": 1e-5, "order": [2, 1]}
    out = torch.empty_like(x)
    return x, scales, out

def ref_kernel(data: input_t) -> output_t:
    x, scales, out = data
    assert x.is_cuda and scales["order"] == [2, 1] and scales["eps"] == 1e-5
    out[...] = (x.to(torch.float32) * scales["w"][:, None]).to(out.dtype)
    return out

def check_implementation(data: input_t, output: output_t) -> tuple[bool, str]:
    expected = ref_kernel(data)
    bad = verbose_allclose(output, expected, rtol=1e-3, atol=1e-3)
    return (False, "mismatch found! " + " ".join(bad)) if bad else (True, "")
"""
GM_ANSWER = """
#!POPCORN leaderboard groupscale
#!POPCORN gpu A100 H100
import os
import torch
from task import input_t, output_t
import utils

here = sorted(os.listdir(os.path.dirname(__file__)))

def custom_kernel(data: input_t) -> output_t:
    assert here == ["submission.py", "task.py", "utils.py"], here
    x, scales, out = data
    out.copy_(x * scales["w"][:, None])
    return out
"""
GM_TASK: dict[str, Any] = {
    "interface": "gpumode",
    "entry": "custom_kernel",
    "reference": "reference.py:ref_kernel",
    "checker": "reference.py:check_implementation",
    "inputs": {},
    "outputs": {"out": {"shape": ["groups", "size"], "dtype": "float16"}},
    "cases": [{"size": [64, 100], "groups": 3, "dtype": "float16"}],
    "tolerance": {"float16": {"atol": 1e-3, "rtol": 1e-3}},
    "limits": {"run_s": 20, "build_s": 60},
}


def gpumode(machine: Machine, answer: str | None, reference: str = GM_REFERENCE, **changes: Any) -> Evidence:
    need("torch")
    files = {"reference.py": reference, "task.py": GM_TASK_PY, "utils.py": GM_UTILS}
    return gather(machine, answer and {"submission.py": answer}, {**GM_TASK, **changes}, files)[0]


def test_a_gpumode_problem_runs_unchanged(machine: Machine) -> None:
    evidence = gpumode(machine, GM_ANSWER)
    assert evidence.stages.check.status == "passed", reasons(evidence)
    output = evidence.stages.check.cases[0].outputs[0]
    assert output.reason == "checker: "
    assert output.shape == [3, 64]


def test_the_problems_own_check_judges_a_gpumode_answer(machine: Machine) -> None:
    evidence = gpumode(machine, GM_ANSWER.replace('scales["w"][:, None]', "1.5"))
    assert evidence.stages.check.status == "failed"
    assert "mismatch found! ERROR at [0, 0]" in reasons(evidence)
    older = GM_REFERENCE.replace('(False, "mismatch found! " + " ".join(bad)) if bad else (True, "")', '" ".join(bad)')
    assert older != GM_REFERENCE
    assert gpumode(machine, GM_ANSWER, older).stages.check.status == "passed"
    evidence = gpumode(machine, GM_ANSWER.replace("x * ", "x + "), older)
    assert "checker: ERROR at [0, 0]" in reasons(evidence)


def test_a_gpumode_answer_may_write_only_what_the_reference_writes(machine: Machine) -> None:
    evidence = gpumode(machine, GM_ANSWER.replace("    return out", "    x.zero_()\n    return out"))
    assert "inputs written: data.0" in reasons(evidence)


def test_data_that_cannot_cross_the_wall_is_the_tasks_named_fault(machine: Machine) -> None:
    opaque = GM_REFERENCE.replace("return x, scales, out", "return x, lambda: 1, out")
    check = gpumode(machine, GM_ANSWER, opaque).stages.check
    assert check.status == "error"
    assert "data.1 is a function: only arrays, numbers, text and lists" in (check.reason or "")


FI_DEFINITION: dict[str, Any] = {
    "name": "scaled_rows_n16",
    "op_type": "scale",
    "axes": {"rows": {"type": "var"}, "n": {"type": "const", "value": 16}, "one": {"type": "var"}},
    "constraints": [],
    "inputs": {
        "x": {"shape": ["rows", "n"], "dtype": "bfloat16"},
        "index": {"shape": ["one"], "dtype": "int32"},
        "scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "n"], "dtype": "bfloat16"}, "total": {"shape": ["rows"], "dtype": "float32"}},
    "reference": (
        "import torch\n\n@torch.no_grad()\ndef run(x, index, scale):\n"
        "    y = x.to(torch.float32) * scale + index.sum()\n"
        "    return {'y': y.to(torch.bfloat16), 'total': y.sum(-1)}\n"
    ),
}
FI_SOURCE = """
import torch

def run(x, index, scale, y, total):
    assert x.is_cuda and torch.isnan(y.float()).all()
    full = x.float() * scale + int(index.sum())
    y.copy_(full)
    total.copy_(full.sum(-1))
"""
FI_TASK: dict[str, Any] = {
    "interface": "flashinfer",
    "entry": "solution.json",
    "reference": "scaled_rows_n16.json:run",
    "inputs": {},
    "outputs": {},
    "cases": [{"rows": [1, 6], "one": 3, "dtype": "bfloat16"}],
    "tolerance": {"bfloat16": {"atol": 1e-2, "rtol": 1e-2}, "float32": {"atol": 1e-4, "rtol": 1e-5}},
    "limits": {"run_s": 20, "build_s": 60},
}


def solution(source: str = FI_SOURCE, **spec: Any) -> str:
    said = {"language": "python", "target_hardware": ["NVIDIA_H100"], "entry_point": "main.py::run", **spec}
    return json.dumps({"name": "s1", "spec": said, "sources": [{"path": "main.py", "content": source}]})


def workloads() -> str:
    rows = [
        {"uuid": "a", "axes": {"rows": rows, "one": 3}, "inputs": {
            "x": {"type": "random"}, "scale": {"type": "scalar", "value": 0.5},
            "index": {"type": "safetensors", "path": "blob/workloads/index.safetensors", "tensor_key": "index"}}}
        for rows in (1, 6)
    ]  # fmt: skip
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def safetensors(values: list[int]) -> bytes:
    data = np.array(values, np.int32).tobytes()
    header = json.dumps({"index": {"dtype": "I32", "shape": [len(values)], "data_offsets": [0, len(data)]}}).encode()
    return struct.pack("<Q", len(header)) + header + data


def flashinfer(machine: Machine, answer: str | None, index: bytes | None = None) -> Evidence:
    need("torch")
    files = {"scaled_rows_n16.json": json.dumps(FI_DEFINITION), "scaled_rows_n16.jsonl": workloads()}
    blob = {"index.safetensors": safetensors([1, 2, -3]) if index is None else index}
    given = answer and {"solution.json": answer}
    return gather(machine, given, FI_TASK, files, more=blob)[0]


def test_a_flashinfer_problem_runs_unchanged(machine: Machine) -> None:
    evidence = flashinfer(machine, solution())
    check = evidence.stages.check
    assert check.status == "passed", reasons(evidence)
    assert [(output.name, output.dtype) for output in check.cases[1].outputs] == [
        ("y", "bfloat16"),
        ("total", "float32"),
    ]
    returning = FI_SOURCE.replace(", y, total):", "):").replace(
        "    assert x.is_cuda and torch.isnan(y.float()).all()\n", ""
    )
    returning = returning.replace(
        "    y.copy_(full)\n    total.copy_(full.sum(-1))", "    return full.bfloat16(), full.sum(-1)"
    )
    evidence = flashinfer(machine, solution(returning, destination_passing_style=False))
    assert evidence.stages.check.status == "passed", reasons(evidence)


def test_a_wrong_flashinfer_solution_fails(machine: Machine) -> None:
    evidence = flashinfer(machine, solution(FI_SOURCE.replace("* scale", "* 0.25")))
    assert evidence.stages.check.status == "failed"
    evidence = flashinfer(machine, solution(FI_SOURCE.replace("    total.copy_(full.sum(-1))\n", "")))
    assert "total: 1 of 1 elements have NaN or Inf on one side only" in reasons(evidence)


@pytest.mark.parametrize(
    ("answer", "build", "reason"),
    [
        ("{", "failed", "solution.json cannot be read"),
        (solution(language="cuda"), "failed", "a solution in cuda is not run yet"),
        (solution(entry_point="other.py::run"), "failed", "solution/other.py is missing"),
    ],
)
def test_a_flashinfer_solution_that_cannot_be_opened_says_why(
    machine: Machine, answer: str, build: str, reason: str
) -> None:
    found = flashinfer(machine, answer).stages
    assert (found.build.status, found.check.status) == (build, "not-run")
    assert reason in (found.build.reason or "")


def test_a_workloads_tensor_that_cannot_be_read_is_named(machine: Machine) -> None:
    check = flashinfer(machine, solution(), b"\x08\0\0\0\0\0\0\0{}      ").stages.check
    assert check.status == "not-run"
    assert "input index: blob/workloads/index.safetensors: it holds no tensor 'index'" in (check.reason or "")
