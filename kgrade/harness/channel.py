"""What may cross the wall: requests and answers as JSON, one per packet, and arrays as raw bytes in shared memory.

Nothing that crosses is ever unpickled or evaluated. Inputs lie in memory that is sealed against writing, outputs in
memory that can neither grow nor shrink; both belong to this process and travel as file descriptors. Every answer must
carry the run's nonce and the number of its request, and a run is complete only after the closing answer: an exit
status proves nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

PACKET_BYTES = 64 << 10
CANCEL_S = 0.1
SEALED = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK


class Broken(Exception):
    """The other side did not keep to the protocol, or is gone. The message says how, in one sentence."""


class TooLate(Exception):
    """No answer came within the time that the request allows."""


class Cancelled(Exception):
    """A person asked to stop."""


class Memory:
    """A piece of shared memory that this process owns; the worker gets its file descriptor."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.descriptor = os.memfd_create("kgrade", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, max(size, 1))

    @classmethod
    def holding(cls, pieces: Sequence[bytes | memoryview]) -> Memory:
        """Return memory that holds `pieces` one after the other and can no longer be written, by anyone."""
        memory = cls(sum(len(piece) for piece in pieces))
        offset = 0
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                written = os.pwrite(memory.descriptor, rest, offset)
                offset, rest = offset + written, rest[written:]
        fcntl.fcntl(memory.descriptor, fcntl.F_ADD_SEALS, SEALED | fcntl.F_SEAL_WRITE)
        return memory

    @classmethod
    def empty(cls, size: int) -> Memory:
        """Return `size` zero bytes that the worker may write; their number is fixed."""
        memory = cls(size)
        fcntl.fcntl(memory.descriptor, fcntl.F_ADD_SEALS, SEALED)
        return memory

    def read(self, offset: int, count: int) -> bytearray:
        """Return a private copy of `count` bytes at `offset`: what is judged must not change under the judge."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise Broken(f"the worker claims bytes {offset} to {offset + count} of {self.size}")
        copy = bytearray(count)
        view, done = memoryview(copy), 0
        while done < count:
            got = os.preadv(self.descriptor, [view[done:]], offset + done)
            if got == 0:
                raise Broken("the shared memory is shorter than it was made")
            done += got
        return copy

    def close(self) -> None:
        """Give the memory back, on this side."""
        os.close(self.descriptor)


class Channel:
    """One end of the only line between kgrade and a worker; `other` is the descriptor that the worker inherits."""

    def __init__(self) -> None:
        self._line, self.other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._nonce = secrets.token_hex(16)
        self._number = 0

    def opened(self) -> None:
        """Forget the worker's end, so that its death is seen here as the end of the line."""
        self.other.close()

    def ask(
        self,
        what: str,
        *,
        within_s: float,
        memory: Sequence[Memory] = (),
        cancelled: Callable[[], bool] = lambda: False,
        **details: Any,
    ) -> dict[str, Any]:
        """Send one request and return its answer.

        Raises `TooLate` after `within_s` seconds, `Cancelled` soon after `cancelled()` turns true, else `Broken`.
        """
        self._number += 1
        request = {"nonce": self._nonce, "number": self._number, "do": what, **details}
        packet = json.dumps(request, allow_nan=False).encode()
        if len(packet) > PACKET_BYTES:
            raise ValueError(f"a request of {len(packet)} bytes: at most {PACKET_BYTES} fit into a packet")
        deadline = time.monotonic() + within_s
        try:
            self._line.settimeout(within_s)
            socket.send_fds(self._line, [packet], [piece.descriptor for piece in memory])
            self._await(what, deadline, within_s, cancelled)
            answer = self._line.recv(PACKET_BYTES + 1)
        except TimeoutError:
            raise TooLate(f"no answer to `{what}` within {within_s:g} s") from None
        except OSError:
            raise Broken(f"the worker ended before it answered `{what}`") from None
        return self._checked(answer, what)

    def _await(self, what: str, deadline: float, within_s: float, cancelled: Callable[[], bool]) -> None:
        ready = select.poll()
        ready.register(self._line, select.POLLIN)
        while not ready.poll(1000 * min(CANCEL_S, max(deadline - time.monotonic(), 0))):
            if cancelled():
                raise Cancelled(f"cancelled while waiting for `{what}`")
            if time.monotonic() >= deadline:
                raise TooLate(f"no answer to `{what}` within {within_s:g} s")

    def _checked(self, packet: bytes, what: str) -> dict[str, Any]:
        if not packet:
            raise Broken(f"the worker ended before it answered `{what}`")
        try:
            answer = json.loads(packet)
        except (ValueError, RecursionError):
            raise Broken(f"the answer to `{what}` is not JSON") from None
        if not isinstance(answer, dict):
            raise Broken(f"the answer to `{what}` is not an object")
        nonce = str(answer.get("nonce")).encode(errors="replace")
        if not secrets.compare_digest(nonce, self._nonce.encode()):
            raise Broken(f"forged answer to `{what}`: it does not carry this run's nonce")
        if answer.get("number") != self._number:
            raise Broken(f"forged answer to `{what}`: it is numbered {answer.get('number')!r:.40}, not {self._number}")
        return answer

    def close(self) -> None:
        """Hang up."""
        self._line.close()
