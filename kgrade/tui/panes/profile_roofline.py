"""The roofline: where kernels stand below what the device can reach, and which ceiling bounds the longest.

Williams, Waterman and Patterson (2009): the roof at an intensity of i operations a byte is min(peak, i * bandwidth).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kgrade.harness.profiles.devices import peaks_of
from kgrade.records.evidence import Ceilings
from kgrade.records.profile import KernelProfile, Profile
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import figures, plots
from kgrade.tui.panes.layout import fact, heading, sentence
from kgrade.tui.panes.profile_limits import bar, longest

BUSY: Final = 60.0
"""Per cent of its peak from which ncu calls a unit well used; below it in both, latency bounds the kernel."""

_WIDTH: Final = 74
_HEIGHT: Final = 9
_KEPT: Final = "float32"
"""The arithmetic that ncu's counts are of: instructions of the ordinary units, not of the matrix units."""


class Roof(NamedTuple):
    """Bytes a second of the device memory, operations a second by kind of arithmetic, and how that is known."""

    bandwidth: float
    peaks: dict[str, float]
    known: str


class Point(NamedTuple):
    """A kernel's operations a byte and operations a second."""

    intensity: float
    rate: float


def roofline(profile: Profile, measured: Ceilings | None) -> list[Row]:
    """The drawing, where kernels have operations and bytes, and in words where the longest kernel stands."""
    one = longest(profile)
    if one is None:
        return []
    roof = _roof(one, measured, profile.device)
    rows = [heading("roofline", "of the longest kernel"), *sentence(_bound(one, roof), indent="  ", lead="> ")]
    for label, value in (("compute", one.compute_percent), ("memory", one.memory_percent)):
        rows += [bar(f"{label}, of its peak", value)] if value is not None else []
    rows += _drawn(profile, one, roof)
    return rows + _said(one, roof) + _lacks(one, roof)


def point(one: KernelProfile) -> Point | None:
    """Where a kernel stands, None where a figure is missing or is zero."""
    moved, seconds = _moved(one), (one.mean_us or 0.0) / 1e6
    return Point(one.flops / moved, one.flops / seconds) if one.flops and moved and seconds > 0 else None


def _roof(one: KernelProfile, measured: Ceilings | None, device: str) -> Roof | None:
    """What was measured of this device, else its data sheet, else what the profiler's own share of the peak tells."""
    if measured is not None and measured.device == device:
        return Roof(measured.copy_bytes_per_s, measured.flops_per_s, f"measured {measured.measured}")
    sheet = peaks_of(device)
    if sheet is not None:
        peaks = {_KEPT: sheet.float32, "16-bit matrix": sheet.matrix}
        return Roof(sheet.bytes_per_s, peaks, f"the data sheet of {sheet.title}; measure: kgrade doctor --ceilings")
    moved, seconds = _moved(one), (one.mean_us or 0.0) / 1e6
    if moved and seconds > 0 and one.dram_percent and one.dram_percent >= 1:
        return Roof(moved / seconds / (one.dram_percent / 100), {}, "what the profiler's own share makes its peak")
    return None


def _drawn(profile: Profile, one: KernelProfile, roof: Roof | None) -> list[Row]:
    """The chart: the longest kernel, the others, and the roofs as lines."""
    first = point(one)
    if first is None:
        return []
    others = [place for each in profile.kernels if each is not one and (place := point(each)) is not None]
    series = {"the longest kernel": [first], **({"other kernels": others} if others else {})}
    lines = _lines(roof, [first, *others]) if roof is not None else []
    drawn = plots.chart(
        series,
        (_intensity, _rate),
        width=_WIDTH,
        height=_HEIGHT,
        joined=False,
        lines=lines,
    )
    return [Row(spans=(Span(f"  {line}", "note"),)) for line in drawn]


def _lines(roof: Roof, points: list[Point]) -> list[list[tuple[float, float]]]:
    """The slope of the memory up to the highest peak, and each peak from where the slope reaches it."""
    places = [place.intensity for place in points]
    ridges = [peak / roof.bandwidth for peak in roof.peaks.values()]
    low, high = min([*places, *ridges]) / 4, max([*places, *ridges]) * 4
    top = max(roof.peaks.values(), default=high * roof.bandwidth)
    slope = [(low, low * roof.bandwidth), (top / roof.bandwidth, top)]
    return [slope, *([(peak / roof.bandwidth, peak), (high, peak)] for peak in roof.peaks.values())]


def _said(one: KernelProfile, roof: Roof | None) -> list[Row]:
    """The figures of the drawing in words."""
    rows: list[Row] = []
    moved, seconds = _moved(one), (one.mean_us or 0.0) / 1e6
    if moved is not None and seconds > 0:
        text = f"{figures.significant(moved / seconds / 1e9)} GB/s of device memory"
        if roof is not None:
            text += f", {moved / seconds / roof.bandwidth:.1%} of {figures.significant(roof.bandwidth / 1e9)} GB/s"
        rows += fact("moves", text)
    if one.flops is not None and seconds > 0:
        peak = roof.peaks.get(_KEPT) if roof is not None else None
        share = f", {one.flops / seconds / peak:.1%} of {_rate(peak)} in {_KEPT}" if peak else ""
        rows += fact("computes", f"{_rate(one.flops / seconds)}{share}")
    if one.flops is not None and moved:
        ridge = roof.peaks[_KEPT] / roof.bandwidth if roof is not None and _KEPT in roof.peaks else None
        beside = f", the ridge of {_KEPT} lies at {_intensity(ridge)}" if ridge else ""
        rows += fact("intensity", f"{_intensity(one.flops / moved)}{beside}")
    if roof is not None and rows:
        peaks = ", ".join(f"{kind} {_rate(peak)}" for kind, peak in roof.peaks.items())
        rows += fact("ceilings", f"{peaks}; {roof.known}" if peaks else roof.known, "dim")
    return rows


def _bound(one: KernelProfile, roof: Roof | None) -> str:
    """What bounds it by the shares that were measured, else by its place below the roof."""
    compute, moved = one.compute_percent, one.memory_percent
    if compute is not None and moved is not None:
        if max(compute, moved) < BUSY:
            return "latency bounds it: neither compute nor memory reaches 60 % of its peak"
        return "memory bounds it" if moved >= compute else "compute bounds it"
    place, peak = point(one), roof.peaks.get(_KEPT) if roof is not None else None
    if place is None or roof is None or not peak:
        return "what bounds it was not measured"
    by_memory = place.intensity * roof.bandwidth < peak
    share = place.rate / min(peak, place.intensity * roof.bandwidth)
    return f"{'memory' if by_memory else 'compute'} sets the roof there; it reaches {share:.1%} of it"


def _moved(one: KernelProfile) -> float | None:
    if one.dram_read_bytes is None or one.dram_write_bytes is None:
        return None
    return one.dram_read_bytes + one.dram_write_bytes


def _lacks(one: KernelProfile, roof: Roof | None) -> list[Row]:
    """What the profile would need for a whole roofline."""
    lacks = [name for name, value in (("flops", one.flops), ("bytes of device memory", _moved(one))) if value is None]
    if lacks:
        return sentence(
            f"no intensity because the profile holds no {' and no '.join(lacks)}", "dim", lead="— ", indent="  "
        )
    if roof is None:
        why = "the device is in no table here, and nothing was measured of it: kgrade doctor --ceilings"
        return sentence(f"no roof is drawn because {why}", "dim", lead="— ", indent="  ")
    return []


def _intensity(value: float) -> str:
    return f"{figures.significant(value)} flop/B"


def _rate(value: float) -> str:
    unit, scale = ("TFLOP/s", 1e12) if value >= 1e12 else ("GFLOP/s", 1e9)
    return f"{figures.significant(value / scale)} {unit}"
