"""One call of a kernel, and how a file of kernels lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Case:
    """One call: its inputs, empty outputs, symbols, and what the outputs must be (None: not compared)."""

    inputs: list[Any]
    outputs: list[np.ndarray]
    symbols: list[int]
    expected: list[Any]
    tolerance: float = 1e-5


Make = Callable[[np.random.Generator], Case]


class Kernels(dict[str, Make]):
    """The kernels of one file by the name of their launcher; it decorates what makes their cases."""

    def __call__(self, make: Make) -> Make:
        self[make.__name__] = make
        return make


def f32(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, np.float32)


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)
