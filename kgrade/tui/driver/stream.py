"""Reads the stream that Textual writes and draws it on a grid, handing on what is not drawing."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from rich.cells import cell_len, split_graphemes

from kgrade.tui.driver.cells import PLAIN, Cell, Grid, Pen, cell, changed_by

_TOKEN: Final = re.compile(
    r"""
      \x1b\[(?P<row>\d+);(?P<column>\d+)H
    | \x1b\[(?P<pen>[\d;]*)m
    | \x1b\]8;(?P<link>[^\x07\x1b]*)(?:\x07|\x1b\\)
    | (?P<text>[^\x00-\x1f\x7f-\x9f]+)
    | (?P<newline>[\r\n])
    | (?P<control>
        \x1b\[[0-?]*[\ -/]*[@-~]
      | \x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)
      | \x1b[\ -/]*[0-~]
      | \x07
      )
    | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Painter:
    """Draws a stream of text, pens and cursor addresses on `grid`.

    Every other sequence goes to `on_control`, in its place in the stream. Control characters that belong to
    no sequence are dropped: Rich counts no width for them, and nothing that steers a terminal may slip by.
    """

    def __init__(self, grid: Grid, on_control: Callable[[str], None]) -> None:
        self.grid = grid
        self.y = 0
        self.x = 0
        self._pen = PLAIN
        self._on_control = on_control

    def feed(self, data: str) -> None:
        """Draw `data`, which must not end inside an escape sequence."""
        for token in _TOKEN.finditer(data):
            kind = token.lastgroup
            if kind == "text":
                self._draw(token["text"])
            elif kind == "pen":
                self._pen = changed_by(self._pen, token["pen"])
            elif kind == "column":
                self.y, self.x = int(token["row"]) - 1, int(token["column"]) - 1
            elif kind == "newline":
                # The line discipline returns the carriage on "\n", so both end in column 0.
                self.y += token["newline"] == "\n"
                self.x = 0
            elif kind == "link":
                target = token["link"] if token["link"].strip(";") else ""
                self._pen = self._pen._replace(link=target)
            elif kind == "control":
                self._on_control(token["control"])

    def _draw(self, text: str) -> None:
        if not text.isascii() and self.x and 0 <= self.y < self.grid.height and not cell_len(text[0]):
            text = self._with_marks_put_back(text)
        cells = cells_of(text, self._pen)
        self.grid.put(self.y, self.x, cells)
        self.x += len(cells)

    def _with_marks_put_back(self, text: str) -> str:
        """Put the marks that `text` begins with on the grapheme before it; return what is left."""
        rest = text
        while rest and not cell_len(rest[0]):
            rest = rest[1:]
        row = self.grid.rows[self.y]
        base = min(self.x, self.grid.width) - 1
        if row[base].text == "" and base:
            base -= 1
        row[base] = cell(row[base].text + text[: len(text) - len(rest)], row[base].pen)
        return rest


@lru_cache(maxsize=4096)
def cells_of(text: str, pen: Pen) -> tuple[Cell, ...]:
    """The cells that `text` fills, as wide as Rich measures it: so Textual laid out its rows.

    Marks without a width that stand first, with nothing to sit on, are left out.
    """
    if text.isascii():
        return tuple([cell(character, pen) for character in text])
    cells: list[Cell] = []
    graphemes, _width = split_graphemes(text)
    for start, end, width in graphemes:
        if width:
            cells.append(cell(text[start:end], pen))
            cells.extend([cell("", pen)] * (width - 1))
    return tuple(cells)
