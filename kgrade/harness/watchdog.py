"""Limits of a process behind the wall, and the watchdog that ends the whole group where the kernel cannot."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PERIOD_S = 0.05
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Limits:
    """What a process and everything it starts may use. Sizes are bytes, times seconds.

    `memory_bytes` is resident memory of the whole group, `scratch_bytes` each of /tmp and /dev/shm,
    `output_bytes` what is kept of stdout and of stderr.
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
        self._deadline = time.monotonic() + limits.wall_s

    def allow(self, seconds: float) -> None:
        """Move the end of the allowed wall time to `seconds` from now."""
        self._deadline = time.monotonic() + seconds

    def run(self) -> None:
        """Watch until the process has ended or a limit is passed."""
        while not self._over.wait(PERIOD_S):
            memory = self._memory()
            if memory > self.limits.memory_bytes:
                self._end(f"memory limit: {memory >> 20} MiB resident, {self.limits.memory_bytes >> 20} MiB allowed")
            elif time.monotonic() > self._deadline:
                self._end(f"time limit: {self.limits.wall_s:g} s of wall time")

    def _memory(self) -> int:
        """Resident memory of the group; pages shared after a fork are told apart only where the figure would decide."""
        family = descendants(self.pid)
        memory = resident_bytes(family)
        return memory if memory <= self.limits.memory_bytes else min(memory, proportional_bytes(family))

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


def descendants(pid: int) -> list[int]:
    """Return `pid` and every process below it, as far as the kernel still shows them."""
    found = [pid]
    for parent in found:
        try:
            threads = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for thread in threads:
            with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{thread}/children") as listing:
                found += [int(child) for child in listing.read().split()]
    return found


def resident_bytes(pids: list[int]) -> int:
    """Return the resident memory of `pids` together; pages that they may share are counted once."""
    own = shared = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm") as figures:
            _, resident, common, *_ = (int(figure) for figure in figures.read().split())
            own += resident - common
            shared = max(shared, common)
    return (own + shared) * PAGE_BYTES


def proportional_bytes(pids: list[int]) -> int:
    """Return the memory of `pids` together, each shared page divided among its sharers: exact, and slow to ask for.

    A process that may not be read so counts with its whole resident memory.
    """
    total = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except ProcessLookupError:
            continue
        except OSError:
            total += resident_bytes([pid])
            continue
        total += sum(int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Pss:"))
    return total
