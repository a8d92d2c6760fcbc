"""A second reading of profiler files, written without the first one's code: what each figure may be."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

WORDS: Final = {
    "time": {f"{p}{w}": f for p, f in (("n", 1e-3), ("u", 1.0), ("µ", 1.0), ("m", 1e3), ("", 1e6))
             for w in ("s", "sec", "second", "seconds")},
    "size": {f"{p}{w}{end}": f for p, f in (("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12),
             ("Ki", 1024.0), ("Mi", 1024.0**2), ("Gi", 1024.0**3), ("Ti", 1024.0**4))
             for w in ("B", "byte", "bytes") for end in ("", "/block")},
    "percent": {"%": 1.0, "percent": 1.0},
    "count": {f"{p}{w}": f for p, f in (("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))
              for w in ("inst", "instruction", "block", "warp", "register", "register/thread", "thread", "")},
}  # fmt: skip
FIELDS: Final = {
    "gpu__time_duration.sum": ("total_us", "time"),
    "Duration": ("total_us", "time"),
    "dram__bytes_read.sum": ("dram_read_bytes", "size"),
    "dram__bytes_write.sum": ("dram_write_bytes", "size"),
    "launch__registers_per_thread": ("registers", "count"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("compute_percent", "percent"),
    "Compute (SM) Throughput": ("compute_percent", "percent"),
    "Memory Throughput": ("memory_percent", "percent"),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("dram_percent", "percent"),
    "DRAM Throughput": ("dram_percent", "percent"),
    "L1/TEX Cache Throughput": ("l1_percent", "percent"),
    "L2 Cache Throughput": ("l2_percent", "percent"),
    "L1/TEX Hit Rate": ("l1_hit_percent", "percent"),
    "L2 Hit Rate": ("l2_hit_percent", "percent"),
    "Achieved Occupancy": ("occupancy_percent", "percent"),
    "Theoretical Occupancy": ("theoretical_occupancy_percent", "percent"),
}
_NUMBER: Final = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def number(text: str) -> float | None:
    """The number of a cell, thousands marks allowed where thousands end."""
    text = text.strip()
    if not _NUMBER.fullmatch(text) or not re.search("[0-9]", text):
        return None
    found = float(text.replace(",", ""))
    return found if abs(found) != float("inf") else None


def converted(kind: str, value: str, unit: str) -> float | None:
    """A value in microseconds, bytes, per cent or as a count; None for a unit that is not of that kind."""
    found, factor = number(value), WORDS[kind].get(unit.strip())
    return None if found is None or factor is None else found * factor


def cells(text: str) -> list[tuple[str, str, str]]:
    """Every (metric, unit, value) of an ncu page, long or wide."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    start = next((at for at, row in enumerate(rows) if "ID" in row and "Kernel Name" in row), len(rows))
    titles = rows[start] if start < len(rows) else []
    body = rows[start + 1 :]
    if "Metric Name" in titles:
        at = [len(titles) - 1 - titles[::-1].index(t) if t in titles else 999 for t in
              ("Metric Name", "Metric Unit", "Metric Value")]  # fmt: skip
        return [(row[at[0]], row[at[1]], row[at[2]]) for row in body if len(row) > max(at)]
    measures = body[0] if body else []
    measures = [*measures, *[""] * len(titles)] if not measures[:1] or not measures[0].strip() else [""] * len(titles)
    return [(title, measures[at], row[at]) for row in body for at, title in enumerate(titles) if at < len(row)]


def allowed(text: str) -> dict[str, set[float]]:
    """Every value that a field may have: one that a cell of the page gives in a unit that is right for it."""
    found: dict[str, set[float]] = defaultdict(set)
    for metric, unit, value in cells(text):
        field, kind = FIELDS.get(metric, ("", ""))
        known = converted(kind, value, unit) if kind else None
        if known is not None:
            found[field].add(known)
    return found


def trace_times(data: bytes) -> dict[str, float] | None:
    """Microseconds of the kernels of a trace by name; None where it cannot be read."""
    try:
        events = json.loads(data)["traceEvents"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    found: dict[str, float] = defaultdict(float)
    for event in events:
        took = event.get("dur")
        if event.get("cat") == "kernel" and isinstance(took, int | float) and 0 <= took < 1e18:
            found[str(event.get("name"))] += took
    return found


def base_time(file: Path) -> float | None:
    """Microseconds of all kernels of an nsys export; None where it cannot be read."""
    found = _asked(file, "SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL")
    return found[0][0] / 1e3 if found and isinstance(found[0][0], int) else None


def base_times(file: Path) -> dict[str, tuple[int, float]]:
    """Launches and microseconds of the kernels of an nsys export by name."""
    rows = _asked(
        file,
        "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k"
        " JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value",
    )
    return {name.decode("utf-8", "replace"): (count, total / 1e3) for name, count, total in rows or []}


def _asked(file: Path, question: str) -> list[Any] | None:
    base = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    base.text_factory = bytes
    try:
        return base.execute(question).fetchall()
    except (sqlite3.Error, OverflowError):
        return None
    finally:
        base.close()


def plain_name(name: str) -> str:
    """A demangled name's own word: what stands before its templates and arguments, behind blanks and colons."""
    return re.split(r"[<(]", name.removeprefix("void "))[0].split("::")[-1].split()[-1]
