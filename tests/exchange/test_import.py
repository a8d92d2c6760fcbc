"""Foreign folders brought into a queue: what comes, what does not and why, and that nothing comes twice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.grade import Grade
from kgrade.repository.check import check
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.conftest import Repo
from tests.desk.conftest import small_queue

COLLECTION = Path(__file__).parents[3] / "shared" / "data" / "annotations"
RUN = "20260101_101112_harness_model_01_scale"
ANNOTATION = f"""\
run_id: {RUN}
model: some-model
problem: 01_scale
peak_fraction: 0.25
correct: true

verdict: rubric_leak

summary: It computes in another dtype.
quotes:
  - file: solution.py
    lines: [1, 2]
    label: "the cast"
    text: |
      x = x.half()
publish_grade: false
"""
PROBLEM = """\
import torch

rows, width = 4, 8

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.rand(rows, width)]

def get_init_inputs():
    return []
"""
ANSWER = PROBLEM.replace("Model", "ModelNew")


@pytest.fixture
def queue(make_repo: Callable[..., Repo]) -> Repo:
    repo = make_repo("ada")
    small_queue(repo)
    return repo


def brought(queue: Repo, folder: Path, *more: str) -> int:
    return run(["import", str(folder), "--queue", str(queue.path), *more])


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def commits(queue: Repo) -> int:
    return int(queue.git("rev-list", "--count", "main"))


def faults(queue: Repo) -> list[str]:
    reader = TreeReader(Git.open(queue.path))
    with reader.objects:
        return [str(fault) for fault in check(Snapshot(reader, queue.git("rev-parse", "main")))]


def test_annotations_come_with_verdict_quotes_and_scores(queue: Repo, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"one.yaml": ANNOTATION})
    assert brought(queue, folder) == 0
    path = "queue/01-scale/submissions/20260101-101112-harness-model-01-scale/grades/imported-kernelbench-hard.yaml"
    grade = codec.decode(Grade, queue.show(path, "main").encode() + b"\n", path)
    assert grade.verdict == "revise"
    for kept in ("rubric_leak", "peak_fraction: 0.25", "correct: true", "x = x.half()", "publish_grade: false"):
        assert kept in grade.private_note
    assert "Verdict there: rubric_leak" in grade.feedback
    assert not faults(queue)


def test_the_same_twice_makes_nothing_new_and_a_dry_run_writes_nothing(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "in", {"one.yaml": ANNOTATION})
    before = commits(queue)
    assert brought(queue, folder, "--dry-run") == 0
    assert commits(queue) == before
    assert "3 new; nothing was written" in capsys.readouterr().out
    assert (brought(queue, folder), brought(queue, folder)) == (0, 0)
    assert commits(queue) == before + 1
    assert "3 here already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("verdict: rubric_leak", "verdict: [a", "bad.yaml:"),
        ("run_id: ", "run_id: 3 #", "run_id is 3, expected text"),
        ("    lines: [1, 2]", "    lines: all", "quotes[0].lines is 'all', expected a list"),
        ("file: solution.py", "fil: solution.py", "`quotes[0].file` is missing, expected text; `fil` is there"),
    ],
)
def test_a_broken_annotation_is_named_and_the_others_come(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, sentence: str
) -> None:
    files = {"good.yaml": ANNOTATION, "bad.yaml": ANNOTATION.replace(old, new)}
    assert brought(queue, written(tmp_path / "in", files)) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert "3 new, 1 refused" in told.out


def test_kernelbench_comes_with_its_results_marked_as_imported(queue: Repo, tmp_path: Path) -> None:
    entry = {"compiled": True, "correctness": False, "sample_id": 0, "runtime": -1.0,
             "metadata": {"hardware": "NVIDIA L40S", "correctness_issue": "Output mismatch"}}  # fmt: skip
    folder = written(tmp_path / "in", {
        "level1/3_Scale_Rows.py": PROBLEM,
        "runs/mine/level_1_problem_3_sample_0_kernel.py": ANSWER,
        "runs/mine/eval_results.json": json.dumps({"3": [entry]}),
    })  # fmt: skip
    assert brought(queue, folder) == 0
    path = "queue/level1-3-scale-rows/submissions/mine-s0/evidence/imported-nvidia-l40s.json"
    evidence = codec.decode(Evidence, queue.show(path, "main").encode(), path)
    assert (evidence.state("build"), evidence.state("check"), evidence.state("time")) == ("passed", "failed", "not-run")
    assert (evidence.stages.check.method or "").startswith("imported: KernelBench's own run")
    assert "imported by Ada <ada@example.org>" in evidence.environment.sandbox
    assert evidence.inputs.solution_tree == queue.git("rev-parse", f"main:{path.partition('/evidence')[0]}/solution")
    assert not faults(queue)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"compiled": "yes"}, "compiled is 'yes', expected true or false"),
        ({"correctnes": True}, "`3[0].correctness` is missing, expected true or false; `correctnes` is there"),
    ],
)
def test_a_result_that_does_not_fit_is_one_sentence(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], sentence: str
) -> None:
    entry = {"compiled": True, **change}
    folder = written(tmp_path / "in", {
        "level1/3_Scale_Rows.py": PROBLEM,
        "runs/mine/level_1_problem_3_sample_0_kernel.py": ANSWER,
        "runs/mine/eval_results.json": json.dumps({"3": [entry]}),
    })  # fmt: skip
    assert brought(queue, folder) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert "2 new, 1 refused" in told.out


DEFINITION = {
    "name": "scale_n8", "op_type": "scale", "axes": {"rows": {"type": "var"}, "n": {"type": "const", "value": 8}},
    "inputs": {"x": {"shape": ["rows", "n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["rows", "n"], "dtype": "float32"}},
    "reference": "def run(x):\n    return x * 2\n",
}  # fmt: skip
SOLUTION = {
    "name": "mine", "definition": "scale_n8", "author": "kit",
    "spec": {"language": "python", "target_hardware": [], "entry_point": "main.py::run"},
    "sources": [{"path": "main.py", "content": "def run(x, y):\n    y.copy_(x * 2)\n"}],
}  # fmt: skip
WORKLOAD = {"uuid": "a", "axes": {"rows": 4}, "inputs": {"x": {"type": "random"}}}
EVALUATION = {
    "status": "PASSED", "environment": {"hardware": "NVIDIA H100", "libs": {"torch": "2.10"}},
    "timestamp": "2026-01-01T00:00:00Z", "performance": {"latency_ms": 0.5, "speedup_factor": 2.0},
}  # fmt: skip
TRACE = {"definition": "scale_n8", "solution": "mine", "workload": WORKLOAD, "evaluation": EVALUATION}
TESTS = {
    "test-count": "1", "test.0.spec": "size: 8; seed: 1", "test.0.status": "pass", "check": "pass",
}  # fmt: skip
FOLDERS = {
    "runs": {
        "problems/01_scale/problem.yaml": "name: Scale\n",
        "problems/01_scale/reference.py": PROBLEM,
        f"runs/{RUN}/solution.py": PROBLEM,
        f"runs/{RUN}/result.json": json.dumps({"correct": True, "peak_fraction": 0.25, "problem": "01_scale"}),
        f"annotations/{RUN}.yaml": ANNOTATION,
    },
    "gpumode": {
        "scale/task.yml": "files: [{name: submission.py, source: '@SUBMISSION@'},"
        " {name: reference.py, source: reference.py}]\nlang: py\ntests: [{size: 8, seed: 1}]\n",
        "scale/reference.py": "def generate_input(size, seed): ...\n\ndef ref_kernel(data): ...\n\n"
        "def check_implementation(data, output): ...\n",
        "scale/submission.py": "#!POPCORN leaderboard scale\ndef custom_kernel(data): ...\n",
        "scale/result.json": json.dumps(
            {"success": True, "system": {"gpu": "B200"}, "runs": {"test": {"run": {"result": TESTS}}}}
        ),
    },
    "flashinfer": {
        "definitions/scale/scale_n8.json": json.dumps(DEFINITION),
        "workloads/scale/scale_n8.jsonl": json.dumps(WORKLOAD) + "\n",
        "solutions/kit/scale/scale_n8/mine.json": json.dumps(SOLUTION),
        "traces/scale/scale_n8.jsonl": json.dumps(TRACE) + "\n",
    },
    "computeval": {
        "problems.jsonl": json.dumps({"task_id": "CUDA/0", "prompt": "Scale.", "test": "int main() {}"}) + "\n",
        "samples.jsonl": json.dumps({"task_id": "CUDA/0", "solution": "__global__ void k() {}"}) + "\n",
    },
    "plain": {"one/kernel.py": "x = 1\n", "two/kernel.py": "x = 2\n", "prompt.md": "# Scale\n"},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "new"), [
    ("runs", 4), ("gpumode", 3), ("flashinfer", 3), ("computeval", 2), ("plain", 3),
])  # fmt: skip
def test_a_folder_of_each_format_comes_once(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, new: int
) -> None:
    folder = written(tmp_path / "in", FOLDERS[kind])
    assert (brought(queue, folder), brought(queue, folder)) == (0, 0)
    first, second = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{kind}: ")]
    assert f"{new} new" in first
    assert "new" not in second
    assert not faults(queue)


RESULTS = {
    "runs": ("01-scale/submissions/20260101-101112-harness-model-01-scale", "imported", "result.json",
             ["peak_fraction there: 0.25 of the device's peak"]),
    "gpumode": ("scale/submissions/submission", "imported-b200", "GPU MODE's own run", []),
    "flashinfer": ("scale-n8/submissions/mine", "imported-nvidia-h100", "its traces",
                   ["rows=4 float32 normal: 0.5 ms there, 2 times as fast"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", RESULTS)
def test_results_become_evidence_marked_by_whom_and_by_which_method(queue: Repo, tmp_path: Path, kind: str) -> None:
    assert brought(queue, written(tmp_path / "in", FOLDERS[kind])) == 0
    item, target, method, notes = RESULTS[kind]
    path = f"queue/{item}/evidence/{target}.json"
    evidence = codec.decode(Evidence, queue.show(path, "main").encode(), path)
    check = evidence.stages.check
    assert (check.status, evidence.stages.integrity.status) == ("passed", "not-run")
    assert (check.method or "").startswith("imported: ")
    assert method in (check.method or "")
    assert evidence.environment.sandbox.startswith("imported by Ada <ada@example.org>; how ")
    assert evidence.stages.time.notes == notes
    assert evidence.tool.name != "kgrade"


def test_a_verdict_is_whose_the_person_says(queue: Repo, tmp_path: Path) -> None:
    assert brought(queue, written(tmp_path / "in", {"one.yaml": ANNOTATION}), "--as", "kim") == 0
    [path] = [path for path in queue.git("ls-tree", "-r", "--name-only", "main").split("\n") if "/grades/" in path]
    assert path.endswith("/grades/imported-kim.yaml")
    assert codec.decode(Grade, queue.show(path, "main").encode() + b"\n", path).evaluator == "imported-kim"


@pytest.mark.parametrize(
    "path", ["task.yaml", "prompt.md", "grades/bob.yaml", "submissions/s01/grades/bob.yaml", "evidence/cpu.json"]
)
def test_a_foreign_file_never_lands_where_the_queue_keeps_its_own(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    problem = {"task_id": "CUDA/0", "prompt": "Scale.", "context_files": [{"path": path, "content": "x"}]}
    folder = written(tmp_path / "in", {"problems.jsonl": json.dumps(problem) + "\n"})
    before = commits(queue)
    assert brought(queue, folder) == 2
    assert f"its file {path} would land where the queue keeps its own; rename it" in capsys.readouterr().err
    assert commits(queue) == before


def test_a_problem_takes_no_file_from_outside_of_what_is_imported(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FOLDERS["gpumode"]
    outside = files["scale/task.yml"].replace("source: reference.py", "source: ../../secret.py")
    folder = written(tmp_path / "in", {**files, "scale/task.yml": outside})
    (tmp_path / "secret.py").write_text(files["scale/reference.py"])
    assert brought(queue, folder) == 2
    assert "expected a file below what is imported; import the folder that holds it too" in capsys.readouterr().err
    assert brought(queue, tmp_path, "--format", "gpumode") == 0, "the folder above holds it"


def test_what_cannot_be_read_is_named_and_nothing_comes(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "in", {"one.yaml": ANNOTATION, "two.jsonl/inside": ""})
    before = commits(queue)
    assert brought(queue, folder) == 2
    assert "two.jsonl cannot be read: Is a directory; nothing was imported" in capsys.readouterr().err
    assert commits(queue) == before


def test_what_is_no_known_format_is_said(queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert brought(queue, written(tmp_path / "in", {"notes.txt": "x"})) == 2
    assert "looks like none of" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif(not COLLECTION.is_dir(), reason="needs the collection of annotations beside the checkout")
def test_every_annotation_that_parses_comes(queue: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert brought(queue, COLLECTION) == 2
    told = capsys.readouterr()
    grades = [path for path in queue.git("ls-tree", "-r", "--name-only", "main").split("\n") if "/grades/" in path]
    broken = told.err.count("does not come:")
    named = re.findall(r"does not come: \S+\.yaml:\d+: found [^\n]+, expected YAML", told.err)
    assert len(named) == broken > 0
    assert len(grades) + broken == len(list(COLLECTION.glob("*.yaml")))
    assert brought(queue, COLLECTION) == 2
    assert " new" not in capsys.readouterr().out
