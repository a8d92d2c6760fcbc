"""Limits of a process behind the wall, and the watchdog that ends the whole group where the kernel cannot."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import dataclass

from kgrade.harness.footprint import descendants, held_bytes, proportional_bytes, resident_bytes

PERIOD_S = 0.05
OF_THE_WALL = 8  # processes that set the wall up and stay
HELD_EVERY = 10  # looks: reading every mapping of a process takes a millisecond, which must not meet every look


@dataclass(frozen=True)
class Limits:
    """What a process and everything it starts may use. Sizes are bytes, times seconds.

    `memory_bytes` is memory of the whole group, resident or held in shared memory that is not mapped,
    `scratch_bytes` each of /tmp and /dev/shm, `output_bytes` what is kept of stdout and of stderr.
    """

    wall_s: float = 120.0
    cpu_s: int = 600
    memory_bytes: int = 16 << 30
    processes: int = 512
    open_files: int = 1024
    file_bytes: int = 1 << 30
    scratch_bytes: int = 1 << 30
    output_bytes: int = 256 << 10


class Watchdog(threading.Thread):
    """Looks at a process group every 50 ms and kills it at a limit; `stopped_by` then says which, in words."""

    def __init__(self, pid: int, limits: Limits) -> None:
        super().__init__(daemon=True, name=f"watchdog-{pid}")
        self.pid = pid
        self.limits = limits
        self.stopped_by: str | None = None
        self._over = threading.Event()
        self._looks = 0
        self._deadline = time.monotonic() + limits.wall_s

    def allow(self, seconds: float) -> None:
        """Move the end of the allowed wall time to `seconds` from now."""
        self._deadline = time.monotonic() + seconds

    def run(self) -> None:
        """Watch until the process has ended or a limit is passed."""
        while not self._over.wait(PERIOD_S):
            family = descendants(self.pid)
            memory = self._memory(family)
            if memory > self.limits.memory_bytes:
                self._end(f"memory limit: {memory >> 20} MiB in use, {self.limits.memory_bytes >> 20} MiB allowed")
            elif len(family) > self.limits.processes + OF_THE_WALL:  # the kernel exempts root from its own limit
                self._end(f"process limit: {len(family)} processes, {self.limits.processes} allowed")
            elif time.monotonic() > self._deadline:
                self._end(f"time limit: {self.limits.wall_s:g} s of wall time")

    def _memory(self, family: list[int]) -> int:
        """Memory of the group; pages shared after a fork are told apart only where the figure would decide."""
        memory = resident_bytes(family)
        held = held_bytes(family) if self._looks % HELD_EVERY == 0 else 0
        self._looks += 1
        if memory + held <= self.limits.memory_bytes:
            return memory
        return min(memory + held, proportional_bytes(family, held))

    def _end(self, reason: str) -> None:
        self.stopped_by = reason
        self.kill()
        self._over.set()

    def kill(self) -> None:
        """Kill the group and every descendant, stopping them first so that none can fork away meanwhile."""
        family = descendants(self.pid)
        for step in (signal.SIGSTOP, signal.SIGKILL):
            for pid in [*family, *descendants(self.pid)]:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, step)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def finish(self) -> None:
        """Stop watching; the process has ended. What it left behind in its group dies with it."""
        self._over.set()
        self.join(timeout=5)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
