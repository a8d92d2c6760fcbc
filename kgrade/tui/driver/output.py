"""The way to the terminal, which can be gone from one byte to the next: a closed window, a broken line."""

from __future__ import annotations

import os
import select
from collections.abc import Callable


class Output:
    """A file of text over the descriptor `fileno`, written to by one thread.

    When the terminal is gone `lost` is called, once and from that thread, and what is written later is dropped: a
    writer that failed would leave the program waiting for it for ever.
    """

    def __init__(self, fileno: int, lost: Callable[[], None]) -> None:
        self._fileno = fileno
        self._lost = lost
        self._gone = False
        self._waiting: list[str] = []

    def fileno(self) -> int:
        """The descriptor."""
        return self._fileno

    def write(self, text: str) -> None:
        """Keep `text` until `flush`."""
        self._waiting.append(text)

    def flush(self) -> None:
        """Send what was written; wait while the terminal takes nothing."""
        left = memoryview("".join(self._waiting).encode("utf-8", "replace"))
        self._waiting.clear()
        while left and not self._gone:
            try:
                left = left[os.write(self._fileno, left) :]
            except BlockingIOError:  # another program that shares the terminal may have made it so
                select.select([], [self._fileno], [])
            except OSError:
                self._gone = True
                self._lost()
