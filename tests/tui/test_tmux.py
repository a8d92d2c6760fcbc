"""Through tmux, which has widths, scroll regions and an escape delay of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrade.tui.driver.cells import BLANK, Cell, Grid, Pen
from kgrade.tui.driver.stream import Painter

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from tests.tui.paper_desk import MAKERS, PaperDesk
from kgrade.tui.app import KgradeApp
from kgrade.tui.lines import LazyRows, Row, Span
from kgrade.tui.pane import Pane
WORDS = ["漢字 ｆｕｌｌ", "🚀 up", "e\\u0301 한글", "plain", "\\x1b[31m no", "👩\\u200d💻 joined", "─│✓✗"]
def mixed(item, sheet):
    def make(n):
        return Row((Span(f"{n} "), Span(WORDS[n % 7] * (n % 5), "added"), Span(WORDS[n % 3] * 3, "code.keyword")))
    return Pane(LazyRows(500, make))
sys.exit(KgradeApp(PaperDesk(), {**MAKERS, "task": mixed}).run(mouse=False))
"""


class Tmux:
    """The application in a tmux server of its own."""

    def __init__(self, folder: Path, driver: str) -> None:
        self._socket = str(folder / "socket")
        self.run("new-session", "-d", "-x", "80", "-y", "24", "sh")
        self.run("set-option", "-g", "status", "off")
        command = f'cd {ROOT} && PYTHONPATH={ROOT} KGRADE_DRIVER={driver} exec {sys.executable} -c "$KGRADE_SCRIPT"'
        self.run("set-environment", "-g", "KGRADE_SCRIPT", SCRIPT)
        self.run("respawn-pane", "-k", command)
        self.wait_for("verdict: -")

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self._socket, *arguments]
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR")}
        environment |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        return subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=20).stdout

    def screen(self, *, attributes: bool = False) -> list[str]:
        return self.run("capture-pane", "-p", *(["-e"] if attributes else []), "-t", "0").split("\n")

    def settled(self) -> list[str]:
        """The screen with attributes when it has stopped changing."""
        before: list[str] = []
        while (now := self.screen(attributes=True)) != before:
            before = now
            time.sleep(0.3)
        return now

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 20
        while not any(text in line for line in self.screen()):
            assert time.monotonic() < end, "\n".join(self.screen())
            time.sleep(0.05)

    def close(self) -> None:
        self.run("kill-server")


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    session = Tmux(tmp_path, "")
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


def test_wide_characters_leave_the_same_screen_with_both_drivers(tmp_path: Path) -> None:
    screens: dict[str, list[list[str]]] = {}
    for driver in ("", "plain"):
        folder = tmp_path / (driver or "ours")
        folder.mkdir()
        session = Tmux(folder, driver)
        try:
            screens[driver] = []
            for keys in ("i", "j" * 20, "j", "k" * 18, " ", "llll", "hhhh", "w", "G", "3", "cab漢\x15x", "\x07u"):
                session.run("send-keys", "-t", "0", "-l", keys)
                # The clock may strike between the two sessions.
                screens[driver].append(session.settled()[1:])
        finally:
            session.close()
    for ours, plain in zip(screens[""], screens["plain"], strict=True):
        for y, (found, expected) in enumerate(zip(_cells(ours), _cells(plain), strict=True)):
            assert found == expected, f"row {y}: {ours[y]!r} is not {plain[y]!r}"


def _cells(lines: list[str]) -> list[list[Cell]]:
    """What the captured lines look like: tmux cuts blanks at their ends, whatever pen drew them."""
    grid = Grid(80, 24, torn=BLANK)
    Painter(grid, lambda sequence: None).feed("\n".join(lines))
    return [
        [BLANK if cell.text == " " and not _is_seen_on_blanks(cell.pen) else cell for cell in row] for row in grid.rows
    ]


def _is_seen_on_blanks(pen: Pen) -> bool:
    return bool(pen.background) or bool({"4", "7", "9"} & set(pen.attributes))
