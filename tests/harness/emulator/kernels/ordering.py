"""Scans, sorts, selection, histograms and sums whose order is anybody's."""

from __future__ import annotations

import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide
from tests.harness.emulator.kernels.reductions import summed

kernel = Kernels()


def _scan(rng: np.random.Generator, n: int, exclusive: bool = False) -> Case:
    x = rng.random(n).astype(np.float32)
    expected = np.cumsum(wide(x)) - (wide(x) if exclusive else 0)
    return Case([x], [f32(n)], [n], [expected])


@kernel
def scan_hillis(rng: np.random.Generator) -> Case:
    return _scan(rng, 500)


@kernel
def scan_blelloch(rng: np.random.Generator) -> Case:
    return _scan(rng, 512, exclusive=True)


@kernel
def scan_three(rng: np.random.Generator) -> Case:
    return _scan(rng, 2000)


@kernel
def scan_chained(rng: np.random.Generator) -> Case:
    return _scan(rng, 1500)


@kernel
def sort_blocks(rng: np.random.Generator) -> Case:
    x = normal(rng, 2, 1024)
    return Case([x], [f32(2, 1024)], [2], [np.sort(x, axis=1)], 0)


@kernel
def sort_radix(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 1 << 32, 300).astype(np.uint32)
    return Case([x], [np.zeros(300, np.uint32)], [300], [np.sort(x)], 0)


@kernel
def topk(rng: np.random.Generator) -> Case:
    x = normal(rng, 6, 90)
    order = np.argsort(-x, axis=1)[:, :5]
    values = np.take_along_axis(x, order, axis=1)
    return Case([x], [f32(6, 5), np.zeros((6, 5), np.int64)], [6, 90, 5], [values, order], 0)


@kernel
def histogram(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 256, 5000).astype(np.uint8)
    return Case([x], [np.full(256, -1, np.int32)], [5000], [np.bincount(x, minlength=256)], 0)


@kernel
def sum_locked(rng: np.random.Generator) -> Case:
    return summed(rng, np.float64, 500)


@kernel
def sum_cas(rng: np.random.Generator) -> Case:
    return summed(rng, np.float64, 500)
