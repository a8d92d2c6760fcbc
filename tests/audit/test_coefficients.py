"""Every coefficient against published figures, and against the libraries that have it."""

from __future__ import annotations

import json
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from kgrade.audit.coefficients import (
    Undefined,
    ac,
    ac_interval,
    agreement_weights,
    alpha,
    alpha_interval,
    counts_of,
    crossed,
    icc,
    kappa,
    observed,
)

IRRCAC = json.loads((Path(__file__).parent / "irrcac.json").read_text())


def table(text: str, first: int) -> np.ndarray:
    """Raters as rows of one character per item, to (items, raters) counted from the scale's first category."""
    rows = [row.replace(" ", "") for row in text.split("/")]
    return np.array([[-1 if mark == "." else int(mark) - first for mark in row] for row in rows]).T


def rounded(value: float, digits: int) -> float:
    return round(value, digits)


O1 = table("123321412... / 1233224125.3 / .3332342251. / 12332441251.", 1)
O2 = table(".....34121133.3 / 1.213343....... / ..21344.21133.4", 1)
O4 = table("112.001122.0131 / 1130000.2110231 / 203000222100221 / .13....0.10022. / 2..0001.2....31", 0)


@pytest.mark.parametrize(
    ("ratings", "first", "q", "expected"),
    [
        (O1, 1, 5, {"nominal": 0.743421, "ordinal": 0.815388, "interval": 0.849107, "ratio": 0.797403}),
        (O2, 1, 4, {"nominal": 0.691358, "ordinal": 0.806721, "interval": 0.810845, "ratio": 0.808944}),
        (table("0100000010/1110010000", 0), 0, 2, {"nominal": 0.095238}),
        (table("112243335441/212223335444", 1), 1, 5, {"nominal": 0.691964, "ordinal": 0.598062}),
        (O4, 0, 4, {"nominal": 0.48053, "ordinal": 0.768685, "interval": 0.771865}),
    ],
)
def test_alpha_reproduces_published_figures(
    ratings: np.ndarray, first: int, q: int, expected: dict[str, float]
) -> None:
    counts = counts_of(ratings, q)
    values = np.arange(first, first + q, dtype=float)
    for metric, figure in expected.items():
        digits = len(str(figure).split(".")[1])
        assert rounded(alpha(counts, metric, values), digits) == figure, metric


def test_ac_reproduces_published_figures() -> None:
    assert rounded(ac(counts_of(O1, 5)), 3) == 0.775
    assert rounded(ac(counts_of(O1, 5), "linear"), 3) == 0.859
    assert rounded(ac(counts_of(O1, 5), "quadratic"), 3) == 0.914
    declared = [rounded(ac(counts_of(O1, q), "quadratic"), 5) for q in (5, 6, 7)]
    assert declared == [0.91400, 0.94741, 0.96461]
    assert rounded(ac(counts_of(O4, 4)), 5) == 0.49662
    assert rounded(ac(counts_of(O4, 4), "linear"), 5) == 0.68964
    assert rounded(ac(counts_of(O4, 4), "quadratic"), 5) == 0.83043


def test_two_raters_reproduce_published_figures() -> None:
    first = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]], dtype=float)
    second = np.array([[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]], dtype=float)
    third = np.array([[0, 4, 1], [0, 8, 0], [0, 1, 5]], dtype=float)
    assert [rounded(kappa(first, w)[0], 5) for w in ("identity", "linear", "quadratic")] == [0.79641, 0.84290, 0.89216]
    assert [rounded(kappa(second, w)[0], 5) for w in ("identity", "linear", "quadratic")] == [0.43150, 0.40681, 0.38319]
    assert rounded(ac(pairs(first)), 5) == 0.84933
    assert rounded(ac(pairs(first), "quadratic"), 5) == 0.94024
    assert rounded(ac(pairs(second)), 5) == 0.45616
    assert [rounded(each, 4) for each in kappa(third)] == [0.4842, 0.1380]
    assert [rounded(each, 4) for each in kappa(third, "linear")] == [0.4701, 0.1457]


def pairs(two: np.ndarray) -> np.ndarray:
    """The items of a two-rater table, as counts."""
    q = len(two)
    ratings = [(i, j) for i in range(q) for j in range(q) for _ in range(int(two[i, j]))]
    return counts_of(np.array(ratings), q)


def test_kappa_is_taken_over_the_declared_scale() -> None:
    raters = table("33345523522615221243/36462424332333221334/21443216111233113322", 1)
    cells = crossed(raters[:, 1], raters[:, 2], 6)
    assert rounded(kappa(cells, "linear")[0], 6) == 0.126214
    assert rounded(kappa(cells, "quadratic")[0], 6) == 0.229798
    assert rounded(alpha(counts_of(raters, 6)), 6) == 0.228387


def test_icc_reproduces_published_figures() -> None:
    scores = np.array(
        [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
    )
    names = ["(1,1)", "(A,1)", "(C,1)", "(1,k)", "(A,k)", "(C,k)"]
    assert [rounded(icc(scores)[name], 4) for name in names] == [0.1657, 0.2898, 0.7148, 0.4428, 0.6201, 0.9093]


def test_skewed_and_degenerate_tables() -> None:
    skewed = np.array([[118, 5], [2, 0]], dtype=float)
    assert rounded(observed(pairs(skewed)), 3) == 0.944
    assert rounded(kappa(skewed)[0], 5) == -0.02339
    assert rounded(ac(pairs(skewed)), 5) == 0.94078
    assert alpha(counts_of(table("112/11./.12", 1), 5)) == 1.0
    assert alpha(counts_of(table("33333/33333/33..3/33331/3.333", 0), 5)) == pytest.approx(0.0, abs=1e-12)
    same, apart = counts_of(table("333/333", 0), 5), counts_of(table("3.2./.1.0", 0), 5)
    for degenerate, reason in ((same, "every rating is the same"), (apart, "no item has two ratings")):
        with pytest.raises(Undefined, match=reason):
            alpha(degenerate)
    for refused in (
        lambda: ac(apart),
        lambda: observed(apart),
        lambda: alpha_interval(counts_of(np.zeros((0, 2), int), 5)),
    ):
        with pytest.raises(Undefined, match="no item has two ratings"):
            refused()
    with pytest.raises(Undefined, match="both gave every item the same rating"):
        kappa(np.diag([0.0, 9.0]))
    with pytest.raises(Undefined, match="no item was rated by both"):
        kappa(np.zeros((3, 3)))
    with pytest.raises(Undefined, match="same score"):
        icc(np.full((4, 2), 3.0))


TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(st.lists(st.integers(-1, 4), min_size=raters, max_size=raters), min_size=3, max_size=30)
)


@settings(max_examples=150, deadline=None)
@given(TABLES)
def test_alpha_agrees_with_the_krippendorff_package(rows: list[list[int]]) -> None:
    ratings = np.array(rows)
    counts = counts_of(ratings, 5)
    for metric in ("nominal", "ordinal", "interval", "ratio"):
        try:
            ours = alpha(counts, metric)
        except Undefined:
            paired = counts[counts.sum(axis=1) >= 2]
            assert (paired.sum(axis=0) > 0).sum() <= 1
            continue
        theirs = krippendorff.alpha(value_counts=counts, value_domain=np.arange(5), level_of_measurement=metric)
        assert ours == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=4, max_size=4))
def test_kappa_agrees_with_statsmodels(cells: list[list[int]]) -> None:
    two = np.array(cells, dtype=float)
    for weights in ("identity", "linear", "quadratic"):
        try:
            value, error = kappa(two, weights)
        except Undefined:
            continue
        matrix = None if weights == "identity" else 1 - agreement_weights(4, weights)
        theirs = cohens_kappa(two, weights=matrix)
        assert value == pytest.approx(theirs.kappa, abs=1e-9)
        assert error == pytest.approx(np.nan_to_num(theirs.std_kappa), abs=1e-6)  # theirs: nan for the root of -1e-17


@pytest.mark.parametrize("case", IRRCAC["cases"], ids=lambda case: f"seed{case['seed']}")
def test_ac_agrees_with_irrcac_on_random_tables_with_missing_values(case: dict) -> None:
    counts = counts_of(np.array(case["ratings"]), 5)
    assert ac(counts) == pytest.approx(case["ac1"], abs=2e-5)
    assert ac(counts, "linear") == pytest.approx(case["ac2_linear"], abs=2e-5)
    assert ac(counts, "quadratic") == pytest.approx(case["ac2_quadratic"], abs=2e-5)


def test_intervals_hold_the_value_and_repeat() -> None:
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 5, 200)
    ratings = np.stack([np.clip(truth + rng.integers(-1, 2, 200), 0, 4) for _ in range(3)], axis=1)
    counts = counts_of(ratings, 5)
    for value, interval in (
        (alpha(counts), alpha_interval(counts)),
        (ac(counts, "quadratic"), ac_interval(counts, "quadratic")),
    ):
        assert interval[0] < value < interval[1]
        assert interval[1] - interval[0] < 0.2
    assert alpha_interval(counts) == alpha_interval(counts)


def test_the_interval_is_that_of_resampling_items_one_by_one() -> None:
    rng = np.random.default_rng(3)
    ratings = rng.integers(0, 5, (60, 2))
    counts = counts_of(ratings, 5)
    drawn = [alpha(counts[rng.integers(0, 60, 60)]) for _ in range(1000)]
    assert alpha_interval(counts) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.03)
