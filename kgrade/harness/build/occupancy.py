"""Theoretical occupancy of a CUDA kernel: how many of its blocks one multiprocessor holds, and what limits them.

The calculation is NVIDIA's public one (CUDA C++ Best Practices Guide, "Occupancy"; `cuda_occupancy.h` of the toolkit):
warps are allocated in fours, registers in units of 256 for each warp, shared memory in the architecture's unit.
"""

from __future__ import annotations

from kgrade.harness.build.targets import MultiprocessorLimits
from kgrade.records.evidence import Occupancy

WARP = 32
MOST_THREADS = 1024
MOST_REGISTERS = 255
_PARTITIONS = 4
_REGISTER_UNIT = 256


def occupancy(limits: MultiprocessorLimits, *, registers: int, shared_bytes: int, block_threads: int) -> Occupancy:
    """Return the resident warps for blocks of `block_threads` (1 to 1024) with `registers` for each thread.

    `shared_bytes` is static plus dynamic shared memory of a block. A block that does not fit at all has 0 active
    warps, and `limiter` names what it passes; where two resources limit alike, both are named. Raises ValueError for
    another number of threads.
    """
    if not 1 <= block_threads <= MOST_THREADS:
        raise ValueError(f"a block of {block_threads} threads: a block has 1 to {MOST_THREADS}")
    warps = _up(block_threads, WARP) // WARP
    bounds = {
        "blocks": limits.blocks,
        "warps": limits.warps // warps,
        "registers": _blocks_by_registers(limits, registers, warps),
        "shared memory": _blocks_by_shared(limits, shared_bytes),
    }
    blocks = min(bounds.values())
    return Occupancy(
        block_threads=block_threads,
        active_warps=blocks * warps,
        max_warps=limits.warps,
        limiter=", ".join(name for name, bound in bounds.items() if bound == blocks),
    )


def largest_block(limits: MultiprocessorLimits, registers: int, bound: int | None) -> int:
    """Return the most threads a block of the kernel may have: its launch bound, or what its registers allow."""
    if bound is not None:
        return bound
    warps = MOST_THREADS // WARP
    while warps > 1 and _blocks_by_registers(limits, registers, warps) == 0:
        warps -= 1
    return warps * WARP


def _blocks_by_registers(limits: MultiprocessorLimits, registers: int, warps: int) -> int:
    if registers > MOST_REGISTERS:
        return 0
    if registers == 0:
        return limits.blocks
    of_a_warp = _up(registers * WARP, _REGISTER_UNIT)
    if _up(warps, _PARTITIONS) * of_a_warp > limits.registers:
        return 0
    of_a_partition = limits.registers // _PARTITIONS // of_a_warp
    return of_a_partition * _PARTITIONS // warps


def _blocks_by_shared(limits: MultiprocessorLimits, shared_bytes: int) -> int:
    if shared_bytes > limits.shared_per_block:
        return 0
    taken = _up(shared_bytes + limits.shared_reserved, limits.shared_unit)
    return limits.shared // taken if taken else limits.blocks


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
