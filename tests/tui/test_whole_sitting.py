"""A whole sitting by keys alone: every item of a real queue, until it is empty and says why."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import commands
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[2]
GRADES = [
    "queue/scan/grades/ada.yaml",
    "queue/scan/submissions/s01/grades/ada.yaml",
    "queue/softmax/grades/ada.yaml",
    "queue/softmax/submissions/s01/grades/ada.yaml",
    "queue/softmax/submissions/s02/grades/ada.yaml",
]


NEWEST_FIRST = ["scan/s01", "scan", "softmax/s02", "softmax/s01", "softmax"]


def trailers(repo: Repo, key: str) -> list[str]:
    """The trailer `key` of the last five commits, newest first."""
    return repo.git("log", "-5", f"--format=%(trailers:key={key},valueonly,separator=)").split()


def open_app(repo: Repo, tmp_path: Path, width: int, height: int) -> Terminal:
    """`kgrade` at the queue, with an editor that writes one sentence."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "state the supported shapes" > "$1"\n')
    editor.chmod(0o755)
    env = {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "EDITOR": str(editor)}
    argv = [sys.executable, "-m", "kgrade", "--evaluator", "ada"]
    return Terminal(argv, width=width, height=height, env=env, cwd=repo.path)


def saved_in_order(terminal: Terminal) -> None:
    """Grade the five items as they come: two reviews, three submissions, one of which replaces another."""
    terminal.wait_for("softmax  task review")
    terminal.send("c3 clauses untested\r" + "3" * 7 + "v1")
    terminal.wait_for("verdict: accept")
    terminal.send("S")
    terminal.wait_for("softmax: Committed")
    terminal.wait_for("softmax/s01  ")
    terminal.send("sjjjjmthe sum is not shifted\r")
    terminal.wait_for("line note added")
    terminal.send("x2bf16 rows of 90 overflow\rq")
    terminal.wait_for("wrong-result")
    terminal.send("2222F")
    terminal.wait_for("feedback . -> 4 words")
    terminal.send("2222v2")
    terminal.wait_for("verdict: revise")
    terminal.send("Sy")
    terminal.wait_for("softmax/s01: Committed")
    terminal.wait_for("softmax/s02  ")
    terminal.send("L")
    terminal.wait_for("your grade of s01")
    terminal.send(" ")
    terminal.wait_for("the sum is not shifted")
    terminal.send("d")
    terminal.wait_for("solution against previous")
    terminal.send("33333333v1Sy")
    terminal.wait_for("softmax/s02: Committed")
    terminal.wait_for("scan  task review")
    terminal.send("3333333v1S")
    terminal.wait_for("scan: Committed")
    terminal.wait_for("scan/s01  ")
    terminal.send("33333333v1Sy")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 48)])
def test_until_the_queue_is_empty(
    make_repo: Callable[..., Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, height: int
) -> None:
    repo = make_repo("ada")
    small_queue(repo)
    with open_app(repo, tmp_path, width, height) as terminal:
        saved_in_order(terminal)
        terminal.wait_for("Nothing is left to grade.")
        terminal.wait_for("5 graded by you")
        terminal.wait_for("look at your grades (H)")
        terminal.send("H")
        terminal.wait_for("my grades")
        terminal.settle()
        listed = [line.lstrip("> ").split() for line in terminal.screen.lines[1:-2] if "Committed" in line]
        assert {words[2] for words in listed} == set(NEWEST_FIRST)
        terminal.send("Q/review\r")
        terminal.wait_for("2 shown")
        terminal.send("q")
        assert terminal.leave() == 0
    assert trailers(repo, "Item") == NEWEST_FIRST
    rubrics = [rubric.partition("@")[0] for rubric in trailers(repo, "Rubric")]
    assert rubrics == ["generation", "task-review", "generation", "generation", "task-review"]
    assert {path for path in GRADES if repo.show(path)} == set(GRADES)
    first = repo.show("queue/softmax/submissions/s01/grades/ada.yaml")
    for text in ("the sum is not shifted", "bf16 rows of 90 overflow", "state the supported shapes", "verdict: revise"):
        assert text in first
    assert repo.git("status", "--porcelain") == ""
    monkeypatch.chdir(repo.path)
    with pytest.raises(SystemExit) as ended:
        commands(["check"])
    assert ended.value.code == 0


def test_what_is_typed_before_the_first_picture_counts(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo("ada")
    small_queue(repo)
    with open_app(repo, tmp_path, 80, 24) as terminal:
        terminal.send("33?")
        terminal.wait_for("2/7 scored")
        terminal.wait_for("Reading")
        terminal.send("q")
        assert terminal.leave() == 0
