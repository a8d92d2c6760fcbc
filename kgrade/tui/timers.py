"""One call after some time, however busy the machine is."""

from __future__ import annotations

from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.timer import Timer


def after(seconds: float, node: MessagePump, callback: Callable[[], object]) -> Timer:
    """Call `callback` once, `seconds` from now or later, unless `node` goes or the timer is stopped before.

    A timer of Textual leaves out a call whose time has passed before it begins to wait. That is meant for calls that
    repeat; on a machine so busy that a program stands still for `seconds`, a single call would be lost.
    """
    timer = node.set_timer(seconds, callback)
    timer._skip = False  # read when the timer's task begins, which is after this
    return timer
