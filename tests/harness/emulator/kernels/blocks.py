"""CUB's reductions, scans, loads and stores of blocks and warps."""

from __future__ import annotations

import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide

kernel = Kernels()


@kernel
def cub_rows(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 300)
    outputs = [f32(5), f32(5), np.full(5, -1, np.int32)]
    return Case([x], outputs, [5, 300], [wide(x).sum(1), x.max(1), x.argmax(1)])


@kernel
def cub_tail(rng: np.random.Generator) -> Case:
    x = -1 - rng.random(87).astype(np.float32)  # what is beyond the end would be the largest
    return Case([x], [f32(1)], [87], [[x.max()]], 0)


@kernel
def cub_scan(rng: np.random.Generator) -> Case:
    x = rng.random(1003).astype(np.float32)
    return Case([x], [f32(1003)], [1003], [np.cumsum(wide(x))], 1e-5)


@kernel
def cub_select(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 1000, 200).astype(np.int32)
    kept = x[x % 3 == 0]
    expected = np.concatenate([kept, np.zeros(200 - len(kept))])
    return Case([x], [np.full(200, -1, np.int32), np.full(1, -1, np.int32)], [200], [expected, [len(kept)]], 0)


@kernel
def cub_warps(rng: np.random.Generator) -> Case:
    x = rng.integers(-1000, 1000, 128).astype(np.int32)
    warps = x.reshape(4, 32)
    expected = [
        warps.sum(1), x.reshape(16, 8).sum(1), np.maximum.accumulate(warps, 1).reshape(-1),
        (np.cumsum(warps, 1) - warps).reshape(-1),
    ]  # fmt: skip
    return Case([x], [np.full(n, -1, np.int32) for n in (4, 16, 128, 128)], [], expected, 0)
