"""What is asked of each item: a stable share graded twice, and the leads' word over the settings."""

from __future__ import annotations

import pytest

from kgrade.records.assignments import Assignment, Assignments
from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.check import check
from kgrade.repository.order import in_order, next_item
from kgrade.repository.plan import ASSIGNMENTS, Plan, plan_of
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.conftest import Repo
from tests.repository.test_order import ROWS, names, placed, row

MANY = [ItemId("softmax", f"s{number:04d}") for number in range(5000)]


def plan(**items: Assignment) -> Plan:
    return Plan(Settings(), Assignments(items={key.replace("__", "/"): each for key, each in items.items()}))


@pytest.mark.parametrize("percent", [0, 5, 20, 100])
def test_the_share_that_is_graded_twice_is_the_one_asked_for(percent: float) -> None:
    found = Plan(Settings(double_grade_percent=percent))
    share = sum(found.graders(item) == 2 for item in MANY) / len(MANY) * 100
    assert share == pytest.approx(percent, abs=0 if percent in (0, 100) else 2)


def test_a_larger_share_holds_the_smaller_one() -> None:
    few, more = (Plan(Settings(double_grade_percent=percent)) for percent in (10, 30))
    assert all(more.is_doubled(item) for item in MANY if few.is_doubled(item))


def test_a_lead_says_how_often_an_item_is_graded() -> None:
    settings = Settings(graders_per_item=2, double_grade_percent=100)
    found = Plan(settings, Assignments(items={"a/s01": Assignment(graders=5)}))
    assert [found.graders(ItemId.parse(name)) for name in ("a/s01", "a/s02")] == [5, 3]


def test_an_item_with_as_many_grades_as_retire_it_is_asked_for_no_more() -> None:
    said = Assignments(items={"softmax/s01": Assignment(graders=9)})
    plan = Plan(Settings(graders_per_item=2, double_grade_percent=100, retire_after=2), said)
    assert plan.graders(ItemId("softmax", "s01")) == plan.graders(ItemId("softmax", "s02")) == 2
    assert Plan(Settings(graders_per_item=2, double_grade_percent=100, retire_after=7)).graders(ItemId("scan")) == 3


def test_priority_goes_before_age() -> None:
    first = plan(new__s01=Assignment(priority=5), old=Assignment(priority=-1))
    assert names(in_order(ROWS, order="fifo", evaluator="ada", plan=first)) == [
        "new/s01",
        "old/s02",
        "old/s01",
        "new",
        "old",
    ]


def test_what_is_retired_or_assigned_to_others_is_not_offered_and_is_accounted_for() -> None:
    rows = [row("a"), row("b"), row("c", by=["ada"])]
    kept = plan(a=Assignment(retired="wrong reference"), b=Assignment(evaluators=["bob"]), c=Assignment(retired="old"))
    found = placed(rows, plan=kept)
    assert [(each.state, each.why) for each in found] == [
        ("retired", "retired: wrong reference"),
        ("assigned", "assigned to bob"),
        ("graded", ""),
    ]
    reasons = next_item(found, []).reasons
    assert {"1 retired by a lead", "1 assigned to others", "1 graded by you"} <= set(reasons)
    assert next_item(placed(rows, plan=kept, evaluator="bob"), []) == ItemId("b")


def test_a_file_that_cannot_be_read_is_a_fault_and_the_settings_go_on(queue: Repo) -> None:
    queue.commit({ASSIGNMENTS: "schema: kgrade/assignments@1\nitems: {softmax/s01: {priority: high}}\n"})
    snapshot = Snapshot(TreeReader(Git.open(queue.path)), queue.git("rev-parse", "HEAD"))
    found = plan_of(snapshot, Settings(graders_per_item=3))
    assert "priority" in found.fault
    assert found.graders(ItemId("softmax", "s01")) == 3
    assert any(fault.path == ASSIGNMENTS and "priority" in fault.where for fault in check(snapshot))


def test_an_assignment_of_what_is_not_there_is_a_fault(queue: Repo) -> None:
    queue.commit({ASSIGNMENTS: "schema: kgrade/assignments@1\nitems: {gone/s01: {priority: 1}}\n"})
    snapshot = Snapshot(TreeReader(Git.open(queue.path)), queue.git("rev-parse", "HEAD"))
    assert [fault.where for fault in check(snapshot) if fault.path == ASSIGNMENTS] == ["items.gone/s01"]
