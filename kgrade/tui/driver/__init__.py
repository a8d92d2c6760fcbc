"""A driver that sends only the cells that changed: over a slow line a key costs bytes, not screens."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import termios
from codecs import getincrementaldecoder
from contextlib import suppress
from threading import RLock
from typing import Any, Final, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from kgrade.tui.driver.output import Output
from kgrade.tui.driver.shadow import Shadow
from kgrade.tui.driver.terminfo import scrolls_regions
from kgrade.tui.driver.typed import Typed

_ENTER: Final = "\x1b[?1049h"
_SHOW_CURSOR: Final = "\x1b[?25h"
_HIDE_CURSOR: Final = "\x1b[?25l"


class TerminalLost(Message):
    """The terminal is gone for good; nothing that is sent arrives anywhere."""


class ChangedCellsDriver(LinuxDriver):
    """Textual's Linux driver with a `Shadow` between what is written and what is sent.

    What signals ask for is done in the event loop: a handler may interrupt the very write or queue that it needs.
    """

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = cast(Any, Output(self._file.fileno() if self._file else 2, self._lose))
        # The thread that reads keys may write too.
        self._writing = RLock()
        self._terminal_size = self._size_now()
        self._shadow = Shadow(*self._terminal_size, scrolls=scrolls_regions())
        self._afresh_is_due = False
        self._typing = False

    # Writing

    def write(self, data: str) -> None:
        """Send what `data` changes on the terminal, or nothing."""
        with self._writing:
            self._send(self._shadow.feed(data))

    def _send(self, data: str) -> None:
        # Without the thread that writes, in the background of a shell, the queue would fill up and block.
        if data and self._is_writing():
            super().write(data)

    def _is_writing(self) -> bool:
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def draw_afresh(self) -> None:
        """Erase the terminal and draw all of it."""
        self._afresh_is_due = False
        with self._writing:
            if self._is_writing():
                self._send(self._shadow.resize(*self._terminal_size))

    # Sizes

    def _get_terminal_size(self) -> tuple[int, int]:
        """Called at every start and when the terminal says that its size changed: it may show anything."""
        self._terminal_size = self._size_now()
        if not self._afresh_is_due:
            self._afresh_is_due = True
            self._loop.call_soon_threadsafe(self.draw_afresh)
        return self._terminal_size

    def _size_now(self) -> tuple[int, int]:
        """What the terminal itself says: COLUMNS and LINES, where exported, are of another or of another time."""
        try:
            width, height = os.get_terminal_size(self.fileno)
        except OSError:
            return super()._get_terminal_size()
        return (width, height) if width and height else super()._get_terminal_size()

    def _query_in_band_window_resize(self) -> None:
        """Not asked for: the signal says the same, and an answer would also switch the mouse to pixels."""

    # Reading

    def run_input_thread(self) -> None:
        """Read keys until the program takes no more, or the terminal is gone."""
        parser = XTermParser(self._debug)
        decoder = getincrementaldecoder("utf-8")("replace")
        typed = Typed()
        ahead = self._typed_ahead()
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno], [], [], 0.1)
            data = self._read() if ready else b""
            # Until the line gave keys as they come it took this one for the end of its input, and kept a NUL of it.
            data = data[:ahead].replace(b"\0", b"\x04") + data[ahead:]
            ahead = max(0, ahead - len(data))
            if ready and not data:
                self._lose()
                return
            self._hand_on(parser, typed.feed(decoder.decode(data)) if ready else typed.rest())
        self._hand_on(parser, typed.rest())

    def _hand_on(self, parser: XTermParser, text: str) -> None:
        # The parser takes "" for the end of all input.
        for message in parser.feed(text) if text else ():
            self.process_message(message)
        for message in parser.tick():
            self.process_message(message)

    def _typed_ahead(self) -> int:
        """How many bytes were typed before there was anyone to read them."""
        with suppress(OSError):
            return int.from_bytes(fcntl.ioctl(self.fileno, termios.FIONREAD, bytes(4)), sys.byteorder)
        return 0

    def _read(self) -> bytes:
        """What was typed; nothing when the terminal is gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""

    def disable_input(self) -> None:
        """Read no more keys. What was typed and not read belongs to the editor that gets the terminal next."""
        if self._mouse:
            # Nor do reports of the mouse, which may be among it.
            super().disable_input()
            return
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        if self.exit_event.is_set():
            return
        self.exit_event.set()
        if self._key_thread is not None:
            self._key_thread.join()
        self.exit_event.clear()

    def _lose(self) -> None:
        self.send_message(TerminalLost())

    # Stopping and going on

    def _sigtstp_application(self, *_: object) -> None:
        """Asked to stop: at once while an editor has the terminal, else when the terminal was given back."""
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._stop)
        else:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _stop(self) -> None:
        if self._is_writing():
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        """Take the terminal again. Who was stopped without being asked still has it, but a shell has used it."""
        if not self._is_writing():
            self.resume_application_mode()
            return
        self._read_keys_raw()
        self.write(_ENTER + (_SHOW_CURSOR if self._shadow.cursor_visible else _HIDE_CURSOR))

    def suspend_application_mode(self) -> None:
        """Give the terminal back, and remember whether a text was being typed."""
        self._typing = self._shadow.cursor_visible
        super().suspend_application_mode()

    def resume_application_mode(self) -> None:
        """Take the terminal again, as it was left."""
        super().resume_application_mode()
        if self._typing:
            self.write(_SHOW_CURSOR)

    def _read_keys_raw(self) -> None:
        if self.attrs_before is None:
            return
        attributes = termios.tcgetattr(self.fileno)
        attributes[3] = self._patch_lflag(attributes[3])
        attributes[0] = self._patch_iflag(attributes[0])
        attributes[6][termios.VMIN] = 1
        termios.tcsetattr(self.fileno, termios.TCSANOW, attributes)


def chosen_driver() -> type[Driver] | None:
    """The driver to use, None for Textual's own: `KGRADE_DRIVER=plain` is the way out on an odd terminal."""
    return None if os.environ.get("KGRADE_DRIVER") == "plain" or os.name != "posix" else ChangedCellsDriver
