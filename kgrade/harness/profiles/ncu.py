"""Nsight Compute's CSV pages: details, raw and sections, one metric a row or one kernel a row.

Columns may come in any order; units stand in each row, or in a row of their own below the header; lines that begin
with `==` come from ncu itself. Sources: the pages of `ncu --csv --page details|raw`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import itemgetter

from kgrade.harness.profiles import units
from kgrade.harness.profiles.grouping import Seen, grouped
from kgrade.harness.profiles.ncu_metrics import Place, Use, kernel_of, left_out, use_of
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import Advice, Profile

EXPECTED = "expected the output of ncu --csv --page details or raw"
ADVICE_LENGTH = 2000
NOTES = 20
_LONG = ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")
_TITLES = ("Kernel Name", "Grid Size", "Block Size", "Stream", "Device", "CC")
Metrics = dict[str, tuple[float, str]]


@dataclass(slots=True)
class _Launch:
    """One launch; of the `first` of a geometry, what was written is kept too: figures and advice."""

    place: Place
    first: bool
    metrics: Metrics = field(default_factory=dict)
    advice: list[Advice] = field(default_factory=list)


def read_ncu(lines: Iterable[str], name: str) -> Profile:
    """Read a CSV page; raise BadProfile where it holds no kernel."""
    rows = table(lines)
    try:
        header = next(row for row in rows if "ID" in row and "Kernel Name" in row)
        launches = list(_long(header, rows)) if set(_LONG) <= set(header) else list(_wide(header, rows, name))
    except StopIteration:
        raise BadProfile(f"{name} has no row of titles with ID and Kernel Name; {EXPECTED}") from None
    except csv.Error as why:
        raise BadProfile(f"{name} is not CSV ({why}); {EXPECTED}") from None
    if not launches:
        raise BadProfile(f"{name} holds no kernel; ncu prints ==WARNING== No kernels were profiled when it saw none")
    devices = sorted({f"device {launch.place.device}" for launch in launches if launch.place.device})
    capabilities = sorted({launch.place.capability for launch in launches if launch.place.capability})
    return Profile(
        source="ncu",
        device=", ".join(devices)[:200],
        capability=", ".join(capabilities)[:200],
        notes=list(dict.fromkeys(note for each in launches for note in left_out(each.metrics)))[:NOTES],
        **grouped(Seen(kernel_of(each.place, each.metrics, each.advice, figures=each.first)) for each in launches),
    )


def table(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield rows as `csv.reader` does; a row of which every cell is quoted, as ncu writes them, is split at once.

    Where each piece takes two quotes and none is left over, no cell holds one, and nothing else can be meant.
    """
    rest = iter(lines)
    for line in rest:
        if line[:1] == '"' and line[-2:] == '"\n':
            cells = line[1:-2].split('","')
            if line.count('"') == 2 * len(cells):
                yield cells
                continue
        text = line.rstrip("\r\n")
        quoted = text.rstrip(",")
        cells = quoted[1:-1].split('","')
        if quoted[:1] == quoted[-1:] == '"' and quoted.count('"') == 2 * len(cells):
            yield cells + [""] * (len(text) - len(quoted))
        else:
            yield from islice(csv.reader(chain((line,), rest)), 1)


def _long(header: Sequence[str], rows: Iterator[list[str]]) -> Iterator[_Launch]:
    """One metric a row: launches by process and ID, whichever order the rows are in."""
    column = {title: at for at, title in enumerate(header)}
    at_id, at_metric = column["ID"], column["Metric Name"]
    at_process = column.get("Process ID", at_id)
    of_row = itemgetter(at_process, at_id, at_metric, column["Metric Unit"], column["Metric Value"])
    width = max(column[title] for title in _LONG) + 1
    found: dict[tuple[str, str], _Launch] = {}
    known: set[tuple[str, ...]] = set()
    uses: dict[str, Use] = {"": "as written"}
    last: tuple[str, str] = ("", "")
    launch = _Launch(Place("", "", ""), first=True)
    first, metrics = launch.first, launch.metrics
    number = units.number
    for row in rows:
        if len(row) < width:
            continue
        process, launch_id, metric, unit, text = of_row(row)
        if launch_id != last[1] or process != last[0] or not found:
            if row[0].startswith("=="):
                continue
            last = (process, launch_id)
            if last not in found:
                found[last] = _launch(row, column, known)
            launch = found[last]
            first, metrics = launch.first, launch.metrics
        use = uses.get(metric)
        if use is None:
            use = uses[metric] = use_of(metric)
        if use == "none" or (use == "as written" and not first):
            continue
        if not metric:
            _advise(launch, row, column)
            continue
        value = number(text)
        if value is None:
            continue
        if metric in metrics:
            _share(metrics, metric, value, unit)
        else:
            metrics[metric] = (value, unit)
    return iter(found.values())


def _share(metrics: Metrics, metric: str, value: float, unit: str) -> None:
    """Keep a further value of a name. Sections share names (Memory Throughput in % and in bytes/s): the unit joins."""
    held = metrics[metric]
    if held[1] == unit:
        return
    if unit == "%":
        metrics[metric], value, unit = (value, unit), *held
    metrics.setdefault(f"{metric} [{unit}]", (value, unit))


def _wide(header: Sequence[str], rows: Iterator[list[str]], name: str) -> Iterator[_Launch]:
    """One kernel a row; the first row after the header holds the units."""
    if "Metric Name" in header:
        missing = ", ".join(title for title in _LONG if title not in header)
        raise BadProfile(f"{name} has no column {missing}; {EXPECTED}")
    column = {title: at for at, title in enumerate(header)}
    wanted = [(at, title, use) for title, at in column.items() if (use := use_of(title)) != "none"]
    known: set[tuple[str, ...]] = set()
    first = next(rows, None)
    if first is None:
        return
    has_units = len(first) > column["ID"] and not first[column["ID"]].strip()
    unit_row = first if has_units else []
    for row in rows if has_units else chain([first], rows):
        if len(row) <= max(column["ID"], column["Kernel Name"]) or row[0].startswith("=="):
            continue
        launch = _launch(row, column, known)
        for at, title, use in wanted:
            value = units.number(row[at]) if at < len(row) and (launch.first or use == "figure") else None
            if value is not None:
                launch.metrics[title] = (value, unit_row[at] if at < len(unit_row) else "")
        yield launch


def _launch(row: Sequence[str], column: dict[str, int], known: set[tuple[str, ...]]) -> _Launch:
    place = _place(row, column)
    geometry = place[:3]
    launch = _Launch(place, first=geometry not in known)
    known.add(geometry)
    return launch


def _place(row: Sequence[str], column: dict[str, int]) -> Place:
    return Place(*(row[at] if (at := column.get(title, -1)) >= 0 and at < len(row) else "" for title in _TITLES))


def _advise(launch: _Launch, row: Sequence[str], column: dict[str, int]) -> None:
    def cell(title: str) -> str:
        at = column.get(title)
        return row[at] if at is not None and at < len(row) else ""

    if cell("Rule Description"):
        launch.advice.append(
            Advice(
                rule=cell("Rule Name")[:200],
                text=cell("Rule Description")[:ADVICE_LENGTH],
                scope=cell("Estimated Speedup Type")[:40],
                speedup=units.number(cell("Estimated Speedup")),
            )
        )
