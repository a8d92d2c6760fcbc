"""A GPU looked at while a kernel is timed on it: a throttled or shared device measures something else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kgrade.harness.device.nvml import Gpu, Nvml, State
from kgrade.harness.footprint import descendants

PERIOD_S = 0.05


@dataclass(frozen=True)
class Seen:
    """What was seen of a GPU from one moment to another. `others` are processes of neither kgrade nor its workers."""

    looks: int
    throttled_by: tuple[str, ...]
    others: tuple[int, ...]
    sm_mhz: tuple[int, int] | None
    sm_most_mhz: int | None
    memory_mhz: int | None
    celsius: int | None
    watts: float | None

    @property
    def doubts(self) -> list[str]:
        """Say why times taken meanwhile are not those of the kernel alone."""
        found = [f"the clocks were held down by {', '.join(self.throttled_by)}"] if self.throttled_by else []
        if self.others:
            found.append(f"other processes used the device: {', '.join(str(pid) for pid in self.others[:4])}")
        return found

    @property
    def clocks(self) -> str:
        """Clocks, temperature and power, in words; what the driver does not tell is left out."""
        parts = []
        if self.sm_mhz is not None:
            most = f" of {self.sm_most_mhz}" if self.sm_most_mhz else ""
            parts.append(f"SM {self.sm_mhz[0]} to {self.sm_mhz[1]}{most} MHz")
        if self.memory_mhz is not None:
            parts.append(f"memory {self.memory_mhz} MHz")
        if self.celsius is not None:
            parts.append(f"{self.celsius} °C")
        if self.watts is not None:
            parts.append(f"{self.watts:.0f} W")
        held = f"held down by {', '.join(self.throttled_by)}" if self.throttled_by else "not throttled"
        return ", ".join([*parts, held, f"{self.looks} looks"])


class Observer:
    """Looks at one GPU every 50 ms between `begin` and `end`, from a thread of kgrade's own process."""

    def __init__(self, nvml: Nvml, gpu: Gpu, family: Callable[[], list[int]] | None = None) -> None:
        self._nvml = nvml
        self._gpu = gpu
        self._family = family or (lambda: descendants(os.getpid()))
        self._states: list[State] = []
        self._ours: set[int] = set()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look now, and go on looking."""
        self._states, self._ours, self._over = [], set(), threading.Event()
        self._look()
        self._thread = threading.Thread(target=self._go_on, daemon=True, name="gpu-observer")
        self._thread.start()

    def end(self) -> Seen:
        """Look once more, stop looking, and say what was seen."""
        assert self._thread is not None, "the observer has not begun"
        self._over.set()
        self._thread.join()
        self._look()
        return self._seen()

    def _go_on(self) -> None:
        while not self._over.wait(PERIOD_S):
            self._look()

    def _look(self) -> None:
        self._states.append(self._nvml.state(self._gpu))
        self._ours |= {os.getpid(), *self._family()}

    def _seen(self) -> Seen:
        last = self._states[-1]
        reasons = [reason for state in self._states for reason in state.throttled_by]
        clocks = [state.sm_mhz for state in self._states if state.sm_mhz is not None]
        return Seen(
            looks=len(self._states),
            throttled_by=tuple(dict.fromkeys(reasons)),
            others=self._others(),
            sm_mhz=(min(clocks), max(clocks)) if clocks else None,
            sm_most_mhz=last.sm_most_mhz,
            memory_mhz=last.memory_mhz,
            celsius=max((state.celsius for state in self._states if state.celsius is not None), default=None),
            watts=max((state.watts for state in self._states if state.watts is not None), default=None),
        )

    def _others(self) -> tuple[int, ...]:
        """Processes that are not ours.

        In a container the driver may number processes as the host does: where it knows none of ours although one runs
        on the device, its numbers mean nothing here.
        """
        named = {pid for state in self._states for pid in state.processes}
        return tuple(sorted(named - self._ours)) if named & self._ours else ()
