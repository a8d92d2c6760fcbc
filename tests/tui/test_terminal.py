"""The application in a real pseudo-terminal: first paint, type-ahead in one write, sizes, suspension, leaving."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal

SCRIPT = """
import sys
from tests.tui.paper_desk import MAKERS, PaperDesk
from kgrade.tui.app import KgradeApp
sys.exit(KgradeApp(PaperDesk(), MAKERS).run(mouse=False))
"""
ROOT = Path(__file__).parents[2]


def start(width: int = 80, height: int = 24, **env: str) -> Terminal:
    path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return Terminal(
        [sys.executable, "-c", SCRIPT], width=width, height=height, env={"PYTHONPATH": path, **env}, cwd=ROOT
    )


def test_keys_in_one_write_reach_what_they_open_and_q_leaves() -> None:
    with start() as terminal:
        terminal.wait_for("verdict: -")
        terminal.send("c3 of 4\r2jj")
        terminal.wait_for("> row 2 of the diff")
        terminal.wait_for("numerics         2   3 of 4")
        terminal.send("qy")
        assert terminal.wait_for_exit() == 0


@pytest.mark.parametrize(("driver", "more"), [("", "\x04"), ("plain", "")])
def test_what_is_typed_before_there_is_a_screen_is_taken_as_it_was_meant(driver: str, more: str) -> None:
    """The line still makes a newline of Enter then, and the end of the input of Ctrl+d."""
    with start(KGRADE_DRIVER=driver) as terminal:
        terminal.send(f"c3 of 4\r2{more}j")
        assert terminal.modes == terminal.modes_at_start
        terminal.wait_for("numerics         2   3 of 4")
        terminal.wait_for(f"> row {8 if more else 1} of the diff")


def test_the_cursor_is_visible_only_in_a_text() -> None:
    with start() as terminal:
        terminal.wait_for("verdict: -")
        assert terminal.screen.cursor_hidden
        terminal.send("cab")
        terminal.wait_for("numerics: ab")
        terminal.settle()
        assert (terminal.screen.cursor_hidden, terminal.screen.cursor) == (False, (22, 12))
        terminal.send("\x07")
        terminal.settle()
        assert terminal.screen.cursor_hidden


@pytest.mark.parametrize("driver", ["", "plain"])
def test_both_drivers_show_the_same_after_resizing(driver: str) -> None:
    with start(KGRADE_DRIVER=driver) as terminal:
        terminal.wait_for("verdict: -")
        terminal.resize(160, 48)
        terminal.wait_for("│ 4 ")
        terminal.send("sG")
        terminal.wait_for("> 203")
        terminal.resize(100, 30)
        terminal.settle()
        assert len([line for line in terminal.screen.lines if line]) >= 28
        assert "> 203" in terminal.text


def test_an_exported_size_does_not_hide_what_the_terminal_says() -> None:
    with start(COLUMNS="80", LINES="24") as terminal:
        terminal.wait_for("verdict: -")
        terminal.resize(160, 48)
        terminal.wait_for("│ 4 ")


def test_after_a_suspension_the_screen_is_there_again() -> None:
    with start() as terminal:
        terminal.wait_for("verdict: -")
        terminal.send("jj")
        terminal.wait_for("> row 2 of the diff")
        before = terminal.screen.cells()
        os.kill(terminal.pid, signal.SIGTSTP)
        terminal.settle(0.5)
        terminal.screen.feed("\x1b[2J\x1b[HSHELL PROMPT")
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.wait_for("> row 2 of the diff")
        terminal.settle()
        assert terminal.screen.cells()[2:] == before[2:]


def test_an_editor_gets_the_text_and_gives_it_back(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "written outside" > "$1"\n')
    editor.chmod(0o755)
    with start(EDITOR=str(editor)) as terminal:
        terminal.wait_for("verdict: -")
        terminal.send("E")
        terminal.wait_for("numerics: comment added")
        terminal.wait_for("> numerics")
        assert "SHELL" not in terminal.text
        terminal.send("qy")
        assert terminal.wait_for_exit() == 0


def test_no_colour_is_sent_where_none_is_wanted() -> None:
    with start(NO_COLOR="1") as terminal:
        terminal.wait_for("47/48✗")
        cells = [cell for line in terminal.screen.cells() for cell in line]
        assert {(cell.fg, cell.bg) for cell in cells} == {("default", "default")}
        assert any(cell.bold for cell in cells)
    with start() as terminal:
        terminal.wait_for("47/48✗")
        assert any(cell.fg == "red" for line in terminal.screen.cells() for cell in line)


def test_nothing_is_sent_while_nothing_happens() -> None:
    with start() as terminal:
        terminal.wait_for("verdict: -")
        terminal.settle()
        terminal.settle(quiet=2.0)
        # The clock may strike once.
        assert terminal.settle(quiet=1.5) < 20


@pytest.mark.alone
def test_a_key_costs_bytes_and_not_screens() -> None:
    with start() as terminal:
        terminal.wait_for("verdict: -")
        terminal.settle()
        costs = {}
        for name, keys in {"line": "j", "score": "3", "again": "K2", "open": "c", "typed": "a"}.items():
            terminal.send(keys)
            costs[name] = terminal.settle()
        terminal.send("\x07sGgjjjjjjjjjjjjj")
        terminal.settle()
        terminal.send("j")
        costs["scrolled"] = terminal.settle()
        assert costs["line"] < 40, costs
        assert costs["typed"] < 20, costs
        assert costs["score"] < 400, costs
        assert costs["scrolled"] < 200, costs
