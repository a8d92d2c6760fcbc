"""Where the time goes: kernels by time, whose they are, and one profile against another."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from kgrade.harness.profiles.authorship import base_name
from kgrade.records.profile import KernelProfile, Profile
from kgrade.tui.lines import Row, Rows, Span
from kgrade.tui.panes import figures, plots
from kgrade.tui.panes.layout import Column, Entry, fact, heading, sentence, table

_BAR: Final = 10
_NAMES: Final = 8


def by_time(profile: Profile) -> list[Row]:
    """A row a kernel, the longest first; a fold holds the rest of what is known of it."""
    columns = [
        Column("time", right=True), Column("share", right=True), Column("", most=_BAR), Column("runs", right=True),
        Column("mean", right=True), Column(profile.unit, most=30), Column("grid x block", most=24),
        Column("regs", right=True), Column("shared", right=True), Column("occupancy", right=True),
    ]  # fmt: skip
    whole = profile.total_us
    entries = [
        Entry(
            [
                _time(one.total_us),
                _share(one, whole),
                plots.bar(one.total_us or 0.0, whole, _BAR),
                f"{one.launches:,}",
                _time(one.mean_us),
                _name(one),
                _geometry(one),
                figures.NOTHING if one.registers is None else str(one.registers),
                figures.NOTHING if one.shared_bytes is None else figures.size(one.shared_bytes),
                _percent(one.occupancy_percent),
            ],
            fold=Rows(_details(one)),
        )
        for one in profile.kernels
    ]
    rows = [heading(f"{profile.unit}s by time", "o opens one"), *table(columns, entries)]
    if profile.kernels_left_out:
        text = f"{figures.count(profile.kernels_left_out, profile.unit)} more took {_time(profile.left_out_us)}"
        rows += sentence(text, "dim", lead="… ")
    return rows


def shares(profile: Profile) -> list[Row]:
    """What share of the time the submission's own kernels have, and which others ran."""
    if profile.unit != "kernel":
        return []
    whole, mine = profile.total_us, profile.authored_us
    if whole <= 0:
        return [heading("authored"), *sentence("no data because the profile holds no times", "dim", lead="— ")]
    names = dict.fromkeys(one.authored.name for one in profile.kernels if one.authored)
    others = [one for one in profile.kernels if not one.authored]
    rows = [heading("authored", f"{mine / whole:.1%} of the time is spent in kernels that the submission defines")]
    rows += fact("its own", ", ".join(names) or "none of those that ran", "" if names else "warn")
    listed = ", ".join(f"{base_name(one.name) or one.name[:40]} {_share(one, whole)}" for one in others[:_NAMES])
    more = f", and {len(others) - _NAMES} more" if len(others) > _NAMES else ""
    return rows + fact("others", f"{listed}{more}" if others else "none")


def against(named: Mapping[str, Profile]) -> list[Row]:
    """Each profile against the one before it: all of the time, and each kernel that both have by its name."""
    rows: list[Row] = []
    for (old, before), (new, after) in pairwise(named.items()):
        columns = [Column("kernel", most=28), Column(old, right=True), Column(new, right=True), Column("ratio")]
        was, now = _times(before), _times(after)
        names = sorted(set(was) | set(now), key=lambda name: -max(was.get(name, 0.0), now.get(name, 0.0)))
        pairs = [("all", before.total_us, after.total_us), *((name, was.get(name), now.get(name)) for name in names)]
        entries = [Entry([name, _time(a), _time(b), _ratio(a, b)]) for name, a, b in pairs[: 1 + _NAMES]]
        rows += [heading(f"{old} against {new}"), *table(columns, entries)]
        if len(names) > _NAMES:
            rows += sentence(f"{len(names) - _NAMES} more are in the tables below", "dim", lead="… ")
    return rows


def _times(profile: Profile) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in profile.kernels:
        name = base_name(one.name) or one.name
        found[name] = found.get(name, 0.0) + (one.total_us or 0.0)
    return found


def _ratio(before: float | None, after: float | None) -> Span:
    if not before or not after:
        return Span("only after" if after else "only before" if before else figures.NOTHING, "dim")
    word = "the same" if after == before else "faster" if after < before else "slower"
    return Span(f"{figures.ratio(before / after)} {word}")


def _details(one: KernelProfile) -> list[Row]:
    """All that is known of one kernel: name, place, figures as the profiler wrote them, its advice."""
    rows = fact("name", one.name)
    rows += fact("defined in", f"{one.authored.path}:{one.authored.line}", "place") if one.authored else []
    rows += fact("min, max", f"{_time(one.min_us)}, {_time(one.max_us)}")
    rows += fact("occupancy", _occupancy(one))
    for name, figure in one.figures.items():
        rows += fact("", f"{name}: {figure.value:,.10g} {figure.unit}".rstrip(), "dim")
    for advice in one.advice:
        gain = f" ({advice.scope} {advice.speedup:g} %)" if advice.speedup is not None else ""
        rows += sentence(f"{advice.rule}{gain}: {advice.text}", indent="  ", lead="> ")
    return rows


def _occupancy(one: KernelProfile) -> str:
    said = [f"{_percent(one.occupancy_percent)} achieved", f"{_percent(one.theoretical_occupancy_percent)} possible"]
    return ", ".join([*said, *([f"limited by {one.limiter}"] if one.limiter else [])])


def _name(one: KernelProfile) -> Span:
    base = base_name(one.name) if one.block or one.grid else one.name
    return Span(f"* {base}" if one.authored else base or one.name, "strong" if one.authored else "")


def _geometry(one: KernelProfile) -> str:
    sizes = ["x".join(map(str, _short(size))) if size else "?" for size in (one.grid, one.block)]
    return figures.NOTHING if one.grid is None and one.block is None else " x ".join(sizes)


def _short(size: tuple[int, int, int]) -> tuple[int, ...]:
    return size if size[2] != 1 else size[:2] if size[1] != 1 else size[:1]


def _share(one: KernelProfile, whole: float) -> str:
    return figures.NOTHING if one.total_us is None or whole <= 0 else f"{100 * one.total_us / whole:.1f} %"


def _time(us: float | None) -> str:
    """Microseconds to the nanosecond, as profilers give them."""
    return figures.NOTHING if us is None else f"{us:,.3f}".rstrip("0").rstrip(".") + " us"


def _percent(value: float | None) -> str:
    return figures.NOTHING if value is None else f"{value:.4g} %"
