"""The application on a real queue, as the benchmarks drive it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[2]
QUIET_S = 0.08
"""Seconds of silence after which a key is taken to be done with."""


def argv_of(queue: Path) -> list[str]:
    """The command that opens the queue at `queue`."""
    return [sys.executable, "-m", "kgrade", "--evaluator", "ada", str(queue)]


def environment() -> dict[str, str]:
    """What a program needs to find this checkout's code, compiled once as an installed package is."""
    return {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "PYTHONDONTWRITEBYTECODE": "",
    }


def opened(queue: Path, width: int = 80, height: int = 24) -> Terminal:
    """`kgrade` on the queue at `queue`, with its first submission on screen and nothing left to draw."""
    terminal = Terminal(argv_of(queue), width=width, height=height, env=environment(), cwd=ROOT)
    terminal.wait_for("verdict: -", limit=60)
    terminal.send(">")
    terminal.wait_for("numerics", limit=60)
    terminal.settle(quiet=0.5)
    return terminal


def cost(terminal: Terminal, keys: str) -> int:
    """Bytes that the application sends for `keys`, written at once."""
    before = len(terminal.sent)
    terminal.send(keys)
    terminal.wait_for_bytes()
    terminal.settle(quiet=QUIET_S, limit=60)
    return len(terminal.sent) - before
