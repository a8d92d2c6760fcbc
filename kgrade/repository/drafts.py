"""Drafts: a journal for each item being graded, under the person's state folder, that survives being killed.

A line is `<crc32 of the JSON, 8 hex digits> <JSON>` and is written by one call, so a torn line is recognised by its
sum and everything else stands. The first line of a journal says what the draft began with.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

Event = Mapping[str, Any]
SUFFIX = ".journal"


class DraftError(Exception):
    """A draft that cannot be kept where it should be (disk full, quota, read-only); nothing in memory is lost."""


def state_folder(repository: Path, evaluator: str) -> Path:
    """Where the drafts of `evaluator` for the repository with the git folder `repository` live."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    mark = hashlib.sha256(str(repository.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Path(base) / "kgrade" / mark / evaluator


class Journal:
    """One item's draft. Appending returns when the system has the line; the disk is made sure of by `Drafts`."""

    def __init__(self, path: Path, syncer: _Syncer) -> None:
        self.path = path
        self._syncer = syncer
        self._file: int | None = None
        self._length = 0

    def read(self) -> list[dict[str, Any]]:
        """Its events as they stand; empty when there is none. Never changes it."""
        try:
            return _read(self.path.read_bytes())[0]
        except FileNotFoundError:
            return []
        except OSError as why:
            raise DraftError(f"the draft {self.path} cannot be read: {why.strerror}") from None

    def begin(self, start: Event) -> list[dict[str, Any]]:
        """Open the journal for appending and return its events; a new one begins with `start`.

        The first event is always what the draft began with. A torn last line, which was never acknowledged, is cut
        off; where the disk has damaged other lines, they are left out and the file as it was is kept beside.
        """
        with _loudly(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._file is not None:  # an earlier beginning came no further
                self._syncer.forget(self._file)
                os.close(self._file)
                self._file = None
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            data = _whole(self._file)
            events, self._length, damaged = _read(data)
            if damaged:
                self.path.with_suffix(".damaged").write_bytes(data)
            os.ftruncate(self._file, self._length)
        if not events:
            self.append(start)
            self._syncer.soon(self._file, self.path.parent)
            events = [dict(start)]
        return events

    def append(self, event: Event) -> None:
        """Add `event`; raise DraftError when it cannot be kept, leaving what was there."""
        if self._file is None:
            raise DraftError(f"the draft {self.path} is not open")
        line = _line(event)
        with _loudly(self.path):
            written = os.pwrite(self._file, line, self._length)
            if written != len(line):
                os.ftruncate(self._file, self._length)
                raise OSError(28, os.strerror(28))
            self._length += written
        self._syncer.soon(self._file, None)

    def compact(self, events: list[dict[str, Any]]) -> None:
        """Replace the journal by `events`, in one step that is never seen half done."""
        beside = self.path.with_suffix(".new")
        with _loudly(self.path):
            file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            data = b"".join(_line(event) for event in events)
            try:
                _write_all(file, data)
                os.fsync(file)
                beside.replace(self.path)
                _sync_folder(self.path.parent)
            except OSError:
                os.close(file)
                raise
        old, self._file, self._length = self._file, file, len(data)
        if old is not None:
            self._syncer.forget(old)
            os.close(old)

    def drop(self) -> None:
        """Forget the draft: what it held is kept elsewhere, so nobody waits until the disk has forgotten it too."""
        self._let_go()
        with _loudly(self.path), contextlib.suppress(FileNotFoundError):
            self.path.unlink()

    def close(self) -> None:
        """Make sure of the disk and let go of the file; the draft stays."""
        if self._file is not None:
            with _loudly(self.path):
                os.fsync(self._file)
            self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            self._syncer.forget(self._file)
            os.close(self._file)
            self._file = None


class Drafts:
    """All drafts of one evaluator in one repository. Only one process may write them at a time."""

    def __init__(self, folder: Path) -> None:
        """Take the drafts in `folder`; `held_by` says who has them when another process does."""
        self.folder = folder
        self.held_by: str | None = None
        self._syncer = _Syncer()
        with _loudly(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.take()

    def take(self) -> bool:
        """Try to become the one who writes; False when another process still is (`held_by` says which)."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.held_by = os.pread(self._lock, 200, 0).decode("utf-8", "replace").strip() or "another process"
            return False
        self.held_by = None
        with _loudly(self.folder):
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return True

    def journal(self, key: str) -> Journal:
        """The journal of the item `key` (its id), not yet opened."""
        return Journal(self._path(key), self._syncer)

    def beside(self, name: str) -> Journal:
        """A journal that is no draft and belongs to the whole queue, such as the items left for later."""
        return Journal(self.folder / f"{name}{SUFFIX}", self._syncer)

    def events(self, key: str) -> list[dict[str, Any]]:
        """What the draft of `key` holds; empty when there is none. Never changes it."""
        return self.journal(key).read()

    def holds(self, key: str) -> bool:
        """Whether the item `key` has a draft."""
        return self._path(key).exists()

    def keys(self) -> list[str]:
        """The items that have a draft, those touched last first."""
        found = []
        for path in self.folder.glob(f"*/*{SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):  # a save in another thread may end a draft meanwhile
                found.append((path.stat().st_mtime_ns, path))
        return [_key(path) for _, path in sorted(found, reverse=True)]

    def close(self) -> None:
        """Let go of the drafts; another process may take them."""
        self._syncer.stop()
        os.close(self._lock)

    def _path(self, key: str) -> Path:
        task, _, submission = key.partition("/")
        return self.folder / task / f"{submission or '_task'}{SUFFIX}"


def _key(path: Path) -> str:
    name = path.name.removesuffix(SUFFIX)
    return path.parent.name if name == "_task" else f"{path.parent.name}/{name}"


class _Syncer:
    """Brings files to the disk on a thread of its own, so that a key never waits for one."""

    def __init__(self) -> None:
        self._waiting: dict[int, Path | None] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ending = False

    def soon(self, file: int, folder: Path | None) -> None:
        with self._changed:
            self._waiting[file] = folder or self._waiting.get(file)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="draft-sync", daemon=True)
                self._thread.start()
            self._changed.notify()

    def forget(self, file: int) -> None:
        with self._changed:
            self._waiting.pop(file, None)

    def stop(self) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ending:
                    self._changed.wait()
                if not self._waiting:
                    return
                file, folder = self._waiting.popitem()
                copy = os.dup(file)
            try:
                # A disk that fails here fails the next append too, where a person can be told.
                with contextlib.suppress(OSError):
                    os.fsync(copy)
                    if folder is not None:
                        _sync_folder(folder)
            finally:
                os.close(copy)


def _line(event: Event) -> bytes:
    body = msgspec.json.encode(event)
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _read(data: bytes) -> tuple[list[dict[str, Any]], int, int]:
    """The events in `data`, the length up to the end of the last whole line, and how many whole lines are damaged."""
    end = data.rfind(b"\n") + 1
    bodies = [(line[9:], line[:9]) for line in data[:end].split(b"\n")[:-1]]
    whole = [body for body, mark in bodies if mark == b"%08x " % zlib.crc32(body)]
    return [msgspec.json.decode(body) for body in whole], end, len(bodies) - len(whole)


def _whole(file: int) -> bytes:
    size = os.fstat(file).st_size
    return os.pread(file, size, 0)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _loudly(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as why:
        raise DraftError(
            f"{why.strerror}: the draft cannot be kept in {path.parent};"
            " make room there, or name another folder in XDG_STATE_HOME"
        ) from None
