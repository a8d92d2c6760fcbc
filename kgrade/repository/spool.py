"""A blob too large to hold: git delivers it into a temporary file, and what has come can be read meanwhile."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO, Final

from kgrade.repository.runner import Git, GitError

_BLOCK: Final = 1 << 14
_BEGINNING: Final = 4 * _BLOCK
"""Bytes that are brought before somebody looks, and more than a screen shows."""

_CHUNK: Final = 64 * _BLOCK
_FIRST_S: Final = 2.0
"""Seconds that somebody who looks waits for the beginning, if it is slow to come."""


class Spool:
    """The bytes of one blob of `size` bytes; it may be used from any thread.

    Nothing is read before somebody looks, but for the beginning after `get_ready`.
    """

    def __init__(self, git: Git, oid: str, size: int) -> None:
        self.size = size
        self.block = _BLOCK
        """Bytes of a block, before each of which the newlines are counted."""
        self._git = git
        self._oid = oid
        self._file: IO[bytes] | None = None
        self._looked_at = False
        # Put into when a spool is let go of, in whatever a thread does just then: no event may be set there.
        self._wanted: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._there = 0
        self._before = [0]
        self._ended = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        """Bytes that have come."""
        self._begin()
        return self._there

    @property
    def newlines(self) -> Sequence[int]:
        """How many newlines stand before each block that has begun, and behind the last byte that has come."""
        self._begin()
        return self._before

    @property
    def fault(self) -> str:
        """Why no more will come, in a few words; empty when it came whole, or still comes."""
        if not self._ended or self._there == self.size:
            return ""
        return f"only {self._there} of {self.size} bytes could be read; see: git fsck, and df"

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` to `stop`, as far as they have come."""
        self._begin()
        assert self._file is not None
        stop = min(stop, self._there)
        return os.pread(self._file.fileno(), stop - start, start) if stop > start else b""

    def wait(self, seconds: float) -> bool:
        """Wait for the rest, at most so long; whether nothing more is to come."""
        self._begin()
        with self._changed:
            return self._changed.wait_for(lambda: self._ended, seconds)

    def get_ready(self) -> None:
        """Bring the beginning, in the background; a child waits with the rest until somebody looks or lets go."""
        with self._changed:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - read as long as somebody looks
                wanted = self._wanted
                arguments = (weakref.ref(self, lambda gone: wanted.put(None)), wanted, self._git, self._oid)
                threading.Thread(target=_fetch, args=arguments, name="spool", daemon=True).start()

    def _begin(self) -> None:
        if self._looked_at:
            return
        self._looked_at = True
        self.get_ready()
        self._wanted.put(None)
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._there > 0, _FIRST_S)

    def _take(self, chunk: bytes) -> None:
        assert self._file is not None
        os.pwrite(self._file.fileno(), chunk, self._there)
        before = self._before[-1]
        counts = []
        for start in range(0, len(chunk), _BLOCK):
            before += chunk.count(b"\n", start, start + _BLOCK)
            counts.append(before)
        with self._changed:
            self._before += counts
            self._there += len(chunk)
            self._changed.notify_all()

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def _fetch(spool: weakref.ref[Spool], wanted: queue.SimpleQueue[None], git: Git, oid: str) -> None:
    """Bring the blob into its spool, as long as somebody holds that: its beginning, and the rest when it is wanted."""
    # A full disk or a repository that went away ends it early, which `fault` says.
    with contextlib.suppress(OSError, GitError):
        child = git.start(["cat-file", "blob", oid], stdin=False, stderr=subprocess.DEVNULL)
        assert child.stdout is not None
        with child, child.stdout as source:
            if _handed_over(spool, source.read(_BEGINNING)):
                wanted.get()
            while (chunk := source.read(_CHUNK)) and _handed_over(spool, chunk):
                time.sleep(0)  # whoever presses keys comes first
            child.kill()
    held = spool()
    if held is not None:
        held._end()


def _handed_over(held: weakref.ref[Spool], chunk: bytes) -> bool:
    spool = held()
    if spool is not None:
        spool._take(chunk)
    return spool is not None
