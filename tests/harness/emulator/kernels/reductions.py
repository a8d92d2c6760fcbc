"""Sums, maxima and statistics of all elements, of rows and of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide

kernel = Kernels()


def summed(rng: np.random.Generator, dtype: Any = np.float32, n: int = 5000) -> Case:
    x = rng.random(n).astype(dtype)
    return Case([x], [np.full(1, np.nan, dtype)], [n], [wide(x).sum(keepdims=True)])


@kernel
def sum_tree(rng: np.random.Generator) -> Case:
    return summed(rng)


@kernel
def sum_shuffled(rng: np.random.Generator) -> Case:
    return summed(rng)


@kernel
def sum_double(rng: np.random.Generator) -> Case:
    return summed(rng, np.float64)


@kernel
def sum_last_block(rng: np.random.Generator) -> Case:
    return summed(rng)


@kernel
def argmax(rng: np.random.Generator) -> Case:
    x = normal(rng, 1000)
    return Case([x], [np.full(1, -1, np.int64)], [1000], [[x.argmax()]], 0)


@kernel
def compact(rng: np.random.Generator) -> Case:
    x = normal(rng, 1000)
    return Case([x], [f32(1000), np.full(1, -1, np.int32)], [1000], [None, [(x > 0).sum()]], 0)


@kernel
def variance(rng: np.random.Generator) -> Case:
    x = normal(rng, 3001)
    return Case([x], [f32(1)], [3001], [wide(x).var(keepdims=True)])


@kernel
def warp_functions(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 100, 32).astype(np.int32)
    bit = 1 << np.arange(32, dtype=np.uint64)
    matches = [(bit * (x % 4 == v % 4)).sum() for v in x]
    columns = [
        np.full(32, x.sum()), np.full(32, x.max()), np.full(32, np.bitwise_xor.reduce(x)),
        np.full(32, (bit * (x % 3 == 0)).sum()), np.array(matches), np.full(32, (x > 50).sum()),
    ]  # fmt: skip
    expected = np.stack([np.asarray(column).astype(np.uint32).view(np.int32) for column in columns], axis=1)
    return Case([x], [np.zeros((32, 6), np.int32)], [], [expected], 0)


@kernel
def sum_rows(rng: np.random.Generator) -> Case:
    x = normal(rng, 37, 132)
    return Case([x], [f32(37)], [37, 132], [wide(x).sum(1)], 1e-4)


@kernel
def sum_columns(rng: np.random.Generator) -> Case:
    x = normal(rng, 100, 45)
    return Case([x], [f32(45)], [100, 45], [wide(x).sum(0)], 1e-4)
