"""`kgrade` itself at a real queue in a pseudo-terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import Repo
from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[2]


def open_app(
    repo: Repo, width: int = 80, height: int = 24, *, within: Sequence[str] = (), by: str = "ada", **env: str
) -> Terminal:
    """`kgrade` at the queue for the evaluator `by`; `within` is a command that runs it."""
    path = {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    argv = [*within, sys.executable, "-m", "kgrade", "--evaluator", by]
    return Terminal(argv, width=width, height=height, env={**path, **env}, cwd=repo.path)


def level_of(terminal: Terminal, criterion: str) -> str:
    """What the rubric strip shows as the criterion's level."""
    for line in terminal.screen.lines:
        words = line.removeprefix(">").split()
        if words[:1] == [criterion] and len(words) > 1:
            return words[1]
    raise AssertionError(f"{criterion} is not on the screen:\n{terminal.text}")


def status_line(terminal: Terminal) -> str:
    """The first line of the screen: item, progress, status, clock."""
    return terminal.screen.lines[0]
