"""Elementwise functions, transposes, gathers and stencils."""

from __future__ import annotations

from math import erf

import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide

kernel = Kernels()


@kernel
def gelu(rng: np.random.Generator) -> Case:
    x = normal(rng, 1001)
    return Case([x], [f32(1001)], [1001], [[0.5 * v * (1 + erf(v / 2**0.5)) for v in wide(x)]])


@kernel
def saxpy(rng: np.random.Generator) -> Case:
    x, y = normal(rng, 1003), normal(rng, 1003)
    return Case([x, y], [], [1003], [2.5 * wide(x) + wide(y)])


@kernel
def transpose(rng: np.random.Generator) -> Case:
    x = normal(rng, 70, 33)
    return Case([x], [f32(33, 70)], [70, 33], [x.T], 0)


@kernel
def transpose_warp(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 1 << 30, (32, 32)).astype(np.int32)
    return Case([x], [np.zeros((32, 32), np.int32)], [], [x.T], 0)


@kernel
def embedding(rng: np.random.Generator) -> Case:
    table, ids = normal(rng, 50, 70), rng.integers(0, 50, 40)
    return Case([table, ids], [f32(40, 70)], [40, 70], [table[ids]], 0)


@kernel
def embedding_backward(rng: np.random.Generator) -> Case:
    grad, ids = normal(rng, 40, 70), rng.integers(0, 9, 40)
    expected = np.zeros((9, 70))
    np.add.at(expected, ids, wide(grad))
    return Case([grad, ids], [f32(9, 70)], [9, 40, 70], [expected])


@kernel
def rope(rng: np.random.Generator) -> Case:
    x = normal(rng, 16, 3, 64)
    angle = np.arange(16)[:, None, None] * 10000.0 ** (-2.0 * np.arange(32) / 64)
    a, b = wide(x[..., :32]), wide(x[..., 32:])
    expected = np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=-1)
    return Case([x], [f32(16, 3, 64)], [16, 3, 64], [expected], 1e-4)


@kernel
def stencil(rng: np.random.Generator) -> Case:
    x = normal(rng, 37, 50)
    p = np.pad(wide(x), 1)
    expected = 4 * p[1:-1, 1:-1] - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
    return Case([x], [f32(37, 50)], [37, 50], [expected])


@kernel
def convolve(rng: np.random.Generator) -> Case:
    x, w = normal(rng, 300), normal(rng, 9)
    return Case([x, w], [f32(300)], [300], [np.convolve(wide(x), wide(w)[::-1], "same")])


@kernel
def dequantise(rng: np.random.Generator) -> Case:
    packed, scales = rng.integers(0, 256, 320).astype(np.uint8), normal(rng, 20)
    nibbles = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1).astype(float) - 8
    return Case([packed, scales], [f32(640)], [640], [nibbles * np.repeat(wide(scales), 32)])


@kernel
def copy_pitched(rng: np.random.Generator) -> Case:
    x = normal(rng, 13, 70)
    return Case([x], [f32(13, 70)], [13, 70], [x], 0)
