"""torch.profiler's Chrome traces: the kernels on the device's timeline, else the operators on the CPU."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kgrade.harness.profiles import neuron
from kgrade.harness.profiles.grouping import Seen, grouped, short, with_notes
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import KernelProfile, Profile

LARGEST = 1 << 30
EXPECTED = "expected torch.profiler's traceEvents, or neuron-profile's summary-json"
_CHUNK = 1 << 20
_MOVES = ("gpu_memcpy", "gpu_memset")


class _Event(msgspec.Struct, gc=False):
    """One event; its arguments stay undecoded until it turns out to be a kernel."""

    cat: Any = None
    name: Any = None
    ts: Any = None
    dur: Any = None
    pid: Any = None
    tid: Any = None
    args: msgspec.Raw = msgspec.Raw(b"null")


class _Trace(msgspec.Struct):
    traceEvents: list[_Event]  # noqa: N815 - the format's name
    deviceProperties: Any = None  # noqa: N815


class _Arguments(msgspec.Struct):
    """What a trace says of one launch."""

    grid: Any = None
    block: Any = None
    stream: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared: Any = msgspec.field(default=None, name="shared memory")
    occupancy: Any = msgspec.field(default=None, name="est. achieved occupancy %")


_NOTHING = _Arguments()
_ARGUMENTS = msgspec.json.Decoder(_Arguments)


def read_json(path: Path) -> Profile:
    """Read a trace, gzipped or not, or a Neuron summary; raise BadProfile where it is neither, or nothing ran."""
    data = _unpacked(path)
    try:
        trace = msgspec.json.decode(data, type=_Trace)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        return _summary(data, path, str(why))
    del data
    seen = list(_kernels(trace.traceEvents))
    if not seen:
        return _of_operators(trace.traceEvents, path)
    profile = Profile(
        source="torch.profiler",
        device=_device(trace.deviceProperties),
        notes=["theoretical occupancy is torch.profiler's estimate, not a measurement"],
        **grouped(seen),
    )
    return with_notes(profile, _moved(trace.traceEvents))


def _summary(data: bytes, path: Path, why: str) -> Profile:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadProfile(f"{path.name} is no Chrome trace: {why}; {EXPECTED}") from None
    if not neuron.is_summary(found):
        raise BadProfile(f"{path.name} is no Chrome trace: {why}; {EXPECTED}")
    return neuron.read_neuron(found, path.name)


def _of_operators(events: Sequence[_Event], path: Path) -> Profile:
    seen = list(_operators(events))
    if not seen:
        raise BadProfile(f"{path.name} holds neither a kernel nor an operator; nothing ran while it was recorded")
    return Profile(
        source="torch.profiler",
        unit="operator",
        device="CPU",
        notes=[
            "no kernel ran on a device: these are operators on the CPU, each without those that it calls",
            "times include what the profiler itself takes, which weighs most on short operators",
        ],
        **grouped(seen),
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


def _kernels(events: Sequence[_Event]) -> Iterator[Seen]:
    for event in events:
        if event.cat != "kernel":
            continue
        start, duration = _finite(event.ts), _finite(event.dur)
        if duration is None or duration < 0:
            continue
        arguments = _arguments(event.args)
        stream = int(arguments.stream) if _is_count(arguments.stream) else 0
        yield Seen(_kernel(str(event.name), duration, arguments), start, stream)


def _kernel(name: str, duration: float, arguments: _Arguments) -> KernelProfile:
    return KernelProfile(
        name=short(name),
        launches=1,
        total_us=duration,
        min_us=duration,
        max_us=duration,
        grid=_dim(arguments.grid),
        block=_dim(arguments.block),
        registers=arguments.registers if _is_count(arguments.registers) else None,
        shared_bytes=arguments.shared if _is_count(arguments.shared) else None,
        theoretical_occupancy_percent=_finite(arguments.occupancy),
    )


def _operators(events: Sequence[_Event]) -> Iterator[Seen]:
    """Operators with their own time; those that no other one calls are the timeline."""
    threads: dict[str, list[tuple[float, float, str]]] = {}
    for event in events:
        if event.cat == "cpu_op":
            start, duration = _finite(event.ts), _finite(event.dur)
            if start is not None and duration is not None and duration >= 0:
                thread = f"{event.pid} {event.tid}"
                threads.setdefault(thread, []).append((start, -duration, str(event.name)))
    for number, rows in enumerate(threads.values()):
        rows.sort()
        yield from _own_times(rows, number)


def _own_times(rows: Sequence[tuple[float, float, str]], thread: int) -> Iterator[Seen]:
    """Take the time of each operator that begins within another one from that one's."""
    own = [-minus for _, minus, _ in rows]
    outer: list[int] = []
    depth = []
    for at, (start, minus, _) in enumerate(rows):
        while outer and rows[outer[-1]][0] - rows[outer[-1]][1] <= start:
            outer.pop()
        if outer:
            own[outer[-1]] -= -minus
        depth.append(len(outer))
        outer.append(at)
    for (start, minus, name), time, level in zip(rows, own, depth):
        kept = max(time, 0.0)
        kernel = KernelProfile(name=short(name), launches=1, total_us=kept, min_us=kept, max_us=kept)
        yield Seen(kernel, None if level else start, thread, -minus)


def _moved(events: Sequence[_Event]) -> str:
    """What copies and fills took: they are no kernels, and stand as gaps on the timeline."""
    times = [_finite(event.dur) or 0.0 for event in events if event.cat in _MOVES]
    return f"beside the kernels, {len(times)} copies and fills took {sum(times):.3f} us" if times else ""


def _arguments(raw: msgspec.Raw) -> _Arguments:
    try:
        return _ARGUMENTS.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _NOTHING


def _device(properties: Any) -> str:
    entries = properties if isinstance(properties, list) else []
    names = {str(entry["name"]) for entry in entries if isinstance(entry, dict) and entry.get("name")}
    return ", ".join(sorted(names))[:200]


def _finite(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18
    return float(value) if known and math.isfinite(value) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _dim(value: Any) -> tuple[int, int, int] | None:
    if isinstance(value, list) and len(value) == 3 and all(map(_is_count, value)):
        return (value[0], value[1], value[2])
    return None
