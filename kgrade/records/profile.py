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


class Authored(Part, frozen=True, kw_only=True):
    """Where a submission defines a kernel: a file relative to the item's folder, and a line from 1 on."""

    name: str
    path: str
    line: int


class KernelProfile(Part, frozen=True, kw_only=True):
    """One kernel at one launch geometry. Percentages are 0 to 100; what was not measured is None.

    Over several launches, `total_us` is the sum; bytes, flops and `figures` are those of one launch, and percentages
    and stalls are means weighted by time. `stalls` counts warps that wait for each reason per instruction issued,
    `busy` is the per cent of the time in which each engine of the device worked.
    Of an operator on the CPU, `total_us` leaves out the operators that it calls.
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
    busy: dict[str, float] = {}
    advice: list[Advice] = []
    figures: dict[str, Figure] = {}
    authored: Authored | None = None

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


class Origin(Part, frozen=True, kw_only=True):
    """Where a profile comes from: the profiler's file, which stays out of git, and who added it when (RFC 3339).

    `options` are those of the profiler, where it was run for this; `by` is empty then.
    """

    file: str
    sha256: str
    bytes: int
    when: str
    by: str = ""
    options: list[str] = []


class Profile(Part, frozen=True, kw_only=True):
    """All kernels by time, the longest first. `launches` holds the first ones of the timeline, in order.

    `unit` says what the entries are: kernels of a device, or operators on the CPU. Kernels past a number are left out,
    and `left_out_us` is their time.
    """

    source: Source
    unit: Literal["kernel", "operator"] = "kernel"
    version: str = ""
    device: str = ""
    capability: str = ""
    origin: Origin | None = None
    kernels: list[KernelProfile]
    kernels_left_out: int = 0
    left_out_us: float = 0.0
    launches: list[Launch] = []
    launches_left_out: int = 0
    notes: list[str] = []

    @property
    def total_us(self) -> float:
        """Time of all kernels together."""
        return sum(kernel.total_us or 0.0 for kernel in self.kernels) + self.left_out_us

    @property
    def authored_us(self) -> float:
        """Time of the kernels that the submission defines."""
        return sum(kernel.total_us or 0.0 for kernel in self.kernels if kernel.authored)

    @property
    def is_added(self) -> bool:
        """Whether a person added it, rather than a collection that ran the profiler."""
        return self.origin is not None and bool(self.origin.by)
