"""Products of matrices: naive, tiled, in registers, by wmma, quantised, split and batched."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide

kernel = Kernels()
BF16 = ml_dtypes.bfloat16


def gemm(rng: np.random.Generator, m: int, n: int, k: int, dtype: Any = np.float32, scale: float = 1) -> Case:
    a, b = normal(rng, m, k, dtype=dtype), normal(rng, k, n, dtype=dtype)
    return Case([a, b], [f32(m, n)], [m, n, k], [scale * (wide(a) @ wide(b))], 1e-4)


@kernel
def gemm_naive(rng: np.random.Generator) -> Case:
    return gemm(rng, 33, 47, 50)


@kernel
def gemm_tiled(rng: np.random.Generator) -> Case:
    return gemm(rng, 33, 47, 50)


@kernel
def gemm_registers(rng: np.random.Generator) -> Case:
    return gemm(rng, 70, 100, 37)


@kernel
def gemm_wmma(rng: np.random.Generator) -> Case:
    return gemm(rng, 32, 48, 64, np.float16, 2)


@kernel
def gemm_staged(rng: np.random.Generator) -> Case:
    return gemm(rng, 64, 32, 80, np.float16)


@kernel
def gemm_bf16_nt(rng: np.random.Generator) -> Case:
    a, b = normal(rng, 32, 64, dtype=BF16), normal(rng, 48, 64, dtype=BF16)
    return Case([a, b], [f32(32, 48)], [32, 48, 64], [wide(a) @ wide(b).T], 1e-4)


@kernel
def gemm_int8(rng: np.random.Generator) -> Case:
    a, b = rng.integers(-128, 128, (16, 64)).astype(np.int8), rng.integers(-128, 128, (24, 64)).astype(np.int8)
    return Case([a, b], [np.zeros((16, 24), np.int32)], [16, 24, 64], [a.astype(int) @ b.astype(int).T], 0)


@kernel
def gemv_half2(rng: np.random.Generator) -> Case:
    a, x = normal(rng, 20, 130, dtype=np.float16), normal(rng, 130, dtype=np.float16)
    return Case([a, x], [f32(20)], [20, 130], [wide(a) @ wide(x)], 1e-4)


@kernel
def gemm_split(rng: np.random.Generator) -> Case:
    return gemm(rng, 10, 64, 101)


@kernel
def gemm_batched(rng: np.random.Generator) -> Case:
    a = normal(rng, 4, 12, 40)
    return Case([a], [f32(4, 12, 12)], [12, 40], [wide(a) @ wide(a).transpose(0, 2, 1)], 1e-4)
