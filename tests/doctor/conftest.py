"""A machine made of small programs, so that the doctor meets each state there is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Put a shell script on PATH under a name: `program("nvcc", "echo release 13.0")`. Real git stays reachable."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "sh", "sleep", "cat"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))

    def write(name: str, script: str) -> None:
        place = folder / name
        place.unlink(missing_ok=True)
        place.write_text(f"#!{folder}/sh\n{script}\n")
        place.chmod(0o755)

    return write


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine that runs the tests decides what the doctor finds."""
    for name in [name for name in os.environ if name.startswith(("CUDA", "TMUX", "SSH_"))]:
        monkeypatch.delenv(name)
