"""A program in a real pseudo-terminal, and the screen it makes, for tests."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

# pyte takes the private parameters of key protocols and mode queries for text.
_NOT_FOR_PYTE = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p")


# pyte takes them for the end of the text that they stand in.
_JOINERS = re.compile("([\u200d\u20e3\ufe0f])")


class _Screen(pyte.Screen):
    """pyte's screen with three faults mended: how rows move, where freeing a region leaves the cursor, joiners."""

    def draw(self, data: str) -> None:
        for part in _JOINERS.split(data):
            row, x = self.buffer[self.cursor.y], self.cursor.x - 1
            if not _JOINERS.match(part):
                super().draw(part)
            elif x >= 0:
                x -= row[x].data == ""
                row[x] = row[x]._replace(data=row[x].data + part)

    def insert_lines(self, count: int | None = None) -> None:
        self._move_rows(-(count or 1))

    def delete_lines(self, count: int | None = None) -> None:
        self._move_rows(count or 1)

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        super().set_margins(top, bottom)
        self.cursor_position()

    def _move_rows(self, lines: int) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        if not top <= self.cursor.y <= bottom:
            return
        rows = {y: self.buffer.pop(y) for y in range(self.cursor.y, bottom + 1) if y in self.buffer}
        for y, row in rows.items():
            if self.cursor.y <= y - lines <= bottom:
                self.buffer[y - lines] = row
        self.carriage_return()


class Emulator:
    """What a terminal shows after the bytes fed to it."""

    def __init__(self, width: int, height: int) -> None:
        self._screen = _Screen(width, height)
        self._stream = pyte.ByteStream(self._screen)

    def feed(self, data: bytes | str) -> None:
        raw = data.encode() if isinstance(data, str) else data
        self._stream.feed(_NOT_FOR_PYTE.sub(b"", raw))

    def resize(self, width: int, height: int) -> None:
        self._screen.resize(height, width)

    @property
    def lines(self) -> list[str]:
        return ["".join(cell.data for cell in row).rstrip() for row in self.cells()]

    @property
    def cursor(self) -> tuple[int, int]:
        return self._screen.cursor.y, self._screen.cursor.x

    @property
    def title(self) -> str:
        return str(self._screen.title)

    @property
    def cursor_hidden(self) -> bool:
        return bool(self._screen.cursor.hidden)

    def cells(self) -> list[list[Any]]:
        """Every cell with its attributes, row by row."""
        screen = self._screen
        return [[screen.buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines)]


class Terminal:
    """`argv` in a pseudo-terminal of `width` by `height`. Use as a context manager."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        width: int = 80,
        height: int = 24,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._emulator = Emulator(width, height)
        self._partial = b""
        self._ended = False
        self.sent = bytearray()
        """What the program has sent so far."""
        self.arrivals: list[tuple[float, int]] = []
        """When it came, by the monotonic clock, and how many bytes at a time."""
        environment = {
            key: value for key, value in os.environ.items() if key not in ("LINES", "COLUMNS", "NO_COLOR", "CI")
        }
        environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
        self.pid, self._fd = pty.fork()
        self.modes_at_start = termios.tcgetattr(self._fd) if self.pid else []
        if self.pid == 0:
            if cwd:
                os.chdir(cwd)
            # The program must not start before it has its size.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            os.execvpe(argv[0], list(argv), environment)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, keys: str | bytes) -> None:
        """Write all of `keys` at once, as a packet from afar would bring them; the line takes 4 KB at a time."""
        left = keys.encode() if isinstance(keys, str) else keys
        while left:
            left = left[os.write(self._fd, left) :]

    def resize(self, width: int, height: int) -> None:
        self.settle()
        self._emulator.resize(width, height)
        self.change_size(width, height)

    def change_size(self, width: int, height: int) -> None:
        """Tell the program of a size and leave the picture as it is."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        os.kill(self.pid, number)

    @property
    def modes(self) -> list[Any]:
        """How the line treats what is typed: whether it echoes, waits for newlines, and the like."""
        return termios.tcgetattr(self._fd)

    def set_modes(self, modes: list[Any]) -> None:
        """Set them, as a shell does that gets its terminal back."""
        termios.tcsetattr(self._fd, termios.TCSANOW, modes)

    def hang_up(self) -> None:
        """Close the terminal, as a window that is closed or a line that breaks does."""
        os.close(self._fd)
        self._fd = -1

    def settle(self, quiet: float = 0.25, limit: float = 20.0) -> int:
        """Read until the program has been silent for `quiet` seconds; return how many bytes came."""
        before = len(self.sent)
        end = time.monotonic() + limit
        while time.monotonic() < end and self._read(quiet):
            pass
        return len(self.sent) - before

    def wait_for_bytes(self, limit: float = 60.0) -> None:
        """Read until the program has sent something."""
        if not self._read(limit):
            raise AssertionError(f"nothing was sent within {limit} s; the screen:\n{self.text}")

    def wait_for_sent(self, text: bytes, limit: float = 60.0) -> None:
        """Take what the program sends until `text` has come in one piece; it is not drawn, which would take time."""
        end = time.monotonic() + limit
        taken = b""
        while text not in taken:
            ready, _, _ = select.select([self._fd], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{text!r} was not sent within {limit} s but {taken!r}")
            taken += os.read(self._fd, 65536)

    def wait_for(self, text: str, limit: float = 60.0) -> None:
        """Read until `text` is on the screen."""
        self.wait_until(lambda: any(text in line for line in self._emulator.lines), repr(text), limit)

    def wait_until(self, holds: Callable[[], bool], what: str = "it", limit: float = 60.0) -> None:
        """Read until `holds`; `what` names it where it does not come."""
        end = time.monotonic() + limit
        while not holds():
            if self._ended:
                raise AssertionError(f"the program ended before {what} appeared; the screen:\n{self.text}")
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not appear within {limit} s; the screen:\n{self.text}")
            self._read(0.1)

    def leave(self) -> int:
        """Press q, and y where the app asks because something is still on its way; return the exit status."""
        self.send("q")
        return self.wait_for_exit(answer=("leave?", "y"))

    def wait_for_exit(self, limit: float = 60.0, *, reading: bool = True, answer: tuple[str, str] = ("", "")) -> int:
        """Wait until the program ends; return its exit status. Not `reading`: the terminal takes nothing meanwhile.

        `answer` is a question that may come, and the key that is sent once when it does.
        """
        end = time.monotonic() + limit
        question, key = answer
        while time.monotonic() < end:
            if question and question in self.text:
                self.send(key)
                question = ""
            if reading:
                self._read(0.05)
            else:
                time.sleep(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"still running after {limit} s; the screen:\n{self.text}")

    @property
    def screen(self) -> Emulator:
        return self._emulator

    @property
    def text(self) -> str:
        return "\n".join(self._emulator.lines)

    def kill(self) -> None:
        """End the program at once, whatever it is at."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def close(self) -> None:
        if self.pid:
            self.kill()
        if self._fd >= 0:
            os.close(self._fd)

    def _read(self, timeout: float) -> bool:
        if self._fd < 0:
            time.sleep(timeout)
            return False
        ready, _, _ = select.select([self._fd], [], [], timeout)
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux reports the end of the program as an input error.
            self._ended = True
            time.sleep(timeout)
            return False
        self.sent += data
        self.arrivals.append((time.monotonic(), len(data)))
        # A sequence cut by the read must reach the filter in one piece.
        whole, escape, rest = (self._partial + data).rpartition(b"\x1b")
        complete = re.match(rb"\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*\x07|[^\[\]]", rest) if escape else None
        if not escape or complete:
            self._emulator.feed(self._partial + data)
            self._partial = b""
        else:
            self._emulator.feed(whole)
            self._partial = escape + rest
        return bool(data)
