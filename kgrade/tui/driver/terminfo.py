"""What the terminal's entry in the terminfo database says it cannot do."""

from __future__ import annotations

import curses
import os
import sys


def scrolls_regions() -> bool:
    """Whether the terminal can move some of its rows: a region can be set, and lines put in and taken out of it.

    True for a terminal that the database does not know: those that cannot are old, and it knows them.
    """
    try:
        curses.setupterm(os.environ.get("TERM", "dumb"), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    except curses.error:
        return True
    return all(curses.tigetstr(capability) for capability in ("csr", "il1", "dl1"))
