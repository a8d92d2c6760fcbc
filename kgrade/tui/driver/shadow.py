"""The terminal as the program knows it: takes Textual's stream, gives back what must be sent."""

from __future__ import annotations

import re
from typing import Final

from kgrade.tui.driver.cells import BLANK, PLAIN, Grid
from kgrade.tui.driver.emit import Emitter
from kgrade.tui.driver.stream import Painter

_FRAME_START: Final = "\x1b[?2026h"
_FRAME_END: Final = "\x1b[?2026l"
_SMALL_FRAME: Final = 200
"""Bytes up to which a frame arrives whole anyway and is not worth the sixteen bytes that hold it together."""

_KEEPS_SCREEN: Final = re.compile(r"\x1b\[[?>=<][\d;]*\$?[a-z]|\x1b\][^8].*|\x07", re.DOTALL)
"""Private modes, queries, key protocols, titles, clipboard, bell: they leave cells, pen and cursor alone."""


class Shadow:
    """Two grids: the one Textual wants and, in the emitter, the one the terminal shows.

    `feed` draws on the first and returns the bytes that bring the second in line, sequences that draw
    nothing included, each in its place. After anything whose effect is not known the terminal is erased and
    drawn afresh. `scrolls`: the terminal can move some of its rows.
    """

    def __init__(self, width: int, height: int, *, scrolls: bool = True) -> None:
        self._wanted = Grid(width, height, torn=BLANK)
        self._emitter = Emitter(width, height, scrolls=scrolls)
        self._painter = Painter(self._wanted, self._control)
        self._out: list[str] = []
        self._in_frame = False
        self._left = False
        self.cursor_visible = True

    def feed(self, data: str) -> str:
        """Take a piece of Textual's stream; return what to send."""
        if not self._in_frame and data == _FRAME_START:
            self._in_frame = True
            return ""
        if self._in_frame and data == _FRAME_END:
            self._in_frame = False
            frame = self._painted()
            return f"{_FRAME_START}{frame}{_FRAME_END}" if len(frame) > _SMALL_FRAME else frame
        self._painter.feed(data)
        if not self._in_frame:
            self._out.append(self._painted())
        return self._taken()

    def resize(self, width: int, height: int) -> str:
        """Draw afresh on a terminal that has become `width` by `height` and may show anything."""
        if (width, height) != (self._wanted.width, self._wanted.height):
            # The old layout is not worth drawing: Textual sends the new one next.
            self._wanted = Grid(width, height, torn=BLANK)
            self._painter.grid = self._wanted
        return self._emitter.erase(width, height) + self._painted()

    def _painted(self) -> str:
        painted = self._emitter.paint(self._wanted)
        y, x = self._painter.y, self._painter.x
        on_screen = 0 <= y < self._wanted.height and 0 <= x < self._wanted.width
        placed = self.cursor_visible and on_screen and not self._left
        return painted + self._emitter.place(y, x) if placed else painted

    def _control(self, sequence: str) -> None:
        if sequence in (_FRAME_START, _FRAME_END):
            return
        if sequence == "\x1b[?25h" or sequence == "\x1b[?25l":
            self.cursor_visible = sequence.endswith("h")
        entering, leaving = sequence == "\x1b[?1049h", sequence == "\x1b[?1049l"
        if not entering:  # where the cursor stands then is where whoever started the program finds it again
            self._out.append(self._painted())
        self._left = leaving or (self._left and not entering)
        if leaving and self._emitter.pen != PLAIN:
            self._out.append("\x1b[m")
            self._emitter.pen = PLAIN
        self._out.append(sequence)
        if entering or (not leaving and not _KEEPS_SCREEN.fullmatch(sequence)):
            self._out.append(self._emitter.erase(self._wanted.width, self._wanted.height))

    def _taken(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out
