"""The summary of a NeuronCore's profile: `neuron-profile view --output-format summary-json`, also of neuron-explorer.

One object a profile, by its name; times are in seconds, and what ends in `_percent` is a share between 0 and 1.
Source: the AWS Neuron documentation of neuron-profile, and summaries that people have published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kgrade.harness.profiles.grouping import Seen, grouped, short, with_notes
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import Figure, KernelProfile, Profile

FIGURES_KEPT = 150
_ENGINES = ("tensor", "vector", "scalar", "gpsimd", "sync")
_SUFFIXES = {"_time": "s", "_bytes": "byte", "_count": "", "_flops": "flop"}


def is_summary(found: Any) -> bool:
    """Whether decoded JSON is such a summary."""
    return isinstance(found, dict) and (_is_one(found) or any(_is_one(each) for each in found.values()))


def read_neuron(found: Mapping[str, Any], name: str) -> Profile:
    """Read a decoded summary; raise BadProfile where no profile in it says its time."""
    each = {name: found} if _is_one(found) else {key: value for key, value in found.items() if _is_one(value)}
    seen = [Seen(_kernel(str(key), value)) for key, value in each.items()]
    if not seen:
        raise BadProfile(f"{name} holds no summary with total_time; expected neuron-profile's summary-json")
    first = next(iter(each.values()))
    profile = Profile(
        source="neuron-profile",
        version=_text(first.get("profiler_version")),
        device=_text(first.get("instance_type")),
        **grouped(seen),
    )
    odd = any(not _are_shares(value) for value in each.values())
    return with_notes(profile, "shares that are not between 0 and 1 were left out: their unit is not known" * odd)


def _is_one(value: Any) -> bool:
    return isinstance(value, dict) and _number(value.get("total_time")) is not None


def _kernel(name: str, summary: Mapping[str, Any]) -> KernelProfile:
    seconds = _number(summary.get("total_time")) or 0.0
    shares = _are_shares(summary)
    busy = {}
    for engine in _ENGINES:
        active = _number(summary.get(f"{engine}_engine_active_time"))
        share = _number(summary.get(f"{engine}_engine_active_time_percent")) if shares else None
        if share is None and active is not None and seconds > 0:
            share = active / seconds
        if share is not None:
            busy[f"{engine} engine"] = 100 * share
    moved = _number(summary.get("dma_active_time_percent")) if shares else None
    if moved is not None:
        busy["DMA"] = 100 * moved
    return KernelProfile(
        name=short(name),
        launches=1,
        total_us=seconds * 1e6,
        min_us=seconds * 1e6,
        max_us=seconds * 1e6,
        dram_read_bytes=_number(summary.get("hbm_read_bytes")),
        dram_write_bytes=_number(summary.get("hbm_write_bytes")),
        flops=_number(summary.get("hardware_flops")),
        compute_percent=_per_cent(summary, "mfu_estimated_percent"),
        memory_percent=_per_cent(summary, "mbu_estimated_percent"),
        busy=dict(sorted(busy.items(), key=lambda pair: -pair[1])),
        figures=_figures(summary),
    )


def _per_cent(summary: Mapping[str, Any], key: str) -> float | None:
    share = _number(summary.get(key)) if _are_shares(summary) else None
    return None if share is None else 100 * share


def _figures(summary: Mapping[str, Any]) -> dict[str, Figure]:
    """What the summary says with a unit that its name tells; shares as they stand there."""
    found: dict[str, Figure] = {}
    for key, value in summary.items():
        number = _number(value)
        unit = next((unit for end, unit in _SUFFIXES.items() if key.endswith(end)), None)
        if key.endswith("_percent") and _are_shares(summary):
            unit = "of 1"
        if number is not None and unit is not None and len(found) < FIGURES_KEPT:
            found[key[:200]] = Figure(value=number, unit=unit)
    return found


def _are_shares(summary: Mapping[str, Any]) -> bool:
    """Whether everything that ends in `_percent` can be a share of 1; rounding may take it a little past."""
    found = [_number(value) for key, value in summary.items() if key.endswith("_percent")]
    return all(value is not None and value <= 1.001 for value in found)


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18
    return float(value) if known and math.isfinite(value) else None


def _text(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""
