"""Asking another program: with a time limit, in a process of its own, so that the doctor survives any answer."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence

import msgspec


class Answer(msgspec.Struct, frozen=True):
    """What a program said; `code` is its exit status, None when it could not be started or ran out of time."""

    code: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Whether it ended by itself and well."""
        return self.code == 0

    @property
    def why(self) -> str:
        """Its last line of complaint."""
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.code}"


def ask(command: Sequence[str], *, seconds: float = 10) -> Answer:
    """Run `command` to its end or until `seconds` are over, then end it with everything that it started."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as why:
        return Answer(None, "", f"{command[0]}: {why.strerror}")
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Answer(None, "", f"no answer within {seconds:g} s")
    return Answer(process.returncode, out, err)
