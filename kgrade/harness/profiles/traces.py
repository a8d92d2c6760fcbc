"""torch.profiler's Chrome traces: the kernels on the device's timeline, else the operators on the CPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from kgrade.harness.profiles import neuron
from kgrade.harness.profiles.grouping import Seen, grouped, short, with_notes
from kgrade.harness.profiles.trace_file import Event, Head, NoTrace, events
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import KernelProfile, Profile

EXPECTED = "expected torch.profiler's traceEvents, or neuron-profile's summary-json"
_MOVES = ("gpu_memcpy", "gpu_memset")
_Operator = tuple[float, float, str]


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
    reading = _Reading(path)
    try:
        first = next(reading.kernels, None)
    except NoTrace as why:
        return _summary(why.data, path, str(why))
    if first is None:
        return _of_operators(reading.operators, path)
    fields = grouped(chain((first,), reading.kernels))
    profile = Profile(
        source="torch.profiler",
        device=reading.device,
        notes=["theoretical occupancy is torch.profiler's estimate, not a measurement"],
        **fields,
    )
    return with_notes(profile, reading.moved)


class _Reading:
    """One pass over a trace. Operators are kept until a kernel comes: they are wanted only where none does."""

    def __init__(self, path: Path) -> None:
        self.kernels = self._kernels(path)
        self.operators: dict[str, list[_Operator]] = {}
        self.names: dict[str, str] = {}
        self.device = ""
        self.moves: list[float] = []

    @property
    def moved(self) -> str:
        """What copies and fills took: they are no kernels, and stand as gaps on the timeline."""
        text = f"beside the kernels, {len(self.moves)} copies and fills took {sum(self.moves):.3f} us"
        return text if self.moves else ""

    def _head(self, head: Head) -> None:
        self.device = self.device or _device(head.deviceProperties)

    def _kernels(self, path: Path) -> Iterator[Seen]:
        found = False
        for piece in events(path, self._head):
            for event in piece:
                kind = event.cat
                if kind == "kernel":
                    seen = self._launch(event)
                    if seen is not None:
                        found = True
                        self.operators.clear()
                        yield seen
                elif kind == "cpu_op":
                    if not found:
                        self._operator(event)
                elif kind in _MOVES:
                    self.moves.append(_finite(event.dur) or 0.0)

    def _launch(self, event: Event) -> Seen | None:
        start, duration = _finite(event.ts), _finite(event.dur)
        if duration is None or duration < 0:
            return None
        arguments = _arguments(event.args)
        stream = int(arguments.stream) if _is_count(arguments.stream) else 0
        return Seen(_kernel(self._name(event), duration, arguments), start, stream)

    def _operator(self, event: Event) -> None:
        start, duration = _finite(event.ts), _finite(event.dur)
        if start is not None and duration is not None and duration >= 0:
            thread = f"{event.pid} {event.tid}"
            self.operators.setdefault(thread, []).append((start, -duration, self._name(event)))

    def _name(self, event: Event) -> str:
        """The event's name, the same object for each event of that name: there may be a million of them."""
        name = short(str(event.name))
        return self.names.setdefault(name, name)


def _summary(data: bytes, path: Path, why: str) -> Profile:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadProfile(f"{path.name} is no Chrome trace: {why}; {EXPECTED}") from None
    if not neuron.is_summary(found):
        raise BadProfile(f"{path.name} is no Chrome trace: {why}; {EXPECTED}")
    return neuron.read_neuron(found, path.name)


def _of_operators(threads: dict[str, list[_Operator]], path: Path) -> Profile:
    if not threads:
        raise BadProfile(f"{path.name} holds neither a kernel nor an operator; nothing ran while it was recorded")
    return Profile(
        source="torch.profiler",
        unit="operator",
        device="CPU",
        notes=[
            "no kernel ran on a device: these are operators on the CPU, each without those that it calls",
            "times include what the profiler itself takes, which weighs most on short operators",
        ],
        **grouped(_operators(threads)),
    )


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


def _operators(threads: dict[str, list[_Operator]]) -> Iterator[Seen]:
    """Operators with their own time; those that no other one calls are the timeline."""
    for number, rows in enumerate(threads.values()):
        rows.sort()
        yield from _own_times(rows, number)


def _own_times(rows: Sequence[_Operator], thread: int) -> Iterator[Seen]:
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
        kernel = KernelProfile(name=name, launches=1, total_us=kept, min_us=kept, max_us=kept)
        yield Seen(kernel, None if level else start, thread, -minus)


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
