import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.records.evidence import Speedup
from kgrade.tui.panes import figures
from tests.tui.panes.builders import case, samples


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1.3149, "1.31"),
        (0.0123, "0.0123"),
        (999.96, "1,000"),
        (12_345.0, "12,300"),
        (0.9996, "1.00"),
        (2.345e-5, "2.35e-5"),
        (-4.2e7, "-4.20e7"),
        ("nan", "nan"),
        ("-inf", "-inf"),
    ],
)
def test_three_significant_digits(value, shown):
    assert figures.significant(value) == shown


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_three_digits_are_within_half_a_percent(value):
    assert float(figures.significant(value).replace(",", "")) == pytest.approx(value, rel=0.005)


@pytest.mark.parametrize(
    ("value", "shown"), [(2.34e-4, "2.3e-4"), (0.0, "0"), (0.351, "0.35"), (12.0, "12"), (4e9, "4.0e9"), ("inf", "inf")]
)
def test_errors_have_two_digits(value, shown):
    assert figures.error(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.54, "0.5"), (37.4, "37"), (1.2e6, "1.2e6"), (0, "0"), ("nan", "nan")])
def test_ulps(value, shown):
    assert figures.ulp(value) == shown


@pytest.mark.parametrize(
    ("us", "shown"), [(0.812, "812 ns"), (12.34, "12.3 us"), (1_204.0, "1.20 ms"), (3.45e6, "3.45 s")]
)
def test_durations_take_the_unit_that_suits_them(us, shown):
    assert figures.duration(us) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.0018, "1.80 ms"), (12.3, "12.3 s"), (185, "3 min 05 s")])
def test_seconds(value, shown):
    assert figures.seconds(value) == shown


def test_a_median_comes_with_its_interval_or_says_that_there_is_none():
    assert figures.median(samples()) == "12.3 ± 0.30 us"
    assert figures.median_interval(samples()) == "12.3 [12.1, 12.6] us"
    assert figures.median_interval(samples(interval=None)) == "12.3 us, no interval"


@pytest.mark.parametrize(
    ("ratio", "interval", "shown"),
    [
        (1.31, (1.28, 1.34), "1.31x [1.28, 1.34] faster"),
        (0.82, (0.80, 0.85), "0.820x [0.800, 0.850] slower"),
        (1.02, (0.97, 1.06), "1.02x [0.970, 1.06] no difference"),
        (1.31, None, "1.31x no interval: too few samples"),
    ],
)
def test_a_speedup_says_no_more_than_its_interval(ratio, interval, shown):
    assert figures.speedup(Speedup(baseline="eager", ratio=ratio, interval=interval)) == shown


def test_sizes_counts_and_shares():
    assert [figures.size(count) for count in (768, 49_152, 1_572_864)] == ["768 B", "48 KiB", "1.5 MiB"]
    assert figures.count(1, "case") == "1 case"
    assert figures.count(1_024, "case") == "1,024 cases"
    assert figures.share(3, 4_096) == "3 of 4,096 (0.073 %)"


def test_a_case_is_named_shortly():
    assert figures.case_name(case()) == "M=48 N=781 bf16"
    assert figures.case_name(case("float8_e4m3fn", "neg-inf", K=7)) == "K=7 e4m3fn neg-inf"
    assert [figures.dtype(name) for name in ("float32", "int64", "uint8", "bool")] == ["f32", "i64", "u8", "bool"]
