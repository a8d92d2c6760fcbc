"""Reading git objects through one child process that stays."""

from __future__ import annotations

import hashlib
import re
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import IO

from kgrade.repository.partial import PartialClone
from kgrade.repository.runner import Git, GitError

_UNANSWERED = 512
"""Questions that are put before the first answer is read. They fit into a pipe, so neither side can block the other."""

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class MissingObjectError(GitError):
    """An object that its repository does not hold."""


class TooLargeError(GitError):
    """An object above the caller's size limit; `size` is in bytes."""

    def __init__(self, sentence: str, size: int) -> None:
        super().__init__(sentence)
        self.size = size


class ObjectReader:
    """A `git cat-file --batch` that is started on first use and restarted when it dies.

    In a partial clone it brings what is asked for and not here; `partial` brings many at once.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self.partial = PartialClone(git)
        self._child: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()
        self._ahead: dict[str, tuple[str, bytes]] = {}
        """What was asked for ahead, by id."""

    def object(self, oid: str, limit: int | None = None) -> tuple[str, bytes]:
        """The kind (`blob`, `tree`, `commit`, `tag`) and bytes of an object.

        Raises MissingObjectError, TooLargeError past `limit` bytes, and GitError for one that cannot be read.
        """
        if not _OID.fullmatch(oid):
            raise ValueError(f"not an object id: {oid!r}")
        try:
            return self._object(oid, limit)
        except MissingObjectError:
            if not self.partial.bring([oid]):
                raise
        return self._object(oid, limit)

    def _object(self, oid: str, limit: int | None) -> tuple[str, bytes]:
        with self._turn:
            known = self._ahead.get(oid)
            if known is not None and (limit is None or len(known[1]) <= limit):
                return known
            for _ in range(2):
                try:
                    return self._ask(oid, limit)
                except (BrokenPipeError, EOFError):
                    self._stop()
        raise GitError(f"object {oid} cannot be read: the repository is damaged; see: git fsck")

    def ahead(self, oids: Sequence[str], limit: int) -> None:
        """Read `oids` in one go and keep them, instead of those kept before, for those who ask for them soon.

        One that is missing, damaged or above `limit` bytes is left for whoever asks: they will be told.
        """
        wanted = list(dict.fromkeys(oids))
        self.partial.bring(wanted)
        with self._turn:
            self._ahead = {}
            for start in range(0, len(wanted), _UNANSWERED):
                try:
                    self._ask_ahead(wanted[start : start + _UNANSWERED], limit)
                except (BrokenPipeError, EOFError):
                    self._stop()

    def close(self) -> None:
        """End the child; a later read starts another."""
        with self._turn:
            self._stop()

    def __enter__(self) -> ObjectReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, oid: str, limit: int | None) -> tuple[str, bytes]:
        source, sink = self._pipes()
        sink.write(oid.encode() + b"\n")
        sink.flush()
        return self._answer(oid, source, limit)

    def _ask_ahead(self, oids: Sequence[str], limit: int) -> None:
        source, sink = self._pipes()
        sink.write("".join(f"{oid}\n" for oid in oids).encode())
        sink.flush()
        for oid in oids:
            try:
                self._ahead[oid] = self._answer(oid, source, limit)
            except MissingObjectError:
                continue
            except TooLargeError:  # which ended the child; the rest is read one by one
                return

    def _answer(self, oid: str, source: IO[bytes], limit: int | None) -> tuple[str, bytes]:
        header = source.readline()
        if not header.endswith(b"\n"):
            raise EOFError
        fields = header.decode().split()
        if fields[-1] == "missing":
            raise MissingObjectError(
                f"object {oid} is missing from this repository: it is damaged or shallow; see: git fsck"
            )
        kind, size = fields[1], int(fields[2])
        if limit is not None and size > limit:
            # Ending the child costs less than reading what nobody will look at.
            self._stop()
            raise TooLargeError(f"object {oid} has {size} bytes, above the limit of {limit}", size)
        content = source.read(size + 1)
        if len(content) != size + 1:
            raise EOFError
        return kind, content[:size]

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._child is None:
            self._child = self._git.start(["cat-file", "--batch"], env=self.partial.view, stderr=subprocess.DEVNULL)
        assert self._child.stdout is not None
        assert self._child.stdin is not None
        return self._child.stdout, self._child.stdin

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # closing flushes what a dead child never took
                continue
        child.wait()


def object_id(kind: str, content: bytes, object_format: str = "sha1") -> str:
    """The id git gives to an object, computed without writing it."""
    header = f"{kind} {len(content)}\0".encode()
    return hashlib.new(object_format, header + content, usedforsecurity=False).hexdigest()
