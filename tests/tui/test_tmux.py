"""Through tmux, which has an escape delay of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from tests.tui.paper_desk import MAKERS, PaperDesk
from kgrade.tui.app import KgradeApp
sys.exit(KgradeApp(PaperDesk(), MAKERS).run(mouse=False))
"""


class Tmux:
    """The application in a tmux server of its own."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "socket")
        self.run("new-session", "-d", "-x", "80", "-y", "24", "sh")
        self.run("set-option", "-g", "status", "off")
        command = f'cd {ROOT} && PYTHONPATH={ROOT} exec {sys.executable} -c "$KGRADE_SCRIPT"'
        self.run("set-environment", "-g", "KGRADE_SCRIPT", SCRIPT)
        self.run("respawn-pane", "-k", command)
        self.wait_for("verdict: -")

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self._socket, *arguments]
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR")}
        environment |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        return subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=20).stdout

    def screen(self) -> list[str]:
        return self.run("capture-pane", "-p", "-t", "0").split("\n")

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 20
        while not any(text in line for line in self.screen()):
            assert time.monotonic() < end, "\n".join(self.screen())
            time.sleep(0.05)

    def close(self) -> None:
        self.run("kill-server")


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    session = Tmux(tmp_path)
    yield session
    session.close()


def test_type_ahead_in_one_write(tmux: Tmux) -> None:
    tmux.run("send-keys", "-t", "0", "-l", "c3 of 4\r2sjjj")
    tmux.wait_for("numerics         2   3 of 4")
    tmux.wait_for(">   4 ")


def test_escape_leaves_a_text_and_the_keys_after_it_act(tmux: Tmux) -> None:
    tmux.run("send-keys", "-t", "0", "-l", "cabc")
    tmux.wait_for("numerics: abc")
    tmux.run("send-keys", "-t", "0", "Escape")
    time.sleep(1)
    tmux.run("send-keys", "-t", "0", "-l", "4")
    tmux.wait_for("numerics . -> 4")
