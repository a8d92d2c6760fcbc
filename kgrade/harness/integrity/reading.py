"""A process with a limit on its memory and time that reads submissions: a hostile source cannot take more.

It stays for the next submission, so that starting it is paid once, and there are as many of them as are asked at once.
It runs nothing of a submission.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kgrade.harness.integrity import similarity
from kgrade.harness.integrity.analysis import analyse
from kgrade.records.evidence import Finding
from kgrade.records.task import Task

WALL_S = 300.0  # a busy machine gives a process a fifth of its time
CPU_S = 60
MEMORY_BYTES = 3 << 30
PROGRAM = "from kgrade.harness.integrity.reading import main; main()"
_LENGTH = struct.Struct("<Q")
_ROOT = str(Path(__file__).parents[3])


class Request(msgspec.Struct, frozen=True):
    """What one analysis is given, see `analyse`; with `prints`, only the fingerprints of the files are wanted."""

    files: Mapping[str, bytes]
    task: Task | None = None
    reference: Mapping[str, bytes] = {}
    alike: Mapping[str, float] = {}
    prints: bool = False


class Answer(msgspec.Struct, frozen=True):
    """What was found; `stopped` says what limit the reading passed, `fault` is the analysis's own, where it failed."""

    findings: list[Finding] = []
    prints: list[int] = []
    stopped: str = ""
    fault: str = ""


class Stopped(Exception):
    """The process gave no answer; the message says why."""


class _Reader:
    """One process that analyses what it is asked, one request after another."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-P", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": _ROOT},
            cwd="/",
            start_new_session=True,
        )

    def ask(self, request: bytes, wall_s: float) -> bytes:
        """Return the answer to `request`; raises `Stopped`, and the process is gone then."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        deadline = time.monotonic() + wall_s
        try:
            self.process.stdin.write(_LENGTH.pack(len(request)) + request)
            self.process.stdin.flush()
            (length,) = _LENGTH.unpack(self._take(_LENGTH.size, deadline))
            return self._take(length, deadline)
        except (OSError, Stopped) as why:
            self.close()
            raise Stopped(self._reason(why, wall_s)) from None

    def _take(self, count: int, deadline: float) -> bytes:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        taken = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(descriptor, selectors.EVENT_READ)
            while len(taken) < count:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise Stopped("")
                data = os.read(descriptor, min(count - len(taken), 1 << 16))
                if not data:
                    raise OSError("the process ended")
                taken += data
        return bytes(taken)

    def _reason(self, why: Exception, wall_s: float) -> str:
        if isinstance(why, Stopped):
            return f"it took longer than {wall_s:g} s"
        if self.process.returncode == -signal.SIGXCPU:
            return f"it took more than {CPU_S} s of one processor"
        return f"it ended its process (status {self.process.returncode}), which may use {MEMORY_BYTES >> 20} MB"

    def close(self) -> None:
        """End the process."""
        try:
            self.process.wait(timeout=0.0 if self.process.poll() is None else 5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # what was not taken belongs to nobody now
                    stream.close()


class _Readers:
    """The processes that wait for the next submission."""

    def __init__(self) -> None:
        self._idle: list[_Reader] = []
        self._turn = threading.Lock()
        atexit.register(self.close)

    def ask(self, request: bytes, wall_s: float) -> bytes:
        """Have one that waits answer, or a new one where none does; raises `Stopped`, and that one is gone then."""
        with self._turn:
            waiting = [reader for reader in self._idle if reader.process.poll() is None]
            reader = waiting.pop() if waiting else None
            self._idle = waiting
        reader = reader or _Reader()
        answer = reader.ask(request, wall_s)
        with self._turn:
            self._idle.append(reader)
        return answer

    def close(self) -> None:
        """End all that wait."""
        with self._turn:
            for reader in self._idle:
                reader.close()
            self._idle.clear()


READERS = _Readers()


def ask(request: Request, wall_s: float = WALL_S) -> Answer:
    """Have a process with limits answer `request`, and say so where it passed one; for any thread."""
    try:
        return msgspec.msgpack.decode(READERS.ask(msgspec.msgpack.encode(request), wall_s), type=Answer)
    except Stopped as why:
        return Answer(stopped=f"reading the files was stopped: {why}")


def _answer(request: Request) -> Answer:
    try:
        if request.prints:
            return Answer(prints=sorted(similarity.of_files(request.files)))
        return Answer(analyse(request.files, request.task, request.reference, request.alike))
    except MemoryError:
        return Answer(stopped=f"reading the files was stopped: it needs more than {MEMORY_BYTES >> 20} MB")
    except Exception as error:  # noqa: BLE001 - hostile text must not end the collection of everything else
        return Answer(fault=f"the analysis stopped by a fault of its own: {type(error).__name__}: {error}"[:400])


def main() -> None:
    """Answer requests from standard input until it is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := requests.read(_LENGTH.size):
        request = msgspec.msgpack.decode(requests.read(_LENGTH.unpack(head)[0]), type=Request)
        used = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + CPU_S, resource.RLIM_INFINITY))
        answer = msgspec.msgpack.encode(_answer(request))
        answers.write(_LENGTH.pack(len(answer)) + answer)
        answers.flush()
