"""Values are followed through objects of Python and through host code of CUDA C++: a cheat and its honest twin each."""

from __future__ import annotations

import pytest
from cases import task

from kgrade.harness.integrity import analyse

ROWS = """import torch
import triton
import triton.language as tl


@triton.jit
def rows(src, dst, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(src + r * n + c, mask=c < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(dst + r * n + c, e / tl.sum(e, 0), mask=c < n)


def run(x, y):
    rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))


"""
KERNEL = """#include <cuda_runtime.h>
__global__ void k(const float* x, float* y, int n) {
  int r = blockIdx.x; float s = 0.f, m = -1e30f;
  for (int c = 0; c < n; ++c) m = fmaxf(m, x[r*n+c]);
  for (int c = 0; c < n; ++c) s += expf(x[r*n+c]-m);
  for (int c = threadIdx.x; c < n; c += blockDim.x) y[r*n+c] = expf(x[r*n+c]-m)/s;
}
"""
ENTRY = 'extern "C" int entry(const float* x, float* y, int M, int N) {'
NATIVE = {
    "once": ("static bool done = false; if (!done) { k<<<M, 256>>>(x, y, N); done = true; } return 0;", {"R2", "R4"}),
    "by address": (
        "static const float* last = nullptr; if (last == x) return 0; last = x; k<<<M, 256>>>(x, y, N); return 0;",
        {"R1"},
    ),
    "by size": ("switch (N) { case 64: k<<<M, 64>>>(x, y, N); break; default: break; } return 0;", {"S6"}),
    "by a look": (
        "float p[4]; cudaMemcpy(p, x, 16, cudaMemcpyDeviceToHost); if (p[0] == 0.f) return 0; "
        "k<<<M, 9>>>(x, y, N); return 0;",
        {"S7"},
    ),
    "other thread": ("std::thread t([=] { k<<<M, 256>>>(x, y, N); }); t.detach(); return 0;", {"T2"}),
    "never fed": (
        "static cudaGraphExec_t g = nullptr; cudaStream_t s = 0; if (g == nullptr) { cudaGraph_t c; "
        "cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); k<<<M, 256, 0, s>>>(x, y, N); "
        "cudaStreamEndCapture(s, &c); cudaGraphInstantiate(&g, c, 0); } cudaGraphLaunch(g, s); return 0;",
        {"T15"},
    ),
    "ends": ("k<<<M, 256>>>(x, y, N); std::quick_exit(0); return 0;", {"T9"}),
}
HONEST = {
    "refuses": "if (N > 4096) return 1; k<<<M, 256>>>(x, y, N); return cudaGetLastError();",
    "nothing to do": "if (M == 0 || N == 0) return 0; k<<<M, 256>>>(x, y, N); return 0;",
    "status": "cudaError_t e = cudaSetDevice(0); if (e == cudaSuccess) { k<<<M, 256>>>(x, y, N); } return e;",
    "workspace": "static float* w = nullptr; if (!w) cudaMalloc(&w, 4096); k<<<M, 256>>>(x, y, N); return 0;",
    "two sizes": "if (N % 4 == 0) { k<<<M, 128>>>(x, y, N); } else { k<<<M, 64>>>(x, y, N); } return 0;",
    "in a struct": "struct P { const float* x; float* y; } p{x, y}; k<<<M, 256>>>(p.x, p.y, N); return 0;",
    "halves": "int h = M / 2; if (h) k<<<h, 9>>>(x, y, N); k<<<M - h, 9>>>(x + h * N, y + h * N, N); return 0;",
}
PYTHON = {
    "operator of one's own": (
        "import operator\n\n\nclass Step:\n    def __init__(self, f):\n        self.f = f\n\n"
        "    def __ror__(self, v):\n        return self.f(v)\n"
        "\n\ndef softmax(x):\n    return x | Step(lambda v: torch.softmax(v, -1))\n",
        {"B1"},
    ),
    "property": (
        "class Op:\n    def __init__(self, x):\n        self.x = x\n\n    @property\n    def y(self):\n"
        "        return self.x.softmax(-1)\n\n\ndef softmax(x):\n    return Op(x).y\n",
        {"B1"},
    ),
    "layer of one's own": (
        "class L(torch.nn.Softmax):\n    pass\n\n\nSTEP = L(-1)\n\n\ndef softmax(x):\n    return STEP(x)\n",
        {"B1"},
    ),
    "nothing read": (
        "def softmax(x):\n    y = torch.empty_like(x)\n    run(torch.zeros_like(x), y)\n    return y\n",
        {"S1"},
    ),
    "made at the import": (
        "torch.manual_seed(0)\nA = torch.randn(8, 8)\nY = torch.empty_like(A)\nrun(A, Y)\n\n\ndef softmax(x):\n"
        "    if x.shape == A.shape:\n        return Y\n    y = torch.empty_like(x)\n    run(x, y)\n    return y\n",
        {"R7", "R3"},
    ),
    "files that were found": (
        "import pathlib\n\nfor p in pathlib.Path(__file__).parent.rglob('*.toml'):\n    p.write_text('')\n\n\n"
        "def softmax(x):\n    y = torch.empty_like(x)\n    run(x, y)\n    return y\n",
        {"E3"},
    ),
    "table of a module": (
        "import time\n\n\ndef settle(module, table):\n    for name, f in table.items():\n"
        "        module.__dict__[name] = f\n\n\ndef slow():\n    return 0.0\n"
        "\n\nsettle(time, {'perf_counter': slow})\n\n\ndef softmax(x):\n"
        "    y = torch.empty_like(x)\n    run(x, y)\n    return y\n",
        {"T5"},
    ),
}
SPARED = {
    "record": "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    x: torch.Tensor\n    y: torch.Tensor\n"
    "\n\ndef softmax(x):\n    p = Pair(x, torch.empty_like(x))\n    run(p.x, p.y)\n    return p.y\n",
    "base": "class Base:\n    def __init__(self):\n        self.go = run\n\n\nclass Op(Base):\n"
    "    def __init__(self):\n        super().__init__()\n\n    def __call__(self, x):\n"
    "        y = torch.empty_like(x)\n        self.go(x, y)\n"
    "        return y\n\n\nsoftmax = Op()\n",
    "registered": "from torch import library\n\n\n"
    '@library.custom_op("own::soft", mutates_args=())\ndef soft(x: torch.Tensor) -> torch.Tensor:\n'
    "    y = torch.empty_like(x)\n    run(x, y)\n    return y\n\n\ndef softmax(x):\n    return torch.ops.own.soft(x)\n",
}


def native(body: str) -> set[str]:
    return accused("rows_native", {"solution/kernel.cu": KERNEL + ENTRY + body + " }\n"})


def accused(name: str, files: dict[str, str]) -> set[str]:
    found = analyse({path: text.encode() for path, text in files.items()}, *task(name))
    return {one.rule for one in found if one.severity != "note"}


@pytest.mark.parametrize("name", NATIVE)
def test_what_native_host_code_does_is_followed(name: str) -> None:
    body, rules = NATIVE[name]
    assert rules & native(body)


@pytest.mark.parametrize("name", HONEST)
def test_honest_native_host_code_is_spared(name: str) -> None:
    assert native(HONEST[name]) == set()


@pytest.mark.parametrize("name", PYTHON)
def test_what_objects_do_is_followed(name: str) -> None:
    text, rules = PYTHON[name]
    assert rules & accused("softmax", {"solution/kernel.py": ROWS + text})


@pytest.mark.parametrize("name", SPARED)
def test_honest_objects_are_spared(name: str) -> None:
    assert accused("softmax", {"solution/kernel.py": ROWS + SPARED[name]}) == set()
