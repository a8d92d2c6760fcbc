"""The events of a Chrome trace, a piece of the file at a time, so that a trace may be larger than memory is free.

A piece ends where one event ends and the next begins. Whether a place is such a one is seen by decoding: from the
start of the array, only a whole number of events makes an array of events.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from kgrade.harness.profiles.units import BadProfile

LARGEST: Final = 1 << 30
PIECE: Final = 1 << 20
_TRIES: Final = 8
_BETWEEN: Final = re.compile(rb"\}[ \t\r\n]*,(?=[ \t\r\n]*\{)")
_ARRAY: Final = re.compile(rb'"traceEvents"\s*:\s*\[')
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Event(msgspec.Struct, gc=False):
    """One event; its arguments stay undecoded until it turns out to be a kernel."""

    cat: Any = None
    name: Any = None
    ts: Any = None
    dur: Any = None
    pid: Any = None
    tid: Any = None
    args: msgspec.Raw = msgspec.Raw(b"null")


class Head(msgspec.Struct):
    """What stands beside the events."""

    deviceProperties: Any = None  # noqa: N815 - the format's name


class _Rest(Head):
    traceEvents: list[Event] = []  # noqa: N815


class NoTrace(Exception):
    """The file holds no events; `data` are all of its bytes, the text says why."""

    def __init__(self, why: str, data: bytes) -> None:
        super().__init__(why)
        self.data = data


class _File(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


_EVENTS = msgspec.json.Decoder(list[Event])
_REST = msgspec.json.Decoder(_Rest)


def events(path: Path, head: Callable[[Head], None]) -> Iterator[list[Event]]:
    """Yield the events of `path`, gzipped or not, piece by piece; `head` is told what stands before and behind them.

    Raises NoTrace where the file is no trace, and BadProfile where it cannot be unpacked, or breaks off on its way.
    """
    try:
        if not _is_gzipped(path):
            with path.open("rb") as file:
                yield from _pieces(file, path.name, head)
            return
        with gzip.open(path) as unpacked:
            yield from _pieces(_Bounded(unpacked, path), path.name, head)
    except (OSError, EOFError, zlib.error) as why:
        raise BadProfile(f"{path.name} cannot be read: {why}") from None


def _pieces(file: _File, name: str, head: Callable[[Head], None]) -> Iterator[list[Event]]:
    data = file.read(PIECE)
    start = _ARRAY.search(data)
    before = _decoded(data[: start.end()] + b"]}") if start else None
    if start is None or before is None:
        yield _whole(data + file.read(), head)
        return
    head(before)
    data = data[start.end() :]
    known = 0
    while more := file.read(max(PIECE, len(data))):
        data += more
        found, rest = _first_events(data)
        if found:
            yield found
            known += len(found)
            data = rest
    last = _decoded(b'{"traceEvents":[' + data)
    if last is None:
        raise BadProfile(f"{name} is no Chrome trace: it breaks off, or is damaged, behind event {known}")
    head(last)
    yield last.traceEvents


def _first_events(data: bytes) -> tuple[list[Event], bytes]:
    """Whole events from the start of `data`, as many as can be told, and what is behind them."""
    tail = max(len(data) - (64 << 10), 0)
    ends = [match.end() for match in _BETWEEN.finditer(data, tail)][-_TRIES:]
    for end in reversed(ends):
        try:
            return _EVENTS.decode(b"".join((b"[", memoryview(data)[: end - 1], b"]"))), data[end:]
        except _UNREADABLE:
            continue
    return [], data


def _decoded(data: bytes) -> _Rest | None:
    try:
        return _REST.decode(data)
    except _UNREADABLE:
        return None


def _whole(data: bytes, head: Callable[[Head], None]) -> list[Event]:
    """All events of a file that does not begin as traces do."""
    try:
        found = msgspec.json.decode(data, type=_Trace)
    except _UNREADABLE as why:
        raise NoTrace(str(why), data) from None
    head(found)
    return found.traceEvents


class _Trace(Head, kw_only=True):
    traceEvents: list[Event]  # noqa: N815


def _is_gzipped(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


class _Bounded:
    """A gzipped file that ends with a sentence at `LARGEST` bytes, whatever it claims."""

    def __init__(self, file: _File, path: Path) -> None:
        self.file = file
        self.name = path.name
        self.left = LARGEST

    def read(self, size: int = -1, /) -> bytes:
        got = self.file.read(self.left + 1 if size < 0 else size)
        self.left -= len(got)
        if self.left < 0:
            raise BadProfile(f"{self.name} unpacks to more than {LARGEST >> 20} MiB; cut the profiled range")
        return got
