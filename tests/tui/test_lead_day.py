"""A lead's day by keys alone, through tmux: disagreement, three decisions, verification, an export, the report."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrade.records import codec
from kgrade.records.adjudication import Adjudication
from tests.conftest import Repo
from tests.tui.lead_queue import DIFFER, lead_queue

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60


class Session:
    """`kgrade audit` at the queue in a tmux server of its own; it must stand there when the program has ended."""

    def __init__(self, folder: Path, queue: Path) -> None:
        self._socket = str(folder / "socket")
        self.run("new-session", "-d", "-x", "80", "-y", "24", "sh")
        self.run("set-option", "-g", "status", "off")
        self.run("set-option", "-g", "remain-on-exit", "on")
        self._status = folder / "status"  # tmux may never learn it when the terminal is let go of first
        program = f"env PYTHONPATH={ROOT} {sys.executable} -m kgrade audit --queue {queue}"
        command = f"cd {folder} && {program}; echo $? > {self._status}"
        self.run("respawn-pane", "-k", command)

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self._socket, *arguments]
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR")}
        environment |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=PATIENCE_S)
        return done.stdout

    def keys(self, text: str, *, until: str) -> str:
        """Send `text` in one write and wait until the screen says `until`; Ctrl+u may stand in it."""
        self.run("send-keys", "-t", "0", "-l", text)
        return self.wait_for(until)

    def wait_for(self, text: str) -> str:
        end = time.monotonic() + PATIENCE_S
        while text not in (shown := self.run("capture-pane", "-p", "-t", "0")):
            assert time.monotonic() < end, f"{text!r} does not come:\n{shown}"
            time.sleep(0.05)
        return shown

    def ended(self) -> str:
        """The program's exit status, once it has ended."""
        end = time.monotonic() + PATIENCE_S
        while not (self._status.exists() and self._status.read_text()):
            assert time.monotonic() < end, "it does not end"
            time.sleep(0.05)
        return self._status.read_text().strip()

    def close(self) -> None:
        self.run("kill-server")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "queue")
    made.path.mkdir()
    made.git("init", "-q", "-b", "main")
    lead_queue(made)
    return made


@pytest.fixture
def session(repo: Repo, tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path, repo.path)
    yield session
    session.close()


def test_a_leads_day(session: Session, repo: Repo, tmp_path: Path) -> None:
    assert "numerics" in session.wait_for("alpha: Krippendorff")
    assert "3 to decide, 0 decided" in session.keys("d", until="3 to decide")
    session.keys("\r", until="numerics: ada 2, bob 4")
    session.keys("32x1qv2C3cRows of -inf were overlooked.\r", until="reason, slip")
    session.keys("S", until="adjudication 2 of 3")
    session.keys("3v1C1cThe sheet does not say which dtypes count.\r", until="reason, unclear-")
    session.keys("S", until="adjudication 3 of 3")
    session.keys("2v1C4cBoth readings can be defended.\r", until="reason, edge-case")
    assert "softmax/s05: accept" in session.keys("S", until="Decided")
    session.keys("q", until="0 to decide, 3 decided")
    assert "28 grades" in session.keys("v", until="signatures")
    session.keys("x1", until="write grades to")
    session.keys("\x15day.jsonl\r", until="wrote")
    session.keys("W", until="write the report to")
    session.keys("\x15day.html\r", until="day.html,")
    session.run("send-keys", "-t", "0", "-l", "q")
    assert session.ended() == "0"
    causes = []
    for item in DIFFER:
        path = f"queue/{item.replace('/', '/submissions/')}/adjudication.yaml"
        causes.append(codec.decode(Adjudication, repo.show(path).encode(), path).cause)
    assert causes == ["slip", "edge-case", "unclear-rubric"]
    assert repo.git("rev-list", "--count", "HEAD") == "4"
    assert len((tmp_path / "day.jsonl").read_text().splitlines()) == 28
    assert "Widest disagreements" in (tmp_path / "day.html").read_text()
