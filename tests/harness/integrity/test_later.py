"""Sources written without a look at the rules: what of them is caught, what is missed still, whom it accuses."""

from __future__ import annotations

import pytest
from cases import Case, cases, task

from kgrade.harness.integrity import analyse, overall

# Reading alone does not show these; a check at the task's shapes, and beside them, does.
MISSED = {
    "exact_only_where_timed", "last_window_of_keys", "shapes_from_table_only", "smallest_case_skipped",
    "stats_from_prefix",
}  # fmt: skip
ACCUSED = {"graph_with_inputs_copied"}


def later(kind: str, unlike: set[str]) -> list[object]:
    """The sources of a kind; those that come out wrong are expected to, so that a mended rule is noticed."""
    wrong = pytest.mark.xfail(strict=True, reason="known: see the list")
    found = cases(f"later/{kind}")
    return [pytest.param(each, id=each.name, marks=[wrong] if each.name in unlike else []) for each in found]


@pytest.mark.parametrize("case", later("cheats", MISSED))
def test_a_cheat_written_later_is_caught(case: Case) -> None:
    found = analyse(case.files(), *task(case.task))
    assert overall(found) in ("suspect", "tell")


@pytest.mark.parametrize("case", later("honest", ACCUSED))
def test_honest_work_written_later_is_spared(case: Case) -> None:
    found = analyse(case.files(), *task(case.task))
    assert overall(found) in ("clean", "notes"), [(one.rule, one.line, one.why) for one in found]
