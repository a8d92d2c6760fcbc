"""What commands print. Text from a queue is data: nothing in it reaches the terminal as a command."""

from __future__ import annotations

import json
from typing import Any

import click

from kgrade.records.neutral import neutral, neutral_lines


def line(text: str) -> str:
    """Return `text` on one line and safe to print."""
    return neutral(" ".join(text.split("\n")))


def say(text: str = "", *, err: bool = False) -> None:
    """Print `text`, made safe to print, and a newline."""
    click.echo(neutral_lines(text), err=err)


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
