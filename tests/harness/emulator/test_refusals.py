"""What cannot run is named, with its line; what a device refuses at the launch is refused with the same error."""

# ruff: noqa: E501 (lines of kernels)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgrade.harness.emulator import CannotRun, translate
from kgrade.harness.emulator.complaints import complaint

pytestmark = pytest.mark.xdist_group("emulator")

REFUSED = {
    "CUB": "#include <cub/device/device_reduce.cuh>",
    "CUTLASS": "#include <cutlass/gemm/device/gemm.h>",
    "cuBLAS": "#include <cublas_v2.h>",
    "wgmma.mma_async": '__device__ void f() { asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0}, %1, %2;" : "+f"(x) : "l"(a), "l"(b)); }',
    "cp.async.bulk": '__device__ void f() { asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile [%0], [%1];" :: "r"(a), "l"(b)); }',
    "tcgen05": '__device__ void f() { asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" :: "r"(a)); }',
    "sad.u64": '__device__ void f() { asm("sad.u64 %0, %1, %1, %1;" : "=l"(a) : "l"(b)); }',
    "bar.red": '__device__ void f() { asm("bar.red.popc.u32 %0, 3, 64, p;" : "=r"(a)); }',
    "mul.rz.f32": '__device__ void f() { asm("mul.rz.f32 %0, %1, %1;" : "=f"(a) : "f"(b)); }',
    "mbarrier.init": '__device__ void f() { asm("mbarrier.init.shared.b64 [%0], 1;" :: "r"(a)); }',
    "red.async": '__device__ void f() { asm("red.async.relaxed.cluster.global.add.u32 [%0], 1;" :: "l"(a)); }',
    "bra": '__device__ void f() { asm("bra LOOP;" ::); }',
    "operand p": '__device__ void f() { asm("selp.b32 %0, 1, 0, p;" : "=r"(a)); }',
    "text NAME": '__device__ void f() { asm("mov.u32 %0, " NAME : "=r"(a)); }',
    "add.rz.f32": '__device__ void f() { asm("add.rz.f32 %0, %1, %1;" : "=f"(a) : "f"(b)); }',
    "mma.sp": '__device__ void f() { asm("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, %4, 0x0;" : "+r"(a) : "r"(b)); }',
    "wmma.mma": '__device__ void f() { asm("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0}, {%1}, {%1}, {%0};" : "+r"(a) : "r"(b)); }',
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


BITS = r"""
#include <cuda_runtime.h>
#include <cstdint>
__global__ void k(const float* x, uint32_t* y, float* z) {
  unsigned long long both;
  float low, high;
  asm("mov.b32 %0, %1;" : "=r"(y[0]) : "f"(x[0]));
  asm volatile(
      "ld.global.b32 %0, [%1];"
      : "=f"(z[0])
      : "l"(x));
  asm("mov.b64 %0, {%1, %2};" : "=l"(both) : "f"(x[0]), "f"(x[1]));
  asm("mov.b64 {%0, %1}, %2;" : "=f"(low), "=f"(high) : "l"(both));
  asm volatile("st.global.b32 [%0], %1;" :: "l"(y + 1), "f"(high));
  z[1] = low;
  z[2] = high;
  y[2] = __LINE__;
}
extern "C" int bits(const float* x, uint32_t* y, float* z, cudaStream_t) { k<<<1, 1>>>(x, y, z); return cudaGetLastError(); }
"""


def test_registers_hold_bits_and_lines_stay(load: Any) -> None:
    x, y, z = np.array([1.5, -2.75], np.float32), np.zeros(3, np.uint32), np.zeros(3, np.float32)
    assert load(BITS).call("bits", x, y, z, None) == 0
    assert y.tolist() == [0x3FC00000, 0xC0300000, BITS[: BITS.index("__LINE__")].count("\n") + 1]
    assert z.tolist() == [1.5, 1.5, -2.75]


GPP = """$ g++ -c emulated-plain/gemm.cu
In file included from runtime/machine.h:8,
runtime/storage.h: In instantiation of 'struct emu::SharedVariable<float>':
runtime/storage.h:24:19:   required from 'T& emu::shared_variable(Tag, const char*)'
gemm.cu:46:161:   required from here
runtime/storage.h:15:27: error: static assertion failed: uses too much shared data
   15 |   static_assert(sizeof(T) <= kSharedStaticLimit, "uses too much shared data");
"""


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (GPP, "gemm.cu:46: static assertion failed: uses too much shared data"),
        (GPP.replace("gemm.cu", "other.h"), "runtime/storage.h:15: static assertion failed: uses too much shared data"),
        (
            "gemm.cu:3:1: warning: x\ngemm.cu:7:2: error: '__new' was not declared",
            "gemm.cu:7: '__new' was not declared",
        ),
        ("/usr/bin/ld: error: y", "/usr/bin/ld: error: y"),
        ("", "no message"),
    ],
)
def test_a_complaint_names_the_line_of_the_submission(log: str, said: str) -> None:
    assert complaint(log, ["gemm.cu"]) == said


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
