"""Large imports: shown before they come, told while they come, killed in the middle and begun again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests.conftest import Repo
from tests.desk.conftest import PROJECT, small_queue
from tests.exchange.test_import import ANNOTATION, ANSWER, PROBLEM, RUN, brought, commits, faults, written

KILLED = """\
import os
import signal
import sys

from kgrade.cli import run
from kgrade.exchange import importing
from kgrade.repository import branches

where, *arguments = sys.argv[1:]
counts = {"calls": 0}


def killed_at(call, function):
    def replacement(*given, **more):
        counts["calls"] += 1
        if counts["calls"] == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **more)

    return replacement


if where == "landing":
    importing.Landing._landed = killed_at(5, importing.Landing._landed)
elif where == "files":
    branches.place_files = killed_at(1, branches.place_files)
elif where == "between commits":
    branches.Branch.commit = killed_at(2, branches.Branch.commit)
sys.exit(run(arguments))
"""
GRADES_APART = "schema: kgrade/settings@1\ngrades_ref: refs/heads/grades/{evaluator}\n"


def problems(count: int) -> dict[str, str]:
    """So many problems, each with an answer; and one more that is broken."""
    files = {"level1/9999_Broken.py": PROBLEM.replace("class Model", "class Modl")}
    for number in range(1, count + 1):
        files[f"level1/{number}_Scale_{number}.py"] = PROBLEM.replace("x * 2", f"x * {number}")
        files[f"runs/mine/level_1_problem_{number}_sample_0_kernel.py"] = ANSWER.replace("x * 2", f"x * {number}")
    return files


def everything(queue: Repo) -> dict[str, list[str]]:
    """The files below queue/ of each branch."""
    refs = queue.git("for-each-ref", "--format=%(refname)", "refs/heads").split("\n")
    return {ref: queue.git("ls-tree", "-r", "--name-only", ref, "queue").split("\n") for ref in refs}


def killed(queue: Repo, folder: Path, where: str) -> int:
    command = [sys.executable, "-c", KILLED, where, "import", str(folder), "--queue", str(queue.path)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.run(command, env=environment, capture_output=True, check=False, timeout=120).returncode


@pytest.fixture
def queue(make_repo: Callable[..., Repo]) -> Repo:
    repo = make_repo("ada")
    small_queue(repo)
    repo.commit({"kgrade.yaml": GRADES_APART})
    return repo


@pytest.mark.parametrize(
    ("where", "already"),
    [
        ("between commits", 1),
        pytest.param("landing", 0, marks=pytest.mark.long),
        pytest.param("files", 0, marks=pytest.mark.long),
    ],
)
def test_an_import_that_is_killed_goes_on_and_brings_nothing_twice(
    queue: Repo, make_repo: Callable[..., Repo], tmp_path: Path, where: str, already: int
) -> None:
    other = ANNOTATION.replace(RUN, RUN.replace("101112", "101113"))
    folder = written(tmp_path / "in", {"one.yaml": ANNOTATION, "two.yaml": other})
    before = commits(queue)
    assert killed(queue, folder, where) == -signal.SIGKILL
    assert commits(queue) == before + already
    assert brought(queue, folder) == 0
    assert commits(queue) == before + 1
    assert brought(queue, folder) == 0
    assert commits(queue) == before + 1
    assert not faults(queue)

    whole = make_repo("whole")
    small_queue(whole)
    whole.commit({"kgrade.yaml": GRADES_APART})
    assert brought(whole, folder) == 0
    assert everything(queue) == everything(whole)
    assert len(everything(queue)["refs/heads/grades/imported-kernelbench-hard"]) == 2


def test_a_dry_run_is_a_table_of_what_comes_and_what_does_not_and_why(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "in", problems(60))
    before = commits(queue)
    assert brought(queue, folder, "--dry-run") == 2
    told = capsys.readouterr()
    assert commits(queue) == before
    head, first, *_ = told.out.splitlines()
    assert head.split() == ["state", "kind", "from", "to"]
    assert first.split() == ["new", "task", "level1/1_Scale_1.py", "level1-1-scale-1"]
    assert "and 80 more" in told.out
    assert "kernelbench: 120 new, 1 refused; nothing was written" in told.out
    assert "does not come: level1/9999_Broken.py: the class Model is missing, expected a problem module" in told.err


def test_progress_leaves_its_line_to_what_is_said_next(
    queue: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("kgrade.exchange.importing.EVERY", 2)
    assert brought(queue, written(tmp_path / "in", {"one.yaml": ANNOTATION})) == 0
    lines = capsys.readouterr().err.split("\r\x1b[K")
    assert [each.strip() for each in lines if each.strip()] == [
        "2 read", "committing 6 files to main", "committing 1 files to grades/imported-kernelbench-hard",
    ]  # fmt: skip
    assert lines[-1] == "\r"


def import_in_a_terminal(queue: Repo, folder: Path) -> pexpect.spawn[str]:
    command = ["-m", "kgrade", "import", str(folder), "--queue", str(queue.path)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "xterm"}
    return pexpect.spawn(sys.executable, command, env=environment, encoding="utf-8", timeout=120, dimensions=(24, 120))


@pytest.mark.long
@pytest.mark.parametrize("at", [r"100 read", r"400 read", r"committing [\d,]+ files", None])
def test_250_problems_come_with_progress_and_once(queue: Repo, tmp_path: Path, at: str | None) -> None:
    folder = written(tmp_path / "in", problems(250))
    before = commits(queue)
    if at is not None:
        terminal = import_in_a_terminal(queue, folder)
        terminal.expect(at)
        terminal.kill(signal.SIGKILL)
        terminal.wait()
        assert commits(queue) == before or at.startswith("committing"), "what is read is not yet written"
    counted = "500 new" if commits(queue) == before else "500 here already"
    terminal = import_in_a_terminal(queue, folder)
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 2, "one problem is broken"
    said = terminal.before or ""
    assert re.findall(r"(\d+) read", said) == ["100", "200", "300", "400", "500"]
    assert f"kernelbench: {counted}, 1 refused" in said
    assert ("committing 1,250 files to main" in said) == (counted == "500 new")
    assert commits(queue) == before + 1
    assert brought(queue, folder) == 2
    assert commits(queue) == before + 1
    paths = everything(queue)["refs/heads/main"]
    assert sum(path.endswith("/task.yaml") for path in paths) == 250 + 2
    assert sum(path.endswith("/submission.yaml") for path in paths) == 250 + 3
    assert not faults(queue)
