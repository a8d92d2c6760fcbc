"""Agreement, severity and suspicions over grades whose truth is planted."""

from __future__ import annotations

import numpy as np
import pytest

from kgrade.audit.agreement import agreement, band_of
from kgrade.audit.drift import standings, suspicions
from kgrade.audit.ratings import Graded

CRITERIA = ("correctness", "performance", "clarity")


def graded(item: int, evaluator: str, levels: dict[str, int | None], **details: object) -> Graded:
    return Graded(item=f"t/s{item:03}", evaluator=evaluator, rubric="optimization", scores=levels, **details)


def crowd(items: int = 60, noise: int = 1) -> list[Graded]:
    """ada and bob near the truth, eve one level below it; every third item is graded by all three."""
    rng = np.random.default_rng(5)
    found = []
    for item in range(items):
        truth = {name: int(rng.integers(0, 5)) for name in CRITERIA}
        for evaluator, bias in (("ada", 0), ("bob", 0), ("eve", -1)):
            if evaluator == "eve" and item % 3:
                continue
            levels = {n: int(np.clip(v + bias + rng.integers(-noise, noise + 1), 0, 4)) for n, v in truth.items()}
            if item % 10 == 0:
                levels["clarity"] = None
            saved, total = (
                f"2026-01-{1 + item // 24:02}T{item % 24:02}:00:00Z",
                25.0 * sum(filter(None, levels.values())) / 3,
            )
            found.append(graded(item, evaluator, levels, total=total, saved=saved, active_s=600))
    return found


def test_agreement_tells_each_criterion_with_its_n_and_interval() -> None:
    found = agreement(crowd(), {"optimization": 4})
    assert (found.grades, found.doubly_rated, found.evaluators) == (140, 60, ["ada", "bob", "eve"])
    assert found.ratings == 140 * 3 - 14
    by_name = {each.criterion: each for each in found.criteria}
    assert by_name["correctness"].items == 60
    assert by_name["clarity"].items == 54
    for each in found.criteria:
        assert each.alpha.low < each.alpha.value < each.alpha.high
        assert each.exact.value < each.within_one.value <= 1
        assert each.band == band_of(each.alpha.value)
    assert [each.alpha.value for each in found.criteria] == sorted(each.alpha.value for each in found.criteria)


def test_perfect_agreement_and_none_are_told_apart() -> None:
    same = [graded(i, who, {"correctness": i % 5}, total=20.0 * i) for i in range(30) for who in ("ada", "bob")]
    [only] = agreement(same, {}).criteria
    assert (only.alpha.value, only.exact.value, only.band) == (1.0, 1.0, "good")
    [pair] = agreement(same, {}).pairs
    assert (pair.kappa.value, pair.icc.value, pair.ahead, pair.items) == (1.0, 1.0, 0.0, 30)


def test_few_items_and_degenerate_tables_give_a_reason_and_no_number() -> None:
    few = [graded(i, who, {"correctness": i}, gates={"race": i == 0}) for i in range(4) for who in ("ada", "bob")]
    found = agreement(few, {})
    [only] = found.criteria
    assert (only.alpha.value, only.alpha.why) == (None, "4 items rated twice; a coefficient needs 10")
    assert only.exact.value == 1.0
    assert found.gates[0].ac1.value is None
    threes = [graded(i, who, {"correctness": 3}) for i in range(20) for who in ("ada", "bob")]
    assert agreement(threes, {}).criteria[0].alpha.why == "every rating is the same"
    alone = [graded(i, "ada", {"correctness": 3}) for i in range(20)]
    assert agreement(alone, {}).criteria[0].exact.why == "no item has two ratings"
    assert agreement([], {}).criteria == []


def test_gates_count_as_denied_where_a_grade_says_nothing_of_them() -> None:
    rows = [graded(i, "ada", {"correctness": 1}, gates={"race": True} if i < 3 else {}) for i in range(12)]
    rows += [graded(i, "bob", {"correctness": 1}, gates={"race": i < 2}) for i in range(12)]
    [gate] = agreement(rows, {}).gates
    assert (gate.gate, gate.items) == ("race", 12)
    assert gate.exact.value == pytest.approx(11 / 12)
    assert gate.ac1.low <= gate.ac1.value <= gate.ac1.high


def test_a_severe_evaluator_and_one_who_drifts_are_seen() -> None:
    places = {each.evaluator: each for each in standings(crowd(), {})}
    assert places["eve"].severity < -0.5 < places["ada"].severity
    pairs = {(each.first, each.second): each.ahead for each in agreement(crowd(), {}).pairs}
    assert pairs["ada", "eve"] > 0.5 > abs(pairs["ada", "bob"])
    drifting = [graded(i, "ada", {"clarity": 2}, saved=f"2026-01-01T00:{i:02}:00Z") for i in range(50)]
    drifting += [graded(i, "bob", {"clarity": 2 + (i >= 30)}, saved=f"2026-01-01T00:{i:02}:00Z") for i in range(50)]
    bob = standings(drifting, {"t/s049": {"clarity": 1}})[1]
    assert (bob.severity, bob.recent, bob.to_gold) == (0.4, 1.0, 2.0)


def test_rushed_and_copied_grades_are_named_and_honest_ones_are_not() -> None:
    honest = crowd()
    assert suspicions(honest) == []
    fast = graded(700, "bob", {"clarity": 1}, active_s=20)
    first = graded(701, "ada", {"clarity": 1}, words="f00", saved="2026-01-01T00:00:00Z", active_s=500)
    second = graded(701, "bob", {"clarity": 1}, words="f00", saved="2026-01-02T00:00:00Z", active_s=500)
    found = suspicions([*honest, fast, second, first])
    assert [(each.kind, each.item, each.evaluator) for each in found] == [
        ("rushed", "t/s700", "bob"),
        ("copied", "t/s701", "bob"),
    ]
    assert "20 s; the median for optimization is 600 s" in found[0].why
