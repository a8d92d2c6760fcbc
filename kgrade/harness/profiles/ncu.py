"""Nsight Compute's CSV pages: details, raw and sections, one metric a row or one kernel a row.

Columns may come in any order; units stand in each row, or in a row of their own below the header; lines that begin
with `==` come from ncu itself. Sources: the pages of `ncu --csv --page details|raw`, and NVIDIA's metric names.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from kgrade.harness.profiles import units
from kgrade.harness.profiles.grouping import Seen, grouped, short
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import Advice, Figure, KernelProfile, Profile

Convert = Callable[[float, str], float | None]

_COUNT: Convert = lambda value, unit: value  # noqa: E731
_WHOLE: Convert = lambda value, unit: units.whole(value)  # noqa: E731
_SHARED: Convert = units.in_bytes

# metric: (field of the record, how it is converted). The first of a field that a launch has counts.
WANTED: dict[str, tuple[str, Convert]] = {
    "gpu__time_duration.sum": ("total_us", units.microseconds),
    "Duration": ("total_us", units.microseconds),
    "launch__registers_per_thread": ("registers", _WHOLE),
    "Registers Per Thread": ("registers", _WHOLE),
    "launch__shared_mem_per_block": ("shared_bytes", _SHARED),
    "launch__shared_mem_per_block_allocated": ("shared_bytes", _SHARED),
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
LIMITS = {
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
OPERATIONS = {
    f"smsp__sass_thread_inst_executed_op_{kind}{name}_pred_on.sum": weight
    for kind in "dfh"
    for name, weight in (("add", 1), ("mul", 1), ("fma", 2))
}
FIGURES = ("SM Frequency", "DRAM Frequency", "Elapsed Cycles", "SM Active Cycles", "Max Bandwidth", "Mem Busy", "Mem Pipes Busy", "One or More Eligible", "No Eligible", "Active Warps Per Scheduler", "Eligible Warps Per Scheduler", "Issued Warp Per Scheduler", "Waves Per SM", "Executed Ipc Active", "dram__bytes.sum.per_second")  # fmt: skip  # noqa: E501
STALL = "smsp__average_warps_issue_stalled_"
STALL_ENDS = ("_per_issue_active.ratio", "_per_issue_active", ".ratio", "_per_warp_active.pct")
_KEPT = frozenset((*WANTED, *LIMITS, *OPERATIONS, *FIGURES, ""))
_LONG = ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")
_WIDE = ("ID", "Kernel Name")
_NOT_METRICS = frozenset({"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC", "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"})  # fmt: skip  # noqa: E501


@dataclass
class _Launch:
    name: str
    grid: str
    block: str
    stream: str
    device: str
    metrics: dict[str, tuple[float, str]] = field(default_factory=dict)
    advice: list[Advice] = field(default_factory=list)


def read_ncu(lines: Iterable[str], name: str) -> Profile:
    """Read a CSV page; raise BadProfile where it holds no kernel."""
    rows = csv.reader(line.replace("\0", "") for line in lines if not line.startswith("=="))
    try:
        header = next(row for row in rows if any(row))
        launches = list(_long(header, rows)) if set(_LONG) <= set(header) else list(_wide(header, rows, name))
    except StopIteration:
        raise BadProfile(f"{name} is empty; expected the output of ncu --csv --page details or raw") from None
    except csv.Error as why:
        raise BadProfile(f"{name} is not CSV ({why}); expected the output of ncu --csv --page details or raw") from None
    if not launches:
        raise BadProfile(f"{name} holds no kernel; ncu prints ==WARNING== No kernels were profiled when it saw none")
    made = grouped([Seen(_kernel(launch)) for launch in launches])
    devices = sorted({f"device {launch.device}" for launch in launches if launch.device})
    return Profile(source="ncu", device=", ".join(devices), kernels=made.kernels)


def _long(header: Sequence[str], rows: Iterator[list[str]]) -> Iterator[_Launch]:
    """One metric a row: launches by their ID, whichever order the rows are in."""
    column = {title: at for at, title in enumerate(header)}
    at_id, at_metric, at_unit, at_value = (
        column[title] for title in ("ID", "Metric Name", "Metric Unit", "Metric Value")
    )
    width = max(at_id, at_metric, at_unit, at_value, column["Kernel Name"])
    found: dict[str, _Launch] = {}
    kept = _KEPT
    for row in rows:
        if len(row) <= width:
            continue
        metric = row[at_metric]
        launch = found.get(row[at_id])
        if launch is None:
            launch = found[row[at_id]] = _begun(row, column)
        if metric in kept or metric.startswith(STALL):
            if not metric:
                _advise(launch, row, column)
                continue
            value = units.number(row[at_value])
            if value is not None:
                _put(launch, metric, value, row[at_unit])
    return iter(found.values())


def _put(launch: _Launch, metric: str, value: float, unit: str) -> None:
    """Keep a metric. Sections share names (Memory Throughput in % and in bytes/s): the other unit joins the name."""
    held = launch.metrics.get(metric)
    if held is None:
        launch.metrics[metric] = (value, unit)
    elif held[1] != unit:
        if unit == "%":
            launch.metrics[metric], value, unit = (value, unit), *held
        launch.metrics.setdefault(f"{metric} [{unit}]", (value, unit))


def _wide(header: Sequence[str], rows: Iterator[list[str]], name: str) -> Iterator[_Launch]:
    """One kernel a row; the first row after the header holds the units."""
    if not set(_WIDE) <= set(header) or "Metric Name" in header:
        missing = ", ".join(title for title in _LONG if title not in header)
        raise BadProfile(f"{name} has no column {missing}; expected the output of ncu --csv --page details or raw")
    column = {title: at for at, title in enumerate(header)}
    wanted = [(at, title) for title, at in column.items() if title in _KEPT or title.startswith(STALL)]
    first = next(rows, None)
    if first is None:
        return
    has_units = len(first) > column["ID"] and not first[column["ID"]].strip()
    unit_row = first if has_units else []
    for row in rows if has_units else chain([first], rows):
        if len(row) <= max(column["ID"], column["Kernel Name"]):
            continue
        launch = _begun(row, column)
        for at, title in wanted:
            value = units.number(row[at]) if at < len(row) else None
            if value is not None:
                launch.metrics[title] = (value, unit_row[at] if at < len(unit_row) else "")
        yield launch


def _begun(row: Sequence[str], column: dict[str, int]) -> _Launch:
    def cell(title: str) -> str:
        at = column.get(title)
        return row[at] if at is not None and at < len(row) else ""

    return _Launch(cell("Kernel Name"), cell("Grid Size"), cell("Block Size"), cell("Stream"), cell("Device"))


def _advise(launch: _Launch, row: Sequence[str], column: dict[str, int]) -> None:
    def cell(title: str) -> str:
        at = column.get(title)
        return row[at] if at is not None and at < len(row) else ""

    if cell("Rule Description"):
        launch.advice.append(
            Advice(
                rule=cell("Rule Name"),
                text=cell("Rule Description"),
                scope=cell("Estimated Speedup Type"),
                speedup=units.number(cell("Estimated Speedup")),
            )
        )


def _kernel(launch: _Launch) -> KernelProfile:
    fields: dict[str, float | int] = {}
    for metric, (value, unit) in launch.metrics.items():
        if metric in WANTED:
            name, convert = WANTED[metric]
            converted = convert(value, unit)
            if converted is not None and name not in fields:
                fields[name] = converted
    if "shared_bytes" in fields:
        fields["shared_bytes"] = int(fields["shared_bytes"])
    operations = [(launch.metrics[m][0], weight) for m, weight in OPERATIONS.items() if m in launch.metrics]
    total = fields.get("total_us")
    return KernelProfile(
        name=short(launch.name),
        launches=1,
        min_us=total,
        max_us=total,
        grid=units.dim(launch.grid),
        block=units.dim(launch.block),
        flops=sum(value * weight for value, weight in operations) if operations else None,
        limiter=_limiter(launch),
        stalls=_stalls(launch),
        advice=launch.advice,
        figures={m: Figure(value=v, unit=u) for m, (v, u) in launch.metrics.items() if not m.startswith(STALL)},
        **fields,  # type: ignore[arg-type]
    )


def _limiter(launch: _Launch) -> str:
    """What keeps more blocks off a multiprocessor: the smallest of the limits, all of them where they are equal."""
    limits = {word: launch.metrics[metric][0] for metric, word in LIMITS.items() if metric in launch.metrics}
    least = min(limits.values(), default=None)
    return ", ".join(word for word, limit in limits.items() if limit == least)


def _stalls(launch: _Launch) -> dict[str, float]:
    """Warps stalled for each reason, per issued instruction, the most first."""
    found = {}
    for metric, (value, _) in launch.metrics.items():
        if metric.startswith(STALL):
            reason = metric.removeprefix(STALL)
            for end in STALL_ENDS:
                reason = reason.removesuffix(end)
            found[reason.replace("_", " ")] = value
    return dict(sorted(found.items(), key=lambda each: -each[1]))
