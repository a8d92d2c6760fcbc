"""Drives the watched application, in a pseudo-terminal of its own or in tmux, from one idle moment to the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.tui.golden import cells_of
from tests.tui.terminal import Terminal
from tests.tui.watched import AGAIN, TELL, title

ROOT = Path(__file__).parents[2]
LIMIT = 60.0
"""Seconds after which something that does not come is a fault, on the slowest machine."""

OTHERS = ("TMUX", "NO_COLOR", "TERM", "COLUMNS", "LINES")
"""What says how another terminal is: pytest's workers set a size that never changes."""

ENV = {
    "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    "EDITOR": "true",
    "TEXTUAL_FPS": "500",
    "TERM": "xterm-256color",
}


def argv(kind: str, reports: Path) -> list[str]:
    return [sys.executable, "-m", "tests.tui.watched", kind, str(reports)]


class InPty:
    """The application on a pseudo-terminal, its screen drawn by the emulator."""

    def __init__(self, kind: str, reports: Path, *, size: tuple[int, int] = (80, 24), **env: str) -> None:
        reports.mkdir(parents=True, exist_ok=True)
        self._reports = reports
        self._told = 0
        self.terminal = Terminal(argv(kind, reports), width=size[0], height=size[1], env={**ENV, **env}, cwd=ROOT)
        self.terminal.wait_for("verdict: ")
        self.idle()

    def write(self, keys: str) -> None:
        """All of `keys` in one write."""
        self.terminal.send(keys)

    def idle(self, *, again: bool = False) -> dict[str, Any]:
        """Wait until all that was typed is done and drawn, and begin again if asked; return the state."""
        self._told += 1
        wanted = title(self._told)
        self.terminal.send(AGAIN if again else TELL)
        self.terminal.wait_until(lambda: self.terminal.screen.title == wanted, f"the state {self._told}", LIMIT)
        return _report(self._reports / f"{self._told}.json")

    def resize(self, width: int, height: int) -> None:
        """Take another size and wait until all is drawn in it."""
        self.terminal.screen.resize(width, height)
        self.terminal.change_size(width, height)
        _until_drawn(self, width, height)

    def picture(self) -> list[Any]:
        """Every cell with its attributes, row by row, then the cursor: where it is, if it is seen."""
        screen = self.terminal.screen
        return [*screen.cells(), None if screen.cursor_hidden else screen.cursor]

    def close(self) -> None:
        self.terminal.close()


class InTmux:
    """The application in a tmux server of its own, which ends with `close`."""

    def __init__(self, kind: str, reports: Path, *, size: tuple[int, int] = (80, 24), **env: str) -> None:
        reports.mkdir(parents=True, exist_ok=True)
        self._reports = reports
        self._told = 0
        self._folder = tempfile.TemporaryDirectory(prefix="kgrade-tmux-")
        self._socket = f"{self._folder.name}/socket"
        self._env = {key: value for key, value in os.environ.items() if key not in OTHERS}
        self._env |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        self._size = size
        width, height = map(str, size)
        self.run("new-session", "-d", "-x", width, "-y", height, "sleep", "600")
        for option in (["status", "off"], ["escape-time", "20"], ["remain-on-exit", "on"]):
            self.run("set-option", "-g", *option)
        inner = {**ENV, **env, "TERM": "tmux-256color", "COLORTERM": "truecolor"}
        inner |= {key: self._env[key] for key in ("HOME", "PATH", "XDG_STATE_HOME", "LANG") if key in self._env}
        named = [part for key, value in inner.items() for part in ("-e", f"{key}={value}")]
        self.run("respawn-pane", "-k", "-c", str(ROOT), *named, *argv(kind, reports))
        self._wait("the first picture", lambda: "verdict: " in self.run("capture-pane", "-p"))
        self.idle()

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self._socket, *arguments]
        done = subprocess.run(command, env=self._env, capture_output=True, check=False, text=True, timeout=LIMIT)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def write(self, keys: str) -> None:
        """All of `keys` in one command, and so in one write to the application."""
        # A semicolon at the end of an argument would end tmux's command.
        self.run("send-keys", "-l", "--", keys[:-1] + "\\;" if keys.endswith(";") else keys)

    def paste(self, keys: str) -> None:
        """All of `keys` from a paste buffer, without the brackets that mark them as pasted."""
        self.run(
            "set-buffer",
            "-b",
            "keys",
            "--",
            keys[:-1] + "\\;" if keys.endswith(";") else keys,
            ";",
            "paste-buffer",
            "-r",
            "-b",
            "keys",
        )

    def idle(self, *, again: bool = False) -> dict[str, Any]:
        """Wait until all that was typed is done and tmux has drawn it, and begin again if asked; return the state."""
        self._told += 1
        wanted = title(self._told)
        self.write(AGAIN if again else TELL)
        report = self._reports / f"{self._told}.json"
        self._wait(f"the state {self._told}", report.exists)
        self._wait(wanted, lambda: self.run("display-message", "-p", "#{pane_title}").strip() == wanted)
        return _report(report)

    def resize(self, width: int, height: int) -> None:
        """Take another size and wait until all is drawn in it."""
        self._size = (width, height)
        self.run("resize-window", "-x", str(width), "-y", str(height))
        _until_drawn(self, width, height)

    def picture(self) -> list[Any]:
        """Every cell with its attributes, row by row, then the cursor: where it is, if it is seen."""
        rows = self.run("capture-pane", "-e", "-p", "-N").split("\n")[: self._size[1]]
        seen, place = self.run("display-message", "-p", "#{cursor_flag} #{cursor_y},#{cursor_x}").split()
        return [*cells_of(rows, self._size), place if seen == "1" else None]

    def close(self) -> None:
        self.run("kill-server")
        self._folder.cleanup()

    def _wait(self, what: str, holds: Any) -> None:
        end = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < end, f"{what} did not come:\n" + self.run("capture-pane", "-p")
            time.sleep(0.005)


def _until_drawn(watch: InPty | InTmux, width: int, height: int) -> None:
    end = time.monotonic() + LIMIT
    # A size comes by a signal, which may take longer than the keys.
    while watch.idle()["size"] != [width, height]:
        assert time.monotonic() < end, f"the size {width}x{height} was not taken"
    watch.idle()


def _report(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return report
