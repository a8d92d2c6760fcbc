"""Planted faults: each is found and named with its line, and the same kernel without it gives no finding."""

# ruff: noqa: E501 (lines of kernels)
from __future__ import annotations

from typing import Any

import pytest

from tests.harness.emulator.planted import FILL, INDEX, Planted, findings, named

pytestmark = pytest.mark.xdist_group("emulator")

PLANTED = [
    Planted("no guard at the tail", "global-out-of-bounds", INDEX + "@ y[i] = x[i]; //!", "", "if (i < n)", n=100),
    Planted("one element too far", "global-out-of-bounds", INDEX + "if (i < n) y[i] = x[@]; //!", "i + 1", "i"),
    Planted("one element before", "global-out-of-bounds", INDEX + "if (i < n) y[i] = x[i] + x[@]; //!", "i - 1", "max(i - 1, 0)"),
    Planted("a vector over the end", "global-out-of-bounds",
            INDEX + "if (@) reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i]; //!\n"
            "if (i < n % 4) y[n / 4 * 4 + i] = x[n / 4 * 4 + i];", "4 * i < n", "4 * i + 3 < n", n=126),
    Planted("rows and columns exchanged", "global-out-of-bounds",
            "const int r = threadIdx.y, c = threadIdx.x; y[@] = x[r * 8 + c]; //!", "c * 16 + r", "c * 8 + r % 8 + 0 * r",
            launch="k<<<1, dim3(8, 8)>>>(x, y, n);", n=64),
    Planted("an atomic past the end", "global-out-of-bounds",
            INDEX + "y[i % n] = 0; __syncthreads();\nif (t == 0) atomicAdd(&y[@], 1.0f); //!", "n", "n - 1", launch="k<<<1, 128>>>(x, y, n);"),
    Planted("static shared overrun", "shared-out-of-bounds",
            FILL + "__shared__ float s[64];\ns[t + @] = 1; //!\n__syncthreads(); if (i < n) y[i] += s[t];", "1", "0"),
    Planted("static shared underrun", "shared-out-of-bounds",
            FILL + "__shared__ float s[64];\ns[t] = 1; __syncthreads();\nif (i < n) y[i] += s[@]; //!", "t - 1", "t > 0 ? t - 1 : 0"),
    Planted("dynamic shared too small", "shared-out-of-bounds",
            FILL + "extern __shared__ float s[];\ns[t] = 1; //!", "60", "64", launch="k<<<2, 64, @ * sizeof(float)>>>(x, y, n);"),
    Planted("a pair of rows in a tile of one", "shared-out-of-bounds",
            FILL + "__shared__ float s[8][8];\ns[t / 8 + @][t % 8] = 1; //!", "1", "0"),
    Planted("misaligned vector load", "misaligned",
            INDEX + "if (i < 8) { const float4 v = *reinterpret_cast<const float4*>(x + 4 * i + @); y[i] = v.x + v.w; } //!\n"
            "else if (i < n) y[i] = 0;", "1", "0"),
    Planted("misaligned pair in shared memory", "misaligned",
            FILL + "__shared__ __align__(16) float s[66];\ns[t] = 0; if (t < 2) s[64 + t] = 0; __syncthreads();\n"
            "if (t < 16) *reinterpret_cast<float2*>(&s[2 * t + @]) = make_float2(1, 1); //!", "1", "0"),
    Planted("shared memory read before it is written", "shared-uninitialised",
            FILL + "__shared__ float s[64];\n@ s[t] = 2.0f;\n__syncthreads(); if (i < n) y[i] = s[t]; //!", "if (t < 32)", ""),
    Planted("a sum that starts from nothing", "shared-uninitialised",
            FILL + "__shared__ float sum;\n@ __syncthreads();\natomicAdd(&sum, 1.0f); //!", "", "if (t == 0) sum = 0;"),
    Planted("an output used as its own start", "global-uninitialised",
            INDEX + "if (i < n) y[i] @ x[i]; //!", "+=", "="),
    Planted("scratch memory that nobody cleared", "global-uninitialised",
            INDEX + "y[i] = x[i];\natomicAdd(&scratch[0], 1.0f); //!", "", "cudaMemset(p, 0, 4);",
            before="__device__ float* scratch;",
            launch="float* p; cudaMalloc(&p, 4); @ cudaMemcpyToSymbol(scratch, &p, sizeof p); k<<<2, 64>>>(x, y, n); cudaFree(p);"),
    Planted("no barrier before a neighbour is read", "race",
            INDEX + "__shared__ float s[64];\ns[t] = i < n ? x[i] : 0; @\nif (i < n) y[i] = s[63 - t]; //!", "", "__syncthreads();"),
    Planted("no barrier between steps of a tree", "race",
            FILL + "__shared__ float s[64];\ns[t] = 1; __syncthreads();\n"
            "for (int o = 32; o > 0; o >>= 1) { if (t < o) s[t] += s[t + o]; @ } //!", "", "__syncthreads();"),
    Planted("no barrier before a tile is overwritten", "race",
            FILL + "__shared__ float s[64];\nfloat sum = 0; for (int k = 0; k < 2; ++k) {\ns[t] = k; //!\n"
            "__syncthreads(); sum += s[63 - t]; @ }\nif (i < n) y[i] = sum;", "", "__syncthreads();"),
    Planted("bins cleared without a barrier", "race",
            FILL + "__shared__ int s[64];\ns[t] = 0; @\natomicAdd(&s[(t + 1) % 64], 1); //!", "", "__syncthreads();"),
    Planted("bins read without a barrier", "race",
            FILL + "__shared__ int s[64];\ns[t] = 0; __syncthreads(); atomicAdd(&s[63 - t], 1); @\n"
            "if (i < n) y[i] = s[t]; //!", "", "__syncthreads();"),
    Planted("a count without an atomic", "race",
            INDEX + "if (i < n) y[i] = 0;\n__shared__ int c; if (t == 0) c = 0; __syncthreads();\n@; //!\n"
            "__syncthreads(); if (i < n) y[i] = c;", "c += 1", "atomicAdd(&c, 1)"),
    Planted("blocks write the same element", "race", INDEX + "if (i < n) y[@] = i; //!", "t", "i"),
    Planted("a sum over blocks without an atomic", "race",
            INDEX + "if (t == 0) @; //!", "y[0] += 1", "atomicAdd(&y[0], 1.0f)",
            launch="cudaMemset(y, 0, n * 4); k<<<4, 64>>>(x, y, n);"),
    Planted("partial sums handed over without a fence", "race",
            "__shared__ bool last;\nif (threadIdx.x == 0) { y[blockIdx.x] = 1; @ last = atomicAdd(&done, 1) == 1; }\n"
            "__syncthreads(); if (last && threadIdx.x == 0) { done = 0;\ny[2] = y[0] + y[1]; } //!", "", "__threadfence();",
            before="__device__ int done;"),
    Planted("lanes exchange through memory without __syncwarp", "race",
            FILL + "__shared__ float s[64];\ns[t] = t; @\nif (i < n) y[i] = s[t ^ 1]; //!", "", "__syncwarp();"),
    Planted("an early return before a barrier", "divergent-barrier",
            INDEX + "__shared__ float s[64];\ns[t] = 0; @\n__syncthreads(); //!\nif (i < n) y[i] = s[t];",
            "if (i >= n) return;", "", n=100),
    Planted("a barrier that half the threads reach", "divergent-barrier",
            FILL + "if (@) __syncthreads(); //!", "t < 32", "t >= 0"),
    Planted("two barriers in two branches", "divergent-barrier",
            FILL + "if (t < @) __syncthreads(); //!\nelse __syncthreads(); //!", "32", "64"),
    Planted("a shuffle from a lane that left", "inactive-lane",
            INDEX + "float v = i;\nif (t < @) v = __shfl_down_sync(0x0000ffff, v, 8); //!\nif (i < n) y[i] = v;", "16", "0"),
    Planted("a mask without the caller", "inactive-lane",
            INDEX + "float v = i;\nv = __shfl_xor_sync(@, v, 1); //!\nif (i < n) y[i] = v;", "t % 32 < 16 ? 0xffffu : 0xffffu", "~0u"),
    Planted("freed while it is used", "use-after-free",
            INDEX + "y[i] = x[i] + scratch[i]; //!", "cudaFree(p);", "",
            before="__device__ float* scratch;",
            launch="float* p; cudaMalloc(&p, 512); cudaMemset(p, 0, 512); cudaMemcpyToSymbol(scratch, &p, sizeof p); @ "
            "k<<<2, 64>>>(x, y, n);"),
    Planted("a copy that nobody waited for", "shared-uninitialised",
            INDEX + "__shared__ __align__(16) float s[64]; if (t < 16) __pipeline_memcpy_async(&s[4 * t], x + 64 * blockIdx.x + 4 * t, 16);\n"
            "__pipeline_commit(); @ __syncthreads();\nif (i < n) y[i] = s[t]; //!", "", "__pipeline_wait_prior(0);"),
    Planted("a barrier missing behind the wait for a copy", "race",
            INDEX + "__shared__ __align__(16) float s[64]; if (t < 16) __pipeline_memcpy_async(&s[4 * t], x + 64 * blockIdx.x + 4 * t, 16);\n"
            "__pipeline_commit(); __pipeline_wait_prior(0); @\nif (i < n) y[i] = s[t]; //!", "", "__syncthreads();"),
    Planted("a flag that no block sets", "hang",
            FILL + "if (t == 0) while (*(volatile int*)&flag != @) __nanosleep(10);", "1", "0", before="__device__ int flag = 0;"),
    Planted("lanes that never come", "hang",
            INDEX + "float v = 1;\nif (t < 16) v = __shfl_sync(~0u, v, 0); //!\nelse if (t < 32) @\nif (i < n) y[i] = v;",
            "__syncthreads();", "v = __shfl_sync(~0u, v, 0);"),
]  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_fault_is_named_with_its_line(load: Any, planted: Planted) -> None:
    found, marked = findings(load, PLANTED, planted, wrong=True)
    assert named(planted, found, marked), (marked, [finding.sentence() for finding in found])


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_without_the_fault_nothing_is_found(load: Any, planted: Planted) -> None:
    assert [finding.sentence() for finding in findings(load, PLANTED, planted, wrong=False)[0]] == []
