"""Every rule has a cheat that it catches and an honest look-alike that it leaves alone."""

from __future__ import annotations

import pytest
from cases import Case, cases, task

from kgrade.harness.integrity import analyse, overall
from kgrade.harness.integrity.rules import RULES

# The kinds of cheating that a machine without a GPU can see something of.
CATALOGUE = {
    *(f"T{number}" for number in range(1, 17)),
    *("R1", "R2", "R3", "R4", "R5", "R7"),
    *(f"S{number}" for number in range(1, 14)),
    *(f"B{number}" for number in range(1, 7)),
    *("E1", "E2", "E3", "E4", "U1"),
}
ABOUT_THE_TASK = {"S2"}  # a task whose output is constant: no sign in a submission shows it
CHEATS = cases("cheats")
HONEST = cases("honest")


@pytest.mark.parametrize("case", CHEATS, ids=lambda case: case.name)
def test_a_cheat_is_caught_by_its_rules(case: Case) -> None:
    asked, own = task(case.task)
    found = analyse(case.files(), asked, own)
    accused = {finding.rule for finding in found if finding.severity != "note"}
    assert case.rules <= accused, [(one.rule, one.severity, one.line, one.why) for one in found]
    assert overall(found) in ("suspect", "tell")


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_an_honest_look_alike_gets_at_most_notes(case: Case) -> None:
    asked, own = task(case.task)
    found = analyse(case.files(), asked, own)
    assert overall(found) in ("clean", "notes"), [(one.rule, one.severity, one.line, one.why) for one in found]


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_an_honest_look_alike_is_no_tell_without_a_task(case: Case) -> None:
    assert "tell" not in {finding.severity for finding in analyse(case.files())}


def test_there_are_enough_of_both() -> None:
    assert len(CHEATS) >= 45
    assert len(HONEST) >= 45


def test_every_kind_has_a_rule() -> None:
    assert {rule.id for rule in RULES} == CATALOGUE - ABOUT_THE_TASK


def test_every_rule_is_shown_from_both_sides() -> None:
    across_the_queue = {"E4"}
    assert {rule.id for rule in RULES} - across_the_queue <= {rule for case in CHEATS for rule in case.rules}
    assert {rule.id for rule in RULES} - across_the_queue - {rule for case in HONEST for rule in case.rules} == set()


def test_findings_point_at_the_line_that_shows_it() -> None:
    case = next(case for case in CHEATS if case.name == "r1_memo_by_pointer")
    asked, own = task(case.task)
    finding = next(one for one in analyse(case.files(), asked, own) if one.rule == "R1")
    assert finding.snippet == "return _KEPT[key]"
    assert case.text.splitlines()[finding.line - 1].strip() == finding.snippet
    assert finding.key == f"memo-by-identity@solution/kernel.py:{finding.line}"
    assert finding.settles
