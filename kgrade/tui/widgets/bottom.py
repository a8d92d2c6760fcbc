"""The last two lines: a message or the text being typed, and the keys that matter here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
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
    if isinstance(value, EntryText):
        return [value.spans]
    return [[Span(f" {value.text}" if value.text else "", value.tone)]]


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


def key_lines(value: KeysShown, size: Size) -> Sequence[Sequence[Span]]:
    """One line; without room keys go from the end, but the last, which is the way to help, stays."""
    words = list(value.words)
    while len(words) > 1 and sum(cell_len(key) + cell_len(word) + 3 for key, word in words) > size.width:
        words.pop(-2)
    return [[span for key, word in words for span in (Span(f" {key}", "key"), Span(f" {word} "))]]
