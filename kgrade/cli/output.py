"""What commands print. Text from a queue is data: nothing in it reaches the terminal as a command."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import click

_KEPT = "\n\t"


def plain(text: str) -> str:
    """Return `text` with control, bidirectional and other invisible characters shown instead of sent.

    C0 controls and DEL become their Unicode pictures (ESC is ␛); C1 controls, format characters, lone surrogates and
    line separators become `<U+009B>`. Newline and tab stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character in _KEPT else _shown(character) for character in text)


def line(text: str) -> str:
    """Return `text` as `plain` does, on one line."""
    return plain(" ".join(text.split("\n"))).replace("\t", " ")


def say(text: str = "", *, err: bool = False) -> None:
    """Print `text`, made plain, and a newline."""
    click.echo(plain(text), err=err)


def say_json(value: Any) -> None:
    """Print `value` (structs, lists, dicts) as JSON in ASCII, so that no character of it can act on a terminal."""
    import msgspec

    text = json.dumps(msgspec.to_builtins(value, str_keys=True), indent=1)
    click.echo(text.replace("\x7f", "\\u007f"))


def columns(rows: list[list[str]]) -> str:
    """Return `rows` as left-aligned columns, two spaces apart."""
    cells = [[line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return f"<U+{code:04X}>"
    return character
