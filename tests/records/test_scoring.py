"""Points before gates, totals after them, and what is still missing."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.records.grade import GateAnswer, Score
from kgrade.records.rubric import Criterion, Effect, Gate, Rubric
from kgrade.records.scoring import score

LEVELS = {level: f"level {level}" for level in range(5)}


def sheet(**effects):
    criteria = [
        Criterion(id="numerics", title="N", weight=50, levels=LEVELS, comment_required_at=[0, 1]),
        Criterion(id="performance", title="P", weight=30, levels=LEVELS),
        Criterion(id="quality", title="Q", weight=20, levels=LEVELS),
    ]
    gates = [Gate(id=name, title=name, effects=value) for name, value in effects.items()]
    return Rubric(title="T", criteria=criteria, gates=gates, verdicts=["accept", "reject"])


def levels(numerics=4, performance=2, quality=3):
    given = {"numerics": numerics, "performance": performance, "quality": quality}
    return {name: Score(score=level) for name, level in given.items() if level is not None}


YES = GateAnswer(confirmed=True, comment="seen")


def test_points_are_the_weighted_share():
    result = score(sheet(), levels(), {}, "accept")
    assert result.points == result.total == 80.0
    assert result.missing == []


def test_rounding_is_half_even_at_one_digit():
    rubric = msgspec.structs.replace(
        sheet(),
        criteria=[
            Criterion(id="a", title="A", weight=9.99, levels=LEVELS),
            Criterion(id="b", title="B", weight=0.01, levels=LEVELS),
        ],
    )
    low = score(rubric, {"a": Score(score=0), "b": Score(score=2)}, {}, None)
    assert low.points == 0.0  # exactly 0.05
    high = score(rubric, {"a": Score(score=0), "b": Score(score=4)}, {}, None)
    assert high.points == 0.1


@pytest.mark.parametrize(
    ("effects", "total"),
    [
        ([Effect(fail=True)], 0.0),
        ([Effect(cap=40.0)], 40.0),
        ([Effect(cap=90.0)], 80.0),
        ([Effect(set={"numerics": 0})], 30.0),
        ([Effect(limit={"performance": 1})], 72.5),
        ([Effect(limit={"performance": 3})], 80.0),
        ([Effect(na=["performance"])], 92.9),
        ([Effect(hold=True)], 80.0),
        ([Effect(cap=50.0), Effect(fail=True)], 0.0),
    ],
)
def test_gates_act_on_the_total_and_leave_the_points(effects, total):
    result = score(sheet(gate=effects), levels(), {"gate": YES}, "accept")
    assert (result.points, result.total) == (80.0, total)
    assert result.hold == any(effect.hold for effect in effects)


def test_a_denied_gate_does_nothing():
    assert score(sheet(gate=[Effect(fail=True)]), levels(), {"gate": GateAnswer(confirmed=False)}, None).total == 80.0


def test_gates_that_fire_each_other_end():
    rubric = sheet(one=[Effect(also="two")], two=[Effect(also="one"), Effect(cap=10.0)])
    result = score(rubric, levels(), {"one": YES}, None)
    assert result.fired == ["one", "two"]
    assert result.total == 10.0


def test_what_is_missing_is_said_with_its_place():
    rubric = sheet(gate=[Effect(fail=True)], other=[Effect(cap=1.0)])
    result = score(
        rubric,
        {"numerics": Score(score=1), "performance": Score(na=True, comment=" ")},
        {"gate": GateAnswer(confirmed=True)},
        None,
        suggested=frozenset({"other"}),
    )
    assert [place for place, _ in result.missing] == ["numerics", "performance", "quality", "gate", "other", "verdict"]


def test_at_least_seventy_percent_must_be_scored():
    scores = levels(numerics=None) | {"numerics": Score(na=True, comment="no device")}
    assert "only 50% of the weight is scored" in score(sheet(), scores, {}, "accept").missing[0][1]


def test_not_applicable_by_a_gate_is_exempt():
    rubric = sheet(unmeasured=[Effect(na=["numerics"]), Effect(hold=True)])
    result = score(rubric, levels(numerics=None), {"unmeasured": YES}, "hold")
    assert result.missing == []
    assert result.total == 60.0


def test_nothing_scored_has_no_points():
    result = score(sheet(), {}, {}, None)
    assert result.points is None
    assert result.total is None


@given(st.lists(st.integers(0, 4), min_size=3, max_size=3), st.integers(0, 100))
def test_totals_stay_in_range_and_caps_hold(given_levels, cap):
    rubric = sheet(gate=[Effect(cap=float(cap))])
    result = score(rubric, levels(*given_levels), {"gate": YES}, None)
    assert 0 <= result.points <= 100
    assert result.total == min(result.points, cap)
