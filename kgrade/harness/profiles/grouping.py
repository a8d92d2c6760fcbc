"""Launches become kernels: one for each name and geometry, times added up, percentages weighted by time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import msgspec

from kgrade.records.profile import Dim, KernelProfile, Launch, Profile

KERNELS_KEPT = 200
LAUNCHES_KEPT = 2000
NAME_LENGTH = 2000
_WEIGHTED = tuple(name for name in KernelProfile.__struct_fields__ if name.endswith("_percent"))
_PER_LAUNCH = ("dram_read_bytes", "dram_write_bytes", "flops")
_SHARES = ("stalls", "busy")
Key = tuple[str, Dim | None, Dim | None]


@dataclass(slots=True)
class Seen:
    """One launch as a reader found it; `kernel` carries all that is known of it. `start` counts in the file's unit."""

    kernel: KernelProfile
    start: float | None = None
    stream: int = 0
    duration_us: float | None = None


def grouped(seen: Iterable[Seen], *, per_us: float = 1.0) -> dict[str, Any]:
    """Group launches by name, grid and block; return the fields of a `Profile` that follow from them.

    `per_us` is how many of the units of `Seen.start` make a microsecond. `seen` may be long: of a launch, only what
    the record can need is held.
    """
    groups: dict[Key, list[KernelProfile]] = {}
    line = _Timeline()
    for each in seen:
        kernel = each.kernel
        key = (kernel.name, kernel.grid, kernel.block)
        members = groups.get(key)
        if members is None:
            members = groups[key] = []
        members.append(kernel)
        if each.start is not None:
            line.add(each, key)
    made = sorted(((key, merged(members)) for key, members in groups.items()), key=lambda pair: -_time(pair[1]))
    place = {key: at for at, (key, _) in enumerate(made[:KERNELS_KEPT])}
    launches = line.launches(place, per_us)
    return {
        "kernels": [kernel for _, kernel in made[:KERNELS_KEPT]],
        "kernels_left_out": max(len(made) - KERNELS_KEPT, 0),
        "left_out_us": sum(_time(kernel) for _, kernel in made[KERNELS_KEPT:]),
        "launches": launches,
        "launches_left_out": len(line.starts) - len(launches),
    }


class _Timeline:
    """Every launch with a start: a few numbers each."""

    def __init__(self) -> None:
        self.keys: dict[Key, int] = {}
        self.kinds, self.streams = array("q"), array("q")
        self.starts, self.durations = array("d"), array("d")

    def add(self, one: Seen, key: Key) -> None:
        self.kinds.append(self.keys.setdefault(key, len(self.keys)))
        self.streams.append(one.stream)
        self.starts.append(one.start or 0.0)
        self.durations.append(_time(one.kernel) if one.duration_us is None else one.duration_us)

    def launches(self, place: Mapping[Key, int], per_us: float) -> list[Launch]:
        """The first ones of the kernels in `place`, in order."""
        number = [place.get(key) for key in self.keys]
        shown = (at for at, kind in enumerate(self.kinds) if number[kind] is not None)
        first = nsmallest(LAUNCHES_KEPT, shown, key=self.starts.__getitem__)
        return [
            Launch(
                kernel=number[self.kinds[at]] or 0,
                start_us=(self.starts[at] - self.starts[first[0]]) / per_us,
                duration_us=self.durations[at],
                stream=self.streams[at],
            )
            for at in first
        ]


def merged(members: Sequence[KernelProfile]) -> KernelProfile:
    """Return one kernel for launches of the same geometry; where it has `figures`, they are the first launch's."""
    first = members[0]
    if len(members) == 1:
        return first
    times = [each.total_us for each in members if each.total_us is not None]
    changes: dict[str, object] = {
        "launches": sum(each.launches for each in members),
        "total_us": sum(times) if times else None,
        "min_us": min((each.min_us for each in members if each.min_us is not None), default=None),
        "max_us": max((each.max_us for each in members if each.max_us is not None), default=None),
    }
    for name in _WEIGHTED:
        changes[name] = _weighted([(getattr(each, name), each.total_us or 1.0) for each in members])
    for name in _PER_LAUNCH:
        found = [getattr(each, name) for each in members if getattr(each, name) is not None]
        changes[name] = sum(found) / len(found) if found else None
    for name in _SHARES:
        reasons = dict.fromkeys(reason for each in members for reason in getattr(each, name))
        means = {
            reason: _weighted([(getattr(each, name).get(reason), each.total_us or 1.0) for each in members])
            for reason in reasons
        }
        changes[name] = dict(sorted(means.items(), key=lambda pair: -(pair[1] or 0.0)))
    return msgspec.structs.replace(first, **changes)


def short(name: str) -> str:
    """A kernel's name, cut where a template makes it longer than anyone reads."""
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def with_notes(profile: Profile, *notes: str) -> Profile:
    """Return `profile` with those of `notes` that say something."""
    return msgspec.structs.replace(profile, notes=[*profile.notes, *filter(None, notes)])


def _time(kernel: KernelProfile) -> float:
    return kernel.total_us or 0.0


def _weighted(values: Iterable[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in values if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None
