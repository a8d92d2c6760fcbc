"""The profile stage: what a profiler saw of each kernel, whichever profiler it was. Times in microseconds."""

from __future__ import annotations

from typing import Literal

from kgrade.records.base import Part

Dim = tuple[int, int, int]
Source = Literal["ncu", "nsys", "torch.profiler", "rocprofv3", "neuron-profile"]


class Figure(Part, frozen=True, kw_only=True):
    """One metric as the profiler gave it: the number and its own unit."""

    value: float
    unit: str = ""


class Advice(Part, frozen=True, kw_only=True):
    """What the profiler itself says; `speedup` in per cent as it estimates it, `scope` local or global."""

    rule: str
    text: str
    scope: str = ""
    speedup: float | None = None


class KernelProfile(Part, frozen=True, kw_only=True):
    """One kernel at one launch geometry. Percentages are 0 to 100; what was not measured is None.

    Over several launches, `total_us` is the sum, and percentages are means weighted by time.
    """

    name: str
    launches: int
    total_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    grid: Dim | None = None
    block: Dim | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    flops: float | None = None
    compute_percent: float | None = None
    memory_percent: float | None = None
    dram_percent: float | None = None
    l1_percent: float | None = None
    l2_percent: float | None = None
    l1_hit_percent: float | None = None
    l2_hit_percent: float | None = None
    occupancy_percent: float | None = None
    theoretical_occupancy_percent: float | None = None
    limiter: str = ""
    stalls: dict[str, float] = {}
    advice: list[Advice] = []
    figures: dict[str, Figure] = {}

    @property
    def mean_us(self) -> float | None:
        """Time of one launch."""
        return None if self.total_us is None or not self.launches else self.total_us / self.launches


class Launch(Part, frozen=True, kw_only=True):
    """One launch on the device's timeline, from the first one's start; `kernel` counts in the profile's list."""

    kernel: int
    start_us: float
    duration_us: float
    stream: int = 0


class Profile(Part, frozen=True, kw_only=True):
    """All kernels by time, the longest first. `launches` holds the first ones of the timeline, in order."""

    source: Source
    version: str = ""
    device: str = ""
    kernels: list[KernelProfile]
    launches: list[Launch] = []
    launches_left_out: int = 0
    notes: list[str] = []

    @property
    def total_us(self) -> float:
        """Time of all kernels together."""
        return sum(kernel.total_us or 0.0 for kernel in self.kernels)
