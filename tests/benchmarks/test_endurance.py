"""An eight-hour sitting in minutes: memory and latency stay flat, and every grade is at the remote in the end."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from kgrade.records import codec
from kgrade.records.grade import Grade
from kgrade.records.slugs import ItemId
from tests.benchmarks.endurance import Endurance
from tests.benchmarks.measuring import PAIRS, Pairs, compared, judged
from tests.large_queue import large_queue

pytestmark = pytest.mark.alone


@pytest.mark.parametrize("items", [PAIRS, pytest.param(2000, marks=pytest.mark.long)])
def test_a_long_sitting(tmp_path: Path, keep: Callable[..., None], items: int) -> None:
    large_queue(tmp_path / "seed", items + 50, per_task=min(50, items), checked_out=False)
    subprocess.run(["git", "clone", "-q", "--bare", "seed", "hub"], cwd=tmp_path, check=True)
    subprocess.run(["git", "clone", "-q", "hub", "ada"], cwd=tmp_path, check=True)
    for name, value in {"user.name": "Ada", "user.email": "ada@example.org", "gc.auto": "0"}.items():
        subprocess.run(["git", "config", name, value], cwd=tmp_path / "ada", check=True)
    sitting = Endurance(tmp_path / "ada", tmp_path / "hub", seed=20261203)
    often = 1 if items < 100 else 8
    sitting.go_on(items, lose_terminal=0.1 / often, resize=0.2, outage=0.2 / often)
    sitting.close()
    found = sitting.figures
    assert len(sitting.graded) == items
    assert _at_the_hub(tmp_path / "hub", list(sitting.graded)) == sitting.graded
    beside = f"{found.lost_terminals} terminals and {found.outages} networks lost"
    third = items // 3
    failed = []
    memory = [mb - _settled(found.memory) for _, mb in found.memory[-max(PAIRS, third) :]]
    judging = [judged(f"memory over the tenth item, {items:,} items", memory, 8, unit="MB", beside=beside)]
    if third >= PAIRS:  # a third of a short sitting is too few keys to tell a trend from the moment
        for what, costs in (("key", found.keys), ("save and next", found.saves)):
            pairs = Pairs(tuple(costs[-third:]), tuple(costs[:third]))
            judging.append(compared(f"{what}, last third over first, {items:,} items", pairs, 1.25))
    for measured in judging:
        try:
            keep(measured)
        except AssertionError as why:
            failed.append(str(why))
    assert not failed, "\n".join(failed)


def _settled(memory: list[tuple[int, float]]) -> float:
    """Megabytes of a process that has seen a few items."""
    return median(mb for seen, mb in memory if 3 <= seen <= 10)


def _at_the_hub(hub: Path, items: list[str]) -> dict[str, list[int]]:
    """The levels of each item's grade at the remote, in the order of the sheet."""
    paths = [ItemId.parse(item).grade_path("ada") for item in items]
    asked = "".join(f"main:{path}\n" for path in paths).encode()
    told = subprocess.run(["git", "cat-file", "--batch"], cwd=hub, input=asked, capture_output=True, check=True).stdout
    found = {}
    for item, path in zip(items, paths, strict=True):
        header, _, told = told.partition(b"\n")
        assert not header.endswith(b"missing"), f"the grade of {item} was lost"
        size = int(header.split()[2])
        grade = codec.decode(Grade, told[:size], path)
        found[item] = [score.score for score in grade.scores.values() if score.score is not None]
        told = told[size + 1 :]
    return found
