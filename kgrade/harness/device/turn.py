"""One machine-wide turn per GPU: two runs that are timed on one device at once both measure something else.

Each run that wants a device publishes a ticket: a file of its own that it keeps locked. The numbers are given out one
at a time, so the first ticket whose owner lives has the device; an owner that died left its ticket unlocked.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PERIOD_S = 0.1
_TICKET = re.compile(r"(\d{9})-(\d+)\Z")


class NoTurn(Exception):
    """The folder of the turns cannot be used; the message says why."""


@contextlib.contextmanager
def turn(uuid: str, waiting: Callable[[int, int], None], folder: Path | None = None) -> Iterator[None]:
    """Have the GPU `uuid` to oneself while the block runs.

    While another has it, `waiting` is called again and again with the holder's process id and the place in the line (1:
    next); it may raise to give up.
    """
    place = (folder or Path(tempfile.gettempdir())) / f"kgrade-{re.sub(r'[^A-Za-z0-9-]', '-', uuid)}"
    try:
        ticket, descriptor = _published(place)
    except OSError as why:
        raise NoTurn(f"{place}: {why.strerror or why}") from None
    try:
        while before := _before(place, ticket):
            waiting(_owner(before[0]), len(before))
            time.sleep(PERIOD_S)
        yield
    finally:
        with contextlib.suppress(OSError):
            ticket.unlink()
        os.close(descriptor)


def _published(place: Path) -> tuple[Path, int]:
    """Publish a locked ticket with the next number. The order file is locked meanwhile, so no two get the same."""
    place.mkdir(exist_ok=True)
    with contextlib.suppress(PermissionError):  # another user made it, for everyone
        place.chmod(0o1777)
    order = os.open(place / "order", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(order, fcntl.LOCK_EX)
        number = max((int(name[0:9]) for name in _tickets(place)), default=0) + 1
        ticket = place / f"{number:09d}-{os.getpid()}"
        hidden = place / f".{ticket.name}"  # none may see a ticket that is not locked yet, and take it for a dead one
        descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        hidden.rename(ticket)
        return ticket, descriptor
    finally:
        os.close(order)


def _before(place: Path, ticket: Path) -> list[Path]:
    """Return the tickets before `ticket` whose owners live, the holder's first."""
    earlier = sorted(name for name in _tickets(place) if name < ticket.name)
    return [place / name for name in earlier if _alive(place / name)]


def _tickets(place: Path) -> list[str]:
    return [name for name in os.listdir(place) if _TICKET.match(name)]


def _alive(ticket: Path) -> bool:
    try:
        descriptor = os.open(ticket, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    with contextlib.suppress(OSError):
        ticket.unlink()
    return False


def _owner(ticket: Path) -> int:
    return int(ticket.name.partition("-")[2])
