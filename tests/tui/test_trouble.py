"""What a machine can refuse, said on the screen in one sentence: no room, no right to write, a desk in use."""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import Repo
from tests.tui.sittings import level_of, open_app, status_line
from tests.tui.terminal import Terminal

bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")

ON_A_DISK_THAT_FILLS_UP = """
set -e
cp -a "$1" "$2/queue"
mkdir "$2/state"
(
    until [ -e "$3/fill" ]; do sleep 0.1; done
    cat /dev/zero > "$2/ballast" || touch "$3/filled"
    until [ -e "$3/empty" ]; do sleep 0.1; done
    rm "$2/ballast"
    touch "$3/emptied"
) < /dev/null > /dev/null 2>&1 &
cd "$2/queue"
shift 3
exec "$@"
"""
"""Moves to a copy of the repository on a disk that is full from when the file `fill` appears until `empty` does."""


def words(terminal: Terminal) -> str:
    """The screen without the ends of its lines."""
    return " ".join(terminal.text.split())


def appears(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.05)


@bubblewrap
def test_a_full_disk_is_said_and_nothing_is_lost(ada: Repo, tmp_path: Path) -> None:
    disk, signs = tmp_path / "disk", tmp_path / "signs"
    disk.mkdir()
    signs.mkdir()
    small = ["bwrap", "--die-with-parent", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc"]
    mounted = [*small, "--size", str(8 << 20), "--tmpfs", str(disk), "--", "sh", "-c", ON_A_DISK_THAT_FILLS_UP, "sh"]
    within = [*mounted, str(ada.path), str(disk), str(signs)]
    with open_app(ada, within=within, XDG_STATE_HOME=str(disk / "state")) as terminal:
        terminal.wait_for("verdict: -")
        terminal.send("3" * 7 + "v1")
        terminal.wait_for("verdict: accept")
        (signs / "fill").touch()
        appears(signs / "filled")
        terminal.send("c" + "x" * 9000 + "\r")
        terminal.wait_for("No space left on device")
        assert "No space left on device: the draft cannot be kept in" in words(terminal)
        terminal.send("S")
        terminal.wait_for("softmax could not be committed and stays a draft")
        assert "Draft" in status_line(terminal)
        (signs / "empty").touch()
        appears(signs / "emptied")
        terminal.send("c")
        terminal.wait_for("xxxx")
        terminal.send("\r")
        terminal.wait_for("hardness-to-game: comment changed")
        terminal.send("S")
        terminal.wait_for("softmax: Committed")
        assert terminal.leave() == 0


@bubblewrap
def test_a_state_folder_that_takes_no_files_is_said(ada: Repo, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    within = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(state), str(state), "--"]
    with open_app(ada, 160, 24, within=within, XDG_STATE_HOME=str(state)) as terminal:
        assert terminal.wait_for_exit() == 2
        assert f"kgrade: Read-only file system: the draft cannot be kept in {state}" in "".join(terminal.screen.lines)
        assert "or name another folder in XDG_STATE_HOME" in words(terminal)
        assert "Traceback" not in terminal.text


def test_the_second_window_of_an_evaluator_reads_until_the_first_is_closed(ada: Repo) -> None:
    with ExitStack() as stack, open_app(ada) as first:
        first.wait_for("verdict: -")
        first.send("3")
        first.wait_for("specification . -> 3")
        second = stack.enter_context(open_app(ada))
        second.wait_for("verdict: -")
        second.send("04")
        second.wait_for("has this queue open as ada; this window only reads")
        assert "this window only reads until that one is closed" in words(second)
        first.send("2")
        first.wait_for("scope . -> 2")
        first.send("qy")
        assert first.wait_for_exit() == 0
        second.send("4")
        second.wait_for("specification 3 -> 4")
        # What the first wrote last is there, and the refused keys have moved nothing.
        assert [level_of(second, name) for name in ("specification", "scope", "reference")] == ["4", "2", "."]
