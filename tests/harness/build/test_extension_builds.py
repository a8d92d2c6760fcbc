"""CUDA sources of PyTorch extensions, recorded where no GPU is and compiled by the real nvcc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kgrade.harness.build.nvcc import compile_units
from kgrade.harness.build.toolkit import find_toolkit
from kgrade.harness.emulator.torch_headers import TorchHeaders
from kgrade.harness.extension_build import _lacking, _without_architecture, units_of
from kgrade.harness.extension_sources import Extension, Piece, Recorded, here
from kgrade.harness.run import Machine
from kgrade.harness.worker.extension_requests import place_of
from kgrade.records.evidence import Build, BuildTarget, Evidence, Failure
from tests.harness.items import gather, need

SAMPLE = Path(__file__).parents[3] / "queue" / "absmax-scale-kernelbench"
PROBLEM = {"absmax_scale.py": (SAMPLE / "absmax_scale.py").read_text()}
TASK: dict[str, Any] = {
    key: value
    for key, value in yaml.safe_load((SAMPLE / "task.yaml").read_text()).items()
    if key not in ("schema", "benchmark", "work", "source")
}
BARE = '''
import torch
from torch.utils.cpp_extension import load_inline

WIDTH = 64
source = f"""
constexpr int width = {WIDTH};
__global__ void doubled(float* x) {{
  __shared__ float held[width];
  held[threadIdx.x] = 2 * x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = held[width - 1 - threadIdx.x];
}}
"""

class ModelNew(torch.nn.Module):
    def __init__(self, width, floor):
        super().__init__()
        self.doubled = load_inline(
            "bare", "", [source], no_implicit_headers=True, extra_cuda_cflags=["-gencode", "arch=compute_70,code=sm_70"]
        )

    def forward(self, x):
        return self.doubled.run(x)
'''


@pytest.fixture
def machine() -> Machine:
    need("torch")
    if find_toolkit() is None:
        pytest.skip("nvcc is not installed")
    machine = Machine.here()
    if TorchHeaders.of(machine.interpreter.executable) is None:
        pytest.skip("the headers of torch or Python are not installed")
    return machine


def collected(machine: Machine, answer: str, **more: str) -> tuple[Evidence, dict[str, bytes]]:
    solution = {"model.py": answer, **{f"{name}.cu": text for name, text in more.items()}}
    return gather(machine, solution, TASK, PROBLEM, ["build"], target="sm_90")


def line_of(text: str, what: str) -> int:
    assert text.count(what) == 1
    return text[: text.index(what)].count("\n") + 1


def test_a_fault_has_its_line_in_the_string(machine: Machine, tmp_path: Path, run: Any) -> None:
    text = "\n__global__ void k(float* x) {\n  *x = nowhere;\n}\n"
    pieces = [Piece("cuda.cu", text, ("/worker/solution/model.py", 40)), Piece("cuda.cu", "int unplaced;", None)]
    recorded = Recorded([Extension("a-name", [pieces], ["-O3"], ["/elsewhere"])], ["-std=c++17"], root="/worker")
    item = SimpleNamespace(folder=tmp_path, source=SimpleNamespace(solution={"model.py": b""}, beside={}))
    torch, toolkit = TorchHeaders.of(machine.interpreter.executable), find_toolkit()
    assert torch is not None
    assert toolkit is not None
    units, readable = units_of(item, recorded, torch, toolkit)
    assert [(unit.name, "-O3" in unit.options) for unit in units] == [("a_name", True)]
    (tmp_path / "out").mkdir()
    built = compile_units([replace(units[0], otherwise=None)], ["sm_90"], tmp_path / "out", run, toolkit, readable, 60)
    assert built.reason == 'sm_90: solution/model.py(42): error: identifier "nowhere" is undefined'


@pytest.mark.long
def test_one_made_when_the_model_is_built_is_compiled_too(machine: Machine) -> None:
    answer = BARE.replace("held[threadIdx.x] = 2 *", "held[threadIdx.x] = twice *")
    build = collected(machine, answer)[0].stages.build
    line = line_of(answer, "twice *")
    assert build.status == "failed", build.reason
    failure = build.targets[0].failure
    assert failure is not None
    assert failure.line == f'solution/model.py({line}): error: identifier "twice" is undefined'
    assert failure.fault == "submission"


@pytest.mark.long
def test_its_kernels_have_figures_and_its_own_architecture_does_not_count(machine: Machine) -> None:
    evidence, logs = collected(machine, BARE)
    build = evidence.stages.build
    assert build.status == "passed", build.reason
    assert [(kernel.kernel, kernel.target, kernel.shared_bytes) for kernel in build.kernels] == [
        ("doubled(float*)", "sm_90", 256)
    ]
    assert "-arch=sm_90a" in build.targets[0].command
    assert not any("gencode" in part for part in build.targets[0].command)
    assert "Used" in logs["sm_90.build.log"].decode()


@pytest.mark.long
def test_the_samples_extension_is_built_for_hopper(machine: Machine) -> None:
    answer = (SAMPLE / "submissions" / "s01" / "solution" / "model.py").read_text()
    evidence, logs = collected(machine, answer)
    build = evidence.stages.build
    assert build.status == "passed", build.reason
    assert [kernel.kernel.partition("(")[0] for kernel in build.kernels] == ["absmax_scale_kernel"]
    kernel = build.kernels[0]
    assert 8 <= kernel.registers <= 64
    assert kernel.shared_bytes == 32
    assert kernel.occupancy is not None
    assert kernel.occupancy.active_warps == 64
    assert kernel.code_bytes > 0
    assert not any(str(Path.home()) in part or str(SAMPLE.parents[1]) in part for part in build.targets[0].command)
    assert "Compiling entry function" in logs["sm_90.build.log"].decode()
    assert (evidence.stages.check.status, evidence.stages.time.status) == ("not-run", "not-run")


@pytest.mark.long
def test_files_of_the_submission_are_compiled_where_they_lie_bindings_and_all(machine: Machine) -> None:
    source = """#include <torch/extension.h>
#include "part.cuh"
torch::Tensor run(torch::Tensor x) {
  doubled<<<1, 64>>>(x.data_ptr<float>());
  return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
    part = "__global__ void doubled(float* x) {\n  x[threadIdx.x] *= 2;\n}\n"
    answer = """
import os
import torch
from torch.utils.cpp_extension import load

made = load(name="doubled", sources=[os.path.join(os.path.dirname(os.path.abspath(__file__)), "doubled.cu")])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return made.run(x)
"""
    files = {"model.py": answer, "doubled.cu": source, "part.cuh": part}
    build = gather(machine, files, TASK, PROBLEM, ["build"], target="sm_90")[0].stages.build
    assert build.status == "passed", build.reason
    assert [kernel.kernel for kernel in build.kernels] == ["doubled(float*)"]
    assert build.targets[0].command[-1] == "solution/doubled.cu"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/worker/solution/a/b.cu", "a/b.cu"),
        ("/worker/solution/a", "a"),
        ("/worker/solution", ""),
        ("/worker/solution/../secret", None),
        ("/worker/solution/" + "x" * 5000, None),
        ("/worker/solution/a\0b", None),
        ("/worker/solutiona/b.cu", None),
        ("/worker/solution/a/b", None),
        ("/etc/passwd", None),
        ("", None),
    ],
)
def test_only_files_of_the_submission_are_taken_from_here(tmp_path: Path, path: str, found: str | None) -> None:
    item = SimpleNamespace(folder=tmp_path, source=SimpleNamespace(solution={"a/b.cu": b"", "m.py": b""}, beside={}))
    assert here(item, path, "/worker") == (None if found is None else tmp_path / "item" / "solution" / found)


TEXT = "\n__global__ void k(float* x) {\n  x[0] = 1;\n}\n"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (f'import torch\n\nS = r"""{TEXT}"""\n', 3),
        (f'import torch\nA = """other\n"""\nS = """\\{TEXT}"""\n', 4),
        ('S = """\n__global__ void k({}* x) {{\n  x[0] = 1;\n}}\n""".format("float")\n', 1),
        ('N = 1\nS = f"""\n__global__ void k(float* x) {{\n  x[0] = {N};\n}}\n"""\n', 2),
        ('S = "__global__ void k(float* x) {" + "x[0] = 1; }"\n', None),
        ("S = '''\nsome\nother\ntext\n'''\n", None),
        ("def f(:\n", None),
    ],
    ids=["as it stands", "continued", "a template", "an f-string", "pieces", "another string", "not Python"],
)
def test_a_text_is_found_in_the_file_that_it_was_made_from(tmp_path: Path, source: str, line: int | None) -> None:
    file = tmp_path / "model.py"
    file.write_text(source)
    text = TEXT.removeprefix("\n") if "\\\n" in source else TEXT
    found = place_of(text, str(file))
    assert found == ((str(file), line + ("\\\n" in source)) if line is not None else None)
    if line is not None:
        assert place_of(text, str(tmp_path / "helper.py")) == found, "it may be called from a file beside it"


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        (["-O3", "-arch=sm_80", "--use_fast_math"], ["-O3", "--use_fast_math"]),
        (["-gencode", "arch=compute_80,code=sm_80", "-lineinfo"], ["-lineinfo"]),
        (["--generate-code=arch=compute_90,code=sm_90"], []),
        (["-std=c++17", "-Xptxas", "-v"], ["-std=c++17", "-Xptxas", "-v"]),
    ],
)
def test_the_target_says_what_is_compiled_for(flags: Sequence[str], left: Sequence[str]) -> None:
    assert _without_architecture(flags) == left


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ('solution/model.py(9): error: identifier "cublasSgemm" is undefined', "not-run"),
        ('solution/model.py(9): error: identifier "nowhere" is undefined', "failed"),
    ],
)
def test_a_library_that_is_only_declared_here_is_no_fault_of_the_submission(line: str, status: str) -> None:
    failure = Failure(kind="compile", line=line, fault="submission", advice="")
    target = BuildTarget(target="sm_90", status="failed", reason=line, failure=failure)
    found = _lacking(Build(status="failed", reason=line, targets=[target]))
    assert (found.status, found.targets[0].status) == (status, status)
    assert line in (found.reason or "")
