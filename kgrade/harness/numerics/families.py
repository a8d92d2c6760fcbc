"""Input families: values of a shape and dtype that put a kernel under one kind of strain.

A family never overrides what the task says about an input: with a `range`, every value lies in [lo, hi), NaN and Inf
included out, and the family only chooses where in that range to draw. `sorted` is ascending along the last axis,
`unique` is over the whole input. Values are drawn in float64 and rounded to the dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kgrade.harness.numerics.formats import (
    Array,
    FloatFormat,
    float_format,
    from_ordinals,
    numpy_dtype,
    ordinals,
    round_to,
    widen,
)
from kgrade.records.expressions import Expression
from kgrade.records.task import FAMILIES
from kgrade.records.task import Input as InputSpec

Range = tuple[float, float]
Shape = tuple[int, ...]
_Sampler = Callable[["Shape", np.random.Generator], Array]

_CENTRES = 4
_SPECIALS = {"nan": math.nan, "inf": math.inf, "neg-inf": -math.inf}


def draw(
    spec: InputSpec,
    shape: Shape,
    dtype: str,
    family: str,
    rng: np.random.Generator,
    symbols: Mapping[str, int] | None = None,
) -> Array:
    """Return an array of `shape` in `dtype` from `family`, as `spec` allows.

    `symbols` are the case's, for a range that names them. Raises ValueError for a family or dtype that does not
    exist, an empty range, or more unique values than the range holds; ExpressionError for a missing symbol.
    """
    if family not in FAMILIES:
        raise ValueError(f"input family {family!r} is unknown; expected one of {', '.join(FAMILIES)}")
    bounds = _bounds(spec, symbols or {})
    form = float_format(dtype)
    if form is None:
        lowest, highest = _integer_limits(dtype, bounds)
        values = _integers(family, shape, lowest, highest, bounded=bounds is not None, rng=rng).astype(np.int64)
        if spec.unique:
            values = _distinct(values, lowest, highest)
        return _arranged(spec, values.astype(numpy_dtype(dtype)))
    return _arranged(spec, _floats(family, shape, form, bounds, spec.unique, rng))


def _arranged(spec: InputSpec, values: Array) -> Array:
    if not spec.sorted or values.ndim == 0:
        return values
    if values.dtype.kind in "iub":
        return np.sort(values, axis=-1)
    order = np.argsort(widen(values), axis=-1, kind="stable")
    return np.take_along_axis(values, order, axis=-1)


def _bounds(spec: InputSpec, symbols: Mapping[str, int]) -> Range | None:
    if spec.range is None:
        return None
    lo, hi = (float(Expression(part)(symbols)) for part in spec.range)
    if not lo < hi:
        raise ValueError(f"the range [{lo:g}, {hi:g}) holds no value")
    return lo, hi


# Floating point


def _floats(
    family: str, shape: Shape, form: FloatFormat, bounds: Range | None, unique: bool, rng: np.random.Generator
) -> Array:
    if bounds is None:
        lowest, highest = -form.largest, form.largest
        values = _free(family, form)(shape, rng)
    else:
        lowest, highest = _representable(bounds, form)
        values = _ranged(family, form, lowest, highest)(shape, rng)
    rounded = round_to(np.clip(values, lowest, highest), form.name)
    if unique:
        ends = ordinals(round_to(np.array([lowest, highest]), form.name))
        rounded = from_ordinals(_distinct(ordinals(rounded), int(ends[0]), int(ends[1])), form.name)
    if bounds is None and family in _SPECIALS:
        return _marked(rounded, _special(family, form), rng)
    return rounded


def _representable(bounds: Range, form: FloatFormat) -> Range:
    """Return the lowest and highest value of `form` in [lo, hi)."""
    ends = round_to(np.clip(np.array(bounds), -form.largest, form.largest), form.name)
    lowest, highest = ordinals(ends)
    lowest += int(widen(ends)[0] < bounds[0])
    highest -= int(widen(ends)[1] >= bounds[1])
    if lowest > highest:
        raise ValueError(f"the range [{bounds[0]:g}, {bounds[1]:g}) holds no {form.name} value")
    low, high = widen(from_ordinals(np.array([lowest, highest]), form.name))
    return float(low), float(high)


def _free(family: str, form: FloatFormat) -> _Sampler:
    """Return the sampler of an input without a range."""
    # Squares of large values, and sums of thousands of them, stay finite in float32 accumulation.
    large = 2.0 ** min(form.max_exponent // 2, 32)
    tiny = 2.0 ** -min(-form.min_exponent // 2, 32)
    denormals = 2 ** (form.precision - 1)
    samplers: dict[str, _Sampler] = {
        "uniform": lambda shape, rng: rng.uniform(-1.0, 1.0, shape),
        "large": lambda shape, rng: large * rng.standard_normal(shape),
        "tiny": lambda shape, rng: tiny * rng.standard_normal(shape),
        "constant-rows": lambda shape, rng: _by_row(shape, rng.standard_normal(_row_shape(shape))),
        "zeros": lambda shape, rng: np.zeros(shape),
        "alternating": lambda shape, rng: _alternating(shape, np.abs(rng.standard_normal(shape))),
        "denormal": lambda shape, rng: (
            form.smallest * rng.integers(1, denormals, shape) * rng.choice([-1.0, 1.0], shape)
        ),
        "clustered": lambda shape, rng: _clustered(shape, rng.standard_normal(_CENTRES), 2.0**-form.precision, rng),
        "ints": lambda shape, rng: rng.integers(-8, 9, shape).astype(np.float64),
    }
    return samplers.get(family, lambda shape, rng: rng.standard_normal(shape))


def _ranged(family: str, form: FloatFormat, lo: float, hi: float) -> _Sampler:
    """Return the sampler of an input whose values must lie in [lo, hi]; the caller clips what is left of rounding."""
    middle, width = lo / 2 + hi / 2, hi - lo
    nearest_zero = min(max(0.0, lo), hi)
    far = hi if abs(hi) >= abs(lo) else lo
    inward = -1.0 if far == hi else 1.0
    away = 1.0 if nearest_zero < hi else -1.0

    def uniform(shape: Shape, rng: np.random.Generator) -> Array:
        return lo + width * rng.random(shape)

    def alternating(shape: Shape, rng: np.random.Generator) -> Array:
        reach = min(-lo, hi)
        return _alternating(shape, rng.uniform(0.0, reach, shape)) if reach > 0 else uniform(shape, rng)

    samplers: dict[str, _Sampler] = {
        "uniform": uniform,
        "large": lambda shape, rng: far + inward * width / 8 * rng.random(shape),
        "tiny": lambda shape, rng: nearest_zero + away * width * 2.0**-12 * rng.random(shape),
        "constant-rows": lambda shape, rng: _by_row(shape, uniform(_row_shape(shape), rng)),
        "zeros": lambda shape, rng: np.full(shape, nearest_zero),
        "alternating": alternating,
        "denormal": lambda shape, rng: (
            nearest_zero + away * form.smallest * rng.integers(1, 2 ** (form.precision - 1), shape)
        ),
        "clustered": lambda shape, rng: _clustered(shape, uniform((_CENTRES,), rng), width * 2.0**-form.precision, rng),
        "ints": lambda shape, rng: np.floor(uniform(shape, rng)),
    }
    return samplers.get(family, lambda shape, rng: middle + width / 6 * rng.standard_normal(shape))


def _row_shape(shape: Shape) -> Shape:
    return (*shape[:-1], 1) if shape else ()


def _by_row(shape: Shape, values: Array) -> Array:
    return np.broadcast_to(values, shape).copy()


def _alternating(shape: Shape, magnitudes: Array) -> Array:
    """Return pairs +m, -m along the last axis, so that sums along it cancel."""
    if not shape:
        return magnitudes
    places = np.arange(shape[-1])
    return np.take(magnitudes, places - places % 2, axis=-1) * np.where(places % 2, -1.0, 1.0)


def _clustered(shape: Shape, centres: Array, spread: float, rng: np.random.Generator) -> Array:
    return rng.choice(centres, shape) + spread * rng.standard_normal(shape)


def _special(family: str, form: FloatFormat) -> float:
    """Return the family's special value; where the format has no infinity, its largest value stands for it."""
    value = _SPECIALS[family]
    return math.copysign(form.largest, value) if math.isinf(value) and not form.has_infinity else value


def _marked(values: Array, special: float, rng: np.random.Generator) -> Array:
    """Return `values` with `special` in one place of about every other row, and one more for each further 256 columns.

    Some rows stay clean (where there are several), so that a reduction leaves finite results to judge.
    """
    if values.size == 0:
        return values
    rows = values.reshape(-1, values.shape[-1] if values.ndim else 1).copy()
    chosen = rng.choice(rows.shape[0], size=max(1, rows.shape[0] // 2), replace=False)
    for _ in range(1 + rows.shape[1] // 256):
        rows[chosen, rng.integers(0, rows.shape[1], chosen.size)] = special
    return rows.reshape(values.shape)


# Integers


def _integer_limits(dtype: str, bounds: Range | None) -> tuple[int, int]:
    """Return the lowest and highest value allowed."""
    lowest, highest = (0, 1) if dtype == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if bounds is None:
        return lowest, highest
    lowest, highest = max(lowest, math.ceil(bounds[0])), min(highest, math.ceil(bounds[1]) - 1)
    if lowest > highest:
        raise ValueError(f"the range [{bounds[0]:g}, {bounds[1]:g}) holds no {dtype} value")
    return lowest, highest


def _integers(
    family: str, shape: Shape, lowest: int, highest: int, *, bounded: bool, rng: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return int64 values in [lowest, highest]; without a range, plain families stay within 100 of zero."""
    low, high = (lowest, highest) if bounded else (max(lowest, -100), min(highest, 100))
    nearest_zero = min(max(0, low), high)
    if family == "large":
        return rng.integers(highest - (highest - lowest) // 8, highest, shape, dtype=np.int64, endpoint=True)
    if family == "ints":
        limits = [lowest, min(lowest + 1, highest), nearest_zero, max(highest - 1, lowest), highest]
        return rng.choice(np.array(limits, dtype=np.int64), shape)
    if family == "tiny":
        return rng.integers(nearest_zero, min(nearest_zero + 2, high), shape, dtype=np.int64, endpoint=True)
    if family == "zeros":
        return np.full(shape, nearest_zero, dtype=np.int64)
    if family == "constant-rows":
        return _by_row(shape, rng.integers(low, high, _row_shape(shape), dtype=np.int64, endpoint=True))
    if family == "clustered":
        centres = rng.integers(low, high, _CENTRES, dtype=np.int64, endpoint=True)
        return rng.choice(centres, shape)
    if family == "alternating" and low < 0 < high:
        magnitudes = rng.integers(0, min(-low, high), shape, dtype=np.int64, endpoint=True)
        return _alternating(shape, magnitudes).astype(np.int64)
    return rng.integers(low, high, shape, dtype=np.int64, endpoint=True)


def _distinct(
    values: np.ndarray[Any, np.dtype[np.int64]], lowest: int, highest: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return `values` moved apart as little as their order allows, so that all differ and stay in the limits."""
    flat = values.reshape(-1)
    count = flat.size
    if highest - lowest + 1 < count:
        raise ValueError(f"{count} unique values do not fit between {lowest} and {highest}")
    order = np.argsort(flat, kind="stable")
    steps = np.arange(count)
    # Room for the values on either side is left before they are spread, so that neither step can pass a limit.
    rising = np.clip(flat[order], lowest + steps, highest - (count - 1) + steps)
    rising = np.maximum.accumulate(rising - steps) + steps
    spread = np.empty_like(flat)
    spread[order] = rising
    return spread.reshape(values.shape)
