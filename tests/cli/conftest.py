"""The command line as a person meets it: a process of its own, its output and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

Kgrade = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def kgrade(tmp_path: Path) -> Kgrade:
    """A runner: `kgrade("list", "--json", at=folder)`."""

    def run(
        *arguments: str, at: Path = tmp_path, env: Mapping[str, str] | None = None, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
        return subprocess.run(
            [sys.executable, "-m", "kgrade", *arguments],
            cwd=at,
            env=environment,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """The sample queue in a repository of its own."""
    from kgrade.sample import make_demo

    folder = tmp_path / "demo"
    make_demo(folder)
    return folder
