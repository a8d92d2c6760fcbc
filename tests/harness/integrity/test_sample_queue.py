"""The sample queue's planted cheats are found, and nobody else is accused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgrade.harness.integrity import stage
from kgrade.harness.run import HandedIn
from kgrade.records import codec
from kgrade.records.task import Task

ROOT = Path(__file__).parents[3]
KNOWN: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "tests/queue/known_faults.yaml").read_text())


def _files(folder: Path, leave_out: tuple[str, ...] = ()) -> dict[str, bytes]:
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {str(name): path.read_bytes() for name, path in found.items() if name.parts[0] not in leave_out}


@pytest.mark.parametrize("item", KNOWN)
def test_planted_cheats_are_found_and_honest_work_is_spared(item: str) -> None:
    name, _, submission = item.partition("/")
    folder = ROOT / "queue" / name
    task = codec.decode(Task, (folder / "task.yaml").read_bytes(), "task.yaml")
    own = _files(folder, ("submissions", "evidence", "grades"))
    submissions = sorted(path.name for path in (folder / "submissions").iterdir())
    others = {
        f"{name}/{each}": HandedIn(f"{name}/{each}", partial(_files, folder / "submissions" / each / "solution"))
        for each in submissions
        if each != submission
    }
    found = stage(_files(folder / "submissions" / submission / "solution"), task, own, others)
    accused = {one.rule for one in found.findings if one.severity != "note"}
    assert accused == set(KNOWN[item].get("integrity", []))
    assert found.status == ("flagged" if accused else "passed")
    assert all(one.path.startswith("solution/") and one.snippet for one in found.findings)
