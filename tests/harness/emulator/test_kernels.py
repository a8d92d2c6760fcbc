"""Kernels in the manner of real work, each against numpy in float64, in order, in random order and under the checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytestmark = pytest.mark.xdist_group("emulator")

KERNELS = Path(__file__).parent / "kernels"
BF16 = ml_dtypes.bfloat16
F8 = ml_dtypes.float8_e4m3fn


@dataclass
class Case:
    """One call: its inputs, empty outputs, symbols, and what the outputs must be (None: not compared)."""

    inputs: list[Any]
    outputs: list[np.ndarray]
    symbols: list[int]
    expected: list[Any]
    tolerance: float = 1e-5


Make = Callable[[np.random.Generator], Case]
CASES: dict[str, tuple[str, Make]] = {}


def kernel(file: str) -> Callable[[Make], Make]:
    def known(make: Make) -> Make:
        CASES[make.__name__] = (file, make)
        return make

    return known


def f32(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, np.float32)


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def _sum(rng: np.random.Generator, dtype: Any = np.float32, n: int = 5000) -> Case:
    x = rng.random(n).astype(dtype)
    return Case([x], [np.full(1, np.nan, dtype)], [n], [wide(x).sum(keepdims=True)])


@kernel("reductions")
def sum_tree(rng: np.random.Generator) -> Case:
    return _sum(rng)


@kernel("reductions")
def sum_shuffled(rng: np.random.Generator) -> Case:
    return _sum(rng)


@kernel("reductions")
def sum_double(rng: np.random.Generator) -> Case:
    return _sum(rng, np.float64)


@kernel("reductions")
def sum_last_block(rng: np.random.Generator) -> Case:
    return _sum(rng)


@kernel("reductions")
def argmax(rng: np.random.Generator) -> Case:
    x = normal(rng, 1000)
    return Case([x], [np.full(1, -1, np.int64)], [1000], [[x.argmax()]], 0)


@kernel("reductions")
def compact(rng: np.random.Generator) -> Case:
    x = normal(rng, 1000)
    return Case([x], [f32(1000), np.full(1, -1, np.int32)], [1000], [None, [(x > 0).sum()]], 0)


@kernel("reductions")
def variance(rng: np.random.Generator) -> Case:
    x = normal(rng, 3001)
    return Case([x], [f32(1)], [3001], [wide(x).var(keepdims=True)])


@kernel("reductions")
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


@kernel("reductions")
def sum_rows(rng: np.random.Generator) -> Case:
    x = normal(rng, 37, 132)
    return Case([x], [f32(37)], [37, 132], [wide(x).sum(1)], 1e-4)


@kernel("reductions")
def sum_columns(rng: np.random.Generator) -> Case:
    x = normal(rng, 100, 45)
    return Case([x], [f32(45)], [100, 45], [wide(x).sum(0)], 1e-4)


@kernel("movement")
def gelu(rng: np.random.Generator) -> Case:
    x = normal(rng, 1001)
    return Case([x], [f32(1001)], [1001], [[0.5 * v * (1 + erf(v / 2**0.5)) for v in wide(x)]])


@kernel("movement")
def saxpy(rng: np.random.Generator) -> Case:
    x, y = normal(rng, 1003), normal(rng, 1003)
    return Case([x, y], [], [1003], [2.5 * wide(x) + wide(y)])


@kernel("movement")
def transpose(rng: np.random.Generator) -> Case:
    x = normal(rng, 70, 33)
    return Case([x], [f32(33, 70)], [70, 33], [x.T], 0)


@kernel("movement")
def transpose_warp(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 1 << 30, (32, 32)).astype(np.int32)
    return Case([x], [np.zeros((32, 32), np.int32)], [], [x.T], 0)


@kernel("movement")
def embedding(rng: np.random.Generator) -> Case:
    table, ids = normal(rng, 50, 70), rng.integers(0, 50, 40)
    return Case([table, ids], [f32(40, 70)], [40, 70], [table[ids]], 0)


@kernel("movement")
def embedding_backward(rng: np.random.Generator) -> Case:
    grad, ids = normal(rng, 40, 70), rng.integers(0, 9, 40)
    expected = np.zeros((9, 70))
    np.add.at(expected, ids, wide(grad))
    return Case([grad, ids], [f32(9, 70)], [9, 40, 70], [expected])


@kernel("movement")
def rope(rng: np.random.Generator) -> Case:
    x = normal(rng, 16, 3, 64)
    angle = np.arange(16)[:, None, None] * 10000.0 ** (-2.0 * np.arange(32) / 64)
    a, b = wide(x[..., :32]), wide(x[..., 32:])
    expected = np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=-1)
    return Case([x], [f32(16, 3, 64)], [16, 3, 64], [expected], 1e-4)


@kernel("movement")
def stencil(rng: np.random.Generator) -> Case:
    x = normal(rng, 37, 50)
    p = np.pad(wide(x), 1)
    expected = 4 * p[1:-1, 1:-1] - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
    return Case([x], [f32(37, 50)], [37, 50], [expected])


@kernel("movement")
def convolve(rng: np.random.Generator) -> Case:
    x, w = normal(rng, 300), normal(rng, 9)
    return Case([x, w], [f32(300)], [300], [np.convolve(wide(x), wide(w)[::-1], "same")])


@kernel("movement")
def dequantise(rng: np.random.Generator) -> Case:
    packed, scales = rng.integers(0, 256, 320).astype(np.uint8), normal(rng, 20)
    nibbles = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1).astype(float) - 8
    return Case([packed, scales], [f32(640)], [640], [nibbles * np.repeat(wide(scales), 32)])


@kernel("movement")
def copy_pitched(rng: np.random.Generator) -> Case:
    x = normal(rng, 13, 70)
    return Case([x], [f32(13, 70)], [13, 70], [x], 0)


def _gemm(rng: np.random.Generator, m: int, n: int, k: int, dtype: Any = np.float32, scale: float = 1) -> Case:
    a, b = normal(rng, m, k, dtype=dtype), normal(rng, k, n, dtype=dtype)
    return Case([a, b], [f32(m, n)], [m, n, k], [scale * (wide(a) @ wide(b))], 1e-4)


@kernel("matrices")
def gemm_naive(rng: np.random.Generator) -> Case:
    return _gemm(rng, 33, 47, 50)


@kernel("matrices")
def gemm_tiled(rng: np.random.Generator) -> Case:
    return _gemm(rng, 33, 47, 50)


@kernel("matrices")
def gemm_registers(rng: np.random.Generator) -> Case:
    return _gemm(rng, 70, 100, 37)


@kernel("matrices")
def gemm_wmma(rng: np.random.Generator) -> Case:
    return _gemm(rng, 32, 48, 64, np.float16, 2)


@kernel("matrices")
def gemm_staged(rng: np.random.Generator) -> Case:
    return _gemm(rng, 64, 32, 80, np.float16)


@kernel("matrices")
def gemm_bf16_nt(rng: np.random.Generator) -> Case:
    a, b = normal(rng, 32, 64, dtype=BF16), normal(rng, 48, 64, dtype=BF16)
    return Case([a, b], [f32(32, 48)], [32, 48, 64], [wide(a) @ wide(b).T], 1e-4)


@kernel("matrices")
def gemm_int8(rng: np.random.Generator) -> Case:
    a, b = rng.integers(-128, 128, (16, 64)).astype(np.int8), rng.integers(-128, 128, (24, 64)).astype(np.int8)
    return Case([a, b], [np.zeros((16, 24), np.int32)], [16, 24, 64], [a.astype(int) @ b.astype(int).T], 0)


@kernel("matrices")
def gemv_half2(rng: np.random.Generator) -> Case:
    a, x = normal(rng, 20, 130, dtype=np.float16), normal(rng, 130, dtype=np.float16)
    return Case([a, x], [f32(20)], [20, 130], [wide(a) @ wide(x)], 1e-4)


@kernel("matrices")
def gemm_split(rng: np.random.Generator) -> Case:
    return _gemm(rng, 10, 64, 101)


@kernel("matrices")
def gemm_batched(rng: np.random.Generator) -> Case:
    a = normal(rng, 4, 12, 40)
    return Case([a], [f32(4, 12, 12)], [12, 40], [wide(a) @ wide(a).transpose(0, 2, 1)], 1e-4)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(wide(x) - wide(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@kernel("rows")
def softmax(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 301)
    return Case([x], [f32(5, 301)], [5, 301], [_softmax(x)])


@kernel("rows")
def softmax_online(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 301)
    return Case([x], [f32(5, 301)], [5, 301], [_softmax(x)])


def _normalised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r = 1 / np.sqrt(wide(x).var(1, keepdims=True) + 1e-5)
    return (wide(x) - wide(x).mean(1, keepdims=True)) * r, r


@kernel("rows")
def layernorm(rng: np.random.Generator) -> Case:
    x, w, b = normal(rng, 6, 200), normal(rng, 200), normal(rng, 200)
    return Case([x, w, b], [f32(6, 200)], [6, 200], [_normalised(x)[0] * wide(w) + wide(b)])


@kernel("rows")
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


@kernel("rows")
def rmsnorm_half(rng: np.random.Generator) -> Case:
    return _rmsnorm(rng, np.float16, 1e-3)


@kernel("rows")
def rmsnorm_bf16(rng: np.random.Generator) -> Case:
    return _rmsnorm(rng, BF16, 8e-3)


@kernel("rows")
def cross_entropy(rng: np.random.Generator) -> Case:
    x, label = normal(rng, 7, 130), rng.integers(0, 130, 7)
    return Case([x, label], [f32(7)], [7, 130], [-np.log(_softmax(x)[np.arange(7), label])])


@kernel("rows")
def attention(rng: np.random.Generator) -> Case:
    q, k, v = (normal(rng, 75, 16) for _ in range(3))
    scores = np.where(np.tri(75, dtype=bool), wide(q) @ wide(k).T * 0.25, -np.inf)
    return Case([q, k, v], [f32(75, 16)], [75], [_softmax(scores) @ wide(v)])


@kernel("rows")
def quantise_fp8(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 140)
    scale = (np.abs(x).max(1) / np.float32(448)).astype(np.float32)
    expected = (x / scale[:, None]).astype(np.float32).astype(F8).view(np.uint8)
    return Case([x], [np.zeros((5, 140), np.uint8), f32(5)], [5, 140], [expected, scale], 0)


@kernel("rows")
def swiglu(rng: np.random.Generator) -> Case:
    gate, up = normal(rng, 300, dtype=BF16), normal(rng, 300, dtype=BF16)
    return Case([gate, up], [np.zeros(300, BF16)], [300], [wide(gate) / (1 + np.exp(-wide(gate))) * wide(up)], 8e-3)


def _scan(rng: np.random.Generator, n: int, exclusive: bool = False) -> Case:
    x = rng.random(n).astype(np.float32)
    expected = np.cumsum(wide(x)) - (wide(x) if exclusive else 0)
    return Case([x], [f32(n)], [n], [expected])


@kernel("ordering")
def scan_hillis(rng: np.random.Generator) -> Case:
    return _scan(rng, 500)


@kernel("ordering")
def scan_blelloch(rng: np.random.Generator) -> Case:
    return _scan(rng, 512, exclusive=True)


@kernel("ordering")
def scan_three(rng: np.random.Generator) -> Case:
    return _scan(rng, 2000)


@kernel("ordering")
def scan_chained(rng: np.random.Generator) -> Case:
    return _scan(rng, 1500)


@kernel("ordering")
def sort_blocks(rng: np.random.Generator) -> Case:
    x = normal(rng, 2, 1024)
    return Case([x], [f32(2, 1024)], [2], [np.sort(x, axis=1)], 0)


@kernel("ordering")
def sort_radix(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 1 << 32, 300).astype(np.uint32)
    return Case([x], [np.zeros(300, np.uint32)], [300], [np.sort(x)], 0)


@kernel("ordering")
def topk(rng: np.random.Generator) -> Case:
    x = normal(rng, 6, 90)
    order = np.argsort(-x, axis=1)[:, :5]
    values = np.take_along_axis(x, order, axis=1)
    return Case([x], [f32(6, 5), np.zeros((6, 5), np.int64)], [6, 90, 5], [values, order], 0)


@kernel("ordering")
def histogram(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 256, 5000).astype(np.uint8)
    return Case([x], [np.full(256, -1, np.int32)], [5000], [np.bincount(x, minlength=256)], 0)


@kernel("ordering")
def sum_locked(rng: np.random.Generator) -> Case:
    return _sum(rng, np.float64, 500)


@kernel("ordering")
def sum_cas(rng: np.random.Generator) -> Case:
    return _sum(rng, np.float64, 500)


@kernel("instructions")
def gemm_mma(rng: np.random.Generator) -> Case:
    return _gemm(rng, 32, 24, 64, np.float16)


@kernel("instructions")
def mma_int8(rng: np.random.Generator) -> Case:
    a, b = rng.integers(-128, 128, (16, 32)).astype(np.int8), rng.integers(-128, 128, (8, 32)).astype(np.int8)
    return Case([a, b], [np.zeros((16, 8), np.int32)], [], [a.astype(int) @ b.astype(int).T], 0)


@kernel("instructions")
def mma_tf32(rng: np.random.Generator) -> Case:
    a, b = normal(rng, 16, 8), normal(rng, 8, 8)
    return Case([a, b], [f32(16, 8)], [], [wide(a) @ wide(b)], 2e-3)


@kernel("instructions")
def ptx_integers(rng: np.random.Generator) -> Case:
    x, lane = rng.integers(0, 1 << 32, 32).astype(np.uint32), np.arange(32, dtype=np.uint32)
    perm = (x & 0xFFFF) | ((~x & 0xFFFF) << 16)
    columns = [lane, perm, (x & 0xF0F0F0F0) | lane, (x >> 5) & 511, np.where(lane > 15, 7, 1)]
    return Case([x], [np.zeros((32, 5), np.uint32)], [], [np.stack(columns, axis=1)], 0)


@kernel("instructions")
def ptx_vectors(rng: np.random.Generator) -> Case:
    x = normal(rng, 300)
    expected = wide(x).copy()
    expected[::4] = 2.0 ** expected[::4]
    return Case([x], [f32(300)], [300], [expected], 1e-6)


@kernel("instructions")
def named_barriers(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 32)
    return Case([x], [f32(5, 32)], [5], [2 * x[:, ::-1]], 0)


@kernel("instructions")
def group_tiles(rng: np.random.Generator) -> Case:
    x = normal(rng, 16, 8)
    return Case([x], [f32(16), f32(16, 8)], [128], [wide(x).sum(1), np.cumsum(wide(x), 1)])


@kernel("instructions")
def group_coalesced(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 100, 500).astype(np.int32)
    return Case([x], [np.full(1, -1, np.int32)], [500], [[(x % 3 == 0).sum()]], 0)


@kernel("instructions")
def group_grid(rng: np.random.Generator) -> Case:
    return _sum(rng, np.float32, 3000)


@kernel("asynchronous")
def barrier_object(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 64)
    return Case([x], [f32(5, 64)], [5], [2 * wide(x) + wide(x)[:, ::-1]], 1e-6)


@kernel("asynchronous")
def barrier_copies(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 128)
    return Case([x], [f32(5, 128)], [5], [x[:, ::-1]], 0)


@kernel("asynchronous")
def pipeline_stages(rng: np.random.Generator) -> Case:
    x = normal(rng, 7, 64)
    return Case([x], [f32(64)], [7], [wide(x).sum(0)[::-1]])


@kernel("asynchronous")
def pipeline_roles(rng: np.random.Generator) -> Case:
    x = normal(rng, 8, 32)
    return Case([x], [f32(8, 32)], [8], [x[:, ::-1]], 0)


@kernel("asynchronous")
def pipeline_own(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 64)
    return Case([x], [f32(64)], [5], [wide(x).prod(0)])


@kernel("asynchronous")
def group_copies(rng: np.random.Generator) -> Case:
    x = normal(rng, 2, 96)
    return Case([x], [f32(96)], [], [wide(x).sum(0)[::-1]], 1e-6)


@kernel("asynchronous")
def captured(rng: np.random.Generator) -> Case:
    x = normal(rng, 100)
    return Case([x], [f32(100)], [100], [14 * wide(x)], 1e-6)


def _run(loaded: Any, name: str, make: Make, seed: int = 0) -> None:
    case = make(np.random.default_rng(7))
    arguments = [*case.inputs, *case.outputs, *case.symbols, None]
    places = tuple(range(len(case.inputs), len(case.inputs) + len(case.outputs)))
    status = loaded.call(name, *arguments, seed=seed, outputs=places)
    assert status == 0, f"{status}: {loaded.fault}; {[finding.sentence() for finding in loaded.findings]}"
    results = case.outputs or case.inputs[-1:]
    for got, expected in zip(results, case.expected, strict=True):
        if expected is not None:
            scale = max(1.0, float(np.abs(np.asarray(expected, float)).max()))
            np.testing.assert_allclose(
                got.astype(float), np.asarray(expected, float), rtol=case.tolerance, atol=case.tolerance * scale
            )


def _loaded(load: Any, name: str, checks: bool = False) -> Any:
    return load((KERNELS / f"{CASES[name][0]}.cu").read_text(), checks)


@pytest.mark.parametrize("name", CASES)
def test_it_is_right(load: Any, name: str) -> None:
    _run(_loaded(load, name), name, CASES[name][1])


@pytest.mark.parametrize("name", CASES)
def test_it_is_right_in_any_order(load: Any, name: str) -> None:
    for seed in (1, 2, 3):
        _run(_loaded(load, name), name, CASES[name][1], seed)


@pytest.mark.parametrize("name", CASES)
def test_the_checks_find_nothing(load: Any, name: str) -> None:
    loaded = _loaded(load, name, checks=True)
    for seed in (0, 5):
        _run(loaded, name, CASES[name][1], seed)
        assert [finding.sentence() for finding in loaded.findings] == []
