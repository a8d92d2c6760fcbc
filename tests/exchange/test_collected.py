"""A problem of each format with its answers: imported, run in the harness as it is, graded, exported."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.records import codec, yaml_text
from kgrade.records.evidence import Evidence
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.exchange.test_import import ANSWER, PROBLEM, written
from tests.exchange.test_results_out import exported, graded

pytestmark = pytest.mark.xdist_group("collect")

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
TRITON = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def run(x, y):
    scale[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
"""
DEFINED = {
    "name": "scale_n8", "op_type": "scale", "axes": {"rows": {"type": "var"}, "n": {"type": "const", "value": 8}},
    "inputs": {"x": {"shape": ["rows", "n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["rows", "n"], "dtype": "float32"}},
    "reference": "import torch\n\ndef run(x):\n    return x * 2\n",
}  # fmt: skip
SCALED = """\
__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
void scale(float *x, int n) { k<<<1, 256>>>(x, n); }
"""
PICKING = """\
import torch

def get_inputs(axes_and_scalars, device):
    n = axes_and_scalars["twice"]
    return {"x": torch.randn(n, device=device), "at": torch.randint(0, n, (n,), device=device)}

def run(x, at):
    return x[at]
"""
EXPRESSED = {
    "name": "pick_rows", "op_type": None,
    "axes": {"rows": {"type": "var"}, "two": {"type": "const", "value": 2},
             "twice": {"type": "expr", "expression": "rows * two"}},
    "custom_inputs_entrypoint": "get_inputs",
    "inputs": {"x": {"shape": ["twice"], "dtype": "float32"}, "at": {"shape": ["twice"], "dtype": "int64"}},
    "outputs": {"y": {"shape": ["twice"], "dtype": "float32"}},
    "reference": PICKING,
}  # fmt: skip
PICK = """\
import triton
import triton.language as tl


@triton.jit
def pick(x, at, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + tl.load(at + i, mask=i < n, other=0), mask=i < n), mask=i < n)


def run(x, at, y):
    pick[(triton.cdiv(y.numel(), 64),)](x, at, y, y.numel(), BLOCK=64)
"""
STRICT = {"max_atol": 1e-5, "max_rtol": 1e-5, "required_matched_ratio": 1.0}


def work(rows: int) -> str:
    workload = {"uuid": f"w{rows}", "axes": {"rows": rows}, "inputs": {"x": {"type": "random"}}}
    whole = {"definition": "scale_n8", "workload": workload, "solution": None, "evaluation": None}
    return json.dumps(whole) + "\n"


def picked(rows: int) -> str:
    inputs = {"x": {"type": "custom"}, "at": {"type": "custom"}}
    return json.dumps({"uuid": f"w{rows}", "axes": {"rows": rows}, "inputs": inputs, "tolerance": STRICT}) + "\n"


def solution(name: str, definition: str, content: str, **language: object) -> str:
    spec = {"target_hardware": ["LOCAL"], "entry_point": "main.py::run", **(language or {"language": "triton"})}
    whole = {"name": name, "definition": definition, "author": "kit", "spec": spec}
    return json.dumps({**whole, "sources": [{"path": "main.py", "content": content}]})


FOLDERS = {
    "scale-n8": {
        "definitions/scale/scale_n8.json": json.dumps(DEFINED),
        "workloads/scale/scale_n8.jsonl": work(4) + work(9),
        "solutions/kit/scale/scale_n8/right-s0.json": solution("right-s0", "scale_n8", TRITON),
        "solutions/kit/scale/scale_n8/wrong-s0.json": solution("wrong-s0", "scale_n8", TRITON.replace("* 2,", "* 3,")),
    },
    "pick-rows": {
        "pick_rows/definition.json": json.dumps(EXPRESSED),
        "pick_rows/workload.jsonl": picked(4) + picked(7),
        "pick_rows/solution_right.json": solution("right-s0", "pick_rows", PICK, languages=["triton"]),
        "pick_rows/solution_wrong.json": solution(
            "wrong-s0", "pick_rows", "def run(x, at, y):\n    y.copy_(x)\n", languages=["pytorch"]
        ),
    },
    "01-scale": {
        "problems/01_scale/problem.yaml": "name: Scale\n",
        "problems/01_scale/PROMPT.txt": "Scale by two.\n",
        "problems/01_scale/reference.py": PROBLEM,
        "problems/01_scale/shapes.py": "SHAPES = [{'rows': 4, 'width': 8}, {'rows': 3, 'width': 5}]\n",
        "runs/right_s0/solution.py": PROBLEM.replace("x * 2", "x + x"),
        "runs/right_s0/result.json": json.dumps({"correct": True, "peak_fraction": 0.25, "problem": "01_scale"}),
        "runs/wrong_s0/solution.py": PROBLEM.replace("x * 2", "x * 3"),
        "runs/wrong_s0/result.json": json.dumps({"correct": True, "peak_fraction": 0.5, "problem": "01_scale"}),
    },
    "cuda-0": {
        "problems.jsonl": json.dumps(
            {
                "task_id": "CUDA/0",
                "prompt": "Write `void scale(float *x, int n)`, which doubles x on the device.",
                "build_command": "nvcc -o test.out solution.cu test/main.cu",
                "test_command": "./test.out",
                "context_files": [{"path": "include/scale.h", "content": "void scale(float *x, int n);\n"}],
                "test_files": [{"path": "test/main.cu", "content": '#include "scale.h"\nint main() { return 0; }\n'}],
            }
        )
        + "\n",
        "right-s0.jsonl": json.dumps(
            {"task_id": "CUDA/0", "model": "kit", "solution": {"files": [{"path": "solution.cu", "content": SCALED}]}}
        )
        + "\n",
    },
    "answers": {
        "prompt.md": "# Scale\n\nDouble every element.\n",
        "right-s0/kernel.py": "def scale(x):\n    return x * 2\n",
        "wrong-s0/kernel.py": "def scale(x):\n    return x\n",
    },
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


CHECKED = ("passed", "failed")
NOT_CHECKED = {
    "cuda-0": "what tests CUDA/0 is a program of its own, which is kept and not run",
    "answers": "answers is a plain folder: nothing says what its answers are checked against",
}
LONG = sorted(set(FOLDERS) - {"level1-3-scale-rows"})


def right_of(task: str) -> str:
    return "right-s0-1" if task == "cuda-0" else "right-s0"


def evidence_of(queue: Repo, item: str) -> Evidence:
    path = ItemId.parse(item).evidence_path("cpu")
    return codec.decode(Evidence, queue.show(path, "main").encode(), path)


@pytest.mark.usefixtures("shared_workers")
@pytest.mark.parametrize(
    "task", ["level1-3-scale-rows", *(pytest.param(each, marks=pytest.mark.long) for each in LONG)]
)
def test_a_problem_is_imported_collected_graded_and_exported(
    make_repo: Callable[..., Repo], tmp_path: Path, task: str
) -> None:
    for wanted in ("torch", "triton"):
        if importlib.util.find_spec(wanted) is None:
            pytest.skip(f"needs {wanted}")
    queue = make_repo("ada")
    small_queue(queue)
    assert run(["import", str(written(tmp_path / task, FOLDERS[task])), "--queue", str(queue.path)]) == 0
    right = f"{task}/{right_of(task)}"
    stages = ["--stage", "build", "--stage", "check"]
    assert run(["collect", task, "--target", "cpu", *stages, "--queue", str(queue.path)]) == 0
    found = evidence_of(queue, right)
    assert found.state("build") == "passed", found.stages.build
    if task in NOT_CHECKED:
        assert (found.state("check"), found.stages.check.reason) == ("not-run", NOT_CHECKED[task])
    else:
        wrong = evidence_of(queue, f"{task}/wrong-s0")
        assert (found.state("check"), wrong.state("check")) == CHECKED, (found.stages.check, wrong.stages.check)

    graded(queue, right, verdict="revise")
    graded(queue, f"{task}/wrong-s0" if task != "cuda-0" else right, verdict="reject")
    out = exported(queue, "annotations", tmp_path / "annotations")
    assert {yaml_text.read(data, name)[0]["verdict"] for name, data in out.items()} >= {"bug"}
    kind = KINDS.get(task)
    if kind is not None:
        out = exported(queue, kind, tmp_path / "out")
        for name, text in FOLDERS[task].items():
            assert text.encode() in out.values(), name
        told = b"".join(data for name, data in out.items() if name.startswith("traces/") or "eval_results" in name)
        assert b'"verdict": "reject"' in told


KINDS = {"level1-3-scale-rows": "kernelbench", "scale-n8": "flashinfer", "pick-rows": "flashinfer"}
