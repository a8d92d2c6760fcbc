"""Launches become kernels: one for each name and geometry, times added up, percentages weighted by time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from kgrade.records.profile import Dim, KernelProfile, Launch

LAUNCHES_KEPT = 2000
NAME_LENGTH = 2000
_WEIGHTED = tuple(name for name in KernelProfile.__struct_fields__ if name.endswith("_percent"))
_PER_LAUNCH = ("dram_read_bytes", "dram_write_bytes", "flops")


@dataclass
class Seen:
    """One launch as a reader found it; `kernel` carries all that is known of it, with `launches=1`."""

    kernel: KernelProfile
    start_us: float | None = None
    stream: int = 0


@dataclass
class Grouped:
    """The kernels by time, and the timeline."""

    kernels: list[KernelProfile]
    launches: list[Launch] = field(default_factory=list)
    left_out: int = 0


def grouped(seen: Sequence[Seen]) -> Grouped:
    """Group launches by name, grid and block."""
    groups: dict[tuple[str, Dim | None, Dim | None], list[KernelProfile]] = {}
    keys = []
    for each in seen:
        key = (each.kernel.name, each.kernel.grid, each.kernel.block)
        groups.setdefault(key, []).append(each.kernel)
        keys.append(key)
    made = {key: merged(members) for key, members in groups.items()}
    order = sorted(made, key=lambda key: -(made[key].total_us or 0.0))
    place = {key: at for at, key in enumerate(order)}
    timed = [(each.start_us, each, key) for each, key in zip(seen, keys, strict=True) if each.start_us is not None]
    timed.sort(key=lambda row: row[0])
    launches = [
        Launch(
            kernel=place[key],
            start_us=start - timed[0][0],
            duration_us=each.kernel.total_us or 0.0,
            stream=each.stream,
        )
        for start, each, key in timed[:LAUNCHES_KEPT]
    ]
    return Grouped([made[key] for key in order], launches, max(len(timed) - LAUNCHES_KEPT, 0))


def merged(members: Sequence[KernelProfile]) -> KernelProfile:
    """Return one kernel for launches of the same geometry: what was measured only once is taken from there."""
    first = members[0]
    if len(members) == 1:
        return first
    times = [each.total_us for each in members if each.total_us is not None]
    changes: dict[str, object] = {
        "launches": sum(each.launches for each in members),
        "total_us": sum(times) if times else None,
        "min_us": min(times) if times else None,
        "max_us": max(times) if times else None,
    }
    for name in _WEIGHTED:
        changes[name] = _weighted([(getattr(each, name), each.total_us or 1.0) for each in members])
    for name in _PER_LAUNCH:
        found = [getattr(each, name) for each in members if getattr(each, name) is not None]
        changes[name] = sum(found) / len(found) if found else None
    return msgspec.structs.replace(first, **changes)


def short(name: str) -> str:
    """A kernel's name, cut where a template makes it longer than anyone reads."""
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def _weighted(values: Iterable[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in values if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None
