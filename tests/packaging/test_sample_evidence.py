"""A right and a wrong submission for each language and interface, and stored evidence that says what is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgrade.records import codec
from kgrade.records.evidence import CaseCheck, Evidence
from kgrade.records.task import Task

ROOT = Path(__file__).parents[2]
QUEUE = ROOT / "queue"
KNOWN: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "tests/queue/known_faults.yaml").read_text())
TASKS = {path.parent.name: codec.decode(Task, path.read_bytes(), str(path)) for path in QUEUE.glob("*/task.yaml")}
TAKEN = {
    ("cuda", "cuda"),
    ("cuda", "kernelbench"),  # an extension of PyTorch
    ("triton", "function"),
    ("triton", "kernelbench"),
    ("triton", "gpumode"),
    ("triton", "flashinfer"),
    ("pallas", "function"),
    ("nki", "function"),
}
RIGHT = "no planted fault"


def stored(item: str, target: str) -> Evidence:
    name, _, submission = item.partition("/")
    path = QUEUE / name / "submissions" / submission / "evidence" / f"{target}.json"
    return codec.decode(Evidence, path.read_bytes(), str(path))


def target_of(item: str) -> str:
    task = TASKS[item.partition("/")[0]]
    return {"cuda": "sm_90", "nki": "trn2"}.get(task.language if task.interface in ("cuda", "function") else "", "cpu")


def shows_a_fault(evidence: Evidence, known: Mapping[str, Any]) -> bool:
    """Whether the evidence itself gives away that something is wrong, without what is known."""
    stages = evidence.stages
    signs = {each.rule for each in stages.integrity.findings if each.severity != "note"}
    bad = {stages.build.status, stages.check.status} & {"failed", "flagged", "error"}
    return bool(bad or signs or stages.check.seen)


def test_each_submission_is_known_and_each_known_one_is_there() -> None:
    assert {f"{path.parts[-3]}/{path.name}" for path in QUEUE.glob("*/submissions/*")} == set(KNOWN)


def test_every_language_and_interface_has_a_right_and_a_wrong_submission_that_evidence_tells_apart() -> None:
    assert {(task.language, task.interface) for task in TASKS.values()} == TAKEN
    for pair in TAKEN:
        items = [item for item in KNOWN if _pair(item) == pair]
        right = [item for item in items if KNOWN[item]["reason"].startswith(RIGHT)]
        wrong = [item for item in items if not KNOWN[item]["reason"].startswith(RIGHT)]
        targets = ("cpu", "sm_90") if pair == ("cuda", "cuda") else (None,)
        told = {
            item: any(shows_a_fault(stored(item, target or target_of(item)), KNOWN[item]) for target in targets)
            for item in items
        }
        assert any(not told[item] for item in right), pair
        assert any(told[item] for item in wrong), pair
        assert not any(told[item] for item in right), f"{pair}: a right submission is said to be wrong"


def _pair(item: str) -> tuple[str, str]:
    task = TASKS[item.partition("/")[0]]
    return task.language, task.interface


@pytest.mark.parametrize("item", KNOWN)
def test_stored_evidence_says_the_known_fault_or_its_absence(item: str) -> None:
    known = KNOWN[item]
    found = stored(item, target_of(item)).stages
    for stage in ("build", "check"):
        if stage in known:
            assert getattr(found, stage).status == known[stage]
    assert {each.rule for each in found.integrity.findings} >= set(known.get("integrity", []))
    _cases(found.check.cases, known)
    if "emulated" in known:
        check = stored(item, "cpu").stages.check
        assert check.status == known["emulated"]["check"]
        assert known["emulated"].get("says", "") in (check.reason or "")
        assert {fault.kind for fault in check.seen} >= set(known["emulated"].get("seen", []))
        _cases(check.cases, known["emulated"])


@pytest.mark.parametrize("item", [item for item in KNOWN if _pair(item) == ("cuda", "kernelbench")])
def test_an_extension_has_what_nvcc_says_of_its_kernels(item: str) -> None:
    build = stored(item, "sm_90").stages.build
    assert (build.status, build.log) == ("passed", "sm_90.build.log")
    assert [(kernel.target, kernel.registers > 0, kernel.shared_bytes) for kernel in build.kernels] == [
        ("sm_90", True, 32)
    ]


def _cases(cases: list[CaseCheck], known: Mapping[str, Any]) -> None:
    failed = [each for each in cases if each.status == "failed"]
    assert "cases" not in known or any(_has(each, known["cases"]) for each in failed)
    assert "passing" not in known or {each.status for each in cases if _has(each, known["passing"])} == {"passed"}


def _has(check: CaseCheck, values: Mapping[str, Any]) -> bool:
    case = check.case
    every = {**case.symbols, "dtype": case.dtype, "family": case.family, "layout": case.layout}
    return all(every[key] == value for key, value in values.items())
