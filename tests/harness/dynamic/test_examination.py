"""Cheats that only running them shows are caught, with what shows it; honest work that looks alike is left alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgrade.harness.dynamic import calling, examination
from kgrade.harness.integrity import analyse
from kgrade.harness.run import Machine
from kgrade.records.evidence import Integrity
from tests.harness.items import gather, need

pytestmark = pytest.mark.xdist_group("collect")
HERE = Path(__file__).parent / "fixtures"
TASK = {
    "title": "Softmax of each row",
    "inputs": {"x": {"shape": ["M", "N"], "dtype": "$dtype"}},
    "cases": [{"M": 4, "N": 37, "dtype": "float32"}],
    "tolerance": {"float32": {"atol": 1e-7, "rtol": 1e-5}},
}
REFERENCE = "import torch\n\n\ndef scale(x):\n    return torch.softmax(x, -1)\n"
HEAD = re.compile(r"# rules:(.*)\n# language: (\w+)\n")


ALWAYS = {
    *("kept_by_window", "tired_after_a_while", "right_for_known_widths", "other_when_repeated", "executed_unseen"),
    *("kernel_for_show", "workspace_by_shape", "tuned_on_the_first_call", "kernel_for_every_row", "surroundings"),
}
READ_TOO = {
    *("filled_by_a_thread", "other_when_repeated", "subclass_by_type", "tired_after_a_while"),
    *("child_left", "objects_searched"),
}


def names(kind: str) -> list[str]:
    return sorted(path.stem for path in (HERE / kind).glob("*.py"))


def fixtures(kind: str) -> list[object]:
    """Fixtures of a kind: a few that always run, the rest in the long form."""
    return [pytest.param(name, marks=[] if name in ALWAYS else [pytest.mark.long]) for name in names(kind)]


def examined(machine: Machine, kind: str, name: str) -> tuple[set[str], Integrity]:
    text = (HERE / kind / f"{name}.py").read_text()
    head = HEAD.match(text)
    assert head, name
    need("torch", *(["triton"] if head.group(2) == "triton" else []))
    changes = {**TASK, "language": head.group(2)}
    evidence, _ = gather(machine, text, changes, {"reference.py": REFERENCE}, stages=("check", "integrity"))
    return set(head.group(1).split()), evidence.stages.integrity


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a busy machine is late with shall still be seen."""
    monkeypatch.setattr(examination, "BOX_S", 90.0)
    monkeypatch.setattr(calling, "LATE_BOX_S", 60.0)


@pytest.mark.usefixtures("shared_workers")
@pytest.mark.parametrize("name", fixtures("cheats"))
def test_a_cheat_that_only_running_shows_is_caught(machine: Machine, name: str) -> None:
    rules, found = examined(machine, "cheats", name)
    accused = {one.rule: one for one in found.findings if one.severity != "note"}
    assert rules <= accused.keys(), [(test.name, test.status, test.said) for test in found.tests]
    assert found.status == "flagged"
    for rule in rules:
        result = accused[rule].result
        assert result is not None
        assert "seen" in result
        assert any(test.status == "seen" and rule in test.settles for test in found.tests), found.tests


@pytest.mark.usefixtures("shared_workers")
@pytest.mark.parametrize("name", fixtures("honest"))
def test_honest_work_that_looks_alike_is_left_alone(machine: Machine, name: str) -> None:
    _, found = examined(machine, "honest", name)
    assert [(one.rule, one.why) for one in found.findings if one.severity != "note"] == []
    assert found.status == "passed"
    ran = [test.name for test in found.tests if test.status == "not-seen"]
    assert len(ran) >= 12, found.tests


@pytest.mark.parametrize("name", fixtures("patches"))
def test_a_process_that_is_tampered_with_tells(machine: Machine, name: str) -> None:
    rules, found = examined(machine, "patches", name)
    assert rules <= {one.rule for one in found.findings if one.severity != "note"}, found.tests


@pytest.mark.parametrize("name", [name for name in names("cheats") if name not in READ_TOO])
def test_reading_alone_does_not_show_these(name: str) -> None:
    text = (HERE / "cheats" / f"{name}.py").read_text()
    rules = set(HEAD.match(text).group(1).split())  # type: ignore[union-attr]
    assert not rules & {one.rule for one in analyse({"solution/kernel.py": text.encode()}) if one.severity != "note"}
