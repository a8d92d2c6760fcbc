"""Files that something happened to: a profile or one sentence comes of them, and never a wrong figure or unit."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrade.harness.profiles.reading import read_profile
from kgrade.harness.profiles.units import BadProfile
from kgrade.records.profile import KernelProfile, Profile
from tests.harness.profiles import independent
from tests.harness.profiles.test_profiles import DATA, RAW, TRACE

DETAILS = (DATA / "ncu.details.csv").read_text()
ORIGINALS = {
    "ncu details": DETAILS.encode(),
    "ncu raw": RAW.encode(),
    "trace": json.dumps(TRACE).encode(),
    "nsys": (DATA / "nsys.sqlite").read_bytes(),
}
PIECES = [b"", b"\0", b'"', b",", b"\n", b"\xff\xfe", b"1e999", b"-", b"Gbyte", b"[[[", b"{}", b"\x1b[2J", b"n", b"K"]
EDITS = st.lists(st.tuples(st.integers(0, 30000), st.sampled_from(PIECES), st.integers(0, 40)), min_size=1, max_size=6)
STRANGE = ["fortnight", "Ybyte", "KBYTE", "Ms", "m", "b", "mbyte", "Gbyte/s", "%/s", "", "us us", "cycle", "Kbyte"]
UNITS = [*independent.WORDS["time"], *independent.WORDS["size"], "%", "inst", "register/thread", "warp", *STRANGE]


def mutated(original: bytes, edits: list[tuple[int, bytes, int]]) -> bytes:
    data = bytearray(original)
    for at, put, cut in edits:
        place = at % (len(data) + 1)
        data[place : place + cut] = put
    return bytes(data)


def holds_up(folder: Path, what: str, edits: list[tuple[int, bytes, int]]) -> None:
    data = mutated(ORIGINALS[what], edits)
    file = folder / "mutated"
    file.write_bytes(data)
    try:
        found = read_profile(file)
    except BadProfile as why:
        said = str(why)
    else:
        said = ""
    assert "\n" not in said
    if said:
        return
    assert msgspec.json.decode(msgspec.json.encode(found), type=Profile) == found
    if found.source == "ncu":
        is_one_of_the_files(found, data.decode("utf-8", "replace"))
    elif found.source == "torch.profiler" and found.unit == "kernel":
        times = independent.trace_times(data)
        if times is not None:
            assert found.total_us == pytest.approx(sum(times.values()))
    elif found.source == "nsys":
        total = independent.base_time(file)
        assert total is None or found.total_us == pytest.approx(total)


def is_one_of_the_files(found: Profile, text: str) -> None:
    """Every figure of a kernel that was launched once stands in a cell of its metric, in a unit that is right."""
    allowed, written = independent.allowed(text), independent.cells(text)
    for kernel in found.kernels:
        for name, figure in kernel.figures.items():
            metric = name.removesuffix(f" [{figure.unit}]")
            same = {independent.number(value) for title, unit, value in written if title == metric and
                    unit[:40] == figure.unit}  # fmt: skip
            assert figure.value in same, f"{name} {figure}"
        if kernel.launches == 1:
            for field in dict.fromkeys(field for field, _ in independent.FIELDS.values()):
                value = getattr(kernel, field)
                assert value is None or value in allowed[field], f"{field} {value}"


@settings(max_examples=50, deadline=None)
@given(what=st.sampled_from([*ORIGINALS]), edits=EDITS)
def test_fifty_mutated_files(tmp_path_factory: pytest.TempPathFactory, what: str, edits: list) -> None:
    holds_up(tmp_path_factory.getbasetemp(), what, edits)


@pytest.mark.long
@settings(max_examples=1000, deadline=None)
@given(what=st.sampled_from([*ORIGINALS]), edits=EDITS)
def test_a_thousand_mutated_files(tmp_path_factory: pytest.TempPathFactory, what: str, edits: list) -> None:
    holds_up(tmp_path_factory.getbasetemp(), what, edits)


def with_unit(page: str, metric: str, unit: str) -> str:
    """The page with another unit for a metric, in the row of each, or below its title."""
    if page is RAW:
        titles, measures, *rows = page.splitlines()
        at = titles.replace('"', "").split(",").index(metric)
        cells = measures.split(",")
        cells[at] = f'"{unit}"'
        return "\n".join([titles, ",".join(cells), *rows, ""])
    lines = []
    for line in page.splitlines():
        head, found, tail = line.partition(f'"{metric}","')
        lines.append(f'{head}{found}{unit}"{tail.partition(chr(34))[2]}' if found else line)
    return "\n".join([*lines, ""])


OTHER_NAMES = {
    "gpu__time_duration.sum": "Duration",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "Compute (SM) Throughput",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM Throughput",
}
TWICE = "Memory Throughput"  # a name that two sections use, each with a unit of its own
CHANGES = [("ncu details", name) for name in independent.FIELDS if f'"{name}","' in DETAILS and name != TWICE]
CHANGES += [("ncu raw", name) for name in independent.FIELDS if f'"{name}"' in RAW]


def unit_decides(folder: Path, change: tuple[str, str], unit: str) -> None:
    what, metric = change
    field, kind = independent.FIELDS[metric]
    original = RAW if what == "ncu raw" else DETAILS
    page = with_unit(original, metric, unit)
    names = [metric, *(long for long, short in OTHER_NAMES.items() if short == metric), OTHER_NAMES.get(metric, metric)]
    for name in names[1:]:
        page = with_unit(page, name, unit) if f'"{name}","' in DETAILS and original is DETAILS else page
    file = folder / "another-unit.csv"
    file.write_text(page)
    found = read_profile(file)
    given_in = [value for title, _, value in independent.cells(page) if title == metric]
    wanted = sorted(us for value in given_in if (us := independent.converted(kind, value, unit)) is not None)
    got = sorted(value for kernel in found.kernels if (value := getattr(kernel, field)) is not None)
    if unit.strip() in independent.WORDS[kind]:
        assert got == pytest.approx([int(value) for value in wanted] if field == "registers" else wanted)
    else:
        assert got == [], f"{metric} in {unit!r} was read as {got}"
        assert any(metric in note and repr(unit) in note for note in found.notes), found.notes


@settings(max_examples=50, deadline=None)
@given(change=st.sampled_from(CHANGES), unit=st.sampled_from(UNITS))
def test_another_unit_is_another_figure_or_none(
    tmp_path_factory: pytest.TempPathFactory, change: tuple[str, str], unit: str
) -> None:
    unit_decides(tmp_path_factory.getbasetemp(), change, unit)


@pytest.mark.long
@settings(max_examples=1000, deadline=None)
@given(change=st.sampled_from(CHANGES), unit=st.sampled_from(UNITS))
def test_a_thousand_other_units(tmp_path_factory: pytest.TempPathFactory, change: tuple[str, str], unit: str) -> None:
    unit_decides(tmp_path_factory.getbasetemp(), change, unit)


SUMS = "Total Time ({}),Instances,Min ({}),Name\n3000,2,1000,gemm\n"


@pytest.mark.parametrize("unit", [*independent.WORDS["time"], "fortnight", "MB", "", "Ns"])
def test_a_unit_in_a_title_of_nsys_counts(tmp_path: Path, unit: str) -> None:
    file = tmp_path / "sums.csv"
    file.write_text(SUMS.format(unit, unit))
    factor = independent.WORDS["time"].get(unit)
    if factor is None:
        with pytest.raises(BadProfile, match=f"the unit '{unit}' of Total Time is not one of time"):
            read_profile(file)
        return
    [kernel] = read_profile(file).kernels
    assert isinstance(kernel, KernelProfile)
    assert (kernel.total_us, kernel.min_us) == pytest.approx((3000 * factor, 1000 * factor))
