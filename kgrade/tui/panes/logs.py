"""A log as rows, its errors and warnings marked, however long it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kgrade.tui.lines import LazyRows, Lines, Row, Rows, SourceText, Span
from kgrade.tui.panes import figures
from kgrade.tui.panes.layout import fold, heading, sentence

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile

_SCANNED: Final = 8 << 20
"""Bytes in which errors are sought for `]`; lines past them are still signed when they are looked at."""

_ERROR: Final = re.compile(r"\b(?:fatal|error|exception|traceback|undefined reference|failed)\b", re.IGNORECASE)
_WARNING: Final = re.compile(r"\bwarn(?:ing)?\b", re.IGNORECASE)
_ERROR_BYTES: Final = re.compile(_ERROR.pattern.encode(), re.IGNORECASE)
_LONG: Final = 400


def log_rows(data: bytes) -> LazyRows:
    """The lines of a log, numbered; `✗` and `!` stand before those that name an error or a warning."""
    text = SourceText(data)
    digits = len(str(len(text)))

    def make(index: int) -> Row:
        line = text[index]
        sign, style = _severity(line)
        gutter = (Span(f"{index + 1:{digits}} ", "number"),)
        return Row(spans=(Span(line, style),), gutter=gutter, sign=sign, mark="error" if sign == "✗" else "")

    return LazyRows(len(text), make, _error_lines(data), text.find)


def log_section(file: EvidenceFile, name: str | None) -> list[Lines]:
    """The stage's log under its heading; a long one behind a fold; a sentence when it is named and not there."""
    if name is None:
        return []
    if name not in file.logs:
        return [Rows(sentence(f"The log {name} is named by the evidence and is not beside it.", "warn", lead="! "))]
    data = file.logs[name]
    lines = log_rows(data)
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
