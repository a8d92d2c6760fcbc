"""Nsight Systems: the sqlite export, and the CSV of `nsys stats` (kernel sums, or the trace of launches)."""

from __future__ import annotations

import contextlib
import csv
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgrade.harness.profiles import units
from kgrade.harness.profiles.grouping import Seen, grouped, short
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import KernelProfile, Profile

TIMES_ONLY = "no metric of the hardware: nsys measures times only"
_Column = Mapping[str, tuple[int, str]]
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_COLUMNS = (
    "start", "end", "streamId", "demangledName", "shortName", "registersPerThread", "gridX", "gridY", "gridZ",
    "blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory",
)  # fmt: skip
_TITLE = re.compile(r"([^()]*?)\s*\(([^()]*)\)\s*$")
_TIMES = ("Total Time", "Min", "Max", "Start", "Duration")
_SIZES = ("StcSMem", "DymSMem")


def read_nsys_sqlite(path: Path) -> Profile:
    """Read an export; raise BadProfile where it is none, or holds no kernel."""
    with contextlib.closing(_opened(path)) as base:
        try:
            tables = {row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if KERNELS not in tables:
                raise BadProfile(f"{path.name} holds no kernel: no table {KERNELS}; nsys leaves it out when none ran")
            names = _names(base) if "StringIds" in tables else {}
            seen = [_launch(row, names) for row in _rows(base, KERNELS, _COLUMNS)]
            device = _device(base) if "TARGET_INFO_GPU" in tables else ""
        except (sqlite3.Error, ValueError, TypeError, OverflowError) as why:
            raise BadProfile(f"{path.name} is no export of nsys that can be read: {why}") from None
    if not seen:
        raise BadProfile(f"{path.name} holds no kernel")
    return Profile(source="nsys", device=device, notes=[TIMES_ONLY], **grouped(seen, per_us=1e3))


def read_nsys_csv(lines: Iterable[str], name: str) -> Profile:
    """Read `cuda_gpu_kern_sum` or `cuda_gpu_trace`; units stand in the titles."""
    rows = csv.reader(lines)
    try:
        table = [row for row in rows if len(row) > 1]
    except csv.Error as why:
        raise BadProfile(f"{name} is not CSV ({why}); expected the output of nsys stats --format csv") from None
    titles = next((at for at, row in enumerate(table) if "Name" in row), None)
    if titles is None:
        raise BadProfile(f"{name} has no column Name; expected the output of nsys stats --format csv")
    column = {_plain(title): (at, _unit(title)) for at, title in enumerate(table[titles])}
    sums = "Total Time" in column
    if not sums and not {"Start", "Duration"} <= set(column):
        raise BadProfile(f"{name} has neither Total Time nor Start and Duration; expected cuda_gpu_kern_sum or _trace")
    _insist_on_units(column, name)
    seen = [row for row in (_sum(r, column) if sums else _traced(r, column) for r in table[titles + 1 :]) if row]
    if not seen:
        raise BadProfile(f"{name} holds no kernel")
    return Profile(source="nsys", notes=[TIMES_ONLY], **grouped(seen))


def _insist_on_units(column: _Column, name: str) -> None:
    """Raise BadProfile where a column that is read says no unit, or one that it cannot have."""
    for titles, convert, what in ((_TIMES, units.microseconds, "time"), (_SIZES, units.in_bytes, "size")):
        for title in titles:
            if title in column and convert(1.0, column[title][1]) is None:
                unit = column[title][1][:40]
                raise BadProfile(
                    f"{name}: the unit {unit!r} of {title} is not one of {what}; expected that of nsys stats"
                )


def _opened(path: Path) -> sqlite3.Connection:
    """Open a foreign base for reading only; nothing that it holds may run."""
    try:
        base = sqlite3.connect(f"file:{path.as_posix()}?mode=ro&immutable=1", uri=True)
        base.execute("PRAGMA trusted_schema = OFF")
        base.execute("PRAGMA query_only = ON")
    except sqlite3.Error as why:
        raise BadProfile(f"{path.name} is no sqlite base that can be read: {why}") from None
    base.text_factory = lambda data: data.decode("utf-8", "replace")
    return base


def _rows(base: sqlite3.Connection, table: str, wanted: Sequence[str]) -> Iterable[dict[str, Any]]:
    """Rows of a table by column, with None for columns that this version of nsys does not write."""
    there = {row[1] for row in base.execute(f"PRAGMA table_info({table})")}
    names = [name for name in wanted if name in there]
    if not {"start", "end"} <= set(names) and table == KERNELS:
        raise ValueError(f"{table} has no start and end")
    for row in base.execute(f"SELECT {', '.join(names)} FROM {table}"):
        yield dict.fromkeys(wanted) | dict(zip(names, row, strict=True))


def _names(base: sqlite3.Connection) -> dict[int, str]:
    return {row["id"]: str(row["value"]) for row in _rows(base, "StringIds", ("id", "value"))}


def _device(base: sqlite3.Connection) -> str:
    found = sorted({str(row["name"]) for row in _rows(base, "TARGET_INFO_GPU", ("name",)) if row["name"]})
    return ", ".join(found)


def _launch(row: Mapping[str, Any], names: Mapping[int, str]) -> Seen:
    duration = (int(row["end"]) - int(row["start"])) / 1e3
    if duration < 0:
        raise ValueError("a kernel that ends before it starts")
    name = row["demangledName"] if row["demangledName"] is not None else row["shortName"]
    grid, block = (tuple(row[f"{what}{axis}"] for axis in "XYZ") for what in ("grid", "block"))
    shared = [row[key] for key in ("staticSharedMemory", "dynamicSharedMemory") if row[key] is not None]
    kernel = KernelProfile(
        name=short(names.get(name, str(name))),
        launches=1,
        total_us=duration,
        min_us=duration,
        max_us=duration,
        grid=_dim(grid),
        block=_dim(block),
        registers=row["registersPerThread"],
        shared_bytes=sum(shared) if shared else None,
    )
    return Seen(kernel, int(row["start"]), int(row["streamId"] or 0))


def _dim(values: Sequence[Any]) -> tuple[int, int, int] | None:
    if any(not isinstance(value, int) for value in values):
        return None
    return (values[0], values[1], values[2])


def _plain(title: str) -> str:
    found = _TITLE.match(title)
    return found[1] if found else title.strip()


def _unit(title: str) -> str:
    found = _TITLE.match(title)
    return found[2] if found else ""


def _value(row: Sequence[str], column: _Column, title: str) -> tuple[float, str] | None:
    at, unit = column.get(title, (len(row), ""))
    found = units.number(row[at]) if at < len(row) else None
    return None if found is None else (found, unit)


def _time(row: Sequence[str], column: _Column, title: str) -> float | None:
    found = _value(row, column, title)
    return None if found is None else units.microseconds(found[0], found[1])


def _size(row: Sequence[str], column: _Column, title: str) -> float | None:
    found = _value(row, column, title)
    return None if found is None else units.in_bytes(found[0], found[1])


def _shared(row: Sequence[str], column: _Column) -> int | None:
    sizes = [size for title in ("StcSMem", "DymSMem") if (size := _size(row, column, title)) is not None]
    return round(sum(sizes)) if sizes else None


def _sum(row: Sequence[str], column: _Column) -> Seen | None:
    name, total = row[column["Name"][0]] if column["Name"][0] < len(row) else "", _time(row, column, "Total Time")
    count = _value(row, column, "Instances")
    if not name or total is None:
        return None
    kernel = KernelProfile(
        name=short(name),
        launches=units.whole(count[0]) or 1 if count else 1,
        total_us=total,
        min_us=_time(row, column, "Min"),
        max_us=_time(row, column, "Max"),
    )
    return Seen(kernel)


def _traced(row: Sequence[str], column: _Column) -> Seen | None:
    start, duration = _time(row, column, "Start"), _time(row, column, "Duration")
    dims = [[_value(row, column, f"{what}{axis}") for axis in "XYZ"] for what in ("Grd", "Blk")]
    at = column["Name"][0]
    if start is None or duration is None or at >= len(row) or any(value is None for value in dims[0]):
        return None  # a copy or a fill: those have no grid
    grid, block = ([int(value[0]) if value else None for value in each] for each in dims)
    registers, stream = _value(row, column, "Reg/Trd"), _value(row, column, "Strm")
    kernel = KernelProfile(
        name=short(row[at]),
        launches=1,
        total_us=duration,
        min_us=duration,
        max_us=duration,
        grid=_dim(grid),
        block=_dim(block),
        registers=units.whole(registers[0]) if registers else None,
        shared_bytes=_shared(row, column),
    )
    return Seen(kernel, start, int(stream[0]) if stream else 0)
