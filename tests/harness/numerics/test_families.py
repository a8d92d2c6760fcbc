"""Input families: dtype, range, order and uniqueness hold for every family; each puts the strain it names."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrade.harness.numerics.families import draw
from kgrade.harness.numerics.formats import FLOAT_NAMES, INTEGER_NAMES, float_format, numpy_dtype, widen
from kgrade.records.expressions import ExpressionError
from kgrade.records.task import DTYPES, FAMILIES
from kgrade.records.task import Input as InputSpec

families = st.sampled_from(FAMILIES)
shapes = st.lists(st.integers(0, 9), max_size=3).map(tuple)
seeds = st.integers(0, 2**32 - 1)


def spec(**fields):
    return InputSpec(dtype="$dtype", **fields)


def drawn(family, shape=(6, 64), dtype="float32", seed=1, **fields):
    return draw(spec(**fields), shape, dtype, family, np.random.default_rng(seed))


@given(st.sampled_from(DTYPES), families, shapes, seeds)
def test_every_family_fills_every_dtype_and_shape(dtype, family, shape, seed):
    values = draw(spec(), shape, dtype, family, np.random.default_rng(seed))
    assert values.shape == shape
    assert values.dtype == numpy_dtype(dtype)
    again = draw(spec(), shape, dtype, family, np.random.default_rng(seed))
    assert values.tobytes() == again.tobytes()
    if family not in ("nan", "inf", "neg-inf"):
        assert np.isfinite(widen(values)).all()


@given(st.sampled_from(FLOAT_NAMES), families, st.tuples(st.integers(-8, 7), st.integers(1, 8)), seeds)
def test_no_family_leaves_the_range_of_a_float_input(dtype, family, edges, seed):
    lo, hi = edges[0], edges[0] + edges[1]
    values = widen(draw(spec(range=(lo, hi)), (4, 33), dtype, family, np.random.default_rng(seed)))
    assert (values >= lo).all()
    assert (values < hi).all()


@given(st.sampled_from(INTEGER_NAMES), families, st.tuples(st.integers(0, 1), st.integers(1, 90)), seeds)
def test_no_family_leaves_the_range_of_an_integer_input(dtype, family, edges, seed):
    lo, hi = edges[0], edges[0] + edges[1]
    values = draw(spec(range=(lo, hi)), (4, 33), dtype, family, np.random.default_rng(seed)).astype(np.int64)
    assert values.min() >= lo
    assert values.max() < hi


@given(st.sampled_from(["float16", "bfloat16", "float32", "int32", "int16"]), families, seeds, st.booleans())
@settings(deadline=None)
def test_unique_inputs_hold_no_value_twice(dtype, family, seed, ranged):
    limits = {"range": (-512, 512)} if ranged else {}
    values = draw(spec(unique=True, **limits), (8, 32), dtype, family, np.random.default_rng(seed))
    plain = widen(values[~np.isnan(widen(values)) & ~np.isinf(widen(values))])
    assert np.unique(plain).size == plain.size
    if ranged:
        assert plain.size == 256
        assert plain.min() >= -512
        assert plain.max() < 512


def test_a_unique_range_may_be_used_up_and_not_overdrawn():
    full = draw(spec(unique=True, range=(0, "N")), (40,), "int32", "normal", np.random.default_rng(2), {"N": 40})
    assert sorted(full.tolist()) == list(range(40))
    with pytest.raises(ValueError, match="41 unique values do not fit between 0 and 39"):
        draw(spec(unique=True, range=(0, 40)), (41,), "int32", "normal", np.random.default_rng(2))


def test_unique_integers_keep_a_random_order():
    full = draw(spec(unique=True, range=(0, 1000)), (1000,), "int64", "normal", np.random.default_rng(2))
    assert np.abs(np.corrcoef(full, np.arange(1000))[0, 1]) < 0.2


@given(st.sampled_from(DTYPES), families, seeds)
def test_sorted_inputs_ascend_along_the_last_axis(dtype, family, seed):
    values = widen(draw(spec(sorted=True), (3, 40), dtype, family, np.random.default_rng(seed)))
    rows = [row[~np.isnan(row)] for row in values]
    assert all((row[1:] >= row[:-1]).all() for row in rows)


def test_each_family_puts_its_strain():
    form = float_format("float32")
    normal_min = 2.0**form.min_exponent
    assert abs(drawn("normal", (200, 200)).std() - 1) < 0.02
    assert np.abs(drawn("uniform")).max() <= 1
    assert np.abs(drawn("large")).mean() > 1e8
    assert 0 < np.abs(drawn("tiny")).max() < 1e-8
    rows = drawn("constant-rows")
    assert (rows == rows[:, :1]).all()
    assert np.unique(rows[:, 0]).size == 6
    assert not drawn("zeros").any()
    alternating = drawn("alternating")
    assert (alternating[:, 0::2] == -alternating[:, 1::2]).all()
    assert alternating.any()
    denormal = np.abs(drawn("denormal"))
    assert (denormal > 0).all()
    assert (denormal < normal_min).all()
    assert np.unique(np.round(drawn("clustered"), 3)).size <= 8
    assert (drawn("ints") == np.rint(drawn("ints"))).all()
    assert set(drawn("ints", dtype="int8").flat) >= {-128, 127}


@pytest.mark.parametrize(("family", "test"), [("nan", np.isnan), ("inf", np.isposinf), ("neg-inf", np.isneginf)])
def test_special_values_stand_in_some_rows_and_leave_others_clean(family, test):
    marked = test(drawn(family, (10, 600)))
    assert marked.any(axis=1).sum() == 5
    assert marked.sum() < 40
    assert test(drawn(family, (1,)))[0]
    assert test(drawn(family, ()))


def test_infinity_becomes_the_largest_value_where_a_format_has_none():
    values = widen(drawn("inf", dtype="float8_e4m3fn"))
    assert np.isfinite(values).all()
    assert values.max() == 448


def test_families_follow_a_range_where_they_can():
    lo, hi = 2.0, 10.0
    assert drawn("large", range=(lo, hi)).min() >= 9
    assert drawn("tiny", range=(lo, hi)).max() < 2.01
    assert (drawn("zeros", range=(lo, hi)) == lo).all()
    denormal = drawn("denormal", range=(0, 1))
    assert (denormal > 0).all()
    assert denormal.max() < 2.0**-126


def test_what_cannot_be_drawn_is_said_in_a_sentence():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="input family 'gaussian' is unknown"):
        draw(spec(), (2,), "float32", "gaussian", rng)
    with pytest.raises(ValueError, match=r"the range \[3, 3\) holds no value"):
        draw(spec(range=(3, 3)), (2,), "float32", "normal", rng)
    with pytest.raises(ValueError, match="holds no int32 value"):
        draw(spec(range=(0.25, 0.75)), (2,), "int32", "normal", rng)
    with pytest.raises(ValueError, match="holds no float8_e5m2 value"):
        draw(spec(range=(1.01, 1.02)), (2,), "float8_e5m2", "normal", rng)
    with pytest.raises(ExpressionError, match="symbol N"):
        draw(spec(range=(0, "N")), (2,), "int32", "normal", rng)


def test_range_ends_are_kept_after_rounding():
    below_one = widen(drawn("large", (1000,), "bfloat16", range=(0, 1)))
    assert below_one.max() == 1 - 2.0**-8
    assert math.isclose(below_one.min(), 0.875, abs_tol=0.01)
