"""Every number in the pane is one of the file's, with its unit: each file is read a second time, another way."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrade.harness.profiles.reading import read_profile
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.evidence import Profiling
from kgrade.records.profile import Profile
from kgrade.tui.panes import profile as profile_pane
from kgrade.tui.panes import profile_kernels, profile_launches, profile_limits, profile_roofline
from tests.harness.profiles import independent
from tests.harness.profiles.test_mutations import EDITS, ORIGINALS, mutated
from tests.tui.panes import builders
from tests.tui.panes.test_profile_pane import DATA, text

PAGES = sorted(DATA.glob("ncu.*.csv"))
DERIVED = ("moves", "ceilings", "  - ", "  … ")
"""Rows of figures that follow from others; they are compared by themselves."""

VALUE = re.compile(r"(?<![\w.,(])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?) (%|us|B)(?![\w/])")


def of_pane(found: Profile) -> str:
    rows = [
        *profile_kernels.by_time(found),
        *(row for one in found.kernels for row in profile_kernels._details(one)),
        *profile_roofline.roofline(found, None),
        *profile_limits.memory(found),
        *profile_limits.stalls(found),
        *profile_launches.timeline(found),
    ]
    return text(rows)


def written(us: float) -> str:
    return f"{us:,.3f}".rstrip("0").rstrip(".") + " us"


def test_there_are_pages_of_both_kinds() -> None:
    assert len([page for page in PAGES if "details" in page.name]) == 4
    assert len([page for page in PAGES if "section" in page.name]) == 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_number_of_a_page_of_ncu(page: Path) -> None:
    source = page.read_text()
    shown = of_pane(read_profile(page))
    cells = independent.cells(source)
    allowed = {("%", 100.0)}  # the share of the only kernel
    for _, unit, value in cells:
        number = independent.number(value)
        if number is not None and unit == "%":
            allowed.add((unit, number))
        for kind, name in (("time", "us"), ("size", "B")):
            known = independent.converted(kind, value, unit)
            if known is not None:
                allowed.add((name, known))
    plain = "\n".join(line for line in shown.splitlines() if not line.startswith(DERIVED) and ":" not in line)
    seen = {(unit, float(number.replace(",", ""))) for number, unit in VALUE.findall(plain)}
    assert seen
    assert seen <= allowed, seen - allowed
    for metric, unit, value in cells:
        _, kind = independent.FIELDS.get(metric, ("", ""))
        known = independent.converted(kind, value, unit) if kind else None
        if known is not None and kind == "percent":
            assert f"{known:.4g} %" in shown, metric
        elif known is not None and kind in ("time", "size"):
            assert (written(known) if kind == "time" else f"{known:,.0f} B") in shown, metric


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_says_beside_its_metrics(page: Path) -> None:
    found = read_profile(page)
    rows = list(csv.DictReader(io.StringIO(page.read_text())))
    geometry = {(row["Kernel Name"], row["Grid Size"], row["Block Size"]) for row in rows}
    assert {(k.name, str(k.grid), str(k.block)) for k in found.kernels} == geometry
    for kernel in found.kernels:
        details = text(profile_kernels._details(kernel)).splitlines()
        stated = [" ".join(line.split()) for line in details if line.startswith("             ") and ": " in line]
        for metric, figure in kernel.figures.items():
            plain = metric.removesuffix(f" [{figure.unit}]")
            [value] = {
                row["Metric Value"] for row in rows if (row["Metric Name"], row["Metric Unit"]) == (plain, figure.unit)
            }
            line = f"{metric}: {independent.number(value):,.10g} {figure.unit}".rstrip()
            assert any(line.startswith(part) or part == line for part in stated), line
        advice = [row["Rule Description"] for row in rows if row.get("Rule Description")]
        assert [each.text for each in kernel.advice] == advice


@pytest.mark.parametrize("page", [page for page in PAGES if "details" in page.name], ids=lambda page: page.name)
def test_what_a_kernel_moves_a_second_is_what_ncu_says_itself(page: Path) -> None:
    cells = independent.cells(page.read_text())
    [said] = {
        independent.number(value) for metric, unit, value in cells if (metric, unit) == ("Memory Throughput", "Gbyte/s")
    }
    assert said is not None
    moves = re.search(r"moves +([\d.,]+) GB/s", of_pane(read_profile(page)))
    assert moves is not None
    assert float(moves[1].replace(",", "")) == pytest.approx(said, rel=0.02)


def test_every_kernel_of_an_nsys_export() -> None:
    file = DATA / "nsys.sqlite"
    shown = of_pane(read_profile(file))
    base = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    groups = base.execute(
        "SELECT s.value, count(*), sum(end - start), max(registersPerThread),"
        " max(staticSharedMemory + dynamicSharedMemory), gridX, blockX FROM CUPTI_ACTIVITY_KIND_KERNEL k"
        " JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value, gridX, gridY, gridZ, blockX, blockY, blockZ"
    ).fetchall()
    [(first, last)] = base.execute("SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
    base.close()
    lines = shown.splitlines()
    for name, count, total, registers, shared, grid, block in groups:
        plain = independent.plain_name(name)
        [line] = [line for line in lines if line.lstrip().startswith(f"{written(total / 1e3)} ") and plain in line]
        for part in (f" {count} ", f"{grid} x {block}", f" {registers} ", f" {shared} B"):
            assert part in f"{line} ", f"{part} in {line}"
    assert f"launches: {sum(group[1] for group in groups)}" in shown
    assert f"of {(last - first) / 1e3:.3g} us" in shown or f"of {(last - first) / 1e6:.3g} ms" in shown


def test_every_operator_of_a_trace() -> None:
    file = DATA / "cpu_trace.json"
    events = [e for e in json.loads(file.read_text())["traceEvents"] if e.get("cat") == "cpu_op"]
    own: dict[str, float] = defaultdict(float)
    for event in events:
        inside = [
            e for e in events
            if e is not event and e["tid"] == event["tid"] and event["ts"] <= e["ts"]
            and e["ts"] + e["dur"] <= event["ts"] + event["dur"] + 1e-6
        ]  # fmt: skip
        called = [e for e in inside if not any(
            o is not e and o["ts"] <= e["ts"] and e["ts"] + e["dur"] <= o["ts"] + o["dur"] + 1e-6 for o in inside
        )]  # fmt: skip
        own[event["name"]] += event["dur"] - sum(e["dur"] for e in called)
    counts = Counter(event["name"] for event in events)
    lines = of_pane(read_profile(file)).splitlines()
    for name, us in own.items():
        [line] = [line for line in lines if f" {name} " in f"{line} " and " us " in line]
        assert line.split()[0] == written(us).split()[0]
        assert f" {counts[name]} " in line


@settings(max_examples=25, deadline=None)
@given(what=st.sampled_from([*ORIGINALS]), edits=EDITS)
def test_a_mutated_file_is_shown_or_refused(
    tmp_path_factory: pytest.TempPathFactory, what: str, edits: list[tuple[int, bytes, int]]
) -> None:
    shows(tmp_path_factory.getbasetemp(), what, edits)


@pytest.mark.long
@settings(max_examples=1000, deadline=None)
@given(what=st.sampled_from([*ORIGINALS]), edits=EDITS)
def test_a_thousand_mutated_files_are_shown_or_refused(
    tmp_path_factory: pytest.TempPathFactory, what: str, edits: list[tuple[int, bytes, int]]
) -> None:
    shows(tmp_path_factory.getbasetemp(), what, edits)


def shows(folder: Path, what: str, edits: list[tuple[int, bytes, int]]) -> None:
    """Every row of the pane of a mutated file can be made, and each holds what a terminal may get."""
    file = folder / "shown"
    file.write_bytes(mutated(ORIGINALS[what], edits))
    try:
        found = read_profile(file)
    except BadProfile:
        return
    item = builders.item({"cpu": builders.evidence("cpu", profile=Profiling(status="passed", profiles=[found]))})
    lines = profile_pane.pane(item, None).lines  # type: ignore[arg-type]
    assert len([lines[number] for number in range(len(lines))]) >= 3
