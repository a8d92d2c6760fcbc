"""Formats against their bit patterns."""

import math

import numpy as np
import pytest

from kgrade.harness.numerics.formats import (
    FLOAT_NAMES,
    float_format,
    from_ordinals,
    numpy_dtype,
    ordinals,
    round_to,
    ulp_exponent,
    widen,
)

ENUMERABLE = [name for name in FLOAT_NAMES if numpy_dtype(name).itemsize <= 2]

# Table of the formats as their papers and IEEE 754 state them: largest finite, smallest normal, smallest denormal.
LIMITS = {
    "float64": (1.7976931348623157e308, 2.0**-1022, 2.0**-1074),
    "float32": (3.4028234663852886e38, 2.0**-126, 2.0**-149),
    "float16": (65504.0, 2.0**-14, 2.0**-24),
    "bfloat16": (3.3895313892515355e38, 2.0**-126, 2.0**-133),
    "float8_e4m3fn": (448.0, 2.0**-6, 2.0**-9),
    "float8_e5m2": (57344.0, 2.0**-14, 2.0**-16),
    "float8_e4m3fnuz": (240.0, 2.0**-7, 2.0**-10),
    "float8_e5m2fnuz": (57344.0, 2.0**-15, 2.0**-17),
}


def finite_values(name):
    """Every finite value of a format of at most 16 bits, ascending, from its bit patterns alone."""
    size = numpy_dtype(name).itemsize
    patterns = np.arange(2 ** (8 * size), dtype=f"u{size}").view(numpy_dtype(name))
    values = widen(patterns)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("name", FLOAT_NAMES)
def test_limits_are_those_of_the_standards(name):
    form = float_format(name)
    largest, smallest_normal, smallest = LIMITS[name]
    assert (form.largest, 2.0**form.min_exponent, form.smallest) == (largest, smallest_normal, smallest)
    assert form.has_infinity == (name in ("float64", "float32", "float16", "bfloat16", "float8_e5m2"))


@pytest.mark.parametrize("name", ENUMERABLE)
def test_ordinals_number_every_value_in_order(name):
    values = finite_values(name)
    numbered = ordinals(round_to(values, name))
    assert np.array_equal(np.diff(numbered), np.ones(values.size - 1))
    assert np.array_equal(widen(from_ordinals(numbered, name)), values)


@pytest.mark.parametrize("name", ENUMERABLE)
def test_spacing_is_the_gap_to_the_next_value_away_from_zero(name):
    values = finite_values(name)
    positive = values[values >= 0]
    gaps = np.append(np.diff(positive), positive[-1] - positive[-2])
    form = float_format(name)
    for inside in (positive, -positive, positive + gaps * 0.49):
        assert np.array_equal(np.ldexp(1.0, ulp_exponent(inside, form)), gaps)


@pytest.mark.parametrize("value", [0.0, 5e-324, 2.2e-308, 1.0, 1.5, math.pi, 2.0**1023, 1.7976931348623157e308])
def test_float64_spacing_is_that_of_the_math_library(value):
    exponent = ulp_exponent(np.array([value]), float_format("float64"))
    assert math.ldexp(1.0, int(exponent[0])) == math.ulp(value)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2"])
def test_overflow_is_where_rounding_leaves_the_finite_values(name):
    form = float_format(name)
    around = np.array([np.nextafter(form.overflow, 0), form.overflow])
    assert np.isfinite(widen(round_to(around, name))).tolist() == [True, False]


def test_unknown_dtype_is_named():
    with pytest.raises(ValueError, match="dtype 'float4' is unknown"):
        numpy_dtype("float4")
