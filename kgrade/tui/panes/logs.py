"""A log as rows, its errors and warnings marked, however long it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kgrade.tui.lines import Lines, Row, Rows, SourceText, Span
from kgrade.tui.panes import figures
from kgrade.tui.panes.layout import fold, heading, sentence

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile
    from kgrade.repository.spool import Spool

_SCANNED: Final = 8 << 20
"""Bytes in which errors are sought for `]`; lines past them are still signed when they are looked at."""

_ERROR: Final = re.compile(r"\b(?:fatal|error|exception|traceback|undefined reference|failed)\b", re.IGNORECASE)
_WARNING: Final = re.compile(r"\bwarn(?:ing)?\b", re.IGNORECASE)
_ERROR_BYTES: Final = re.compile(_ERROR.pattern.encode(), re.IGNORECASE)
_LONG: Final = 400
_AGAIN_S: Final = 0.1

_MOMENT_S: Final = 0.001
"""Seconds that a search waits each time for lines that are still to come."""


class LogRows:
    """The lines of a log, numbered; `✗` and `!` stand before those that name an error or a warning.

    What is large comes bit by bit, so its number of lines grows. Where it ends too early a last row says so.
    """

    def __init__(self, data: bytes | Spool) -> None:
        self._data = data
        self._text = SourceText(data)
        self._was_whole = False

    def __len__(self) -> int:
        return len(self._text) + bool(self._fault)

    def __getitem__(self, index: int, /) -> Row:
        if self._fault and index == len(self._text):
            return Row(spans=(Span(f"the log ends here too early: {self._fault}", "warn"),), sign="!")
        line = self._text[index]
        sign, style = _severity(line)
        gutter = (Span(f"{index + 1:{len(str(len(self)))}} ", "number"),)
        return Row(spans=(Span(line, style),), gutter=gutter, sign=sign, mark="error" if sign == "✗" else "")

    @cached_property
    def marks(self) -> Sequence[int]:
        """The lines with errors in the first bytes, sought when somebody goes to one."""
        return _error_lines(self._data if isinstance(self._data, bytes) else self._data.read(0, _SCANNED))

    @property
    def _fault(self) -> str:
        return "" if isinstance(self._data, bytes) else self._data.fault

    def find(self, needle: str) -> Iterator[int | None]:
        """Lines that hold `needle`; see `Lines.find`."""
        data = self._data
        return self._text.find(needle, lambda: isinstance(data, bytes) or data.wait(_MOMENT_S))

    def go_on(self) -> float | None:
        """What is large comes by itself; see `Lines.go_on`."""
        if isinstance(self._data, bytes) or self._was_whole:
            return None
        self._was_whole = self._data.wait(0)
        return _AGAIN_S


def log_section(file: EvidenceFile, name: str | None) -> list[Lines]:
    """The stage's log under its heading; a long one behind a fold; a sentence when it is named and not there."""
    if name is None:
        return []
    if name not in file.logs:
        return [Rows(sentence(f"The log {name} is named by the evidence and is not beside it.", "warn", lead="! "))]
    data = file.logs[name]
    lines = LogRows(data)
    if not isinstance(data, bytes):
        return [Rows([heading(f"log {name}", figures.size(data.size)), fold("… large", lines, indent="  ")])]
    head = heading(f"log {name}", f"{figures.count(len(lines), 'line')}, {figures.size(len(data))}")
    if not len(lines):
        return [Rows([head, Row(spans=(Span("  — empty", "dim"),))])]
    if len(lines) > _LONG:
        errors = figures.count(len(lines.marks), "line") + " with errors"
        return [Rows([head, fold(f"… {figures.count(len(lines), 'line')}, {errors}", lines, indent="  ")])]
    return [Rows([head]), lines]


def _severity(line: str) -> tuple[str, str]:
    if _ERROR.search(line):
        return "✗", "bad"
    return ("!", "warn") if _WARNING.search(line) else ("", "")


def _error_lines(data: bytes) -> list[int]:
    lines: list[int] = []
    number = at = 0
    for found in _ERROR_BYTES.finditer(data, 0, _SCANNED):
        number += data.count(b"\n", at, found.start())
        at = found.start()
        if not lines or lines[-1] != number:
            lines.append(number)
    return lines
