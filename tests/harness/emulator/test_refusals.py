"""What cannot run is named, with its line; what a device refuses at the launch is refused with the same error."""

# ruff: noqa: E501 (lines of kernels)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgrade.harness.emulator import CannotRun, translate

pytestmark = pytest.mark.xdist_group("emulator")

REFUSED = {
    "CUB": "#include <cub/block/block_reduce.cuh>",
    "CUTLASS": "#include <cutlass/gemm/device/gemm.h>",
    "cuBLAS": "#include <cublas_v2.h>",
    "wgmma.mma_async": '__device__ void f() { asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0}, %1, %2;" : "+f"(x) : "l"(a), "l"(b)); }',
    "cp.async.bulk": '__device__ void f() { asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile [%0], [%1];" :: "r"(a), "l"(b)); }',
    "tcgen05": '__device__ void f() { asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" :: "r"(a)); }',
    "TMA": "__global__ void k(const __grid_constant__ CUtensorMap map) {}",
    "textures": "__global__ void k(cudaTextureObject_t t) {}",
    "dynamic parallelism": "__global__ void k() { child<<<1, 1>>>(); }",
    "graphs that are not captured": "void f() { cudaGraph_t g; cudaGraphCreate(&g, 0); }",
    "clusters": "__device__ void f() { auto c = cooperative_groups::this_cluster(); }",
    "without a mask": "__device__ float f(float v) { return __shfl_down(v, 1); }",
    "initial value": "__global__ void k() { __shared__ int s = 3; }",
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_named_with_its_line(name: str) -> None:
    source = f"#include <cuda_runtime.h>\n\n{REFUSED[name]}\n"
    with pytest.raises(CannotRun) as refused:
        translate({"solution.cu": source.encode()})
    assert name in refused.value.construct
    assert (refused.value.path, refused.value.line) == ("solution.cu", 3)


def test_a_construct_in_a_macro_is_named_where_the_macro_stands() -> None:
    with pytest.raises(CannotRun, match=r"wgmma.fence.*\(a/b.cuh:4\)"):
        translate({"a/b.cuh": b'\n#define ONE 1\n#define F() \\\n  asm volatile("wgmma.fence.sync.aligned;")\n'})


LIMITS = r"""
#include <cuda_runtime.h>
#include <cstdint>
__global__ void k(float* y) { extern __shared__ float s[]; s[0] = 1; y[blockIdx.x] = s[0]; }
template <int N> __global__ void big(float* y) { extern __shared__ float s[]; s[N] = 1; y[0] = s[N]; }
extern "C" int launch(float* y, int64_t threads, int64_t shared, int64_t rows, cudaStream_t) {
  k<<<dim3(1, rows), threads, shared>>>(y);
  return cudaGetLastError();
}
extern "C" int opt_in(float* y, int64_t shared, cudaStream_t) {
  const cudaError_t error = cudaFuncSetAttribute(big<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (error != cudaSuccess) return error;
  big<4><<<1, 32, shared>>>(y);
  return cudaGetLastError();
}
extern "C" int capability(float*, cudaStream_t) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  float ms = 0;
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b), cudaEventRecord(a), cudaEventRecord(b);
  cudaEventElapsedTime(&ms, a, b);
  return ms == ms ? -1 : p.major * 10 + p.minor;
}
"""


@pytest.mark.parametrize(
    ("threads", "shared", "rows", "error"),
    [
        (1024, 4, 1, 0),
        (1025, 4, 1, 9),
        (0, 4, 1, 9),
        (32, 4, 65536, 9),
        (32, 48 << 10, 1, 0),
        (32, (48 << 10) + 4, 1, 1),
    ],
)
def test_a_launch_beyond_the_limits_fails_as_on_the_device(
    load: Any, threads: int, shared: int, rows: int, error: int
) -> None:
    assert load(LIMITS).call("launch", np.zeros(4, np.float32), threads, shared, rows, None) == error


def test_more_shared_memory_has_to_be_asked_for(load: Any) -> None:
    y = np.zeros(1, np.float32)
    assert load(LIMITS).call("opt_in", y, 200 << 10, None) == 0
    assert y[0] == 1
    assert load(LIMITS).call("opt_in", y, 228 << 10, None) == 1


def test_an_emulation_has_a_capability_and_no_timing(load: Any) -> None:
    assert load(LIMITS).call("capability", None, None) == 90
