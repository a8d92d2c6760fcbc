"""rocprofv3's CSV: the trace of kernel dispatches, or their statistics. Times are in ns, grids in work-items."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping

from kgrade.harness.profiles import units
from kgrade.harness.profiles.grouping import Seen, grouped, short
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import Dim, KernelProfile, Profile


def read_rocprof(lines: Iterable[str], name: str) -> Profile:
    """Read a CSV of rocprofv3; raise BadProfile where it holds no kernel."""
    rows = csv.DictReader(lines)
    try:
        titles = set(rows.fieldnames or ())
        if {"Kernel_Name", "Start_Timestamp", "End_Timestamp"} <= titles:
            seen = [launch for row in rows if (launch := _dispatch(row)) is not None]
        elif {"Name", "Calls", "TotalDurationNs"} <= titles:
            seen = [total for row in rows if (total := _total(row)) is not None]
        else:
            raise BadProfile(
                f"{name} has neither Kernel_Name with its timestamps nor Name, Calls and TotalDurationNs;"
                " expected rocprofv3 --kernel-trace or --stats"
            )
    except csv.Error as why:
        raise BadProfile(f"{name} is not CSV: {why}") from None
    if not seen:
        raise BadProfile(f"{name} holds no kernel")
    return Profile(source="rocprofv3", **grouped(seen, per_us=1e3))


def _dispatch(row: Mapping[str, str | None]) -> Seen | None:
    start, end = (units.number(row.get(f"{edge}_Timestamp") or "") for edge in ("Start", "End"))
    if start is None or end is None or end < start:
        return None
    block = _dim(row, "Workgroup_Size")
    items = _dim(row, "Grid_Size")
    grid = None
    if block is not None and items is not None and all(block):
        grid = (-(-items[0] // block[0]), -(-items[1] // block[1]), -(-items[2] // block[2]))
    shared = units.number(row.get("Group_Segment_Size") or row.get("LDS_Block_Size") or "")
    registers = units.number(row.get("VGPR_Count") or "")
    duration = (end - start) / 1e3
    kernel = KernelProfile(
        name=short(row.get("Kernel_Name") or ""),
        launches=1,
        total_us=duration,
        min_us=duration,
        max_us=duration,
        grid=grid,
        block=block,
        registers=units.whole(registers) if registers is not None else None,
        shared_bytes=units.whole(shared) if shared is not None else None,
    )
    stream = units.number(row.get("Stream_Id") or row.get("Queue_Id") or "")
    return Seen(kernel, start, int(stream) if stream else 0)


def _total(row: Mapping[str, str | None]) -> Seen | None:
    total, calls = (units.number(row.get(title) or "") for title in ("TotalDurationNs", "Calls"))
    if total is None or calls is None:
        return None
    least, most = (units.number(row.get(title) or "") for title in ("MinNs", "MaxNs"))
    kernel = KernelProfile(
        name=short(row.get("Name") or ""),
        launches=units.whole(calls) or 1,
        total_us=total / 1e3,
        min_us=None if least is None else least / 1e3,
        max_us=None if most is None else most / 1e3,
    )
    return Seen(kernel)


def _dim(row: Mapping[str, str | None], what: str) -> Dim | None:
    found = [units.number(row.get(f"{what}_{axis}") or "") for axis in "XYZ"]
    whole = [units.whole(value) for value in found if value is not None]
    if len(whole) != 3 or any(value is None for value in whole):
        return None
    return (whole[0] or 0, whole[1] or 0, whole[2] or 0)
