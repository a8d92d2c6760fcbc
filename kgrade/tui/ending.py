"""Being ended from outside: by a signal, or because the terminal is gone."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

from rich.text import Text
from textual.app import App

_PATIENCE_S: Final = 10
"""Seconds after which the system ends the program, whatever it waits for: drafts are written before they are shown."""


class Ending:
    """Ends `app` in order. `leave` puts away what is open and tells, in a few words, what is kept of it."""

    def __init__(self, app: App[int], leave: Callable[[], str]) -> None:
        self._app = app
        self._leave = leave
        self._ended = False

    def on_signals(self) -> None:
        """End on SIGTERM and SIGHUP."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._asked)

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        """A handler may interrupt anything, a write to a terminal that takes nothing included."""
        signal.alarm(_PATIENCE_S)
        name = signal.Signals(number).name
        # Who closed the window reads no farewell, and writing to it would fail.
        told = number != signal.SIGHUP
        loop = self._app._loop
        if loop is not None:
            loop.call_soon_threadsafe(self.end, 128 + number, f"kgrade was ended by {name}" if told else "")

    def end(self, status: int, words: str) -> None:
        """Leave with `status` and say `words` on the terminal that was given back; nothing if they are empty."""
        if self._ended:
            return
        self._ended = True
        kept = self._leave()
        message = Text("; ".join(filter(None, [words, kept]))) if words else None
        self._app.exit(status, message=message)
