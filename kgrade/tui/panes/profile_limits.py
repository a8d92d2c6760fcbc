"""What bounds the longest kernel: the roofline, the traffic of its memories, and what its warps wait for."""

from __future__ import annotations

from typing import Final

from kgrade.records.evidence import Ceilings
from kgrade.records.profile import KernelProfile, Profile
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import figures, plots
from kgrade.tui.panes.layout import fact, heading, sentence

_BAR: Final = 30
_LABEL: Final = 24
_STALLS: Final = 8
BUSY: Final = 60.0
"""Per cent of its peak from which ncu calls a unit well used; below it in both, latency bounds the kernel."""


def roofline(profile: Profile, measured: Ceilings | None) -> list[Row]:
    """Where the longest kernel stands below the device's ceilings, and which of them bounds it."""
    one = _longest(profile)
    if one is None:
        return []
    rows = [heading("roofline", "of the longest kernel"), *sentence(_bound(one), indent="  ", lead="> ")]
    for label, value in (("compute", one.compute_percent), ("memory", one.memory_percent)):
        if value is not None:
            rows.append(_bar(f"{label}, of its peak", value))
    moved = _moved(one)
    seconds = (one.mean_us or 0.0) / 1e6
    roof = _bandwidth(one, measured, profile.device)
    if moved is not None and seconds > 0:
        said = f"{figures.significant(moved / seconds / 1e9)} GB/s of device memory"
        said += f", {moved / seconds / roof[0]:.1%} of {figures.significant(roof[0] / 1e9)} GB/s" if roof else ""
        rows += fact("moves", said + (f" ({roof[1]})" if roof else ""))
    if one.flops is not None and seconds > 0:
        rows += fact("computes", f"{figures.significant(one.flops / seconds / 1e12)} TFLOP/s")
    if one.flops is not None and moved:
        rows += fact("intensity", f"{figures.significant(one.flops / moved)} flop/B")
    return rows + _lacks(one, moved)


def memory(profile: Profile) -> list[Row]:
    """What the longest kernel moves through each level of memory."""
    one = _longest(profile)
    if one is None:
        return []
    levels = [
        ("L1 throughput", one.l1_percent), ("L1 hit rate", one.l1_hit_percent), ("L2 throughput", one.l2_percent),
        ("L2 hit rate", one.l2_hit_percent), ("device memory", one.dram_percent),
    ]  # fmt: skip
    rows = [_bar(label, value) for label, value in levels if value is not None]
    for label, value in (("read", one.dram_read_bytes), ("written", one.dram_write_bytes)):
        rows += fact(label, f"{value:,.0f} B") if value is not None else []
    return [heading("memory", "the longest kernel, one launch"), *rows] if rows else []


def stalls(profile: Profile) -> list[Row]:
    """What the warps of the longest kernel wait for, or how busy the engines are where the device has those."""
    one = _longest(profile)
    if one is None:
        return []
    if one.busy:
        return [heading("engines", "busy, of the time"), *(_bar(name, value) for name, value in one.busy.items())]
    if not one.stalls:
        return []
    whole = sum(one.stalls.values())
    rows = [heading("stalls", "warps that wait for each instruction issued")]
    for reason, value in list(one.stalls.items())[:_STALLS]:
        bar = plots.bar(value, whole, _BAR)
        rows.append(Row(spans=(Span(f"  {reason[:_LABEL]:<{_LABEL}} {value:>8.4g} ", "dim"), Span(bar, "note"))))
    return rows


def _longest(profile: Profile) -> KernelProfile | None:
    """The kernel that bounds all: the longest of the submission's own, else the longest."""
    if profile.unit != "kernel" or not profile.kernels:
        return None
    return next((one for one in profile.kernels if one.authored), profile.kernels[0])


def _bound(one: KernelProfile) -> str:
    compute, moved = one.compute_percent, one.memory_percent
    if compute is None or moved is None:
        return "what bounds it was not measured"
    if max(compute, moved) < BUSY:
        return "latency bounds it: neither compute nor memory reaches 60 % of its peak"
    return "memory bounds it" if moved >= compute else "compute bounds it"


def _bandwidth(one: KernelProfile, measured: Ceilings | None, device: str) -> tuple[float, str] | None:
    """Bytes a second that the device memory can move, and how that is known."""
    if measured is not None and measured.device == device:
        return measured.copy_bytes_per_s, "measured by a copy"
    moved, seconds = _moved(one), (one.mean_us or 0.0) / 1e6
    if moved and seconds > 0 and one.dram_percent and one.dram_percent >= 1:
        return moved / seconds / (one.dram_percent / 100), "what the profiler's own share makes its peak"
    return None


def _moved(one: KernelProfile) -> float | None:
    if one.dram_read_bytes is None or one.dram_write_bytes is None:
        return None
    return one.dram_read_bytes + one.dram_write_bytes


def _lacks(one: KernelProfile, moved: float | None) -> list[Row]:
    """What the profile would need for a whole roofline."""
    lacks = [name for name, value in (("flops", one.flops), ("bytes of device memory", moved)) if value is None]
    text = f"no intensity because the profile holds no {' and no '.join(lacks)}"
    return sentence(text, "dim", lead="— ", indent="  ") if lacks else []


def _bar(label: str, percent: float) -> Row:
    bar = plots.bar(percent, 100.0, _BAR)
    return Row(spans=(Span(f"  {label[:_LABEL]:<{_LABEL}} {f'{percent:.4g} %':>8} ", "dim"), Span(bar, "note")))
