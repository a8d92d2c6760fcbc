"""The analysis in a process of its own, with a limit on its memory and time: a hostile source cannot take more.

The process stays for the next submission, so that starting it is paid once, and what it worked out of a file is kept.
It runs nothing of a submission. One that passes a limit, or ends it in any other way, gets a finding that says so.
"""

from __future__ import annotations

import atexit
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
from typing import IO

import msgspec

from kgrade.harness.integrity.analysis import analyse, overall
from kgrade.harness.integrity.findings import BY_ID, of_rule
from kgrade.records.evidence import Finding, Integrity
from kgrade.records.task import Task

WALL_S = 300.0  # a busy machine gives a process a fifth of its time
CPU_S = 60
MEMORY_BYTES = 3 << 30
PROGRAM = "from kgrade.harness.integrity.walled import main; main()"
_LENGTH = struct.Struct("<Q")
_ROOT = str(Path(__file__).parents[3])


class Request(msgspec.Struct, frozen=True):
    """What one analysis is given; see `analyse`."""

    files: Mapping[str, bytes]
    task: Task | None
    reference: Mapping[str, bytes]
    others: Mapping[str, Mapping[str, bytes]]


class Answer(msgspec.Struct, frozen=True):
    """What was found; `fault` is the analysis's own, where it failed."""

    findings: list[Finding] = []
    fault: str = ""


class Stopped(Exception):
    """The process gave no answer; the message says why."""


def stage(
    files: Mapping[str, bytes],
    task: Task,
    reference: Mapping[str, bytes],
    others: Mapping[str, Mapping[str, bytes]] | None = None,
) -> Integrity:
    """Return the integrity stage of a submission; `files` are those under `solution/`, by path relative to it."""
    answer = _ask(Request({f"solution/{path}": data for path, data in files.items()}, task, reference, others or {}))
    if answer.fault:
        return Integrity(status="error", reason=answer.fault)
    found = answer.findings
    return Integrity(status="flagged" if overall(found) in ("suspect", "tell") else "passed", findings=found)


def findings(
    files: Mapping[str, bytes],
    task: Task | None = None,
    reference: Mapping[str, bytes] | None = None,
    *,
    wall_s: float = WALL_S,
) -> list[Finding]:
    """Return what `analyse` finds, or one finding that says why there is no more."""
    answer = _ask(Request(files, task, reference or {}, {}), wall_s)
    return [_unread(files, answer.fault)] if answer.fault else answer.findings


def _ask(request: Request, wall_s: float = WALL_S) -> Answer:
    try:
        return msgspec.msgpack.decode(_reader().ask(msgspec.msgpack.encode(request), wall_s), type=Answer)
    except Stopped as why:
        return Answer([_unread(request.files, f"reading the files was stopped: {why}")])


def _unread(files: Mapping[str, bytes], why: str) -> Finding:
    return of_rule(BY_ID["E1"], "suspect", min(files, default=""), 1, "", why)


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
                _close(stream)


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        os.close(os.open(os.devnull, os.O_RDONLY))  # what was not taken from the buffer belongs to nobody now


_KEPT = threading.local()


def _reader() -> _Reader:
    """The process that this thread asks; a new one where there is none, or where it is gone."""
    reader: _Reader | None = getattr(_KEPT, "reader", None)
    if reader is None or reader.process.poll() is not None:
        reader = _KEPT.reader = _Reader()
        atexit.register(reader.close)
    return reader


def _answer(request: Request) -> Answer:
    try:
        return Answer(analyse(request.files, request.task, request.reference, request.others))
    except MemoryError:
        why = f"reading the files was stopped: it needs more than {MEMORY_BYTES >> 20} MB"
        return Answer([_unread(request.files, why)])
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
