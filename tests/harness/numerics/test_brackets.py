"""Percentiles from one reading are exact, or known to be elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgrade.harness.numerics import brackets, tally
from kgrade.harness.numerics.brackets import Bracketed
from kgrade.harness.numerics.errors import Floats, largest_step, step_distance
from kgrade.harness.numerics.judge import judge
from kgrade.records.evidence import OutputCheck, ToleranceUsed

VALUES = st.floats(0, allow_nan=False, width=32)


def ranked(values: Floats) -> list[float]:
    ordered = np.sort(values)
    ranks = [-(-values.size * mille // 1000) - 1 for mille in (500, 990, 999)]
    return [float(ordered[rank]) for rank in (*ranks, values.size - 1)]


def read(sample: Floats, values: Floats, parts: int = 3) -> list[float] | None:
    guess = Bracketed(sample)
    for part in np.array_split(values, parts):
        guess.read(part)
    return guess.values()


@given(arrays(np.float64, st.integers(1, 400), elements=VALUES), st.integers(1, 40))
def test_what_is_told_is_exact(values: Floats, share: int) -> None:
    told = read(values[::share], values)
    assert told is None or told == ranked(values)


@given(arrays(np.float64, st.integers(1, 60), elements=VALUES), arrays(np.float64, 200, elements=VALUES))
def test_a_sample_of_something_else_misleads_nobody(sample: Floats, values: Floats) -> None:
    told = read(sample, values)
    assert told is None or told == ranked(values)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).standard_normal(200_000) ** 2,
        np.random.default_rng(2).integers(0, 4, 200_000).astype(float),
        np.zeros(200_000),
        np.where(np.random.default_rng(5).random(200_000) < 0.01, np.inf, 1.0),
        np.sort(np.random.default_rng(3).pareto(1.0, 200_000)),
    ],
    ids=["smooth", "four values", "all equal", "inf here and there", "in order"],
)
def test_a_sample_of_the_same_finds_them_in_one_reading(values: Floats) -> None:
    assert read(values[::16], values) == ranked(values)


def test_values_that_crowd_into_a_bracket_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brackets, "KEPT", 1000)
    assert read(np.linspace(0, 1, 500), np.full(5000, 0.5)) is None


def judged(got: Floats, oracle: Floats) -> OutputCheck:
    used = ToleranceUsed(atol=1e-6, rtol=1e-6)
    return judge("y", got.astype(np.float32), oracle, None, "float32", used, "match", None, None)


@pytest.mark.parametrize("misled", [False, True])
def test_an_output_is_judged_as_without_brackets(misled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where errors lie in places that the sample does not see, further readings find the same percentiles."""
    generator = np.random.default_rng(4)
    oracle = generator.standard_normal(1 << 18)
    wrong = np.arange(oracle.size) % (oracle.size // 32) >= tally.SAMPLE_RUN if misled else 1
    got = oracle + 1e-7 * wrong * generator.standard_normal(oracle.size)
    oracle[5], got[5], got[7] = np.nan, np.nan, np.inf
    with_brackets = judged(got, oracle)
    monkeypatch.setattr(tally, "SAMPLED", (1 << 60, 1 << 60))
    assert with_brackets == judged(got, oracle)
    assert with_brackets.figures is not None


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_the_largest_step_is_that_of_all(dtype: str, seed: int) -> None:
    """Over bit patterns, so that denormals, both zeros and both signs come up."""
    width = np.dtype(dtype).itemsize
    values = np.random.default_rng(seed).integers(0, 256, (2, 9 * width), dtype=np.uint8).view(dtype)
    got, ref = np.where(np.isfinite(values), values, np.array([-0.0, 0.0], dtype)[:, None])
    assert largest_step(got, ref) == int(step_distance(got, ref).max())
    assert largest_step(abs(got), abs(ref)) == int(step_distance(abs(got), abs(ref)).max())
    assert largest_step(-abs(got), -abs(ref)) == int(step_distance(-abs(got), -abs(ref)).max())
    assert largest_step(got[:0], ref[:0]) == 0
