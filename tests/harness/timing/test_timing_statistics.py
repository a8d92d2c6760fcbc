"""Timing statistics on known samples, and how often their intervals hold the truth."""

import numpy as np
import pytest

from kgrade.harness.timing.statistics import FEWEST_SAMPLES, block_length, speedup, summarise


def rng(seed=0):
    return np.random.default_rng(seed)


def test_statistics_of_known_samples():
    found = summarise([5.0, 1.0, 2.0, 4.0, 100.0], first_call_us=9000.0)
    assert (found.n, found.median_us, found.mad_us, found.iqr_us, found.min_us) == (5, 4.0, 2.0, 3.0, 1.0)
    assert found.samples_us == [5.0, 1.0, 2.0, 4.0, 100.0]
    assert found.first_call_us == 9000.0


def test_few_samples_carry_no_interval():
    short = list(rng().lognormal(2, 0.1, FEWEST_SAMPLES - 1))
    assert summarise(short).interval_us is None
    assert speedup("eager", short, [*short, *short], rng()).interval is None
    assert not speedup("eager", short, short, rng()).difference
    assert summarise([*short, 7.0]).interval_us is not None


def test_the_interval_can_be_recomputed_from_the_samples():
    samples = rng(3).lognormal(2, 0.1, 200)
    first = summarise(samples)
    assert summarise(first.samples_us).interval_us == first.interval_us
    assert first.interval_us[0] <= first.median_us <= first.interval_us[1]


def test_the_ratio_is_the_baselines_median_over_the_candidates():
    base, candidate = rng(1).lognormal(3, 0.05, 60), rng(2).lognormal(3, 0.05, 60)
    found = speedup("library", base, candidate / 2, rng())
    assert found.baseline == "library"
    assert found.ratio == pytest.approx(np.median(base) / np.median(candidate / 2))
    assert found.interval[0] <= found.ratio <= found.interval[1]
    assert found.difference
    assert not speedup("itself", base, candidate, rng()).difference


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [1.0, float("inf")], [-1.0]])
def test_samples_that_are_none_are_refused(samples):
    with pytest.raises(ValueError, match="timing sample"):
        summarise(samples)


def test_a_zero_median_has_no_ratio():
    with pytest.raises(ValueError, match="median time is zero"):
        speedup("eager", [1.0, 1.0], [0.0, 0.0], rng())


def test_blocks_grow_as_the_cube_root():
    assert [block_length(n) for n in (1, 8, 20, 27, 1000)] == [1, 2, 3, 3, 10]


def correlated(generator, n, rho):
    """Log-normal samples around a median of 10 with autocorrelation `rho`."""
    noise = generator.standard_normal(n) * np.sqrt(1 - rho**2)
    level = np.empty(n)
    level[0] = generator.standard_normal()
    for step in range(1, n):
        level[step] = rho * level[step - 1] + noise[step]
    return 10 * np.exp(0.05 * level)


@pytest.mark.parametrize(("n", "rho", "least"), [(30, 0.0, 0.85), (200, 0.0, 0.89), (200, 0.4, 0.85)])
def test_intervals_hold_the_true_median_about_as_often_as_they_say(n, rho, least):
    generator = rng(11)
    intervals = [summarise(correlated(generator, n, rho)).interval_us for _ in range(120)]
    held = np.mean([low <= 10 <= high for low, high in intervals])
    assert least <= held <= 1.0


def test_blocks_make_the_interval_of_correlated_samples_wider_than_shuffling_them():
    generator = rng(5)
    samples = correlated(generator, 400, 0.8)
    low, high = summarise(samples).interval_us
    shuffled_low, shuffled_high = summarise(generator.permutation(samples)).interval_us
    assert high - low > 1.3 * (shuffled_high - shuffled_low)


def test_ratio_intervals_hold_the_true_ratio():
    generator = rng(12)
    found = [
        speedup("b", 2 * correlated(generator, 60, 0.2), correlated(generator, 60, 0.2), generator) for _ in range(120)
    ]
    held = np.mean([pair.interval[0] <= 2 <= pair.interval[1] for pair in found])
    assert held >= 0.86
