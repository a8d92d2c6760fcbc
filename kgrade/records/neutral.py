"""Text from a queue is data: what could steer a terminal or hide from the eye becomes a visible symbol.

Symbols: control pictures for C0 (``␛``), ``⟨9B⟩`` for C1, ``⟨RLO⟩`` for bidirectional controls, ``⟨200B⟩``
for other characters that cannot be seen, ``⟨xFF⟩`` for a byte that is no UTF-8, ``␣`` for a space that is not
U+0020.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

TAB: Final = 4
"""Columns between tab stops."""

_MARKS: Final = 2
"""Combining marks that one character may carry; more of them climb over the neighbouring lines."""

_NAMED: Final = {
    "\u061c": "ALM",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u202a": "LRE",
    "\u202b": "RLE",
    "\u202c": "PDF",
    "\u202d": "LRO",
    "\u202e": "RLO",
    "\u2066": "LRI",
    "\u2067": "RLI",
    "\u2068": "FSI",
    "\u2069": "PDI",
    "\ufeff": "BOM",
}

# What may be anything but a plain letter: long lines are mostly made of the others, which need no look each.
_NOT_PLAIN: Final = re.compile("[^ -~\u00a1-\u00ac\u00ae-\u02af\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]")

_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# Letters and marks that leave no ink: default-ignorable code points (Unicode, DerivedCoreProperties)
# whose category does not give them away.
_INKLESS: Final = frozenset(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0]
)


def decoded(data: bytes) -> str:
    """UTF-8 as text; a byte that is none becomes a lone surrogate, shown by `neutral_pieces` as ``⟨xFF⟩``."""
    return data.decode("utf-8", "surrogateescape")


def neutral(text: str) -> str:
    """`text` on one line, safe to print; tabs are expanded."""
    return "".join(piece for piece, _ in neutral_pieces(text))


def neutral_lines(text: str) -> str:
    """`text` safe to print, with its line ends kept and `neutral` on each line."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(neutral(line) for line in text.split("\n"))


def neutral_pieces(text: str, column: int = 0) -> Iterator[tuple[str, bool]]:
    """`text`, which starts at `column`, in pieces: (safe text, whether it stands for something else)."""
    if text.isascii() and text.isprintable():
        if text:
            yield text, False
        return
    tabbed = "\t" in text
    start = marks = last = 0
    for found in _NOT_PLAIN.finditer(text):
        index, character = found.start(), found[0]
        if index != last:
            marks = 0
        last = index + 1
        if character == "\t":
            replacement, flagged = "", False
        elif unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
            marks += 1
            replaced = _symbol(character) or (_code(character) if index == 0 or marks > _MARKS else None)
            if replaced is None:
                continue
            replacement, flagged = replaced, True
        else:
            marks = 0
            symbol = _symbol(character)
            if symbol is None:
                continue
            replacement, flagged = symbol, True
        if index > start:
            piece = text[start:index]
            column += _cells(piece) if tabbed else 0
            yield piece, False
        if character == "\t":
            replacement = " " * (TAB - column % TAB)
        column += len(replacement)
        yield replacement, flagged
        start = index + 1
    if start < len(text):
        yield text[start:], False


def _cells(text: str) -> int:
    """The columns that `text` takes; what knows them is imported when a tab makes it matter."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


@lru_cache(maxsize=8192)
def _symbol(character: str) -> str | None:
    """What stands for `character`, None if it may be shown as it is."""
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return None
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if character in _NAMED:
        return f"⟨{_NAMED[character]}⟩"
    if 0xDC80 <= code <= 0xDCFF:
        return f"⟨x{code - 0xDC00:02X}⟩"
    category = unicodedata.category(character)
    if category == "Zs":
        return "␣"
    variation = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    if category in _INVISIBLE_CATEGORIES or code in _INKLESS or variation:
        return _code(character)
    return None


def _code(character: str) -> str:
    return f"⟨{ord(character):02X}⟩"
