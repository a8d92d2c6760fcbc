"""What is computed of each row: softmax, norms with their gradient, losses, attention, quantisation."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide

kernel = Kernels()
BF16 = ml_dtypes.bfloat16
F8 = ml_dtypes.float8_e4m3fn


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(wide(x) - wide(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@kernel
def softmax(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 301)
    return Case([x], [f32(5, 301)], [5, 301], [_softmax(x)])


@kernel
def softmax_online(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 301)
    return Case([x], [f32(5, 301)], [5, 301], [_softmax(x)])


def _normalised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r = 1 / np.sqrt(wide(x).var(1, keepdims=True) + 1e-5)
    return (wide(x) - wide(x).mean(1, keepdims=True)) * r, r


@kernel
def layernorm(rng: np.random.Generator) -> Case:
    x, w, b = normal(rng, 6, 200), normal(rng, 200), normal(rng, 200)
    return Case([x, w, b], [f32(6, 200)], [6, 200], [_normalised(x)[0] * wide(w) + wide(b)])


@kernel
def layernorm_backward(rng: np.random.Generator) -> Case:
    x, g, w = normal(rng, 6, 200), normal(rng, 6, 200), normal(rng, 200)
    y, r = _normalised(x)
    gw = wide(g) * wide(w)
    return Case(
        [x, g, w], [f32(6, 200)], [6, 200], [r * (gw - gw.mean(1, keepdims=True) - y * (gw * y).mean(1, keepdims=True))]
    )


def _rmsnorm(rng: np.random.Generator, dtype: Any, tolerance: float) -> Case:
    x, w = normal(rng, 4, 150, dtype=dtype), normal(rng, 150, dtype=dtype)
    expected = wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6) * wide(w)
    return Case([x, w], [np.zeros((4, 150), dtype)], [4, 150], [expected], tolerance)


@kernel
def rmsnorm_half(rng: np.random.Generator) -> Case:
    return _rmsnorm(rng, np.float16, 1e-3)


@kernel
def rmsnorm_bf16(rng: np.random.Generator) -> Case:
    return _rmsnorm(rng, BF16, 8e-3)


@kernel
def cross_entropy(rng: np.random.Generator) -> Case:
    x, label = normal(rng, 7, 130), rng.integers(0, 130, 7)
    return Case([x, label], [f32(7)], [7, 130], [-np.log(_softmax(x)[np.arange(7), label])])


@kernel
def attention(rng: np.random.Generator) -> Case:
    q, k, v = (normal(rng, 75, 16) for _ in range(3))
    scores = np.where(np.tri(75, dtype=bool), wide(q) @ wide(k).T * 0.25, -np.inf)
    return Case([q, k, v], [f32(75, 16)], [75], [_softmax(scores) @ wide(v)])


@kernel
def quantise_fp8(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 140)
    scale = (np.abs(x).max(1) / np.float32(448)).astype(np.float32)
    expected = (x / scale[:, None]).astype(np.float32).astype(F8).view(np.uint8)
    return Case([x], [np.zeros((5, 140), np.uint8), f32(5)], [5, 140], [expected, scale], 0)


@kernel
def swiglu(rng: np.random.Generator) -> Case:
    gate, up = normal(rng, 300, dtype=BF16), normal(rng, 300, dtype=BF16)
    return Case([gate, up], [np.zeros(300, BF16)], [300], [wide(gate) / (1 + np.exp(-wide(gate))) * wide(up)], 8e-3)
