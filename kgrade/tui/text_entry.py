"""One line of text being typed, without a screen."""

from __future__ import annotations

import re

from rich.cells import cell_len, split_graphemes

from kgrade.records.neutral import neutral
from kgrade.tui.lines import Span


class TextEntry:
    """`text` with a cursor before the character number `cursor`. `label` says what is asked for."""

    def __init__(self, label: str, text: str = "") -> None:
        self.label = label
        self.text = text
        self.cursor = len(text)

    def typed(self, text: str) -> None:
        """Put `text` in at the cursor."""
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def edit(self, action: str) -> None:
        """Do one of the table's ``text.`` actions that move or erase; others do nothing."""
        match action:
            case "text.left":
                self.cursor = self._before()
            case "text.right":
                self.cursor = self._after()
            case "text.start":
                self.cursor = 0
            case "text.end":
                self.cursor = len(self.text)
            case "text.erase":
                self._erase(self._before(), self.cursor)
            case "text.delete":
                self._erase(self.cursor, self._after())
            case "text.erase-word":
                word = re.search(r"\S*\s*$", self.text[: self.cursor])
                self._erase(word.start() if word else 0, self.cursor)
            case "text.erase-start":
                self._erase(0, self.cursor)
            case "text.erase-end":
                self._erase(self.cursor, len(self.text))

    def drawn(self, width: int) -> tuple[list[Span], int]:
        """The line in `width` columns, moved so that the cursor is on it, and the cursor's column."""
        label = f"{self.label}: "
        room = max(4, width - cell_len(label) - 1)
        # Every key draws the line: what lies beyond its ends is not looked at.
        before, after = neutral(self.text[: self.cursor]), neutral(self.text[self.cursor : self.cursor + width])
        hidden = cell_len(before) - room
        if hidden > 0:
            # Moved by half the room at a time: moving with every character would send the whole line each time.
            step = room // 2
            skipped = -(-hidden // step) * step
            before = "…" + _without_columns(before, skipped + 1)
        return [Span(label, "strong"), Span(before + after)], cell_len(label) + cell_len(before)

    def _erase(self, start: int, stop: int) -> None:
        self.text = self.text[:start] + self.text[stop:]
        self.cursor = start

    def _before(self) -> int:
        spans, _ = split_graphemes(self.text[: self.cursor])
        return spans[-1][0] if spans else 0

    def _after(self) -> int:
        spans, _ = split_graphemes(self.text[self.cursor :])
        return self.cursor + (spans[0][1] if spans else 0)


def _without_columns(text: str, columns: int) -> str:
    """`text` without its first `columns` columns; half of a wide character becomes a blank."""
    if text.isascii():
        return text[columns:]
    spans, _ = split_graphemes(text)
    passed = 0
    for start, end, width in spans:
        if passed >= columns:
            return text[start:]
        passed += width
        if passed > columns:
            return " " + text[end:]
    return ""
