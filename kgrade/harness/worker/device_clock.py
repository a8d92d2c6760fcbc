"""Timing on a GPU, inside the wall: device events around every single call, with the state of its caches arranged.

What is arranged before a call also covers the time that the host needs to launch it, so that the events enclose work
of the device alone: a write of twice the L2 cache where it is to be cold, else a kernel that spins. It lies outside the
events, and kgrade subtracts it from what its own clock says by asking for the same without the call.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

LEAST_FLUSH = 64 << 20  # bytes, for devices that do not tell their L2
SPIN_US = (20.0, 2000.0)
SPIN_SHARE = 4.0  # of the time that the host took to launch a call, so that the device never waits for it
CYCLES_PER_US = 2000.0


class DeviceClock:
    """Times calls of one process on its only device."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self._spin_us = SPIN_US[0]
        self._flushed: Any = None
        self._driver: Any = None

    def repeat(
        self, function: Optional[Callable[..., Any]], held: List[Dict[str, Any]], *, cold: bool
    ) -> Tuple[List[float], Any]:
        """Call `function` once on each set of inputs; return microseconds of each call and the last result.

        Without a function everything but the call is done.
        """
        claimed: List[float] = []
        result: Any = None
        for inputs in held:
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._arrange(cold)
            begin.record()
            if function is not None:
                called = time.perf_counter_ns()
                result = function(**inputs)
                self._launched((time.perf_counter_ns() - called) / 1000.0)
            end.record()
            self.torch.cuda.synchronize()
            claimed.append(begin.elapsed_time(end) * 1000.0)
        return claimed, result

    def _arrange(self, cold: bool) -> None:
        """Make the cache cold, or leave it as the calls before left it, and keep the device busy meanwhile."""
        if cold:
            self._release_persisting()
            self._flush_buffer().zero_()
        self.torch.cuda._sleep(int(self._spin_us * CYCLES_PER_US))

    def _launched(self, host_us: float) -> None:
        """Fit the spin to the slowest launch so far; a call that compiles or waits is no launch."""
        if host_us * SPIN_SHARE <= SPIN_US[1]:
            self._spin_us = max(self._spin_us, host_us * SPIN_SHARE)

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
