"""What the longest kernel meets: the traffic of its memories, and what its warps wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kgrade.records.profile import KernelProfile, Profile
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import plots
from kgrade.tui.panes.layout import heading

_BAR: Final = 30
_LABEL: Final = 24
_STALLS: Final = 8
_BOX: Final = 19


def memory(profile: Profile) -> list[Row]:
    """The way of the longest kernel's data: each level with its load, its hits, and what the last one moves."""
    one = longest(profile)
    if one is None:
        return []
    levels = {
        "L1/TEX": _level(one.l1_percent, one.l1_hit_percent),
        "L2": _level(one.l2_percent, one.l2_hit_percent),
        "device memory": [
            *_level(one.dram_percent, None),
            *_moves("reads", one.dram_read_bytes),
            *_moves("writes", one.dram_write_bytes),
        ],
    }
    if not any(levels.values()):
        return []
    rows = [heading("memory", "the longest kernel, one launch")]
    return rows + [Row(spans=(Span(f"  {line}", "note"),)) for line in _boxes(levels)]


def _level(load: float | None, hits: float | None) -> list[str]:
    lines = [f"{load:.4g} % of its peak", plots.bar(load, 100.0, _BOX)] if load is not None else []
    return [*lines, *([f"{hits:.4g} % hits"] if hits is not None else [])]


def _moves(label: str, moved: float | None) -> list[str]:
    if moved is None:
        return []
    text = f"{moved:,.0f} B"
    fits = len(label) + 1 + len(text) <= _BOX
    return [f"{label}{text:>{_BOX - len(label)}}"] if fits else [label, f"{text:>{_BOX}}"]


def _boxes(levels: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Boxes side by side, as high as the fullest, joined by what flows between them."""
    across, down, corners, flow = ("-", "|", "++++", "=") if plots.plain() else ("─", "│", "┌┐└┘", "═")
    height = max(map(len, levels.values()))
    gap = "    "
    yield gap.join(f"{corners[0]}{across} {title} {across * (_BOX - len(title) - 1)}{corners[1]}" for title in levels)
    for number in range(height):
        cells = [lines[number] if number < len(lines) else "" for lines in levels.values()]
        between = f" {flow * 2} " if number == 0 else gap
        yield between.join(f"{down} {cell:<{_BOX}} {down}" for cell in cells)
    yield gap.join(f"{corners[2]}{across * (_BOX + 2)}{corners[3]}" for _ in levels)


def stalls(profile: Profile) -> list[Row]:
    """What the warps of the longest kernel wait for, or how busy the engines are where the device has those."""
    one = longest(profile)
    if one is None:
        return []
    if one.busy:
        return [heading("engines", "busy, of the time"), *(bar(name, value) for name, value in one.busy.items())]
    if not one.stalls:
        return []
    whole = sum(one.stalls.values())
    rows = [heading("stalls", "warps that wait for each instruction issued")]
    for reason, value in list(one.stalls.items())[:_STALLS]:
        filled = plots.bar(value, whole, _BAR)
        rows.append(Row(spans=(Span(f"  {reason[:_LABEL]:<{_LABEL}} {value:>8.4g} ", "dim"), Span(filled, "note"))))
    return rows


def longest(profile: Profile) -> KernelProfile | None:
    """The kernel that bounds all: the longest of the submission's own, else the longest."""
    if profile.unit != "kernel" or not profile.kernels:
        return None
    return next((one for one in profile.kernels if one.authored), profile.kernels[0])


def bar(label: str, percent: float) -> Row:
    """A share of 100 per cent with its bar."""
    filled = plots.bar(percent, 100.0, _BAR)
    return Row(spans=(Span(f"  {label[:_LABEL]:<{_LABEL}} {f'{percent:.4g} %':>8} ", "dim"), Span(filled, "note")))
