"""What timing looks like: samples with their medians and intervals, size against time, and the roofline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from kgrade.records.evidence import CaseTiming, Ceilings, Samples
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import figures, plots
from kgrade.tui.panes.layout import heading, sentence

_NAME: Final = 16
_AXIS: Final = 58
_CHART: Final = 76
_ROOF_POINTS: Final = 40


def samples(timed: Mapping[str, Samples]) -> list[Row]:
    """The samples of every callable on one axis, each with its median and 95 % interval below, then in their order."""
    raw = {name: one for name, one in timed.items() if len(one.samples_us) > 1}
    if not raw:
        why = "no raw samples were kept" if timed else "nothing was timed"
        return sentence(f"samples: no data because {why}", "dim", lead="— ", indent="  ")
    ends = [end for one in raw.values() for end in (*one.samples_us, *(one.interval_us or ()))]
    axis = plots.Axis.over(ends)
    rows = []
    for name, one in raw.items():
        rows.append(_labelled(name, plots.density(one.samples_us, axis, _AXIS)))
        if one.interval_us:
            low, high = one.interval_us
            rows.append(_labelled("", plots.whiskers(low, one.median_us, high, axis, _AXIS)))
        else:
            rows.append(_labelled("", "no interval: too few samples", "dim"))
    left, right = figures.duration(axis.low), figures.duration(axis.high)
    step = ", log" if axis.log else ""
    rows.append(_labelled("", f"{left}{right + step:>{_AXIS - len(left)}}", "dim"))
    rows.append(_labelled("", "in the order in which they were taken:", "dim"))
    rows += [_labelled(name, plots.strip(one.samples_us, _AXIS)) for name, one in raw.items()]
    return rows


def size_against_time(cases: Sequence[CaseTiming]) -> list[Row]:
    """The medians over the size of the case, in bytes moved if the task says so, else in the product of its symbols."""
    rows = [heading("size against time", "medians, both axes logarithmic")]
    in_bytes = all(case.bytes for case in cases)
    series: dict[str, list[tuple[float, float]]] = {}
    for case in cases:
        size = case.bytes if in_bytes and case.bytes else _volume(case)
        for name, one in {"candidate": case.candidate, **case.baselines}.items():
            if one is not None and one.median_us > 0 and size > 0:
                series.setdefault(name, []).append((size, one.median_us))
    sizes = {size for points in series.values() for size, _ in points}
    if len(sizes) < 2:
        why = "only one size was timed" if sizes else "no case has a time"
        return [*rows, *sentence(f"no data because {why}", "dim", lead="— ", indent="  ")]
    names = (_bytes if in_bytes else _count, figures.duration)
    rows += [Row(spans=(Span(f"  {line}", "note"),)) for line in plots.chart(series, names, width=_CHART)]
    return rows


def roofline(cases: Sequence[CaseTiming], indicative: bool, ceilings: Ceilings | None = None) -> list[Row]:
    """Achieved arithmetic over arithmetic intensity, one point a case; no roof without ceilings that were measured."""
    rows = [heading("roofline", "flop per byte against flop per second")]
    if not indicative:
        return [*rows, *_absent("an interpreter ran the kernel: its times say nothing of a device")]
    placed = [
        (case, case.flops / case.bytes, case.flops / case.candidate.median_us * 1e6)
        for case in cases
        if case.candidate and case.candidate.median_us > 0 and case.flops and case.bytes
    ]
    if not placed:
        lacks = [name for name in ("flops", "bytes") if not any(getattr(case, name) for case in cases)]
        said = " and ".join(f"work.{name}" for name in lacks)
        return [*rows, *_absent(f"the task does not say its {said}" if lacks else "the candidate has no time")]
    series = {"candidate": [(intensity, rate) for _, intensity, rate in placed]}
    dtypes = dict.fromkeys(case.case.dtype for case, _, _ in placed)
    roofs = {dtype: roof for dtype in dtypes if (roof := _roof(ceilings, dtype)) is not None}
    for dtype, (peak, copied) in roofs.items():
        series[f"roof {dtype}"] = _along(peak, copied, [intensity for _, intensity, _ in placed])
    drawn = plots.chart(series, (_intensity, _rate), width=_CHART, height=8, joined=False)
    rows += [Row(spans=(Span(f"  {line}", "note"),)) for line in drawn]
    for case, intensity, rate in placed:
        if case.case.dtype in roofs:
            peak, copied = roofs[case.case.dtype]
            bound, limit = ("arithmetic", peak) if intensity * copied > peak else ("memory", intensity * copied)
            text = f"{case.case.name}: {rate / limit:.0%} of the roof, which {bound} sets there"
            rows += sentence(text, "note", indent="  ")
    if ceilings is not None:
        rows += sentence(f"roof of {ceilings.device}, {ceilings.measured}: {ceilings.method}", "dim", indent="  ")
    for dtype in dtypes:
        if ceilings is not None and dtype not in roofs:
            why = ceilings.refused.get(dtype, "that arithmetic was not measured")
            rows += sentence(f"no roof is drawn for {dtype} because {why}", "dim", lead="— ", indent="  ")
    if ceilings is None:
        why = "the evidence holds no measured bandwidth and peak of the device; measure: kgrade doctor --ceilings"
        rows += sentence(f"no roof is drawn because {why}", "dim", lead="— ", indent="  ")
    return rows


def _roof(ceilings: Ceilings | None, dtype: str) -> tuple[float, float] | None:
    """The peak of `dtype` in flop/s and the copy bandwidth in B/s, where both were measured."""
    if ceilings is None or dtype not in ceilings.flops_per_s:
        return None
    return ceilings.flops_per_s[dtype], ceilings.copy_bytes_per_s


def _along(peak: float, copied: float, intensities: Sequence[float]) -> list[tuple[float, float]]:
    """Points of the roof from below the smallest intensity to past the ridge and the largest."""
    ridge = peak / copied
    low, high = math.log(min(*intensities, ridge) / 2), math.log(max(*intensities, ridge) * 2)
    steps = [math.exp(low + (high - low) * step / _ROOF_POINTS) for step in range(_ROOF_POINTS + 1)]
    return [(at, min(peak, at * copied)) for at in steps]


def _absent(why: str) -> list[Row]:
    return sentence(f"no data because {why}", "dim", lead="— ", indent="  ")


def _labelled(name: str, text: str, style: str = "note") -> Row:
    return Row(spans=(Span(f"  {name[:_NAME]:<{_NAME}} ", "dim"), Span(text, style)))


def _volume(case: CaseTiming) -> float:
    volume = 1.0
    for size in case.case.symbols.values():
        volume *= size
    return volume


def _bytes(value: float) -> str:
    return figures.size(round(value))


def _count(value: float) -> str:
    return f"{figures.significant(value)} elements"


def _intensity(value: float) -> str:
    return f"{figures.significant(value)} flop/B"


def _rate(value: float) -> str:
    unit, scale = ("TFLOP/s", 1e12) if value >= 1e11 else ("GFLOP/s", 1e9)
    return f"{figures.significant(value / scale)} {unit}"
