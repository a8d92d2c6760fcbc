"""The build stage: does it compile or import on each target, and what does a compiled kernel cost there."""

from __future__ import annotations

from kgrade.records.base import Part
from kgrade.records.evidence_common import Failure, StageStatus


class Occupancy(Part, frozen=True, kw_only=True):
    """Resident warps of one multiprocessor over its maximum, and the resource that sets the limit."""

    block_threads: int
    active_warps: int
    max_warps: int
    limiter: str


class KernelResources(Part, frozen=True, kw_only=True):
    """What one compiled kernel costs on one target (an architecture such as `sm_90`).

    One that host code launches has its compile-time constants and options in `config`, and the grid of its last
    launch; `tried` marks a config that only the autotuner tries, `failure` why it does not build or does not fit.
    `registers` are those of a thread (AMD: vector registers, of which `accumulators` are AccVGPRs, with
    `scalar_registers` beside; there `spilled_registers` counts what ptxas gives as bytes). `instructions` counts
    those of the listing by kind, `tensor` the matrix instructions among them by full name.
    """

    kernel: str
    target: str
    config: dict[str, str] = {}
    grid: list[int] = []
    tried: bool = False
    failure: Failure | None = None
    registers: int = 0
    accumulators: int = 0
    scalar_registers: int = 0
    spilled_registers: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0
    constant_bytes: int = 0
    code_bytes: int = 0
    occupancy: Occupancy | None = None
    instructions: dict[str, int] = {}
    tensor: dict[str, int] = {}

    @property
    def variant(self) -> str:
        """What distinguishes this kernel from others on its target, such as `matmul BLOCK=128 num_warps=8`."""
        return " ".join([self.kernel, *(f"{name}={value}" for name, value in self.config.items())])

    @property
    def spills(self) -> bool:
        """Whether registers are spilled to memory."""
        return bool(self.spill_store_bytes or self.spill_load_bytes or self.spilled_registers)


class BuildTarget(Part, frozen=True, kw_only=True):
    """One compilation: its command, how long it took and what it said. `log` is a file beside the evidence."""

    target: str
    status: StageStatus
    reason: str | None = None
    command: list[str] = []
    seconds: float = 0.0
    warnings: list[str] = []
    failure: Failure | None = None


class Build(Part, frozen=True, kw_only=True):
    """The build stage: does it compile or import, and what does it cost."""

    status: StageStatus
    reason: str | None = None
    method: str | None = None
    log: str | None = None
    targets: list[BuildTarget] = []
    kernels: list[KernelResources] = []
    facts: list[str] = []
