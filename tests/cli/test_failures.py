"""An error is one sentence on stderr and an exit code; a traceback is for who asks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kgrade.cli import failures
from kgrade.desk.people import DeskError
from kgrade.records.faults import BadRecord, Fault
from kgrade.repository.runner import GitError, NotARepositoryError
from tests.cli.conftest import ROOT, Kgrade


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lsit"], ["lsit", "did you mean `kgrade list`?"]),
        (["nowhere-at-all"], ["nowhere-at-all", "neither a command nor a folder"]),
        (["./nowhere"], ["nowhere", "not a folder"]),
        (["list", "--jsn"], ["--jsn", "kgrade list --help"]),
        (["save", "softmax-rows/s01"], ["--file", "kgrade save --help"]),
        (["init", "nowhere"], ["nowhere", "not a folder"]),
        (["init", "."], ["not inside a git repository", "git init"]),
        (["list"], ["not inside a git repository"]),
        (["show", "Not An Item"], ["Not An Item", "TASK/SUBMISSION", "kgrade list"]),
        (["save", "softmax-rows/s01", "--file", "none.yaml"], ["none.yaml", "No such file"]),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(kgrade: Kgrade, arguments: list[str], words: list[str]) -> None:
    said = kgrade(*arguments)
    assert said.returncode == failures.BAD_INPUT, said
    assert said.stderr.startswith("kgrade: ")
    assert said.stderr.count("\n") == 1
    assert not said.stdout
    for word in words:
        assert word in said.stderr


def test_without_a_terminal_the_app_says_what_it_needs(kgrade: Kgrade, demo: Path) -> None:
    said = kgrade(str(demo))
    assert said.returncode == failures.ENVIRONMENT
    assert said.stderr.count("\n") == 1
    assert "ssh -t" in said.stderr


def test_a_sentence_about_a_hostile_name_cannot_act_on_the_terminal(kgrade: Kgrade, tmp_path: Path) -> None:
    said = kgrade("init", "\x1b[2J\x1b]0;owned\x07")
    assert said.returncode == failures.BAD_INPUT
    assert "\x1b" not in said.stderr
    assert "\x07" not in said.stderr


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (DeskError("no queue here; expected queue/"), 2, "no queue here; expected queue/"),
        (NotARepositoryError("no repository"), 2, "no repository"),
        (GitError("git push failed: gone"), 3, "git push failed: gone"),
        (
            BadRecord([Fault(path="a.yaml", line=3, where="title", found="nothing", expected="text")]),
            2,
            "a.yaml:3: title: found nothing, expected text",
        ),
        (PermissionError(13, "Permission denied", "/root/x"), 3, "/root/x: Permission denied"),
        (ModuleNotFoundError("No module named 'textual'"), 3, "No module named 'textual'"),
        (KeyError("x"), 3, "a fault of its own, KeyError: 'x'; KGRADE_DEBUG=1 shows where"),
    ],
)
def test_each_kind_of_error_has_its_code(
    error: Exception, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failures.report(error) == code
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


def test_a_traceback_is_shown_to_who_asks_for_it(kgrade: Kgrade) -> None:
    said = kgrade("init", "nowhere", env={"KGRADE_DEBUG": "1"})
    assert "Traceback" in said.stderr
    assert said.returncode != 0


def test_a_reader_that_leaves_early_is_no_error(kgrade: Kgrade) -> None:
    script = f"{sys.executable} -m kgrade doctor --json | head -c 1; exit ${{PIPESTATUS[0]}}"
    said = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert not said.stderr
