"""Errors against independent definitions: bit distance, exact fractions, sorted arrays."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kgrade.harness.numerics import errors
from kgrade.harness.numerics.errors import (
    HISTOGRAM_BINS,
    RankSelector,
    float_errors,
    integer_errors,
    spread,
    step_distance,
    ulp_histogram,
)
from kgrade.harness.numerics.formats import FLOAT_NAMES, float_format, from_ordinals, ordinals, round_to, widen

names = st.sampled_from(FLOAT_NAMES)


def exact_ulp(value: float, name: str) -> Fraction:
    """The gap between the two neighbours in the format that enclose |value|, found by stepping bit patterns."""
    magnitude = abs(value)
    nearest = round_to(np.array([min(magnitude, float_format(name).largest)]), name)
    number = int(ordinals(nearest)[0])
    if float(widen(nearest)[0]) > magnitude:
        number -= 1
    top = int(ordinals(round_to(np.array([float_format(name).largest]), name))[0])
    number = min(number, top - 1)
    below, above = widen(from_ordinals(np.array([number, number + 1]), name))
    return Fraction(float(above)) - Fraction(float(below))


@st.composite
def pairs(draw):
    """A format, a value of it, and a float64 reference within its finite range."""
    name = draw(names)
    largest = float_format(name).largest
    inside = st.floats(min_value=-largest, max_value=largest)
    near_zero = st.integers(-40, 40).map(lambda steps: float(widen(from_ordinals(np.array([steps]), name))[0]))
    got = float(widen(round_to(np.array([draw(inside | near_zero)]), name))[0])
    return name, got, draw(inside | near_zero)


@given(pairs())
def test_ulp_error_is_the_distance_over_the_enclosing_gap(pair):
    name, got, ref = pair
    found = float(float_errors(np.array([got]), np.array([ref]), float_format(name)).ulp[0])
    expected = abs(Fraction(got) - Fraction(ref)) / exact_ulp(ref, name)
    if expected > Fraction(2) ** 1023:
        assert found > 2.0**1022
    else:
        assert abs(Fraction(found) - expected) <= expected * Fraction(1, 2**51)


@given(names, st.integers(-200, 200), st.integers(-200, 200))
def test_between_denormals_ulp_error_is_the_number_of_steps_across_zero(name, a, b):
    limit = 2 ** (float_format(name).precision - 1)
    a, b = (max(-limit, min(limit, steps)) for steps in (a, b))
    got, ref = widen(from_ordinals(np.array([a, b]), name))
    assert float(float_errors(np.array([got]), np.array([ref]), float_format(name)).ulp[0]) == abs(a - b)


@given(pairs())
def test_absolute_and_relative_errors_are_exact_to_rounding(pair):
    name, got, ref = pair
    errors = float_errors(np.array([got]), np.array([ref]), float_format(name))
    distance = abs(Fraction(got) - Fraction(ref))
    if distance <= Fraction(float_format("float64").largest):
        assert abs(Fraction(float(errors.absolute[0])) - distance) <= distance * Fraction(1, 2**52)
    if ref == 0:
        assert float(errors.relative[0]) == (0.0 if got == 0 else np.inf)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integer_distance_does_not_wrap(a, b):
    errors = integer_errors(np.array([a]), np.array([b]))
    assert float(errors.absolute[0]) == float(abs(a - b))


def selected(values, block):
    """What the selector finds in `values`, read block by block, and how often it read them."""
    selector, readings = RankSelector(), 0
    while not selector.settled:
        for start in range(0, values.size, block):
            selector.read(values[start : start + block])
        selector.advance()
        readings += 1
    return selector.values(), readings


@given(
    arrays.arrays(np.float64, st.integers(1, 400), elements=st.floats(min_value=0, allow_nan=False)),
    st.integers(40, 400),
    st.sampled_from([0, 3, 50, 1 << 22]),
)
@settings(deadline=None, max_examples=40)
def test_percentiles_are_those_of_the_sorted_errors_however_many_are_kept(values, block, kept):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "KEPT", kept)
        found, readings = selected(values, block)
    ordered = np.sort(values)
    for each, mille in zip(found[:3], (500, 990, 999), strict=True):
        assert each in ordered
        assert (ordered <= each).sum() * 1000 >= mille * values.size
        assert (ordered < each).sum() * 1000 < mille * values.size
    assert found[3] == ordered[-1]
    assert readings == {0: 4, 1 << 22: 2}.get(kept, readings)


def test_no_elements_have_no_percentiles():
    assert selected(np.zeros(0), 1) == ([], 1)
    assert {spread([]).p50, spread([]).max} == {"nan"}


@pytest.mark.parametrize(
    ("ulp", "bin_"), [(0, 0), (0.99, 0), (1, 1), (1.99, 1), (2, 2), (4, 3), (2.0**62, 63), (2.0**900, 63), (np.inf, 63)]
)
def test_histogram_bins_are_powers_of_two(ulp, bin_):
    counts = ulp_histogram(np.array([ulp], dtype=float))
    assert counts.size == HISTOGRAM_BINS
    assert counts.nonzero()[0].tolist() == [bin_]


WIDTHS = {  # exponent and fraction bits beside the sign
    "float64": (11, 52), "float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7),
    "float8_e4m3fn": (4, 3), "float8_e5m2": (5, 2), "float8_e4m3fnuz": (4, 3), "float8_e5m2fnuz": (5, 2),
}  # fmt: skip


def rank(bits: int, name: str) -> int:
    """Where a bit pattern stands among the values of its format: sign and magnitude, read as plain integers."""
    exponent, fraction = WIDTHS[name]
    magnitude = bits & (2 ** (exponent + fraction) - 1)
    return -magnitude if bits >> (exponent + fraction) else magnitude


@st.composite
def patterns(draw):
    """A format and two of its finite bit patterns."""
    name = draw(names)
    exponent, fraction = WIDTHS[name]
    dtype = round_to(np.zeros(1), name).dtype

    def finite(bits):
        value = np.array([bits], f"u{dtype.itemsize}").view(dtype)
        return bool(np.isfinite(widen(value)[0]))

    assert 1 + exponent + fraction == 8 * dtype.itemsize
    bits = st.integers(0, 2 ** (1 + exponent + fraction) - 1).filter(finite)
    return name, draw(bits), draw(bits)


@given(patterns())
def test_integer_distance_is_that_of_the_bit_patterns(pair):
    name, a, b = pair
    dtype = round_to(np.zeros(1), name).dtype
    got, ref = (np.array([bits], f"u{dtype.itemsize}").view(dtype) for bits in (a, b))
    assert int(step_distance(got, ref)[0]) == abs(rank(a, name) - rank(b, name))
