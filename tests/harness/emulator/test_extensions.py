"""Submissions whose CUDA sources are strings in Python: made as extensions of PyTorch and run on CPU tensors."""

# ruff: noqa: E501 (lines of kernels)
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kgrade.harness import launch_bounds
from kgrade.harness.build.toolkit import find_toolkit
from kgrade.harness.emulator.compiler import NO_COMPILER, find_compiler
from kgrade.harness.emulator.extension import make
from kgrade.harness.emulator.torch_headers import TorchHeaders
from kgrade.harness.emulator.translation import translate
from kgrade.harness.run import Machine
from kgrade.harness.watching import NO_TIMING
from kgrade.records.evidence import Evidence
from tests.harness.items import gather, reasons

pytestmark = [pytest.mark.xdist_group("emulator"), pytest.mark.usefixtures("shared_workers", "runtime_here")]

PROBLEM = """
import torch
import torch.nn as nn

rows = 6
width = 300

class Model(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight

def get_inputs():
    return [torch.randn(rows, width)]

def get_init_inputs():
    return [1e-5]
"""
ANSWER = r'''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime.h>

#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda() && x.is_contiguous(), #x " must be a contiguous CUDA tensor")

template <typename scalar_t>
__global__ void rmsnorm_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                               scalar_t* __restrict__ y, int width, float eps) {
  extern __shared__ float partial[];
  const scalar_t* row = x + (int64_t)blockIdx.x * width;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    const float v = static_cast<float>(row[i]);
    sum += v * v;
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  const float scale = rsqrtf(partial[0] / width + eps);
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    y[(int64_t)blockIdx.x * width + i] = static_cast<scalar_t>(static_cast<float>(row[i]) * scale * static_cast<float>(weight[i]));
}

torch::Tensor rmsnorm(torch::Tensor x, torch::Tensor weight, double eps) {
  CHECK_INPUT(x);
  CHECK_INPUT(weight);
  const c10::cuda::CUDAGuard guard(x.device());
  auto y = torch::empty(x.sizes(), torch::TensorOptions().dtype(x.dtype()).device(torch::kCUDA));
  const int width = x.size(-1), rows = x.numel() / width, threads = 128;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "rmsnorm", [&] {
    rmsnorm_kernel<scalar_t><<<rows, threads, threads * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), width, (float)eps);
  });
  return y;
}
"""

extension = load_inline(
    name="rmsnorm",
    cpp_sources="torch::Tensor rmsnorm(torch::Tensor x, torch::Tensor weight, double eps);",
    cuda_sources=cuda_source,
    functions=["rmsnorm"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
    verbose=False,
)

class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(300))
        self.eps = eps

    def forward(self, x):
        assert x.is_cuda
        return extension.rmsnorm(x.contiguous(), self.weight, self.eps)
'''
TASK: dict[str, Any] = {
    "interface": "kernelbench",
    "language": "cuda",
    "entry": "ModelNew",
    "reference": "rmsnorm.py:Model",
    "inputs": {},
    "outputs": {"y": {"shape": ["rows", 300], "dtype": "$dtype"}},
    "cases": [{"rows": 5, "dtype": ["float32", "bfloat16"]}],
    "tolerance": {"float32": {"atol": 1e-5, "rtol": 1e-5}, "bfloat16": {"atol": 1e-2, "rtol": 2e-2}},
    "limits": {"run_s": 60, "build_s": 300},
}


@pytest.fixture(autouse=True)
def without_nvcc(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the tests that do not ask for registers what ptxas costs."""
    if "with_nvcc" not in request.fixturenames:
        monkeypatch.setattr(launch_bounds, "find_toolkit", lambda: None)


@pytest.fixture
def with_nvcc() -> None:
    if find_toolkit() is None:
        pytest.skip("nvcc is not installed")


@pytest.fixture(scope="module")
def machine() -> Machine:
    pytest.importorskip("torch", reason="torch is not installed")
    if find_compiler() is None:
        pytest.skip(NO_COMPILER)
    machine = Machine.here()
    if TorchHeaders.of(machine.interpreter.executable) is None:
        pytest.skip("the headers of torch or Python are not installed")
    return machine


def collected(machine: Machine, answer: str, stages: Sequence[str] = ("build", "check")) -> Evidence:
    return gather(machine, {"solution.py": answer}, TASK, {"rmsnorm.py": PROBLEM}, list(stages))[0]


@pytest.mark.long
def test_a_kernelbench_submission_with_load_inline_is_checked(machine: Machine) -> None:
    evidence = collected(machine, ANSWER, ("build", "check", "time"))
    build, check, timing = evidence.stages.build, evidence.stages.check, evidence.stages.time
    assert (timing.status, timing.reason) == ("not-run", NO_TIMING)
    assert (build.status, check.status) == ("passed", "passed"), reasons(evidence)
    assert check.method is not None
    assert "CUDA sources of extensions in CPU emulation of sm_90" in check.method
    assert "memory, races and barriers watched in 2 of 2 cases" in check.method
    assert check.seen == []
    assert [case.case.dtype for case in check.cases] == ["float32", "bfloat16"]
    figures = check.cases[0].outputs[0].figures
    assert figures is not None
    assert float(figures.ulp.max) > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("/ width + eps)", "/ width * 1.01f + eps)", "outside"),
        ("threads = 128", "threads = 2048", "RuntimeError: CUDA error: invalid configuration argument"),
        ("threads * sizeof(float), at", "64 << 10, at", "RuntimeError: CUDA error: invalid argument"),
        ("for (int i = threadIdx.x; i < width; i += blockDim.x)\n", "if (const int i = threadIdx.x; i < width)\n", "got nan"),
        ("TORCH_CHECK(x.is_cuda()", "TORCH_CHECK(!x.is_cuda()", "must be a contiguous CUDA tensor"),
    ],
    ids=["wrong formula", "too many threads", "too much shared memory", "an unwritten tail", "an unmet condition"],
)  # fmt: skip
def test_a_wrong_one_fails_as_on_the_device(machine: Machine, old: str, new: str, reason: str) -> None:
    assert ANSWER.count(old) == 1
    evidence = collected(machine, ANSWER.replace(old, new))
    assert evidence.stages.check.status == "failed"
    assert reason in reasons(evidence)


@pytest.mark.long
@pytest.mark.usefixtures("with_nvcc")
def test_a_block_for_which_registers_do_not_suffice_is_refused_as_on_the_device(machine: Machine) -> None:
    """At 1024 threads a block 64 registers are left for each: sums of 96 values, all of them live, need more."""
    wide = """
  float v[96];
#pragma unroll
  for (int k = 0; k < 96; ++k) v[k] = static_cast<float>(row[(threadIdx.x + k) % width]);
#pragma unroll
  for (int k = 0; k < 96; ++k)
#pragma unroll
    for (int l = 0; l < 96; ++l) v[k] = fmaf(v[l], v[k], v[(k + l) % 96]);
  float most = 0.0f;
#pragma unroll
  for (int k = 0; k < 96; ++k) most += v[k];
  if (most == 12345.0f) sum += 1e-30f;
  partial[threadIdx.x] = sum;
"""
    old = "  partial[threadIdx.x] = sum;\n"
    assert ANSWER.count(old) == 1
    answer = ANSWER.replace(old, wide)
    check = collected(machine, answer.replace("threads = 128", "threads = 1024")).stages.check
    assert check.status == "failed"
    why = check.cases[0].reason or ""
    assert "CUDA error: too many resources requested for launch (rmsnorm_kernel: a block of 1024 threads" in why
    assert check.method is not None
    assert "CPU emulation of sm_90, registers from ptxas" in check.method
    assert not any("registers" in what for what in check.unseen)


@pytest.mark.long
def test_one_that_hangs_on_the_order_of_blocks_fails(machine: Machine) -> None:
    """Each block clears the first element of the next row, which blocks in order write again."""
    last = "static_cast<float>(weight[i]));\n"
    clears = "  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) y[(blockIdx.x + 1) * width] = scalar_t(0);\n"
    evidence = collected(machine, ANSWER.replace(last, last + clears))
    assert evidence.stages.check.status == "failed"
    assert "it passes with its threads in order, and in another order not" in reasons(evidence)


@pytest.mark.long
def test_what_cannot_be_emulated_is_not_run_and_named_by_its_line_in_the_submission(machine: Machine) -> None:
    answer = ANSWER.replace(
        "  __syncthreads();\n  for (int half", '  asm volatile("wgmma.fence.sync.aligned;");\n  for (int half'
    )
    line = answer[: answer.index("wgmma")].count("\n") + 1
    evidence = collected(machine, answer)
    assert (evidence.stages.build.status, evidence.stages.check.status) == ("not-run", "not-run")
    assert f"the PTX instruction wgmma.fence.sync.aligned (solution.py:{line})" in (evidence.stages.check.reason or "")


def test_a_refusal_names_the_place_of_the_text(tmp_path: Path) -> None:
    request = {
        "name": "kernels",
        "sources": {
            "main.cpp": "",
            "cuda.cu": '\n__device__ void f() { asm volatile("wgmma.fence.sync.aligned;"); }\n',
        },
        "places": {"cuda.cu": ["solution.py", 40]},
        "out": str(tmp_path),
        "checks": False,
    }
    assert make(request)["cannot"] == "the PTX instruction wgmma.fence.sync.aligned (solution.py:41)"


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("TORCH_CHECK(x.is_cuda(), x)", "TORCH_CHECK(x.is_cpu(), x)"),
        ("x.type().is_cuda()", "x.is_cpu()"),
        ("torch::device(torch::kCUDA, 0)", "torch::device(torch::kCPU, 0)"),
        ("TORCH_LIBRARY_IMPL(kernels, CUDA, m)", "TORCH_LIBRARY_IMPL(kernels, CPU, m)"),
        ("c10::DeviceType::CUDA", "c10::DeviceType::CPU"),
        ("CHECK_CUDA(x); enum { CUDA };", "CHECK_CUDA(x); enum { CUDA };"),
    ],
)
def test_an_extension_asks_for_the_processor_where_it_asks_for_a_device(text: str, becomes: str) -> None:
    source = f"#define F {text}\n".encode()
    assert translate({"a.cpp": source}, torch=True)["a.cpp"].endswith(f"#define F {becomes}\n".encode())
    assert translate({"a.cpp": source})["a.cpp"].endswith(source)


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "kind", "line"),
    [
        ("i < width; i += blockDim.x) {\n    const float v", "i <= width; i += blockDim.x) {\n    const float v",
         "global-out-of-bounds", "const float v = static_cast<float>(row[i]);"),
        ("  partial[threadIdx.x] = sum;\n  __syncthreads();\n", "  partial[threadIdx.x] = sum;\n",
         "race", "partial[threadIdx.x] = sum;"),
    ],
    ids=["one too far", "no barrier"],
)  # fmt: skip
def test_the_checks_name_the_fault_and_its_line_in_the_submission(
    machine: Machine, old: str, new: str, kind: str, line: str
) -> None:
    assert ANSWER.count(old) == 1
    answer = ANSWER.replace(old, new)
    at = answer[: answer.index(line)].count("\n") + 1
    check = collected(machine, answer).stages.check
    assert (kind, "solution/solution.py", at, "rmsnorm_kernel") in {
        (each.kind, each.path, each.line, each.kernel) for each in check.seen
    }, [each.text for each in check.seen]
    assert check.status != "passed"
