"""Commands start fast: what each one must not import, seen from inside a real run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT

# Runs kgrade as `python -m kgrade` does, then tells which modules it had loaded when it left.
SPY = """
import atexit, json, os, sys
atexit.register(lambda: os.write(3, json.dumps(sorted(sys.modules)).encode()))
sys.argv[0] = "kgrade"
from kgrade.__main__ import main
main()
"""
FRAMEWORKS = {"torch", "triton", "jax"}
SCREEN = {"textual"}
HEAVY = FRAMEWORKS | SCREEN | {"numpy", "git", "rich"}


def modules_of(arguments: list[str], at: Path) -> tuple[set[str], int]:
    """The top-level modules that `kgrade ARGUMENTS` had imported when it ended, and its exit code."""
    read, write = os.pipe()
    try:
        done = subprocess.run(
            ["bash", "-c", f'exec "$@" 3>&{write}', "bash", sys.executable, "-c", SPY, *arguments],
            cwd=at,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            pass_fds=[write],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=120,
        )
    finally:
        os.close(write)
    with open(read, "rb") as stream:
        data = stream.read()
    assert data, done.stderr.decode()
    return {name.partition(".")[0] for name in json.loads(data)}, done.returncode


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["list", "--help"], ["collect", "--help"], ["lsit"]])
def test_help_and_mistakes_import_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    modules, _ = modules_of(arguments, tmp_path)
    assert "click" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["list"], {0}),
        (["list", "--json"], {0}),
        (["next"], {0}),
        (["show", "histogram-u8/s01"], {0}),
        (["feedback", "histogram-u8/s01"], {2}),
        (["save", "histogram-u8/s01", "--file", "/dev/null"], {2}),
        (["check"], {0}),
        (["demo", "--dir", "again", "--no-open"], {0}),
        (["init", "."], {2}),
        (["doctor", "--json"], {0, 3}),
    ],
)
def test_commands_import_neither_screen_nor_framework(arguments: list[str], codes: set[int], demo: Path) -> None:
    modules, code = modules_of(arguments, demo)
    assert code in codes
    assert not modules & (FRAMEWORKS | SCREEN)


def test_the_screen_imports_no_statistics_before_somebody_asks_for_them() -> None:
    code = "import sys, kgrade.tui.app, kgrade.tui.panes, kgrade.desk; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True, timeout=120
    )
    modules = set(done.stdout.split())
    assert "kgrade.tui.screens.grading" in modules
    assert not modules & (FRAMEWORKS | {"numpy", "git", "pygments", "markdown_it"})
