"""Every rule has a cheat that it catches and an honest look-alike that it leaves alone."""

from __future__ import annotations

from collections import Counter

import pytest
from cases import Case, cases, found

from kgrade.harness.integrity import overall
from kgrade.harness.integrity.rules import RULES

# The kinds of cheating that a machine without a GPU can see something of.
CATALOGUE = {
    *(f"T{number}" for number in range(1, 17)),
    *("R1", "R2", "R3", "R4", "R5", "R7"),
    *(f"S{number}" for number in range(1, 14)),
    *(f"B{number}" for number in range(1, 7)),
    *("E1", "E2", "E3", "E4", "U1"),
}
CHEATS = cases("cheats")
HONEST = cases("honest")


@pytest.mark.parametrize("case", CHEATS, ids=lambda case: case.name)
def test_a_cheat_is_caught_by_its_rules(case: Case) -> None:
    signs = found(case)
    accused = {finding.rule for finding in signs if finding.severity != "note"}
    assert case.rules
    assert case.rules <= accused, [(one.rule, one.severity, one.line, one.why) for one in signs]
    assert overall(list(signs)) in ("suspect", "tell")


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_an_honest_look_alike_gets_at_most_notes(case: Case) -> None:
    signs = found(case)
    assert overall(list(signs)) in ("clean", "notes"), [(one.rule, one.severity, one.line, one.why) for one in signs]
    assert "tell" not in {finding.severity for finding in found(case, with_task=False)}


def test_every_kind_has_a_rule() -> None:
    assert {rule.id for rule in RULES} == CATALOGUE


def test_every_rule_is_shown_from_both_sides() -> None:
    caught = Counter(rule for case in CHEATS for rule in case.rules)
    spared = Counter(rule for case in HONEST for rule in case.rules)
    assert len(CATALOGUE) == 46
    assert {row for row in CATALOGUE if not caught[row]} == set()
    assert {row for row in CATALOGUE if not spared[row]} == set()
    assert caught.keys() | spared.keys() <= CATALOGUE
    assert min(len(CHEATS), len(HONEST)) >= 45
    assert not {case.text for case in CHEATS} & {case.text for case in HONEST}


def test_findings_point_at_the_line_that_shows_it() -> None:
    case = next(case for case in CHEATS if case.name == "r1_memo_by_pointer")
    finding = next(one for one in found(case) if one.rule == "R1")
    assert finding.snippet == "return _KEPT[key]"
    assert case.text.splitlines()[finding.line - 1].strip() == finding.snippet
    assert finding.key == f"memo-by-identity@solution/kernel.py:{finding.line}"
    assert finding.settles
