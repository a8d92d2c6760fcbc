"""Inline PTX: each `asm` statement becomes calls of the runtime's functions, one for each instruction."""

from __future__ import annotations

import tree_sitter


class UnknownInstruction(Exception):
    """An instruction for which the runtime has no function."""


def translate_asm(node: tree_sitter.Node, text: bytes) -> bytes:
    """Return the expression that stands for an `asm` expression; raise `UnknownInstruction`."""
    raise UnknownInstruction(text[node.start_byte : node.end_byte].decode(errors="replace")[:80])
