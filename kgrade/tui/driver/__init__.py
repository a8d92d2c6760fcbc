"""A driver that sends only the cells that changed: over a slow line a key costs bytes, not screens."""

from __future__ import annotations

import os
from threading import RLock
from typing import Any

from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from kgrade.tui.driver.shadow import Shadow


class ChangedCellsDriver(LinuxDriver):
    """Textual's Linux driver with a `Shadow` between what is written and what is sent."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # The thread that reads keys may write too, and signal handlers interrupt the loop's own writes.
        self._writing = RLock()
        self._terminal_size = super()._get_terminal_size()
        self._shadow = Shadow(*self._terminal_size)

    def write(self, data: str) -> None:
        """Send what `data` changes on the terminal, or nothing."""
        with self._writing:
            self._send(self._shadow.feed(data))

    def _send(self, data: str) -> None:
        if data:
            super().write(data)

    def _get_terminal_size(self) -> tuple[int, int]:
        """Called at every start and when the terminal says that its size changed: it may show anything."""
        self._terminal_size = super()._get_terminal_size()
        # Not at once: this runs in a signal handler, possibly in the middle of a write.
        self._loop.call_soon_threadsafe(self.draw_afresh)
        return self._terminal_size

    def draw_afresh(self) -> None:
        """Erase the terminal and draw all of it."""
        writer = self._writer_thread
        if writer is not None and writer.is_alive():
            with self._writing:
                self._send(self._shadow.resize(*self._terminal_size))

    def _query_in_band_window_resize(self) -> None:
        """Not asked for: the signal says the same, and an answer would also switch the mouse to pixels."""


def chosen_driver() -> type[Driver] | None:
    """The driver to use, None for Textual's own: `KGRADE_DRIVER=plain` is the way out on an odd terminal."""
    return None if os.environ.get("KGRADE_DRIVER") == "plain" or os.name != "posix" else ChangedCellsDriver
