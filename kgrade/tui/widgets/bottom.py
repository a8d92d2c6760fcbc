"""The last two lines: a message or the text being typed, and the keys that matter here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from textual.geometry import Size

from kgrade.tui.keys import Context, KeyTable
from kgrade.tui.lines import Span


@dataclass(frozen=True, slots=True)
class MessageText:
    """A sentence for the person; `tone` is a style that underlines it."""

    text: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class EntryText:
    """The line being typed, as `TextEntry.drawn` made it."""

    spans: tuple[Span, ...] = ()


def message_lines(value: MessageText | EntryText, size: Size) -> Sequence[Sequence[Span]]:
    """One line."""
    return [value.spans] if isinstance(value, EntryText) else _message(value)


def _message(value: MessageText) -> list[list[Span]]:
    return [[Span(f" {value.text}" if value.text else "", value.tone)]]


def parted(text: str, width: int) -> tuple[str, str]:
    """`text` as far as it fits into `width` columns, up to a word's end, and the rest of it."""
    if width <= 0 or cell_len(text) <= width:
        return text, ""
    line = set_cell_size(text, width)
    at = line.rfind(" ")
    return (line[:at], text[at + 1 :]) if at > 0 else (line, text[len(line) :])


@dataclass(frozen=True, slots=True)
class KeysShown:
    """The keys of `context` that have a short word."""

    words: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, table: KeyTable, context: Context) -> KeysShown:
        """Made from the table, so that rebound keys are named as they are."""
        shown = [binding for binding in table.within(context) if binding.short and binding.keys]
        shown.sort(key=lambda binding: binding.action == "help")
        return cls(tuple((binding.keys[0], binding.short) for binding in shown))


def key_lines(value: KeysShown | MessageText, size: Size) -> Sequence[Sequence[Span]]:
    """One line: the rest of a long message, or keys; without room these go from the end, but the way to help stays."""
    if isinstance(value, MessageText):
        return _message(value)
    words = list(value.words)
    while len(words) > 1 and sum(cell_len(key) + cell_len(word) + 3 for key, word in words) > size.width:
        words.pop(-2)
    return [[span for key, word in words for span in (Span(f" {key}", "key"), Span(f" {word} "))]]
