"""The measuring itself, on numbers that are known."""

from __future__ import annotations

import random

import pytest

from tests.benchmarks.measuring import PAIRS, compared, interleaved, interval, judged


def test_pairs_are_taken_in_turn_after_one_that_does_not_count() -> None:
    taken: list[str] = []
    pairs = interleaved(lambda: taken.append("a") or float(len(taken)), lambda: taken.append("b") or 1.0, pairs=3)
    assert "".join(taken) == "ab" + "ba" + "ab" + "ba"
    assert len(pairs.ours) == len(pairs.theirs) == 3
    assert pairs.ratios == list(pairs.ours)


def test_a_bound_fails_only_when_the_whole_interval_is_past_it() -> None:
    values = [1.4, 1.5, 1.5, 1.6, 1.6, 1.6, 1.7, 1.7, 1.7, 1.8, 1.8, 1.8, 1.9, 1.9, 2.0]
    measured = judged("x", values, 1.6, unit="times")
    assert measured.median == 1.7
    assert measured.low <= 1.6 < measured.median
    assert measured.is_kept
    assert not judged("x", values, 1.3, unit="times").is_kept


def test_the_interval_holds_the_median_that_the_numbers_come_from() -> None:
    draw = random.Random(1)
    hits = 0
    for _ in range(100):
        low, high = interval([draw.gauss(10, 2) for _ in range(PAIRS)])
        hits += low <= 10 <= high
    assert 88 <= hits <= 100


def test_a_slow_moment_of_the_machine_does_not_move_a_ratio() -> None:
    speed = iter([1.0, *[1.0] * 10, *[3.0] * 30])
    pace = {"now": 1.0}

    def ours() -> float:
        pace["now"] = next(speed)
        return 2.0 * pace["now"]

    measured = compared("x", interleaved(ours, lambda: pace["now"]), 2.5)
    assert 1.9 < measured.median < 2.1


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="14 values"):
        judged("x", [1.0] * 14, 1.0, unit="bytes")
