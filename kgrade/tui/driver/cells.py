"""What a terminal shows, as a grid of cells: a piece of text and the pen it is drawn with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple


class Pen(NamedTuple):
    """How a cell is drawn, in the parameters of SGR (ECMA-48 8.3.117) without defaults.

    `attributes` are sorted codes such as ``1`` or ``7``; a colour is ``31``, ``38;5;9`` or ``38;2;r;g;b``;
    `link` is the body of an OSC 8 hyperlink. Empty means the terminal's default.
    """

    attributes: tuple[str, ...] = ()
    foreground: str = ""
    background: str = ""
    link: str = ""


class Cell(NamedTuple):
    """One column of one row. `text` is a grapheme, or empty for the right half of a wide one."""

    text: str
    pen: Pen


PLAIN: Final = Pen()
BLANK: Final = Cell(" ", PLAIN)
UNKNOWN: Final = Cell("\0", PLAIN)
"""Equal to nothing that is ever wanted, so that it is always drawn anew."""

_CLEARED_BY: Final = {
    "22": {"1", "2"},
    "23": {"3"},
    "24": {"4", "21"},
    "25": {"5", "6"},
    "27": {"7"},
    "28": {"8"},
    "29": {"9"},
    "54": {"51", "52"},
    "55": {"53"},
}


@lru_cache(maxsize=16384)
def cell(text: str, pen: Pen) -> Cell:
    """The cell of `text` in `pen`; one object for equal cells, so that comparing rows is cheap."""
    return Cell(text, pen)


@lru_cache(maxsize=4096)
def changed_by(pen: Pen, parameters: str) -> Pen:
    """`pen` after an SGR sequence with `parameters` (the text between ``ESC [`` and ``m``)."""
    codes = parameters.split(";")
    attributes, foreground, background = set(pen.attributes), pen.foreground, pen.background
    index = 0
    while index < len(codes):
        code = codes[index].lstrip("0")
        length = 1
        if code == "":
            attributes, foreground, background = set(), "", ""
        elif code in ("38", "48"):
            length = 5 if codes[index + 1 : index + 2] == ["2"] else 3
            colour = ";".join([code, *codes[index + 1 : index + length]])
            foreground, background = (colour, background) if code == "38" else (foreground, colour)
        elif code in _CLEARED_BY:
            attributes -= _CLEARED_BY[code]
        elif code == "39":
            foreground = ""
        elif code == "49":
            background = ""
        elif _is_foreground(code):
            foreground = code
        elif _is_background(code):
            background = code
        else:
            attributes.add(code)
        index += length
    return Pen(tuple(sorted(attributes, key=int)), foreground, background, pen.link)


def _is_foreground(code: str) -> bool:
    return len(code) == 2 and code[0] in "39"


def _is_background(code: str) -> bool:
    return (len(code) == 2 and code[0] == "4") or (len(code) == 3 and code[:2] == "10")


class Grid:
    """`height` rows of `width` cells. A wide grapheme holds two cells, the second with empty text.

    When half of a wide grapheme is overwritten the other half becomes `torn`.
    """

    def __init__(self, width: int, height: int, *, torn: Cell) -> None:
        self.width = width
        self.height = height
        self.torn = torn
        self.rows: list[list[Cell]] = [[BLANK] * width for _ in range(height)]

    def put(self, y: int, x: int, cells: Sequence[Cell]) -> None:
        """Write `cells` into row `y` from column `x`; what lies outside the grid is cut off."""
        if not 0 <= y < self.height or not 0 <= x < self.width or not cells:
            return
        row = self.rows[y]
        end = x + len(cells)
        if end > self.width:
            end = self.width
            cut_through_wide = cells[end - x].text == ""
            cells = [*cells[: end - x - 1], self.torn] if cut_through_wide else cells[: end - x]
        if row[x].text == "" and x > 0:
            row[x - 1] = self.torn
        if end < self.width and row[end].text == "":
            row[end] = self.torn
        row[x:end] = cells

    def shift(self, top: int, bottom: int, lines: int) -> None:
        """Move rows `top` to `bottom` (both included) up by `lines`, down if negative; blanks come in."""
        band = self.rows[top : bottom + 1]
        blanks = [[BLANK] * self.width for _ in range(abs(lines))]
        moved = band[lines:] + blanks if lines > 0 else blanks + band[:lines]
        self.rows[top : bottom + 1] = moved
