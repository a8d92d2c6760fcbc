"""What of Nsight Compute's metrics is kept, under which name, and how it is converted.

Source: NVIDIA's names of metrics, and the titles that the sections of ncu's details page give them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from kgrade.harness.profiles import units
from kgrade.harness.profiles.grouping import short
from kgrade.records.profile import Advice, Figure, KernelProfile

Convert = Callable[[float, str], float | None]
Metrics = Mapping[str, tuple[float, str]]


def _whole(value: float, unit: str) -> float | None:
    found = units.counted(value, unit)
    return units.whole(found) if found is not None else None


def _whole_bytes(value: float, unit: str) -> float | None:
    found = units.in_bytes(value, unit)
    return int(found) if found is not None else None


# metric: (field of the record, how it is converted). The first of a field that a launch has counts.
WANTED: Final[dict[str, tuple[str, Convert]]] = {
    "gpu__time_duration.sum": ("total_us", units.microseconds),
    "Duration": ("total_us", units.microseconds),
    "launch__registers_per_thread": ("registers", _whole),
    "Registers Per Thread": ("registers", _whole),
    "launch__shared_mem_per_block": ("shared_bytes", _whole_bytes),
    "launch__shared_mem_per_block_allocated": ("shared_bytes", _whole_bytes),
    "dram__bytes_read.sum": ("dram_read_bytes", units.in_bytes),
    "dram__bytes_write.sum": ("dram_write_bytes", units.in_bytes),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("compute_percent", units.per_cent),
    "Compute (SM) Throughput": ("compute_percent", units.per_cent),
    "Compute (SM) [%]": ("compute_percent", units.per_cent),
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": ("memory_percent", units.per_cent),
    "Memory Throughput": ("memory_percent", units.per_cent),
    "Memory [%]": ("memory_percent", units.per_cent),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("dram_percent", units.per_cent),
    "DRAM Throughput": ("dram_percent", units.per_cent),
    "l1tex__throughput.avg.pct_of_peak_sustained_active": ("l1_percent", units.per_cent),
    "L1/TEX Cache Throughput": ("l1_percent", units.per_cent),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": ("l2_percent", units.per_cent),
    "L2 Cache Throughput": ("l2_percent", units.per_cent),
    "l1tex__t_sector_hit_rate.pct": ("l1_hit_percent", units.per_cent),
    "L1/TEX Hit Rate": ("l1_hit_percent", units.per_cent),
    "lts__t_sector_hit_rate.pct": ("l2_hit_percent", units.per_cent),
    "L2 Hit Rate": ("l2_hit_percent", units.per_cent),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("occupancy_percent", units.per_cent),
    "Achieved Occupancy": ("occupancy_percent", units.per_cent),
    "sm__maximum_warps_per_active_cycle_pct": ("theoretical_occupancy_percent", units.per_cent),
    "Theoretical Occupancy": ("theoretical_occupancy_percent", units.per_cent),
}
LIMITS: Final = {
    "Block Limit Registers": "registers",
    "Block Limit Shared Mem": "shared memory",
    "Block Limit Warps": "warps",
    "Block Limit SM": "blocks",
    "Block Limit Barriers": "barriers",
    "launch__occupancy_limit_registers": "registers",
    "launch__occupancy_limit_shared_mem": "shared memory",
    "launch__occupancy_limit_warps": "warps",
    "launch__occupancy_limit_blocks": "blocks",
    "launch__occupancy_limit_barriers": "barriers",
}
# Floating-point instructions, each with the operations of one thread that it stands for.
OPERATIONS: Final = {
    f"smsp__sass_thread_inst_executed_op_{kind}{name}_pred_on.sum": weight
    for kind in "dfh"
    for name, weight in (("add", 1), ("mul", 1), ("fma", 2))
}
FIGURES: Final = (
    "SM Frequency",
    "DRAM Frequency",
    "Elapsed Cycles",
    "SM Active Cycles",
    "Max Bandwidth",
    "Mem Busy",
    "Mem Pipes Busy",
    "One or More Eligible",
    "No Eligible",
    "Active Warps Per Scheduler",
    "Eligible Warps Per Scheduler",
    "Issued Warp Per Scheduler",
    "Waves Per SM",
    "Executed Ipc Active",
    "dram__bytes.sum.per_second",
)
_STALL: Final = "smsp__average_warps_issue_stalled_"
_STALL_END: Final = "_per_issue_active"
_RATIOS: Final = ("", "inst", "warp")
_COUNTED: Final = frozenset((*WANTED, *LIMITS, *OPERATIONS))


class Place(NamedTuple):
    """What a page says of one launch beside its metrics."""

    name: str
    grid: str
    block: str
    stream: str = ""
    device: str = ""
    capability: str = ""


Use = Literal["figure", "as written", "none"]


def use_of(metric: str) -> Use:
    """Whether a metric makes a figure of the record, is only kept as it was written, or neither."""
    if metric in _COUNTED or _reason(metric) is not None:
        return "figure"
    return "as written" if metric in FIGURES else "none"


def left_out(metrics: Metrics) -> list[str]:
    """Say which figures are missing because their metrics are given in a unit that is not one of theirs."""
    strange = [(metric, unit) for metric, (_, unit) in metrics.items() if not _fits(metric, unit)]
    if not strange:
        return []
    made = {WANTED[metric][0] for metric, (_, unit) in metrics.items() if metric in WANTED and _fits(metric, unit)}
    return [
        f"{metric} is left out: its unit {unit[:40]!r} is not one that is known for it"
        for metric, unit in strange
        if metric not in WANTED or WANTED[metric][0] not in made
    ]


@lru_cache(maxsize=1000)
def _fits(metric: str, unit: str) -> bool:
    """Whether a metric that makes a figure is in a unit that can be converted; True for all others."""
    if metric in WANTED:
        return WANTED[metric][1](1.0, unit) is not None
    if metric in OPERATIONS or metric in LIMITS:
        return units.counted(1.0, unit) is not None
    return _reason(metric) is None or unit.strip() in _RATIOS


def kernel_of(place: Place, metrics: Metrics, advice: list[Advice], *, figures: bool = True) -> KernelProfile:
    """Return what one launch says; `figures` is whether its metrics are kept as they were written, too."""
    fields: dict[str, float | int] = {}
    for metric, (value, unit) in metrics.items():
        wanted = WANTED.get(metric)
        if wanted is not None and wanted[0] not in fields:
            converted = wanted[1](value, unit)
            if converted is not None:
                fields[wanted[0]] = converted
    total = fields.get("total_us")
    return KernelProfile(
        name=short(place.name),
        launches=1,
        min_us=total,
        max_us=total,
        grid=units.dim(place.grid),
        block=units.dim(place.block),
        flops=_flops(metrics),
        limiter=_limiter(metrics),
        stalls=_stalls(metrics),
        advice=advice,
        figures={m: Figure(value=v, unit=u[:40]) for m, (v, u) in metrics.items() if _reason(m) is None}
        if figures
        else {},
        **fields,  # type: ignore[arg-type]
    )


def _flops(metrics: Metrics) -> float | None:
    """Operations of the instructions that were counted; None where none were, or one of them in another unit."""
    counts = [(units.counted(*metrics[metric]), weight) for metric, weight in OPERATIONS.items() if metric in metrics]
    known = [count * weight for count, weight in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _limiter(metrics: Metrics) -> str:
    """What keeps more blocks off a multiprocessor: the smallest of the limits, all of them where they are equal."""
    limits = {
        word: limit
        for metric, word in LIMITS.items()
        if metric in metrics and (limit := units.counted(*metrics[metric])) is not None
    }
    least = min(limits.values(), default=None)
    return ", ".join(word for word, limit in limits.items() if limit == least)


def _stalls(metrics: Metrics) -> dict[str, float]:
    """Warps stalled for each reason, per issued instruction, the most first; ncu gives their ratio in instructions."""
    found = {}
    for metric, (value, unit) in metrics.items():
        reason = _reason(metric)
        if reason is not None and unit.strip() in _RATIOS:
            found[reason] = value
    return dict(sorted(found.items(), key=lambda each: -each[1]))


@lru_cache(maxsize=1000)
def _reason(metric: str) -> str | None:
    """The reason that a metric of stalls is about; None for other metrics, and for stalls in another measure."""
    if not metric.startswith(_STALL):
        return None
    reason = metric.removeprefix(_STALL).removesuffix(".ratio")
    return reason.removesuffix(_STALL_END).replace("_", " ") if reason.endswith(_STALL_END) else None
