"""What the doctor says about the terminal, the folders, the sandbox, the frameworks and CUDA."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from kgrade import doctor
from kgrade.doctor import cuda, frameworks, places, terminal, wall
from kgrade.doctor.ask import ask
from kgrade.doctor.line import Line
from tests.doctor.conftest import Program

DEVICE = 'case "$1" in --query*) echo "NVIDIA H200, {driver}, {clock}, 1980";; *) echo "CUDA Version: {cuda}";; esac'


def by_subject(lines: list[Line]) -> dict[str, Line]:
    return {line.subject: line for line in lines}


def test_every_line_that_is_not_ok_says_what_to_do(tmp_path: Path) -> None:
    loaded = set(sys.modules)
    found = list(doctor.examine(tmp_path))
    assert not {"torch", "triton", "jax"} & (set(sys.modules) - loaded)
    assert {"git", "terminal", "drafts", "sandbox", "python", "torch", "triton", "jax", "nvcc", "gpu"} <= {
        line.subject for line in found
    }
    assert [line.subject for line in found if line.status != "ok" and not line.advice] == []


@pytest.mark.parametrize(
    ("term", "extra", "status", "words"),
    [
        ("", {}, "problem", "not set"),
        ("dumb", {}, "problem", "dumb"),
        ("xterm-256color", {}, "ok", "256 colours"),
        ("xterm-256color", {"COLORTERM": "truecolor"}, "ok", "16 million"),
        ("linux", {}, "ok", "16 colours"),
        ("xterm", {"NO_COLOR": "1"}, "ok", "no colours"),
    ],
)
def test_the_terminal_is_told_by_its_variables(
    term: str, extra: dict[str, str], status: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COLORTERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    for name, value in extra.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    found = by_subject(list(terminal.examine()))["terminal"]
    assert found.status == status
    assert words in found.found


def test_a_small_window_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("LINES", "40")
    assert by_subject(list(terminal.examine()))["terminal size"].status == "problem"
    monkeypatch.setenv("COLUMNS", "160")
    assert by_subject(list(terminal.examine()))["terminal size"].status == "ok"


@pytest.mark.parametrize(("delay", "status"), [("500", "problem"), ("20", "ok"), ("0", "ok")])
def test_tmux_must_not_hold_escape(delay: str, status: str, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    program("tmux", f'if test "$1" = -V; then echo tmux 3.3a; else echo {delay}; fi')
    found = by_subject(list(terminal.examine()))["tmux"]
    assert found.status == status
    assert delay in found.found


def test_a_state_folder_that_cannot_be_written_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/kgrade-cannot-be-here")
    found = by_subject(list(places.examine()))["drafts"]
    assert (found.status, found.needed) == ("problem", True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "not" / "there" / "yet"))
    assert by_subject(list(places.examine()))["drafts"].status == "ok"
    assert not (tmp_path / "not").exists()


def test_the_wall_is_tried_not_looked_up(program: Program) -> None:
    program("bwrap", "echo bwrap: setting up uid map: Permission denied >&2; exit 1")
    (found,) = wall.examine()
    assert found.status == "problem"
    assert "Permission denied" in found.found


def test_a_framework_that_dies_or_hangs_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(broken))

    def behave(script: str) -> dict[str, Line]:
        broken.write_text(f"#!/bin/sh\n{script}\n")
        broken.chmod(0o755)
        return by_subject(list(frameworks.examine()))

    assert behave("kill -SEGV $$")["torch"].status == "problem"
    missing = behave("""echo "ModuleNotFoundError: No module named 'torch'" >&2; exit 1""")["torch"]
    assert missing.status == "missing"
    assert "kgrade[run]" in missing.advice
    monkeypatch.setattr(frameworks, "IMPORT_SECONDS", 0.2)
    assert "no answer" in behave("sleep 30")["jax"].found


def test_nvcc_is_found_on_path_under_its_home_and_told_when_broken(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert by_subject(list(cuda.examine()))["nvcc"].status == "missing"
    home = tmp_path / "cuda" / "bin"
    home.mkdir(parents=True)
    (home / "nvcc").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.8, V12.8.61'\n")
    (home / "nvcc").chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(home.parent))
    assert by_subject(list(cuda.examine()))["nvcc"].found.startswith("12.8 from CUDA_HOME")
    program("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    assert by_subject(list(cuda.examine()))["nvcc"].found.startswith("13.0 from PATH")
    program("nvcc", "echo nvcc: cannot execute >&2; exit 126")
    broken = by_subject(list(cuda.examine()))["nvcc"]
    assert broken.status == "problem"
    assert "cannot execute" in broken.found


@pytest.mark.parametrize(
    ("runs", "built", "torch", "status", "words"),
    [
        ("13.0", "13.0", frameworks.Torch("2.13.0", "13.0", 1), "ok", ""),
        ("12.4", "13.0", frameworks.Torch("2.13.0", "12.4", 1), "problem", "nvcc of CUDA 12"),
        ("12.4", "12.8", frameworks.Torch("2.13.0", "12.4", 1), "ok", "nvcc may emit PTX"),
        ("12.4", "12.4", frameworks.Torch("2.13.0", "13.0", 0), "problem", "torch of CUDA 12"),
        ("13.0", "13.0", frameworks.Torch("2.13.0+cpu", None, 0), "problem", "CPU build"),
        ("13.0", "13.0", frameworks.Torch("2.13.0", "13.0", 0), "problem", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_driver_toolkit_and_torch_must_fit(
    runs: str,
    built: str,
    torch: frameworks.Torch,
    status: str,
    words: str,
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program("nvcc", f"echo release {built}, V{built}.1")
    program("nvidia-smi", DEVICE.format(driver="580.1", clock="345", cuda=runs))
    monkeypatch.setattr(cuda, "torch_facts", lambda: torch)
    found = by_subject(list(cuda.examine()))
    assert found["gpu"].found == "NVIDIA H200; driver 580.1"
    assert found["cuda fit"].status == status
    assert words in found["cuda fit"].advice
    assert found["clocks"].status == "ok"


def test_a_driver_that_does_not_answer_is_told(program: Program) -> None:
    program("nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch' >&2; exit 18")
    found = by_subject(list(cuda.examine()))["gpu"]
    assert found.status == "problem"
    assert "version mismatch" in found.found


def test_clocks_that_may_not_be_read_are_told(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("nvidia-smi", DEVICE.format(driver="580.1", clock="[Insufficient Permissions]", cuda="13.0"))
    monkeypatch.setattr(cuda, "torch_facts", lambda: frameworks.Torch("2.13.0", "13.0", 1))
    assert by_subject(list(cuda.examine()))["clocks"].status == "problem"


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    said = ask(["/bin/sh", "-c", f"sleep 60 & echo $! > {pid}; wait"], seconds=0.3)
    assert said.code is None
    assert "no answer" in said.why
    for _ in range(100):
        if not _alive(int(pid.read_text())):
            return
        time.sleep(0.02)
    pytest.fail("the child is still there")


def _alive(pid: int) -> bool:
    """Whether the process runs; one that is dead and not yet collected does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
