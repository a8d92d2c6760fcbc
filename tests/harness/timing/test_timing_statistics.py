"""Timing statistics on known samples, how often their intervals hold the truth, and what is said of a difference."""

from statistics import NormalDist

import numpy as np
import pytest

from kgrade.harness.measure import MOST_PROCESSES, PROCESSES
from kgrade.harness.timing.intervals import FEWEST_SAMPLES, median_intervals, worths
from kgrade.harness.timing.statistics import NOISE_FORBIDS, drift, judged, speedup, summarise, visible_difference

RUNS = 2000


def rng(seed=0):
    return np.random.default_rng(seed)


def test_statistics_of_known_samples():
    found = summarise([5.0, 1.0, 2.0, 4.0, 100.0], first_call_us=9000.0, processes=[3, 2], warmups=7)
    assert (found.n, found.median_us, found.mad_us, found.iqr_us, found.min_us) == (5, 4.0, 2.0, 3.0, 1.0)
    assert found.samples_us == [5.0, 1.0, 2.0, 4.0, 100.0]
    assert (found.first_call_us, found.processes, found.warmups) == (9000.0, [3, 2], 7)
    assert (found.outliers, found.drift) == (1, None)


def test_few_samples_carry_no_interval():
    short = list(rng().lognormal(2, 0.1, FEWEST_SAMPLES - 1))
    assert summarise(short).interval_us is None
    assert speedup("eager", short, [*short, *short]).interval is None
    assert not speedup("eager", short, short, paired=True).difference
    assert summarise([*short, 7.0]).interval_us is not None


def test_the_interval_can_be_recomputed_from_the_samples():
    samples = rng(3).lognormal(2, 0.1, 200)
    first = summarise(samples)
    assert summarise(first.samples_us).interval_us == first.interval_us
    assert first.interval_us[0] <= first.median_us <= first.interval_us[1]


def test_the_interval_of_independent_samples_lies_between_the_ranks_that_tables_give():
    """For n = 30 the ranks 10 and 21 hold 95.72 %, 11 and 20 hold 90.13 %."""
    lower, upper = median_intervals(np.arange(1.0, 31.0)[None, :], independent=True)
    assert 10 <= lower[0] < 10.25
    assert 20.75 < upper[0] <= 21


def test_the_ratio_is_the_baselines_time_over_the_candidates():
    base, candidate = rng(1).lognormal(3, 0.05, 60), rng(2).lognormal(3, 0.05, 60)
    found = speedup("library", base, candidate / 2)
    assert found.baseline == "library"
    assert found.ratio == pytest.approx(np.median(base) / np.median(candidate / 2))
    assert found.interval[0] <= found.ratio <= found.interval[1]
    assert found.difference
    assert not speedup("itself", base, candidate).difference
    in_pairs = speedup("library", base, candidate / 2, paired=True)
    assert in_pairs.ratio == pytest.approx(np.median(base / (candidate / 2)))
    assert (in_pairs.n, in_pairs.difference) == (60, True)


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [1.0, float("inf")], [-1.0]])
def test_samples_that_are_none_are_refused(samples):
    with pytest.raises(ValueError, match="timing sample"):
        summarise(samples)


def test_times_of_which_no_ratio_can_be_made_are_refused():
    with pytest.raises(ValueError, match="median time is zero"):
        speedup("eager", [1.0, 1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="zero, so there is no ratio in its round"):
        speedup("eager", [0.0, 1.0, 1.0], [1.0, 1.0, 1.0], paired=True)
    with pytest.raises(ValueError, match="3 and 2 samples are no pairs"):
        speedup("eager", [1.0, 1.0, 1.0], [1.0, 1.0], paired=True)


def autocorrelated(generator, shape, rho):
    """Standard normal series of shape (series, samples) in which each sample resembles the one before it by `rho`."""
    noise = generator.standard_normal(shape)
    level = np.empty(shape)
    level[:, 0] = noise[:, 0]
    for step in range(1, shape[1]):
        level[:, step] = rho * level[:, step - 1] + np.sqrt(1 - rho**2) * noise[:, step]
    return level


def normal(generator, n):
    return generator.normal(10, 0.5, (RUNS, n)), 10.0


def skewed(generator, n):
    return 10 * np.exp(0.5 * generator.standard_normal((RUNS, n))), 10.0


def bimodal(generator, n):
    fast = generator.random((RUNS, n)) < 0.7
    samples = np.where(fast, generator.normal(10, 0.2, (RUNS, n)), generator.normal(12, 0.2, (RUNS, n)))
    return samples, 10 + 0.2 * NormalDist().inv_cdf(0.5 / 0.7)


def drifting(generator, n):
    """Clocks that wander about their level and come back."""
    return 10 * np.exp(0.05 * autocorrelated(generator, (RUNS, n), 0.5)), 10.0


COVERED = [(make, n) for make in (normal, skewed, bimodal) for n in (30, 45, 60, 120)] + [(drifting, 200)]


@pytest.mark.parametrize(("make", "n"), COVERED, ids=lambda each: getattr(each, "__name__", str(each)))
def test_intervals_of_the_median_hold_it_in_93_to_97_of_100_simulations(make, n):
    samples, truth = make(rng(20), n)
    lower, upper = median_intervals(samples)
    held = np.mean((lower <= truth) & (truth <= upper))
    assert 0.93 <= held <= 0.97


@pytest.mark.parametrize("n", [36, 60])
def test_intervals_of_the_ratio_hold_it_while_the_machine_drifts_under_both_sides(n):
    """A slope of 30 % over the run, and clocks that wander: the rounds cancel both."""
    generator = rng(21)
    common = np.linspace(0, 0.3, n) + 0.1 * autocorrelated(generator, (RUNS, n), 0.9)
    base = np.log(2.0) + common + 0.03 * generator.standard_normal((RUNS, n))
    candidate = common + 0.02 * generator.standard_gamma(2.0, (RUNS, n))
    truth = np.log(2.0) - np.median(
        0.02 * rng(22).standard_gamma(2.0, 400_000) - 0.03 * rng(23).standard_normal(400_000)
    )
    lower, upper = median_intervals(base - candidate)
    held = np.mean((lower <= truth) & (truth <= upper))
    assert 0.93 <= held <= 0.97


def test_samples_that_resemble_their_neighbours_are_worth_less():
    generator = rng(5)
    assert np.median(worths(generator.standard_normal((200, 100)))) == 100
    alike = worths(autocorrelated(generator, (200, 400), 0.8))
    assert 20 < np.median(alike) < 120  # exactly 400 / (1 + 2 * sum of arcsines) = 58 for a known correlation
    lower, upper = median_intervals(autocorrelated(generator, (50, 400), 0.8))
    narrow_lower, narrow_upper = median_intervals(generator.standard_normal((50, 400)))
    assert np.median(upper - lower) > 1.5 * np.median(narrow_upper - narrow_lower)


def run(generator, effect, noise=0.02, n=36):
    """The candidate against a baseline that takes `effect` times as long, and against itself, under a common drift."""
    level = 100 * np.exp(np.cumsum(0.01 * generator.standard_normal(n)))
    candidate, itself, base = (level * np.exp(noise * generator.standard_normal(n)) for _ in range(3))
    twin = speedup("itself", itself, candidate, paired=True)
    return judged(speedup("base", effect * base, candidate, paired=True), twin)


def test_a_planted_difference_of_5_percent_is_found():
    generator = rng(6)
    assert {run(generator, 1.05).verdict for _ in range(100)} == {"faster"}
    assert {run(generator, 1 / 1.05).verdict for _ in range(100)} == {"slower"}


def test_no_difference_is_invented_where_there_is_none():
    generator = rng(7)
    said = [run(generator, 1.0).verdict for _ in range(300)]
    assert said.count("faster") + said.count("slower") <= 0.07 * len(said)
    assert said.count("noise forbids") <= 0.02 * len(said)


def test_noise_forbids_a_verdict_only_where_a_against_a_is_wider_than_5_percent():
    generator = rng(8)
    seen = set()
    for noise in np.linspace(0.01, 0.2, 60):
        n = 36
        one, other, base = (100 * np.exp(noise * generator.standard_normal(n)) for _ in range(3))
        twin = speedup("itself", one, other, paired=True)
        found = judged(speedup("base", base, other, paired=True), twin)
        width = twin.interval[1] / twin.interval[0] - 1
        seen.add(found.verdict)
        assert (found.verdict == "noise forbids") == (width > 0.05 and not found.difference)
        assert found.visible == visible_difference(twin)
        assert 0.6 * width < found.visible < 0.9 * width
    assert seen >= {"no difference", "noise forbids"}


def test_a_large_difference_is_found_in_any_noise():
    assert run(rng(9), 3.0, noise=0.3).verdict == "faster"


def test_processes_that_differ_stretch_the_interval():
    generator = rng(10)
    base = 100 * np.exp(0.01 * generator.standard_normal(36))
    candidate = 100 * np.exp(0.01 * generator.standard_normal(36) + np.repeat([0.0, 0.0, 0.1], 12))
    alone = speedup("b", base, candidate, paired=True).interval
    together = speedup("b", base, candidate, paired=True, processes=[12, 12, 12]).interval
    assert together[0] < 0.92 < alone[0]
    even = speedup("b", base, base[::-1], paired=True, processes=[12, 12, 12]).interval
    assert even == speedup("b", base, base[::-1], paired=True).interval


def test_one_process_that_was_disturbed_widens_the_interval_less_the_more_there_are():
    def width(processes):
        logs = 0.02 * rng(12).standard_normal((1, 16 * processes))
        logs[:, :16] -= 0.2
        lower, upper = median_intervals(logs, processes=[16] * processes)
        return upper[0] - lower[0]

    assert width(3) > 0.1 > 0.05 > width(5) > width(8)


@pytest.mark.parametrize("processes", [[16] * 3, [16] * 8, [12, 16, 10]], ids=str)
@pytest.mark.parametrize("make", [normal, skewed, bimodal], ids=lambda each: each.__name__)
def test_intervals_over_processes_hold_the_median_in_93_to_97_of_100_simulations(make, processes):
    samples, truth = make(rng(24), sum(processes))
    lower, upper = median_intervals(samples, processes=processes)
    held = np.mean((lower <= truth) & (truth <= upper))
    assert 0.93 <= held <= 0.97


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.08, 0.12])
def test_going_on_while_noise_forbids_leaves_the_intervals_what_they_are(noise):
    """A process more while A against A is too wide, as the time stage does: the stop depends on widths, not places."""
    logs = noise * rng(25).standard_normal((2, RUNS, 16 * MOST_PROCESSES))
    going_on = np.ones(RUNS, bool)
    held = np.zeros((2, RUNS), bool)
    for number in range(PROCESSES, MOST_PROCESSES + 1):
        kept = logs[:, going_on, : 16 * number]
        ends = [median_intervals(rows, processes=[16] * number) for rows in kept]
        held[:, going_on] = [(lower <= 0) & (upper >= 0) for lower, upper in ends]
        lower, upper = ends[0]
        going_on[going_on] = np.expm1(upper - lower) > NOISE_FORBIDS
    for share in held.mean(axis=1):
        assert 0.93 <= share <= 0.97


def test_drift_is_named_where_it_is_and_not_where_it_is_not():
    generator = rng(11)
    noise = 1 + 0.01 * generator.standard_normal(60)
    assert drift(100 * noise * np.linspace(1, 1.2, 60)) == pytest.approx(0.14, abs=0.02)
    assert drift(100 * noise * np.linspace(1, 0.9, 60)) == pytest.approx(-0.07, abs=0.02)
    assert drift(100 * noise) is None
    assert sum(drift(1 + 0.05 * generator.standard_normal(60)) is not None for _ in range(300)) <= 3
