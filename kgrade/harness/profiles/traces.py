"""torch.profiler's Chrome traces: the kernels on the device's timeline, with what the trace says of each launch."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kgrade.harness.profiles.grouping import Seen, grouped, short
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import KernelProfile, Profile

LARGEST = 1 << 30
_CHUNK = 1 << 20


class _Event(msgspec.Struct):
    """One event; its arguments stay undecoded until it turns out to be a kernel."""

    cat: Any = None
    name: Any = None
    ts: Any = None
    dur: Any = None
    args: msgspec.Raw = msgspec.Raw(b"null")


class _Trace(msgspec.Struct):
    traceEvents: list[_Event]  # noqa: N815 - the format's name
    deviceProperties: Any = None  # noqa: N815


def read_trace(path: Path) -> Profile:
    """Read a trace, gzipped or not; raise BadProfile where it is none, or no kernel ran on a device."""
    data = _unpacked(path)
    try:
        trace = msgspec.json.decode(data, type=_Trace)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise BadProfile(f"{path.name} is no Chrome trace: {why}; expected JSON with traceEvents") from None
    del data
    seen = list(_kernels(trace.traceEvents))
    if not seen:
        counted = sum(event.cat == "cpu_op" for event in trace.traceEvents)
        raise BadProfile(
            f"{path.name} holds no kernel, but {counted} operators on the CPU; profile with ProfilerActivity.CUDA"
        )
    made = grouped(seen)
    return Profile(
        source="torch.profiler",
        device=_device(trace.deviceProperties),
        kernels=made.kernels,
        launches=made.launches,
        launches_left_out=made.left_out,
        notes=["occupancy is torch.profiler's estimate, not a measurement"],
    )


def _unpacked(path: Path) -> bytes:
    """The trace's bytes; a gzipped one stops at `LARGEST`, whatever it claims."""
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        return data
    parts, size = [], 0
    try:
        with gzip.open(path) as file:
            while part := file.read(_CHUNK):
                size += len(part)
                if size > LARGEST:
                    raise BadProfile(f"{path.name} unpacks to more than {LARGEST >> 20} MiB; cut the profiled range")
                parts.append(part)
    except (OSError, EOFError) as why:
        raise BadProfile(f"{path.name} cannot be unpacked: {why}") from None
    return b"".join(parts)


def _kernels(events: list[_Event]) -> Iterator[Seen]:
    for event in events:
        if event.cat != "kernel":
            continue
        start, duration = _finite(event.ts), _finite(event.dur)
        if duration is None or duration < 0:
            continue
        yield Seen(_kernel(str(event.name), duration, _arguments(event.args)), start, _stream(event.args))


def _kernel(name: str, duration: float, arguments: dict[str, Any]) -> KernelProfile:
    occupancy = _finite(arguments.get("est. achieved occupancy %"))
    registers, shared = arguments.get("registers per thread"), arguments.get("shared memory")
    return KernelProfile(
        name=short(name),
        launches=1,
        total_us=duration,
        min_us=duration,
        max_us=duration,
        grid=_dim(arguments.get("grid")),
        block=_dim(arguments.get("block")),
        registers=registers if _is_count(registers) else None,
        shared_bytes=shared if _is_count(shared) else None,
        theoretical_occupancy_percent=occupancy,
    )


def _arguments(raw: msgspec.Raw) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _stream(raw: msgspec.Raw) -> int:
    found = _arguments(raw).get("stream")
    return int(found) if found is not None and _is_count(found) else 0


def _device(properties: Any) -> str:
    entries = properties if isinstance(properties, list) else []
    names = {str(entry["name"]) for entry in entries if isinstance(entry, dict) and entry.get("name")}
    return ", ".join(sorted(names))


def _finite(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18
    return float(value) if known and math.isfinite(value) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _dim(value: Any) -> tuple[int, int, int] | None:
    if isinstance(value, list) and len(value) == 3 and all(map(_is_count, value)):
        return (value[0], value[1], value[2])
    return None
