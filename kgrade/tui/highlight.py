"""Colours for source text, made by Pygments for the window that is looked at."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from kgrade.tui.lines import LazyRows, Place, Row, SourceText, Span

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

_WINDOW: Final = 128
_LEAD: Final = 128
"""Lines lexed before a window, so that most strings and comments that reach into it are known as such."""

_KEPT_WINDOWS: Final = 16
_WIDEST: Final = 2000
"""Characters from which a line is data, not code, and is left uncoloured."""

_STYLE_OF: Final = (
    ("Comment.Preproc", "code.decorator"),
    ("Comment", "code.comment"),
    ("Keyword", "code.keyword"),
    ("Operator.Word", "code.keyword"),
    ("Literal.String", "code.string"),
    ("Literal.Number", "code.number"),
    ("Name.Decorator", "code.decorator"),
    ("Name.Function", "code.name"),
    ("Name.Class", "code.name"),
)


LEXERS: Final = {
    ".py": "python",
    ".pyi": "python",
    ".cu": "cuda",
    ".cuh": "cuda",
    ".hip": "cuda",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".json": "json",
    ".md": "markdown",
    ".sh": "bash",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
"""Pygments' names of the usual languages: it matches a path against a thousand patterns, and looks for plugins.

It has no lexer of its own for HIP and takes .cuh for nothing.
"""


_first_picture = threading.Event()
"""Set while a first picture is made: it does not wait for Pygments, whose tables take as long as all of its text."""


def leave_plain() -> None:
    """Colour nothing until `colour`."""
    _first_picture.set()


def colour() -> None:
    """Colour what is looked at from now on."""
    _first_picture.clear()


class HighlightedText:
    """The lines of a file as spans. `path` chooses the language by its ending; an unknown one stays plain."""

    def __init__(self, data: bytes, path: str) -> None:
        self.source = SourceText(data)
        self._path = path
        self._windows: OrderedDict[int, list[tuple[Span, ...]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int, /) -> tuple[Span, ...]:
        """The spans of line `index`, counted from 0."""
        if _first_picture.is_set():
            return (Span(self.source[index]),)
        number = index // _WINDOW
        if number not in self._windows:
            self._windows[number] = self._window(number * _WINDOW)
            if len(self._windows) > _KEPT_WINDOWS:
                self._windows.popitem(last=False)
        self._windows.move_to_end(number)
        return self._windows[number][index - number * _WINDOW]

    def _window(self, start: int) -> list[tuple[Span, ...]]:
        stop = min(start + _WINDOW, len(self.source))
        lead = max(0, start - _LEAD)
        lines = self.source.window(lead, stop)
        lexer = self._lexer
        if lexer is None or max(map(len, lines)) > _WIDEST:
            return [(Span(line),) for line in lines[start - lead :]]
        return _spans(lexer, lines)[start - lead :]

    @cached_property
    def _lexer(self) -> Lexer | None:
        from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
        from pygments.util import ClassNotFound

        name = LEXERS.get(PurePath(self._path).suffix)
        try:
            if name is not None:
                return get_lexer_by_name(name, stripnl=False, ensurenl=False)
            return get_lexer_for_filename(self._path, stripnl=False, ensurenl=False)
        except ClassNotFound:
            return None


def _spans(lexer: Lexer, lines: list[str]) -> list[tuple[Span, ...]]:
    # Lexers split lines at more than newlines; a carriage return inside a line must not become two.
    text = "\n".join(line.replace("\r", " ") for line in lines)
    rows: list[list[Span]] = [[]]
    for token, value in lexer.get_tokens(text):
        style = _style(token)
        for number, part in enumerate(value.split("\n")):
            if number:
                rows.append([])
            if part:
                rows[-1].append(Span(part, style))
    return [tuple(spans) for spans in rows[: len(lines)]] + [()] * (len(lines) - len(rows))


def _style(token: _TokenType) -> str:
    name = str(token).removeprefix("Token.")
    return next((style for prefix, style in _STYLE_OF if name.startswith(prefix)), "")


def file_rows(data: bytes, path: str, *, note_signs: dict[int, str] | None = None) -> LazyRows:
    """A file with line numbers, coloured lazily; `note_signs` maps lines (from 1) to a row's `sign`."""
    text = HighlightedText(data, path)
    digits = len(str(len(text)))
    signs = note_signs or {}

    def make(index: int) -> Row:
        line = index + 1
        return Row(
            spans=text[index],
            gutter=(Span(f"{line:{digits}} ", "number"),),
            place=Place(path, line),
            sign=signs.get(line, ""),
        )

    return LazyRows(len(text), make, find=text.source.find)
