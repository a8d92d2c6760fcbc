"""Imported problems run in the harness as they are."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.exchange.test_import import ANSWER, PROBLEM, written

REFERENCE = """\
import torch

def generate_input(size, seed):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)
    return torch.randn(size, device="cuda", generator=generator).half()

def ref_kernel(data):
    return data * 2

def check_implementation(data, output):
    return bool((output == ref_kernel(data)).all()), "compared"
"""
TASK = (
    "files: [{name: submission.py, source: '@SUBMISSION@'}, {name: reference.py, source: reference.py}]\n"
    "lang: py\ntests: [{size: 8, seed: 1}]\n"
)
RIGHT = "#!POPCORN leaderboard scale\n\ndef custom_kernel(data):\n    return data + data\n"
FOLDERS = {
    "level1-3-scale-rows": {
        "level1/3_Scale_Rows.py": PROBLEM,
        "runs/right/level_1_problem_3_sample_0_kernel.py": ANSWER,
        "runs/wrong/level_1_problem_3_sample_0_kernel.py": ANSWER.replace("x * 2", "x * 3"),
    },
    "scale": {
        "scale/task.yml": TASK,
        "scale/reference.py": REFERENCE,
        "scale/submissions/right-s0.py": RIGHT,
        "scale/submissions/wrong-s0.py": RIGHT.replace("data + data", "data"),
    },
}


@pytest.mark.long
@pytest.mark.parametrize("task", FOLDERS)
def test_an_imported_problem_is_collected(make_repo: Callable[..., Repo], tmp_path: Path, task: str) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")
    queue = make_repo("ada")
    small_queue(queue)
    folder = written(tmp_path / "in", FOLDERS[task])
    assert run(["import", str(folder), "--queue", str(queue.path)]) == 0
    found = {}
    for name in ("right-s0", "wrong-s0"):
        run(["collect", f"{task}/{name}", "--target", "cpu", "--stage", "check", "--queue", str(queue.path)])
        path = f"queue/{task}/submissions/{name}/evidence/cpu.json"
        evidence = codec.decode(Evidence, queue.show(path, "main").encode(), path)
        found[name] = (evidence.state("check"), evidence.stages.check.reason)
    assert found["right-s0"] == ("passed", None)
    assert found["wrong-s0"][0] == "failed", found
