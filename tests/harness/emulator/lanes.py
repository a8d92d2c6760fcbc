"""Values for a warp of threads, and one kernel that computes many things of them, each lane one value.

An operand is a letter of `VALUES`: `r` words, `l` pairs of words, `f` and `d` floating values. `P` and `Q` hold two halves
each, `V` and `W` two of bfloat16.
"""

# ruff: noqa: E501 (lines of values)
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

LANES = np.arange(32)
BY = (LANES * 7 % 32).astype(np.uint32)
RANDOM = np.random.default_rng(5)


def _words(count: int) -> np.ndarray[Any, Any]:
    return RANDOM.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32)


A, B, C = (_words(32) for _ in range(3))
A[:6], B[:6] = [0, 1, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 5], [0, 0xFFFFFFFF, 1, 2, 7, 5]
S, T = (
    np.array([0, 1, 5, 31, 32, 33, 63, 64, 255, 256, 300, 7] + [3] * 20, np.uint32),
    np.array([0, 1, 31, 32, 40, 8, 64, 255] * 4, np.uint32),
)
N = _words(32) >> (4 * BY % 28) | np.uint32(1)
L, M = (A.astype(np.uint64) << np.uint64(32)) | C, (B.astype(np.uint64) << np.uint64(32)) | A
F = RANDOM.normal(size=32).astype(np.float32) * 8
F[:7] = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, -3e-39]
G, H = RANDOM.normal(size=32).astype(np.float32), RANDOM.normal(size=32).astype(np.float32)
G[:9] = [1, np.nan, 1, 2, -np.inf, 1, 1e-3, 2.5, -2.5]
X = np.abs(G) + np.float32(0.5)  # positive and finite but for what it has of G
X[[1, 4]] = 3, 4
D, E = G.astype(np.float64) * 1e10, X.astype(np.float64)
Y = BY
P = RANDOM.normal(size=64).astype(np.float16).view(np.uint32)
Q = RANDOM.normal(size=64).astype(np.float16).view(np.uint32)
V = RANDOM.normal(size=64).astype(ml_dtypes.bfloat16).view(np.uint32)
W = RANDOM.normal(size=64).astype(ml_dtypes.bfloat16).view(np.uint32)
VALUES = {
    **dict.fromkeys("ABCNSTPQVWY", "r"), **dict.fromkeys("LM", "l"), **dict.fromkeys("FGHX", "f"), **dict.fromkeys("DE", "d"),
}  # fmt: skip
CXX = {"r": "uint32_t", "l": "uint64_t", "f": "float", "d": "double", "h": "uint16_t"}
NUMPY = {"r": np.uint32, "l": np.uint64, "f": np.float32, "d": np.float64, "h": np.uint16}

# Of each thing: the kind of its result, and the values that are expected.
Table = Mapping[str, tuple[str, Callable[[], Any]]]


def source(statements: Mapping[str, tuple[str, str]]) -> str:
    """Return a kernel of `statements`, each of which sets `made`, of the kind that stands beside it."""
    lines = [
        f"  {{ {CXX[kind]} made = {{}}; {text} memcpy(&y[{number} * 32 + lane], &made, sizeof made); }}"
        for number, (kind, text) in enumerate(statements.values())
    ]
    parameters = ", ".join(f"const {CXX[kind]}* {letter}_" for letter, kind in VALUES.items())
    loads = " ".join(f"const {CXX[kind]} {letter} = {letter}_[lane];" for letter, kind in VALUES.items())
    names = ", ".join(f"{letter}_" for letter in VALUES)
    return (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_runtime.h>\n#include <cstdint>\n"
        f"__global__ void every({parameters}, uint64_t* y) {{\n  const int lane = threadIdx.x;\n  {loads}\n"
        + "\n".join(lines)
        + f'\n}}\nextern "C" int run({parameters}, uint64_t* y, cudaStream_t s) {{\n'
        + f"  every<<<1, 32, 0, s>>>({names}, y);\n  return cudaGetLastError();\n}}\n"
    )


def results(load: Any, statements: Mapping[str, tuple[str, str]], **others: Any) -> dict[str, Any]:
    """Run `source` and return what each statement gave, by its name; `others` stand for operands of theirs."""
    y = np.zeros((len(statements), 32), np.uint64)
    arrays = (np.ascontiguousarray(others.get(letter, globals()[letter])) for letter in VALUES)
    assert load(source(statements)).call("run", *arrays, y, None) == 0
    return {
        name: row.view(np.uint8).reshape(32, 8)[:, : np.dtype(NUMPY[kind]).itemsize].copy().view(NUMPY[kind])[:, 0]
        for (name, (kind, _)), row in zip(statements.items(), y, strict=True)
    }


def differing(got: Mapping[str, Any], table: Table) -> list[Any]:
    """Return what is not bit for bit as expected; any NaN is a NaN, and a None stands for any value."""
    wrong: list[Any] = []
    with np.errstate(all="ignore"):
        for name, (kind, expected) in table.items():
            mine = got[name]
            want = [have if each is None else each for have, each in zip(mine, list(expected()), strict=True)]
            if kind in "fd":
                values = np.array(want, NUMPY[kind])
                same = np.array_equal(mine, values, equal_nan=True)
                if same and not np.array_equal(np.signbit(mine)[values == 0], np.signbit(values)[values == 0]):
                    wrong.append((name, "the sign of a zero"))
            else:
                values = np.array([int(v) % 2**64 for v in want], np.uint64).astype(NUMPY[kind])
                same = np.array_equal(mine, values)
            if not same:
                wrong.append((name, [(int(i), mine[i], values[i]) for i in np.flatnonzero(mine != values)[:3]]))
    return wrong
