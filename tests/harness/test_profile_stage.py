"""The profile stage: torch.profiler really runs here; ncu and nsys, which need a GPU, are stood in for by scripts."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import yaml

from kgrade.harness.arguments import Argument, packed
from kgrade.harness.check import CANDIDATE
from kgrade.harness.methods import TORCH, Method
from kgrade.harness.profiled import CALLS, WARM_UP, Calling, Unprofiled
from kgrade.harness.profiles import tools
from kgrade.harness.progress import Watch
from kgrade.harness.run import ItemSource, Machine, Run
from kgrade.records import codec
from kgrade.records.evidence import Case
from kgrade.records.profile import Profile
from kgrade.records.task import Task
from tests.harness.items import IN_TRITON, REFERENCE, TASK, gather, need

pytestmark = pytest.mark.xdist_group("collect")
SOLUTION = "import torch\n\ndef scale(x):\n    return torch.div(x, torch.sum(x, -1, keepdim=True))\n"
IN_NUMPY = "def scale(x):\n    return x / x.sum(-1, keepdims=True)\n"
NUMPY = Method("numpy", None, "numpy", ())
PAGE = (
    '"ID","Kernel Name","Grid Size","Block Size","CC","gpu__time_duration.sum"\n'
    '"","","","","","ns"\n"0","scale(float *)","(8, 1, 1)","(128, 1, 1)","9.0","12500"\n'
)
# What stands in for ncu writes down how it was called, runs the program, and writes the page of a kernel it never saw.
NCU = """#!/bin/sh
if [ "$1" = --version ]; then echo "Version 2025.3.1.0 (build 36398880) (public-release)"; exit; fi
log=
while [ $# -gt 0 ]; do
    case $1 in
    --log-file) log=$2; shift 2 ;;
    /*) break ;;
    *) shift ;;
    esac
done
"$@" || exit 9
%s
"""
PERMITTED = f"cat > \"$log\" <<'END'\n==PROF== Connected to process 7\n{PAGE}END\n"
REFUSED = (
    "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
    ' on the target device 0.\' > "$log"; exit 1\n'
)


def calling(machine: Machine, folder: Path, solution: str, method: Method) -> Calling:
    """The calls of one function on one array, without a task's oracle."""
    task = codec.decode(Task, yaml.safe_dump(TASK).encode(), "task.yaml")
    source = ItemSource(
        item="scale/s01",
        task=task,
        task_tree="1" * 40,
        task_files={"reference.py": REFERENCE.encode()},
        solution_tree="2" * 40,
        solution={"kernel.py": solution.encode()},
    )
    folder.chmod(0o755)
    run = Run(source, "cpu", machine, folder / "run", Watch(lambda step: None, threading.Event()))
    run.folder.mkdir()
    run.write_files()
    workers = run.workers("item", method, {CANDIDATE: ("solution/kernel.py", "scale")})
    memory, inputs = packed([Argument("x", np.ones((3, 37), np.float32))])
    with closing(memory):
        data = bytes(memory.read(0, memory.size))
    case = Case(symbols={"M": 3, "N": 37}, dtype="float32", family="normal")
    return Calling(run, workers, method, case, data, inputs)


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> tools.Tool:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    bin_folder.chmod(0o755)
    (bin_folder / "ncu").write_text(NCU % does)
    (bin_folder / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    found = tools.find_ncu()
    assert found is not None
    return found


def launches(profile: Profile) -> dict[str, int]:
    return {kernel.name: kernel.launches for kernel in profile.kernels}


def test_torch_profiler_sees_the_operators_of_each_call(machine: Machine, tmp_path: Path) -> None:
    need("torch")
    profile = calling(machine, tmp_path, SOLUTION, TORCH).under(None)
    found = launches(profile)
    assert (found["aten::sum"], found["aten::div"]) == (CALLS, CALLS)
    assert (profile.source, profile.unit) == ("torch.profiler", "operator")
    assert profile.origin is not None
    assert (profile.origin.by, profile.origin.file) == ("", "trace.json")
    options = ["torch.profiler", "record_shapes=False", "profile_memory=False", "with_stack=False"]
    assert profile.origin.options == options
    assert any("a claim" in note for note in profile.notes)
    assert any("where the time goes on a device, this does not tell" in note for note in profile.notes)


@pytest.mark.long
@pytest.mark.parametrize("language", ["python", "triton"])
def test_a_collection_profiles_a_submission(machine: Machine, language: str) -> None:
    need("torch", *([language] if language == "triton" else []))
    solution = SOLUTION if language == "python" else IN_TRITON
    evidence, logs = gather(machine, solution, {"language": language}, stages=["profile"])
    assert logs == {}
    stage = evidence.stages.profile
    assert stage.status == "passed", stage.reason
    [profile] = stage.profiles
    assert profile.version.startswith("2.")
    assert profile.total_us > 0
    assert "ncu and nsys were not run: nothing of this runs on a GPU" in stage.facts
    assert (stage.method or "").startswith("M=3 N=37 float32")
    if language == "python":
        assert launches(profile)["aten::sum"] == CALLS


def test_ncu_runs_the_calls_behind_the_wall_with_options_that_are_recorded(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = stand_in(tmp_path, monkeypatch, PERMITTED)
    counted = (
        "import os\ncalls = 0\ndef scale(x):\n    global calls\n    calls += 1\n    print('call', calls, os.getuid())\n"
    )
    made = calling(machine, tmp_path, counted + "    return x\n", NUMPY)
    profile = made.under(tool)
    [kernel] = profile.kernels
    assert (kernel.name, kernel.total_us, profile.version) == ("scale(float *)", 12.5, "2025.3.1.0")
    assert kernel.authored is not None
    assert profile.origin is not None
    assert profile.origin.options == ["ncu", *tools.NCU]
    said = made.said["ncu"].decode()
    assert [line.split()[1] for line in said.splitlines()] == [str(n + 1) for n in range(WARM_UP + CALLS)]
    if machine.wall.moves_paths:
        assert all(line.split()[2] != "0" for line in said.splitlines())  # whoever runs it: behind the wall, nobody


def test_what_the_driver_forbids_is_explained(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = stand_in(tmp_path, monkeypatch, REFUSED)
    with pytest.raises(Unprofiled, match=r"ERR_NVGPUCTRPERM.*NVreg_RestrictProfilingToAdminUsers=0"):
        calling(machine, tmp_path, IN_NUMPY, NUMPY).under(tool)


def test_a_submission_that_fails_under_a_profiler_is_quoted(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = stand_in(tmp_path, monkeypatch, PERMITTED)
    with pytest.raises(Unprofiled, match="ended with status 9: ZeroDivisionError: division by zero"):
        calling(machine, tmp_path, "def scale(x):\n    return 1 / 0\n", NUMPY).under(tool)


def test_a_trace_that_is_no_plain_file_is_not_followed(machine: Machine, tmp_path: Path) -> None:
    """What the process leaves behind is not read through a link, and not at any size."""
    leave = "import os, sys\ndef scale(x):\n    job = [a for a in sys.argv if a.endswith('job.json')][0]\n"
    leave += "    os.symlink('/etc/passwd', os.path.join(os.path.dirname(job), 'trace.json'))\n    os._exit(0)\n"
    with pytest.raises(Unprofiled, match="it wrote no file that can be read, and ended with status 0"):
        calling(machine, tmp_path, leave, NUMPY).under(None)


def test_commands_are_those_of_the_tools(tmp_path: Path) -> None:
    ncu = tools.Tool("ncu", Path("/opt/ncu/ncu"), "2025.3", tools.NCU, "--log-file", "ncu.csv", "ncu.csv")
    command = ncu.command(Path("/out"), ["python", "x"])
    assert command[0] == "/opt/ncu/ncu"
    assert command[-4:] == ["--log-file", "/out/ncu.csv", "python", "x"]
    for option, value in (("--page", "raw"), ("--clock-control", "none"), ("--replay-mode", "kernel")):
        assert command[command.index(option) + 1] == value
    nsys = tools.Tool("nsys", Path("/opt/nsys/nsys"), "", tools.NSYS, "--output", "nsys", "nsys.sqlite")
    assert nsys.command(Path("/out"), ["python"])[:2] == ["/opt/nsys/nsys", "profile"]
    assert nsys.command(Path("/out"), ["python"])[-3:] == ["--output", "/out/nsys", "python"]
    assert tools.refusal("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES") == tools.NOT_PERMITTED
    assert "dcgmi" in (tools.refusal("Profiling failed because a driver resource was unavailable.") or "")
    assert tools.refusal("==PROF== Connected") is None
