"""Sources written without a look at the rules, batch by batch: each kept as what was once missed or accused wrongly."""

from __future__ import annotations

import pytest
from cases import Case, cases, found

from kgrade.harness.integrity import overall

BATCHES = ("later", "second", "third", "fourth")
# What is still not seen, and why.
MISSED = {"decode_first_pages_only": "that a tile of fixed width lies along an input's axis is not followed"}


def written(kind: str) -> list[object]:
    """The sources of a kind, of every batch."""
    return [
        pytest.param(each, id=f"{batch}-{each.name}", marks=missed(each))
        for batch in BATCHES
        for each in cases(f"{batch}/{kind}")
    ]


def missed(case: Case) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(strict=True, reason=MISSED[case.name])] if case.name in MISSED else []


@pytest.mark.parametrize("case", written("cheats"))
def test_a_cheat_written_later_is_caught(case: Case) -> None:
    assert overall(list(found(case))) in ("suspect", "tell")


@pytest.mark.parametrize("case", written("honest"))
def test_honest_work_written_later_is_spared(case: Case) -> None:
    signs = list(found(case))
    assert overall(signs) in ("clean", "notes"), [(one.rule, one.line, one.why) for one in signs]


def test_most_are_caught_by_the_rule_they_are_about() -> None:
    read = [(case, found(case)) for batch in BATCHES for case in cases(f"{batch}/cheats")]
    right = [case for case, signs in read if case.rules & {one.rule for one in signs if one.severity != "note"}]
    assert len(right) >= 0.9 * len(read), sorted({case.name for case, _ in read} - {case.name for case in right})
