"""Tensors that nobody has written: an extension that reads one is named, whoever allocated it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kgrade.harness.emulator.compiler import NO_COMPILER, find_compiler
from kgrade.harness.emulator.torch_headers import TorchHeaders
from kgrade.harness.run import Machine
from tests.harness.items import gather

pytestmark = [pytest.mark.xdist_group("emulator"), pytest.mark.usefixtures("shared_workers", "runtime_here")]

PROBLEM = """
import torch
import torch.nn as nn

size = 70

class Model(nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.randn(size)]

def get_init_inputs():
    return []
"""
ANSWER = r'''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void set_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void sum_kernel(const float* x, const float* w, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + w[i]; // sum
}
__global__ void accumulate_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i]; // accumulate
}
__global__ void count_kernel(int* counter) { atomicAdd(counter, 1); } // count

torch::Tensor set(torch::Tensor x, torch::Tensor y) {
  set_kernel<<<3, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
torch::Tensor sum(torch::Tensor x, torch::Tensor w) {
  auto y = torch::empty_like(x);
  sum_kernel<<<3, 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
torch::Tensor accumulate(torch::Tensor x, torch::Tensor y) {
  accumulate_kernel<<<3, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
torch::Tensor accumulate_new(torch::Tensor x, bool clear) {
  auto y = torch::empty(x.sizes(), x.options());
  if (clear) y.zero_();
  return accumulate(x, y);
}
torch::Tensor count(torch::Tensor counter) {
  count_kernel<<<2, 32>>>(counter.data_ptr<int>());
  return counter;
}
"""
functions = ["set", "sum", "accumulate", "accumulate_new", "count"]
made = load_inline(
    name="made",
    cpp_sources="".join([
        "torch::Tensor set(torch::Tensor x, torch::Tensor y);",
        "torch::Tensor sum(torch::Tensor x, torch::Tensor w);",
        "torch::Tensor accumulate(torch::Tensor x, torch::Tensor y);",
        "torch::Tensor accumulate_new(torch::Tensor x, bool clear);",
        "torch::Tensor count(torch::Tensor counter);",
    ]),
    cuda_sources=cuda_source,
    functions=functions,
)

class ModelNew(nn.Module):
    def forward(self, x):
FORWARD
        return x * 2
'''
WRONG = {
    "part of a workspace, an output made in C++, a counter": {
        "sum": "w = torch.empty(140, device='cuda'); w[:70].fill_(0); made.sum(x, w[70:])",
        "accumulate": "made.accumulate_new(x, False)",
        "count": "made.count(torch.empty(1, dtype=torch.int32, device='cuda'))",
    },
    "a workspace that is handed out again, an output": {
        "sum": "w = x.new_empty(70); w.zero_(); made.sum(x, w); del w; made.sum(x, x.new_empty(70))",
        "accumulate": "made.accumulate(x, torch.empty_like(x))",
    },
    "a workspace": {"sum": "made.sum(x, torch.empty(70, device='cuda'))"},
}
RIGHT = [
    "made.sum(x, torch.zeros(70, device='cuda'))",
    "made.sum(x, torch.empty(70, device='cuda').fill_(float('nan')))",
    "made.sum(x, torch.empty_like(x).copy_(x))",
    "made.sum(x, torch.mul(x, x, out=torch.empty_like(x)))",
    "made.sum(x, made.set(x, torch.empty_like(x)))",
    "made.sum(x, torch.relu(x).view(7, 10).t().contiguous().view(-1))",
    "w = torch.empty(140, device='cuda'); w[70:].fill_(0); made.sum(x, w[70:])",
    "w = torch.empty(70, 2, device='cuda'); w[:, 0] = x; w[:, 1] = x; made.sum(x, w.view(-1)[:70])",
    "w = torch.empty(70, device='cuda'); w.numpy()[:] = 1; made.sum(x, w)",
    "made.accumulate(x, torch.zeros_like(x))",
    "made.accumulate_new(x, True)",
    "made.count(torch.empty(1, dtype=torch.int32, device='cuda').zero_())",
    "made.sum(x, nn.Linear(70, 1, device='cuda').weight.detach().view(-1))",
]
TASK: dict[str, Any] = {
    "interface": "kernelbench",
    "language": "cuda",
    "entry": "ModelNew",
    "reference": "doubled.py:Model",
    "inputs": {},
    "outputs": {"y": {"shape": ["size"], "dtype": "$dtype"}},
    "cases": [{"size": 70, "dtype": ["float32"]}],
    "tolerance": {"float32": {"atol": 1e-6, "rtol": 1e-6}},
    "limits": {"run_s": 60, "build_s": 300},
}
Found = tuple[str, str, int, str]


@pytest.fixture(scope="module")
def machine() -> Machine:
    pytest.importorskip("torch", reason="torch is not installed")
    if find_compiler() is None:
        pytest.skip(NO_COMPILER)
    machine = Machine.here()
    if TorchHeaders.of(machine.interpreter.executable) is None:
        pytest.skip("the headers of torch or Python are not installed")
    return machine


@pytest.fixture
def seen(machine: Machine) -> Callable[[list[str]], tuple[str, list[Found]]]:
    """Run the lines in the submission's `forward`; return the status of the check, and what was seen."""

    def run(lines: list[str]) -> tuple[str, list[Found]]:
        answer = ANSWER.replace("FORWARD", "\n".join(" " * 8 + line for line in lines))
        check = gather(machine, {"solution.py": answer}, TASK, {"doubled.py": PROBLEM}, ["build", "check"])[
            0
        ].stages.check
        assert check.method is not None
        assert "memory, races and barriers watched in 1 of 1 cases" in check.method
        return check.status, [(each.kind, each.path, each.line or 0, each.kernel or "") for each in check.seen]

    return run


@pytest.mark.long
@pytest.mark.parametrize("lines", WRONG.values(), ids=WRONG)
def test_reading_what_nobody_wrote_is_named(seen: Any, lines: dict[str, str]) -> None:
    status, found = seen(list(lines.values()))
    places = {kernel: ANSWER[: ANSWER.index(f"// {kernel}")].count("\n") + 1 for kernel in lines}
    assert set(found) == {
        ("global-uninitialised", "solution/solution.py", line, f"{kernel}_kernel") for kernel, line in places.items()
    }
    assert status == "flagged"


@pytest.mark.long
def test_what_anybody_wrote_may_be_read(seen: Any) -> None:
    assert seen(RIGHT) == ("passed", [])
