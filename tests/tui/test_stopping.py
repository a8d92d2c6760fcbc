"""Stopped and going on, and the size changing under the program's feet, while keys keep coming."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal
from tests.tui.test_terminal import start


def wait_until_stopped(terminal: Terminal) -> None:
    """Read until the program stands still."""
    pid, status = os.waitpid(terminal.pid, os.WUNTRACED | os.WNOHANG)
    while not pid:
        terminal.settle(0.05, 0.05)
        pid, status = os.waitpid(terminal.pid, os.WUNTRACED | os.WNOHANG)
    assert os.WIFSTOPPED(status), status


def test_stopped_at_a_text_it_goes_on_with_the_text() -> None:
    with start() as terminal:
        before = terminal.modes
        terminal.wait_for("verdict: -")
        terminal.send("cab")
        terminal.wait_for("numerics: ab")
        terminal.signal(signal.SIGTSTP)
        wait_until_stopped(terminal)
        terminal.settle()
        assert terminal.modes == before
        assert not terminal.screen.cursor_hidden
        terminal.screen.feed("\x1b[2J\x1b[HSHELL PROMPT")
        terminal.signal(signal.SIGCONT)
        terminal.wait_for("numerics: ab")
        terminal.send("c")
        terminal.wait_for("numerics: abc")
        terminal.settle()
        assert "SHELL PROMPT" not in terminal.text
        assert (terminal.screen.cursor_hidden, terminal.screen.cursor) == (False, (22, 13))


def test_stopped_without_being_asked_it_takes_the_terminal_again_and_loses_no_key() -> None:
    with start() as terminal:
        terminal.wait_for("verdict: -")
        at_work = terminal.modes
        terminal.signal(signal.SIGSTOP)
        wait_until_stopped(terminal)
        terminal.send("c3 of 4")
        # What a shell does that gets its terminal back.
        terminal.set_modes(terminal.modes_at_start)
        terminal.screen.feed("\x1b[2J\x1b[HSHELL PROMPT\x1b[?25h")
        terminal.signal(signal.SIGCONT)
        # In the shell's modes the line keeps keys until a newline; these reach the program one by one.
        terminal.wait_until(lambda: terminal.modes == at_work)
        terminal.send("\r2")
        terminal.wait_for("numerics         2   3 of 4")
        assert "SHELL PROMPT" not in terminal.text


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_told_to_go_on_without_having_stopped_it_reads_keys_once() -> None:
    with start() as terminal:
        terminal.wait_for("verdict: -")
        terminal.send("c")
        terminal.wait_for("Enter done")
        before = threads(terminal.pid)
        for letter in "abcdefgh":
            terminal.signal(signal.SIGCONT)
            terminal.send(letter)
        terminal.wait_for("numerics: abcdefgh")
        # Each of eight more readers or writers would stay as a thread; what sends in the background ends.
        terminal.wait_until(lambda: threads(terminal.pid) <= before + 1, "as few threads as before")


@pytest.mark.parametrize("times", [40, pytest.param(400, marks=pytest.mark.long)])
def test_a_storm_of_sizes_ends_in_the_right_picture(times: int) -> None:
    sizes = random.Random(times)
    with start() as terminal:
        terminal.wait_for("verdict: -")
        terminal.send("c")
        for number in range(times):
            # A window that is dragged: no size is waited for.
            terminal.change_size(*sizes.choice([(1, 1), (3, 200), (200, 3), (37, 11), (80, 24), (160, 48)]))
            terminal.send(str(number % 10))
        terminal.resize(100, 30)
        terminal.wait_for("numerics: ")
        terminal.send("\r")
        terminal.wait_for("".join(str(number % 10) for number in range(times))[:40])
        terminal.wait_for("comment added")
        terminal.settle()
        shown = terminal.screen.cells()
        terminal.screen.feed("\x1b[m\x1b[2J")
        terminal.send("\x0c")
        terminal.wait_for("S save+next")
        terminal.settle()
        assert terminal.screen.cells() == shown
        assert len(terminal.sent) < 20_000 + 3_000 * times
