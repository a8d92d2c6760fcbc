"""Ended from outside, or left without a terminal: the draft is safe, the terminal given back, the program gone."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Repo
from tests.tui.sittings import level_of, open_app
from tests.tui.terminal import Terminal

WITHOUT_SIGHUP = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
os.execv(sys.argv[1], sys.argv[1:])
"""
DEAF = [sys.executable, "-c", WITHOUT_SIGHUP]
"""Runs a command that no SIGHUP reaches, as on a terminal whose loss nobody tells."""


def begin(terminal: Terminal, text: str) -> None:
    """Score the first criterion and begin a comment on the second."""
    terminal.wait_for("verdict: -")
    terminal.send(f"3c{text}")
    terminal.wait_for(f": {text}")
    terminal.wait_for("Draft")


def assert_kept(terminal: Terminal, text: str) -> None:
    """The score is there, and the comment goes on where it was left."""
    terminal.wait_for("Draft")
    terminal.wait_for("verdict: -")
    assert level_of(terminal, "specification") == "3"
    terminal.send("Jc")
    terminal.wait_for(f": {text}")


def test_a_signal_ends_it_in_order(ada: Repo) -> None:
    with open_app(ada) as terminal:
        before = terminal.modes
        begin(terminal, "half a sentence")
        assert terminal.modes != before
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_for_exit() == 128 + signal.SIGTERM
        assert terminal.modes == before
        left = bytes(terminal.sent).rpartition(b"\x1b[?1049l")[2].decode()
        assert "\x1b[?25h" in left
        assert "kgrade was ended by SIGTERM; the draft of softmax is kept on this machine" in left
        assert "Traceback" not in left
    with open_app(ada) as terminal:
        assert_kept(terminal, "half a sentence")
        terminal.send(" and more")
        terminal.wait_for("half a sentence and more")
        terminal.signal(signal.SIGHUP)
        assert terminal.wait_for_exit() == 128 + signal.SIGHUP
    with open_app(ada) as terminal:
        assert_kept(terminal, "half a sentence and more")
        terminal.send("\rq")
        terminal.wait_for("leave?")
        terminal.send("y")
        assert terminal.wait_for_exit() == 0


def test_without_a_terminal_it_ends_even_if_no_signal_says_so(ada: Repo) -> None:
    with open_app(ada, within=DEAF) as terminal:
        begin(terminal, "cut off")
        terminal.hang_up()
        assert terminal.wait_for_exit() == 128 + signal.SIGHUP
    with open_app(ada) as terminal:
        assert_kept(terminal, "cut off")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.long
def test_it_ends_even_if_the_terminal_takes_nothing(ada: Repo) -> None:
    with open_app(ada) as terminal:
        begin(terminal, "stuck")
        terminal.send("\r")
        # Nobody reads what the terminal is sent, until it takes no more and the program stands still.
        at_work = -1.0
        while at_work != (at_work := cpu_seconds(terminal.pid)):
            terminal.send("\x0c" * 50)
            time.sleep(1)
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_for_exit(reading=False) in (128 + signal.SIGTERM, -signal.SIGALRM)
