"""Signatures against what tools print: logs as they were recorded, and made anew where the tools are here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kgrade.harness.failures import Signature, classify, signatures
from tests.harness.failure_logs.making import RECORDED, Recipe, make, read
from tests.harness.failure_logs.recipes import RECIPES

FEWEST = 80
QUICK = ("ptxas", "ld", "shell", "python")


def assert_classified(log: str, recipe: Recipe) -> None:
    failure = classify(log)
    assert failure is not None, log
    assert failure.kind == recipe.kind, log
    assert recipe.words in failure.line, log


def behind(log: str) -> Signature:
    """The signature of the table by which a log was classified."""
    failure = classify(log)
    assert failure is not None
    rows = [row for row in signatures() if (row.kind, row.advice) == (failure.kind, failure.advice)]
    found = [row for row in rows if row.expression.search(failure.line)]
    return max(found, key=lambda row: len(row.pattern))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_what_a_tool_printed_is_classified(recipe: Recipe) -> None:
    assert_classified(read(recipe), recipe)


def test_every_log_has_a_recipe_and_says_how_it_was_made() -> None:
    assert {path.stem for path in RECORDED.iterdir()} == {recipe.name for recipe in RECIPES}
    for recipe in RECIPES:
        head = recipe.recorded.read_text().splitlines()
        code = [line.strip() for line in recipe.code.splitlines()]
        assert [line.removeprefix("#").strip() for line in head[1 : 1 + len(code)]] == code, recipe.name


def test_the_logs_show_as_many_signatures_as_were_asked_for() -> None:
    shown = {behind(read(recipe)).expression.pattern for recipe in RECIPES}
    assert len(shown) >= FEWEST, sorted(shown)


def groups() -> dict[str, list[Recipe]]:
    """The recipes by the first word of their names, which is what they are made with."""
    found: dict[str, list[Recipe]] = {}
    for recipe in RECIPES:
        found.setdefault(recipe.name.partition("-")[0], []).append(recipe)
    return found


@pytest.mark.parametrize(
    "group",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in groups()],
)
def test_what_the_tools_print_today_is_classified(group: str, tmp_path: Path) -> None:
    recipes = groups()[group]
    here = [recipe for recipe in recipes if recipe.lacking is None]
    lacking = sorted({recipe.lacking for recipe in recipes if recipe.lacking is not None})
    made = make(here, tmp_path)
    for recipe in here:
        assert_classified(made[recipe.name], recipe)
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not here; {len(here)} of {len(recipes)} logs were made")


def test_what_ptxas_says_of_a_sound_kernel_is_no_failure(tmp_path: Path) -> None:
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    (tmp_path / "k.ptx").write_text(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n")
    command = [ptxas, "-v", "-arch=sm_80", "-o", str(tmp_path / "k.cubin"), str(tmp_path / "k.ptx")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "Used" in ended.stderr
    assert ended.returncode == 0
    assert classify(ended.stderr) is None
