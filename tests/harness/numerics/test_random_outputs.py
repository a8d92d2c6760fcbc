"""Random outputs: a right sample passes, and each way of not being random fails."""

import numpy as np
import pytest

from kgrade.harness.numerics.random_outputs import judge_random
from kgrade.records.evidence import ToleranceUsed
from kgrade.records.task import Stochastic

SIZE = 40_000
TIGHT = ToleranceUsed(atol=1e-6, rtol=1e-6)
DROPOUT = Stochastic(mean=0, keep=0.9)
NORMAL = Stochastic(mean=0)


def dropped(rng, x, keep=0.9, scale=None):
    return np.where(rng.random(x.shape) < keep, x / (scale or keep), 0).astype(np.float32)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def x(rng):
    values = rng.standard_normal(SIZE).astype(np.float32)
    values[::7] = 0
    return values


def verdict(got, sample, source, spec):
    return judge_random("y", got, sample, source, "float32", TIGHT, spec)


def test_dropout_with_another_mask_passes(rng, x):
    check = verdict(dropped(rng, x), dropped(rng, x), x, DROPOUT)
    assert (check.status, check.reason) == ("passed", "judged by its distribution")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda rng, x: dropped(rng, x, keep=0.93), "kept in part 1 of 16, where 0.9 was expected"),
        (lambda rng, x: dropped(rng, x, scale=1), "kept elements are outside the tolerance"),
        (lambda rng, x: x / np.float32(0.9), "1.0000 kept"),
        (lambda rng, x: np.zeros_like(x), "0.0000 kept"),
        (
            lambda rng, x: np.where(np.arange(x.size) < 0.9 * x.size, x / np.float32(0.9), 0).astype(np.float32),
            "kept in part",
        ),
        (lambda rng, x: np.where(np.arange(x.size) < x.size - 32, dropped(rng, x), 0).astype(np.float32), "in a row"),
        (lambda rng, x: dropped(rng, x) + np.float32(1), "mean 1.0"),
        (lambda rng, x: dropped(rng, x).astype(np.float16), "dtype float16 where float32"),
        (lambda rng, x: dropped(rng, x)[1:], "shape [39999]"),
        (lambda rng, x: np.full_like(x, np.nan), "NaN or Inf among random outputs"),
    ],
)
def test_dropout_that_is_none_fails(rng, x, wrong, reason):
    check = verdict(wrong(rng, x), dropped(rng, x), x, DROPOUT)
    assert check.status == "failed"
    assert reason in check.reason


def test_another_sample_of_the_same_distribution_passes_and_one_of_another_fails(rng):
    def normal():
        return rng.standard_normal(SIZE).astype(np.float32)

    assert verdict(normal(), normal(), None, NORMAL).status == "passed"
    uniform = rng.uniform(-(3**0.5), 3**0.5, SIZE).astype(np.float32)  # mean and variance are right, its shape is not
    assert "its distribution is not the reference's" in verdict(uniform, normal(), None, NORMAL).reason
    assert "mean 0.05" in verdict(normal() + np.float32(0.05), normal(), None, NORMAL).reason
