"""When kernels ran: the timeline of launches, and the gaps in which the device had none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kgrade.harness.profiles.authorship import base_name
from kgrade.records.profile import Launch, Profile
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import figures, plots
from kgrade.tui.panes.layout import fact, heading, sentence

_WIDTH: Final = 56
_LANES: Final = 6
_NAME: Final = 16
_LONGEST_GAPS: Final = 3


def timeline(profile: Profile) -> list[Row]:
    """A lane a kernel, over the time from the first launch to the end of the last, and the longest gaps."""
    launches = profile.launches
    if not launches:
        return []
    end = max(launch.start_us + launch.duration_us for launch in launches)
    left = f", {profile.launches_left_out:,} more left out" if profile.launches_left_out else ""
    rows = [heading("timeline", f"launches: {len(launches):,}{left}")]
    if end <= 0:
        return [*rows, *sentence("no data because every launch takes no time", "dim", lead="— ")]
    for number in sorted({launch.kernel for launch in launches})[:_LANES]:
        own = [launch for launch in launches if launch.kernel == number]
        rows.append(_lane(profile.kernels[number].name if number < len(profile.kernels) else "?", own, end))
    last = figures.duration(end)
    rows.append(Row(spans=(Span(f"  {'':{_NAME}} 0{last:>{_WIDTH - 1}}", "dim"),)))
    found = gaps(launches)
    idle = sum(length for _, length in found)
    text = f"{figures.duration(idle)} of {last} ({idle / end:.1%}) have no {profile.unit} running"
    longest = sorted(found, key=lambda gap: -gap[1])[:_LONGEST_GAPS]
    places = ", ".join(f"{figures.duration(length)} at {figures.duration(start)}" for start, length in longest)
    return rows + fact("gaps", f"{text}; longest: {places}" if places else text)


def gaps(launches: Sequence[Launch]) -> list[tuple[float, float]]:
    """Start and length, in microseconds, of the times in which none of `launches` runs on any stream."""
    found = []
    until = 0.0
    for launch in sorted(launches, key=lambda each: each.start_us):
        if launch.start_us > until:
            found.append((until, launch.start_us - until))
        until = max(until, launch.start_us + launch.duration_us)
    return found


def _lane(name: str, launches: Sequence[Launch], end: float) -> Row:
    """One kernel's launches; a cell is marked where it runs at any time within it."""
    cells = [" "] * _WIDTH
    mark = "#" if plots.plain() else "█"
    for launch in launches:
        first = min(int(launch.start_us / end * _WIDTH), _WIDTH - 1)
        last = min(int((launch.start_us + launch.duration_us) / end * _WIDTH), _WIDTH - 1)
        for cell in range(first, last + 1):
            cells[cell] = mark
    name = base_name(name) or name
    label = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    return Row(spans=(Span(f"  {label:<{_NAME}} ", "dim"), Span("".join(cells).rstrip(), "note")))
