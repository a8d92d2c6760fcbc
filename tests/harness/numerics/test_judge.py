"""Verdicts: form, NaN and Inf, tolerance, quantised work, integers, faults of the task."""

import resource

import ml_dtypes
import numpy as np
import pytest

from kgrade.harness.numerics.judge import judge
from kgrade.records.evidence import ToleranceUsed

TIGHT = ToleranceUsed(atol=1e-9, rtol=2e-3, ulp=2)


def verdict(got, oracle, dtype="float16", tolerance=TIGHT, nonfinite="match", **wanted):
    return judge(
        "y", got, oracle, wanted.pop("framework", None), dtype, tolerance, nonfinite,
        wanted.pop("matched_ratio", None), wanted.pop("error_cap", None),
    )  # fmt: skip


@pytest.fixture
def oracle():
    return np.random.default_rng(7).standard_normal((5, 300))


def test_correctly_rounded_output_passes_with_at_most_half_an_ulp(oracle):
    check = verdict(oracle.astype(np.float16), oracle, framework=oracle.astype(np.float16))
    assert check.status == "passed"
    assert check.reason is None
    assert 0.4 < check.figures.ulp.max <= 0.5
    assert check.figures == check.framework
    assert check.figures.histogram == [1500]
    assert check.magnitude.max_abs == pytest.approx(np.abs(oracle).max())


def test_one_wrong_element_is_found_and_shown(oracle):
    got = oracle.astype(np.float16)
    got[3, 17] += 1
    check = verdict(got, oracle)
    assert check.status == "failed"
    assert "1 of 1500" in check.reason
    assert "[3, 17]" in check.reason
    assert check.first[0].index == check.worst[0].index == [3, 17]
    assert check.worst[0].absolute == pytest.approx(1, rel=1e-3)
    assert check.figures.mismatched == 1


def test_zeros_do_not_pass_where_the_output_is_not_small(oracle):
    check = verdict(np.zeros_like(oracle, dtype=np.float16), oracle)
    assert check.status == "failed"
    assert check.figures.mismatched == 1500
    assert [element.index for element in check.first] == [[0, column] for column in range(8)]


@pytest.mark.parametrize(
    ("got", "reason"),
    [
        (np.zeros((5, 299), np.float16), "shape [5, 299] where [5, 300] was expected"),
        (np.zeros((1500,), np.float16), "shape [1500] where [5, 300] was expected"),
        (np.zeros((5, 300), np.float32), "dtype float32 where float16 was expected"),
        (np.zeros((5, 300), ml_dtypes.bfloat16), "dtype bfloat16 where float16 was expected"),
    ],
)
def test_form_is_compared_before_values(oracle, got, reason):
    check = verdict(got, oracle)
    assert (check.status, check.reason, check.figures) == ("failed", reason, None)


def specials(**places):
    values = np.linspace(1, 2, 10)
    for place, value in places.items():
        values[int(place[1:])] = value
    return values


@pytest.mark.parametrize(
    ("nonfinite", "got", "oracle", "status"),
    [
        ("match", specials(_3=np.nan), specials(_3=np.nan), "passed"),
        ("match", specials(), specials(_3=np.nan), "failed"),
        ("match", specials(_3=np.nan), specials(), "failed"),
        ("match", specials(_3=np.inf), specials(_3=np.inf), "passed"),
        ("match", specials(_3=-np.inf), specials(_3=np.inf), "failed"),
        ("match", specials(_3=np.nan), specials(_3=np.inf), "failed"),
        ("match", specials(_3=np.inf, _5=9), specials(_3=np.inf), "failed"),
        ("any", specials(_3=7.0), specials(_3=np.nan), "passed"),
        ("any", specials(_3=-np.inf), specials(_3=np.inf), "passed"),
        ("any", specials(_3=np.nan), specials(), "failed"),
        ("forbid", specials(_3=np.nan), specials(_3=np.nan), "failed"),
        ("forbid", specials(_3=0.0), specials(_3=np.nan), "passed"),
    ],
)
def test_nan_and_inf_follow_the_outputs_rule(nonfinite, got, oracle, status):
    check = verdict(got.astype(np.float16), oracle, nonfinite=nonfinite)
    assert check.status == status


def test_nan_and_inf_are_counted_apart_and_leave_the_figures():
    got = specials(_1=np.nan, _2=np.inf, _4=np.nan).astype(np.float16)
    figures = verdict(got, specials(_1=np.nan, _2=np.inf)).figures
    counts = (figures.nan_got, figures.nan_expected, figures.inf_got, figures.inf_expected, figures.nonfinite_wrong)
    assert counts == (2, 1, 1, 1, 1)
    assert sum(figures.histogram) == 7
    assert figures.ulp.max <= 0.5


@pytest.mark.parametrize(
    ("dtype", "expected", "got", "status"),
    [
        ("float16", 1e6, np.inf, "passed"),
        ("float16", 1e6, -np.inf, "failed"),
        ("float16", 1e6, 65504.0, "failed"),
        ("float16", 65519.0, np.inf, "passed"),
        ("float16", 60000.0, np.inf, "failed"),
        ("float8_e4m3fn", 500.0, np.nan, "passed"),
        ("float8_e4m3fn", 500.0, 448.0, "passed"),
        ("float8_e4m3fn", 500.0, -448.0, "failed"),
        ("float8_e5m2", 1e6, np.inf, "passed"),
        ("float8_e5m2", 1e6, 57344.0, "passed"),
    ],
)
def test_values_past_the_formats_end_may_overflow_and_no_others(dtype, expected, got, status):
    oracle = np.array([1.0, expected])
    value = np.array([1.0, got]).astype(getattr(ml_dtypes, dtype, dtype))
    assert verdict(value, oracle, dtype=dtype).status == status


def test_an_oracle_that_is_nan_everywhere_is_the_tasks_fault():
    check = verdict(np.zeros(4, np.float16), np.full(4, np.nan))
    assert check.status == "error"
    assert check.reason.startswith("task fault: the reference is NaN everywhere")


def test_quantised_work_needs_its_share_within_and_the_rest_under_the_cap(oracle):
    got = oracle.astype(np.float32)
    got[0, :10] += 0.5
    loose = ToleranceUsed(atol=1e-3, rtol=0)
    assert verdict(got, oracle, "float32", loose, matched_ratio=0.99, error_cap=0.6).status == "passed"
    assert verdict(got, oracle, "float32", loose, matched_ratio=0.99).status == "passed"
    over = verdict(got, oracle, "float32", loose, matched_ratio=0.99, error_cap=0.4)
    assert over.status == "failed"
    assert "passes the cap 0.4" in over.reason
    assert verdict(got, oracle, "float32", loose, matched_ratio=0.999).status == "failed"
    got[1, 1] = np.nan
    assert verdict(got, oracle, "float32", loose, matched_ratio=0.5).status == "failed"


def test_integers_are_compared_exactly():
    oracle = np.array([2**62, -5, 7])
    assert verdict(oracle.copy(), oracle, "int64").status == "passed"
    off = verdict(oracle + np.array([1, 0, 0]), oracle, "int64")
    assert (off.status, off.figures.mismatched, off.worst[0].absolute) == ("failed", 1, 1.0)
    assert "exact equality" in off.reason
    assert verdict(np.array([True, False]), np.array([True, True]), "bool").status == "failed"
    assert verdict(np.array([3], np.int32), np.array([3.0]), "int32").status == "passed"
    assert verdict(np.array([3], np.int32), np.array([3.5]), "int32").status == "error"


def test_an_empty_output_passes_and_has_no_percentiles():
    check = verdict(np.zeros((0, 4), np.float16), np.zeros((0, 4)))
    assert (check.status, check.figures.absolute.max, check.figures.elements) == ("passed", "nan", 0)


def test_a_scalar_output_is_judged():
    check = verdict(np.array(2.0, np.float16), np.array(1.0))
    assert check.status == "failed"
    assert check.first[0].index == []


@pytest.mark.parametrize("size", [3_000_000])
def test_memory_beside_the_arrays_does_not_grow_with_them(size):
    rng = np.random.default_rng(3)
    oracle = rng.standard_normal(size)
    got = oracle.astype(np.float32)
    verdict(got[:300_000], oracle[:300_000], "float32")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check = verdict(got, oracle, "float32")
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert check.status == "passed"
    assert sum(check.figures.histogram) == size
    assert grown_kb * 1024 < 8 * size


def test_integer_distance_stands_beside_the_ulp_error():
    oracle = np.array([1.0, -1e-8, 7e4, np.nan])
    got = np.array([1.0, 6e-8, np.inf, np.nan], np.float16)
    got[0] = np.nextafter(np.float16(1), np.float16(2))
    check = verdict(got, oracle, tolerance=ToleranceUsed(atol=0, rtol=0))
    assert check.figures.steps == 1
    assert {element.index[0]: element.steps for element in check.worst} == {0: 1, 1: 1}
    whole = verdict(np.array([3, -(2**63)]), np.array([5, 2**63 - 1]), "int64", tolerance=ToleranceUsed(atol=0, rtol=0))
    assert whole.figures.steps == 2**63 - 1
