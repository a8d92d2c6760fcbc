"""Kernels of single instructions: mma.sync, inline PTX, named barriers, cooperative groups."""

from __future__ import annotations

import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide
from tests.harness.emulator.kernels.matrices import gemm
from tests.harness.emulator.kernels.reductions import summed

kernel = Kernels()


@kernel
def gemm_mma(rng: np.random.Generator) -> Case:
    return gemm(rng, 32, 24, 64, np.float16)


@kernel
def mma_int8(rng: np.random.Generator) -> Case:
    a, b = rng.integers(-128, 128, (16, 32)).astype(np.int8), rng.integers(-128, 128, (8, 32)).astype(np.int8)
    return Case([a, b], [np.zeros((16, 8), np.int32)], [], [a.astype(int) @ b.astype(int).T], 0)


@kernel
def mma_tf32(rng: np.random.Generator) -> Case:
    a, b = normal(rng, 16, 8), normal(rng, 8, 8)
    return Case([a, b], [f32(16, 8)], [], [wide(a) @ wide(b)], 2e-3)


@kernel
def ptx_integers(rng: np.random.Generator) -> Case:
    x, lane = rng.integers(0, 1 << 32, 32).astype(np.uint32), np.arange(32, dtype=np.uint32)
    perm = (x & 0xFFFF) | ((~x & 0xFFFF) << 16)
    columns = [lane, perm, (x & 0xF0F0F0F0) | lane, (x >> 5) & 511, np.where(lane > 15, 7, 1)]
    return Case([x], [np.zeros((32, 5), np.uint32)], [], [np.stack(columns, axis=1)], 0)


@kernel
def ptx_vectors(rng: np.random.Generator) -> Case:
    x = normal(rng, 300)
    expected = wide(x).copy()
    expected[::4] = 2.0 ** expected[::4]
    return Case([x], [f32(300)], [300], [expected], 1e-6)


@kernel
def named_barriers(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 32)
    return Case([x], [f32(5, 32)], [5], [2 * x[:, ::-1]], 0)


@kernel
def group_tiles(rng: np.random.Generator) -> Case:
    x = normal(rng, 16, 8)
    return Case([x], [f32(16), f32(16, 8)], [128], [wide(x).sum(1), np.cumsum(wide(x), 1)])


@kernel
def group_coalesced(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 100, 500).astype(np.int32)
    return Case([x], [np.full(1, -1, np.int32)], [500], [[(x % 3 == 0).sum()]], 0)


@kernel
def group_grid(rng: np.random.Generator) -> Case:
    return summed(rng, np.float32, 3000)
