"""Turns the difference between two grids into the fewest bytes a VT100-like terminal understands.

Only sequences of the VT102 that xterm, tmux, screen, mosh and the Linux console share are used: cursor
addressing, SGR, erase to the end of the line, scroll regions, insert and delete line.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from kgrade.tui.driver.cells import BLANK, PLAIN, UNKNOWN, Cell, Grid, Pen
from kgrade.tui.driver.scroll import Scroll, best_scroll

_ERASE_FROM: Final = 6
"""Changed blanks at the end of a row from which erasing it is shorter than sending them."""


class Emitter:
    """Knows what the terminal shows, where its cursor is and which pen it holds (None: not known)."""

    def __init__(self, width: int, height: int, *, scrolls: bool) -> None:
        self._scrolls = scrolls
        self.shown = Grid(width, height, torn=UNKNOWN)
        self.cursor: tuple[int, int] | None = None
        self.pen: Pen | None = None
        self._out: list[str] = []

    def erase(self, width: int, height: int) -> str:
        """Clear the terminal, which is now `width` by `height`, whatever it showed."""
        self.shown = Grid(width, height, torn=UNKNOWN)
        self.cursor = None
        self.pen = PLAIN
        return "\x1b[m\x1b[2J"

    def paint(self, wanted: Grid) -> str:
        """What makes the terminal show `wanted`; empty if it does already."""
        scroll = best_scroll(self.shown, wanted) if self._scrolls else None
        if scroll:
            self._scroll(scroll)
        for y in range(wanted.height):
            if self.shown.rows[y] != wanted.rows[y]:
                self._row(y, wanted)
        return self._taken()

    def place(self, y: int, x: int) -> str:
        """What moves the cursor to row `y`, column `x`; empty if it is there."""
        self._move(y, x)
        return self._taken()

    def _taken(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out

    def _scroll(self, scroll: Scroll) -> None:
        top, bottom, lines = scroll
        verb = f"\x1b[{lines if lines > 1 else ''}M" if lines > 0 else f"\x1b[{-lines if lines < -1 else ''}L"
        # Rows that come in take the pen's background on some terminals.
        self._draw_with(PLAIN)
        self._out.append(f"\x1b[{top + 1};{bottom + 1}r\x1b[{top + 1}H{verb}\x1b[r")
        self.shown.shift(top, bottom, lines)
        self.cursor = (0, 0)

    def _row(self, y: int, wanted: Grid) -> None:
        shown, new = self.shown.rows[y], wanted.rows[y]
        agreed = min(_agreed(shown), _agreed(new))
        if agreed < wanted.width and new[agreed].text == "":
            agreed -= 1
        runs_on = shown[agreed:] != new[agreed:]
        tail = wanted.width
        while tail and new[tail - 1] == BLANK:
            tail -= 1
        stale = sum(cell != BLANK for cell in shown[tail:])
        end = tail if stale >= _ERASE_FROM and agreed == wanted.width else agreed
        x = 0
        while x < end:
            # Read afresh on each round: drawing over half of a wide grapheme makes the other half unknown.
            if self.shown.rows[y][x] == new[x]:
                x += 1
            else:
                x = self._cell(y, x - 1 if new[x].text == "" else x, wanted)
        if runs_on:
            self._run(y, agreed, wanted)
        elif end < agreed:
            self._move(y, end)
            self._draw_with(PLAIN)
            self._out.append("\x1b[K")
            self.shown.put(y, end, [BLANK] * (wanted.width - end))

    def _run(self, y: int, x: int, wanted: Grid) -> None:
        """Draw row `y` from column `x` to its end without placing the cursor again.

        Where a terminal makes a grapheme wider than we do, placing it would fall into that grapheme and lose its end.
        """
        self._move(y, x)
        cells = wanted.rows[y][x:]
        for cell in cells:
            self._draw_with(cell.pen)
            self._out.append(cell.text)
        self.shown.put(y, x, cells)
        self.cursor = None

    def _cell(self, y: int, x: int, wanted: Grid) -> int:
        """Draw the grapheme at `x` and return the column after it."""
        row = wanted.rows[y]
        width = 2 if x + 1 < wanted.width and row[x + 1].text == "" else 1
        self._move(y, x)
        self._draw_with(row[x].pen)
        self._out.append(row[x].text)
        self.shown.put(y, x, row[x : x + width])
        # In the last column a terminal may wait to wrap.
        self.cursor = (y, x + width) if x + width < wanted.width else None
        return x + width

    def _draw_with(self, pen: Pen) -> None:
        if pen != self.pen:
            self._out.append(pen_change(self.pen, pen))
            self.pen = pen

    def _move(self, y: int, x: int) -> None:
        if self.cursor == (y, x):
            return
        ways = [f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H" if y else "\x1b[H"]
        if self.cursor is not None:
            from_y, from_x = self.cursor
            if from_y == y and x > from_x:
                ways.append(f"\x1b[{x - from_x}C" if x - from_x > 1 else "\x1b[C")
                ways.extend(self._text_between(y, from_x, x))
            elif from_y == y and x == 0:
                ways.append("\r")
            elif from_y == y:
                ways.append(f"\x1b[{from_x - x}D" if from_x - x > 1 else "\x1b[D")
            elif y == from_y + 1 and x == 0:
                ways.append("\r\n")
        self._out.append(min(ways, key=len))
        self.cursor = (y, x)

    def _text_between(self, y: int, start: int, end: int) -> list[str]:
        """The text between two columns, if sending it again would move the cursor and change nothing."""
        cells = self.shown.rows[y][start:end]
        if end - start > 4 or any(
            cell.pen != self.pen or cell == UNKNOWN or not cell.text.isascii() or not cell.text for cell in cells
        ):
            return []
        if end > _agreed(self.shown.rows[y]):  # Something else may stand there.
            return []
        return ["".join(cell.text for cell in cells)]


def _agreed(row: Sequence[Cell]) -> int:
    """The columns before the first grapheme that not all terminals make equally wide: emoji and joined characters."""
    for x, cell in enumerate(row):
        if len(cell.text) > 1 or cell.text >= "\U0001f000":
            return x
    return len(row)


@lru_cache(maxsize=4096)
def pen_change(old: Pen | None, new: Pen) -> str:
    """The shortest sequence that makes the terminal draw with `new`; `old` is None when not known."""
    link = f"\x1b]8;{new.link or ';'}\x1b\\" if new.link != (old.link if old else "") else ""
    colours = [new.foreground, new.background]
    afresh = ";".join(filter(None, ["0", *new.attributes, *colours]))
    afresh = "\x1b[m" if afresh == "0" else f"\x1b[{afresh}m"
    if old is None or not set(old.attributes) <= set(new.attributes):
        return link + afresh
    codes = [code for code in new.attributes if code not in old.attributes]
    if old.foreground != new.foreground:
        codes.append(new.foreground or "39")
    if old.background != new.background:
        codes.append(new.background or "49")
    step = f"\x1b[{';'.join(codes)}m" if codes else ""
    return link + min(step, afresh, key=len)
