"""Timing on a GPU, inside the wall: device events around every single call, with the state of its caches arranged.

What is arranged before a call also covers the time that the host needs to launch it, so that the events enclose work
of the device alone: a write of twice the L2 cache where it is to be cold, and a kernel that spins for as long as kgrade
says. It lies outside the events, and kgrade subtracts it from what its own clock says by asking for the same without
the call.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

LEAST_FLUSH = 64 << 20  # bytes, for devices that do not tell their L2
CYCLES_PER_US = 2000.0


class DeviceClock:
    """Times calls of one process on its only device."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self._flushed: Any = None
        self._driver: Any = None

    def repeat(
        self, function: Optional[Callable[..., Any]], held: List[Dict[str, Any]], *, cold: bool, spin_us: float
    ) -> Tuple[List[float], float, Any]:
        """Call `function` once on each set of inputs, the device kept busy for `spin_us` before each call.

        Return microseconds of each call, those that the host took to launch the slowest, and the last result. Without a
        function everything but the call is done.
        """
        claimed: List[float] = []
        launch_us = 0.0
        result: Any = None
        for inputs in held:
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._arrange(cold, spin_us)
            begin.record()
            if function is not None:
                called = time.perf_counter_ns()
                result = function(**inputs)
                launch_us = max(launch_us, (time.perf_counter_ns() - called) / 1000.0)
            end.record()
            self.torch.cuda.synchronize()
            claimed.append(begin.elapsed_time(end) * 1000.0)
        return claimed, launch_us, result

    def _arrange(self, cold: bool, spin_us: float) -> None:
        """Make the cache cold, or leave it as the calls before left it, and keep the device busy meanwhile."""
        if cold:
            self._release_persisting()
            self._flush_buffer().zero_()
        self.torch.cuda._sleep(int(spin_us * CYCLES_PER_US))

    def _flush_buffer(self) -> Any:
        if self._flushed is None:
            cache = int(getattr(self.torch.cuda.get_device_properties(0), "L2_cache_size", 0))
            size = max(2 * cache, LEAST_FLUSH)
            self._flushed = self.torch.empty(size, dtype=self.torch.uint8, device="cuda")
        return self._flushed

    def _release_persisting(self) -> None:
        """Give back what was set aside in the L2 cache: it would survive the write. Devices before Ampere have none."""
        if self._driver is None:
            try:
                self._driver = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache
            except (OSError, AttributeError):
                self._driver = _nothing
        self._driver()


def _nothing() -> int:
    return 0
