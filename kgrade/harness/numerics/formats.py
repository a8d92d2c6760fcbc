"""The number formats of inputs and outputs: their limits, their spacing and their bit order."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FLOAT_NAMES = (
    "float64", "float32", "float16", "bfloat16",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
)  # fmt: skip
INTEGER_NAMES = ("int64", "int32", "int16", "int8", "uint8", "bool")


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format.

    `precision` counts the significand's bits with the implicit one; `min_exponent` and `max_exponent` are the
    exponents e of 2**e at the smallest normal and the largest finite value.
    """

    name: str
    precision: int
    min_exponent: int
    max_exponent: int
    largest: float
    has_infinity: bool

    @property
    def smallest(self) -> float:
        """The smallest positive value, a denormal."""
        return math.ldexp(1.0, self.min_exponent - self.precision + 1)

    @property
    def overflow(self) -> float:
        """The magnitude from which rounding to nearest leaves the finite values (inf where float64 ends)."""
        half_ulp = math.ldexp(0.5, self.max_exponent - self.precision + 1)
        return self.largest + half_ulp


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the numpy dtype called `name` in a task, such as `bfloat16` or `int32`."""
    if name not in FLOAT_NAMES + INTEGER_NAMES:
        raise ValueError(f"dtype {name!r} is unknown; expected one of {', '.join(FLOAT_NAMES + INTEGER_NAMES)}")
    return np.dtype(getattr(ml_dtypes, name, name))


@functools.cache
def float_format(name: str) -> FloatFormat | None:
    """Return the format called `name`, or None for an integer dtype."""
    dtype = numpy_dtype(name)
    if name not in FLOAT_NAMES:
        return None
    info = ml_dtypes.finfo(dtype)
    largest = float(info.max)
    with np.errstate(all="ignore"):
        has_infinity = bool(np.isinf(np.array(np.inf).astype(dtype).astype(np.float64)))
    return FloatFormat(
        name=name,
        precision=int(info.nmant) + 1,
        min_exponent=int(info.minexp),
        max_exponent=math.frexp(largest)[1] - 1,
        largest=largest,
        has_infinity=has_infinity,
    )


def widen(values: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return `values` as float64; exact for every float format here and for integers under 2**53."""
    with np.errstate(all="ignore"):
        return values.astype(np.float64)


def round_to(values: Array, name: str) -> Array:
    """Return float64 `values` rounded to nearest in the format `name`; magnitudes past its end become its infinity."""
    with np.errstate(all="ignore"):
        return values.astype(numpy_dtype(name))


def ulp_exponent(magnitude: Array, form: FloatFormat) -> Array:
    """Return e such that 2**e is the spacing of `form` at each finite float64 `magnitude` (any sign).

    Below the smallest normal the spacing is that of the denormals, past the largest value that of the last binade.
    """
    _, exponent = np.frexp(magnitude)
    binade = np.clip(exponent - 1, form.min_exponent, form.max_exponent)
    lowest: Array = np.where(magnitude == 0, form.min_exponent, binade) - (form.precision - 1)
    return lowest


def ordinals(values: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Number the finite `values` of a float dtype in their order: neighbours differ by 1, both zeros are 0."""
    size = values.dtype.itemsize
    bits = np.ascontiguousarray(values).view(f"i{size}").astype(np.int64)
    sign_mask = -(2 ** (8 * size - 1))
    return np.where(bits < 0, sign_mask - bits, bits)


def from_ordinals(numbers: np.ndarray[Any, np.dtype[np.int64]], name: str) -> Array:
    """Return the values of the float format `name` that `ordinals` numbers so."""
    dtype = numpy_dtype(name)
    sign_mask = -(2 ** (8 * dtype.itemsize - 1))
    bits = np.where(numbers < 0, sign_mask - numbers, numbers)
    return bits.astype(f"i{dtype.itemsize}").view(dtype)
