"""What the terminal sends for keys, with Escape told apart from the beginning of a sequence."""

from __future__ import annotations

import re
from typing import Final

ESCAPE: Final = "\x1b[27u"
"""The Escape key in the keyboard protocol that has a sequence for it."""

_BEGIN: Final = "\x1b[200~"
_END: Final = "\x1b[201~"
_PASTE: Final = re.compile(r"(\x1b\[20[01]~)")
_ESCAPE_KEY: Final = re.compile(r"\x1b(?![\[O])")
_UNFINISHED: Final = re.compile(r"\x1b(?:[\[O]|\[2|\[20|\[20[01])?\Z")


class Typed:
    """Tells a key that follows Escape in one packet from the same key with Alt, which a terminal sends alike.

    No key of the table has Alt, so it is always two keys: what closes a text, and what comes after it. Only before
    ``[`` and ``O`` they cannot be told from the beginning of another key's sequence. In pasted text no escape is one:
    it becomes its symbol, so that nothing pasted acts as a key.
    """

    def __init__(self) -> None:
        self._held = ""
        self._pasting = False

    def feed(self, text: str) -> str:
        """`text` as it was typed; an end that more may complete is held back until more comes, or `rest`."""
        text = self._held + text
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return self._told_apart(text[:cut])

    def rest(self) -> str:
        """What was held back, when nothing came after it for as long as a terminal may pause in a sequence."""
        if self._pasting or not self._held:
            return ""
        held, self._held = self._held, ""
        return ESCAPE + held[1:]

    def _told_apart(self, text: str) -> str:
        pieces = []
        for piece in _PASTE.split(text):
            if piece == _END if self._pasting else piece == _BEGIN:
                self._pasting = not self._pasting
                pieces.append(piece)
            elif self._pasting:
                pieces.append(piece.replace("\x1b", "␛"))
            else:
                pieces.append(_ESCAPE_KEY.sub(ESCAPE, piece))
        return "".join(pieces)
