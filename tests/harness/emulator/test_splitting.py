"""Kernels that become loops over their threads, and those that must not; what threads keep over a barrier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgrade.harness.emulator import translate

pytestmark = pytest.mark.xdist_group("emulator")

HEAD = "#include <cuda_runtime.h>\n#include <cstdint>\n"
TAKES = "(const float* x, float* y, int n)"
STEP = "__shared__ float s[64]; const int t = threadIdx.x; s[t] = x[t]; __syncthreads(); y[t] = s[63 - t];"
NOT = {
    "a thread that leaves before a barrier": "if (threadIdx.x >= n) return; " + STEP,
    "a barrier under a condition": "if (n > 3) { __syncthreads(); } y[threadIdx.x] = 1;",
    "a barrier in a loop whose length is a thread's own":
        "const int m = x[threadIdx.x]; for (int i = 0; i < m; ++i) { __syncthreads(); }",
    "a barrier in a loop that ends with what memory holds": "for (int i = 0; i < x[0]; ++i) { __syncthreads(); }",
    "a loop with a barrier that is left early":
        "for (int i = 0; i < n; ++i) { if (x[i] > 0) break; __syncthreads(); }",
    "a barrier in a while loop": "int i = 0; while (i < n) { ++i; __syncthreads(); }",
    "a shuffle": "y[threadIdx.x] = __shfl_xor_sync(~0u, x[threadIdx.x], 1);",
    "a shuffle in a function": "y[threadIdx.x] = turned(x[threadIdx.x]);",
    "a barrier in a function": "meet(); y[threadIdx.x] = 1;",
    "a barrier in a macro": "SYNC; y[threadIdx.x] = 1;",
    "a counted barrier": "y[threadIdx.x] = __syncthreads_count(n);",
    "a wait for another block": "while (atomicAdd(&flag, 0) != n) {} y[0] = 1;",
    "a jump": "goto end; end: y[0] = 1;",
    "assembly": 'unsigned lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); y[lane] = 1;',
    "a reference that is kept": "float& r = y[threadIdx.x]; __syncthreads(); r = 1;",
    "a type that only its value tells": "auto r = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = r;",
}  # fmt: skip
BEFORE = """
__device__ int flag;
#define SYNC __syncthreads()
__device__ float turned(float v) { return __shfl_xor_sync(~0u, v, 1); }
__device__ void meet() { __syncthreads(); }
"""


@pytest.mark.parametrize("why", NOT)
def test_a_thread_that_may_wait_in_between_keeps_its_own_stack(why: str) -> None:
    source = f"{HEAD}{BEFORE}__global__ void k{TAKES} {{ {NOT[why]} }}\n"
    assert b"EMU_BLOCK" not in translate({"k.cu": source.encode()}, split=True)["k.cu"]


def test_without_being_asked_nothing_is_split() -> None:
    source = f"{HEAD}__global__ void k{TAKES} {{ {STEP} }}\n".encode()
    assert b"EMU_BLOCK" in translate({"k.cu": source}, split=True)["k.cu"]
    assert b"EMU_BLOCK" not in translate({"k.cu": source})["k.cu"]


KEEPING = (
    HEAD
    + r"""
__device__ int my_index() { return (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
template <int kSteps>
__global__ void keeps(const float* x, float* y, int n, int rounds) {
  __shared__ float row[64];
  const int i = my_index(), t = threadIdx.x + 8 * threadIdx.y;
  float seen[2][kSteps] = {{0}}, last;
  const float *from = x + 64 * blockIdx.x, *const same = from;
  last = from[t];
  for (int round = 0; round < rounds; ++round) {
    float mine = last + round;
    row[t] = mine;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kSteps; ++k) seen[round % 2][k] += row[(t + k) % 64];
    for (int inner = 0; inner < 2; inner++) {
      const float before = row[(t + 1) % 64];
      __syncthreads();
      row[t] = before;
      __syncthreads();
    }
    last = mine + row[t];
  }
  float sum = last + same[t];
  for (int k = 0; k < kSteps; ++k) sum += seen[0][k] - seen[1][k];
  if (i >= n) return;
  y[i] = sum;
}
extern "C" int kept(const float* x, float* y, int64_t n, cudaStream_t s) {
  keeps<3><<<(n + 63) / 64, dim3(8, 8), 0, s>>>(x, y, n, 4);
  return cudaGetLastError();
}
__global__ void moved(const float* x, float* y, int n) {
  x += my_index();
  if (n -= my_index(); n > 0) y[my_index()] = -*x;
}
extern "C" int changed(const float* x, float* y, int64_t n, cudaStream_t s) {
  moved<<<(n + 63) / 64, dim3(64), 0, s>>>(x, y, n);
  return cudaGetLastError();
}
"""
)


def _kept(x: np.ndarray) -> np.ndarray:
    last, seen = x.astype(np.float64), np.zeros((2, 3, *x.shape))
    for turn in range(4):
        mine = last + turn
        for k in range(3):
            seen[turn % 2, k] += np.roll(mine, -k, axis=1)
        last = mine + np.roll(mine, -2, axis=1)
    return last + x + seen[0].sum(0) - seen[1].sum(0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_threads_keep_over_barriers_is_their_own(load: Any, seed: int) -> None:
    assert translate({"k.cu": KEEPING.encode()}, split=True)["k.cu"].count(b"EMU_BLOCK;") == 2
    loaded = load(KEEPING)
    x = np.random.default_rng(0).integers(-9, 9, (5, 64)).astype(np.float32)
    y = np.full((5, 64), np.nan, np.float32)
    assert loaded.call("kept", x, y, 300, None, seed=seed) == 0
    np.testing.assert_array_equal(y.ravel()[:300], _kept(x).ravel()[:300])
    assert np.isnan(y.ravel()[300:]).all()
    assert loaded.call("changed", x, y, 300, None, seed=seed) == 0
    np.testing.assert_array_equal(y.ravel()[:300], -x.ravel()[:300])
