"""The profile pane: its numbers are those of the record, what bounds a kernel is said, what is missing is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgrade.harness.profiles.reading import read_profile
from kgrade.records.evidence import Profiling
from kgrade.records.profile import Authored, KernelProfile, Launch, Profile
from kgrade.tui.lines import Row
from kgrade.tui.panes import profile, profile_kernels, profile_launches, profile_limits, profile_roofline
from tests.tui.panes import builders

DATA = Path(__file__).parents[2] / "harness" / "profiles" / "data"
MINE = Authored(name="softmax", path="solution/kernel.py", line=9)


def text(rows: list[Row]) -> str:
    return "\n".join("".join(span.text for span in row.spans) for row in rows)


def kernel(name: str, us: float, **more: object) -> KernelProfile:
    return KernelProfile(name=name, launches=2, total_us=us, min_us=us / 2, max_us=us / 2, **more)  # type: ignore[arg-type]


def test_an_ncu_page_shows_its_own_numbers() -> None:
    found = read_profile(DATA / "ncu.details.csv")
    shown = text(
        [*profile_kernels.by_time(found), *profile_roofline.roofline(found, None), *profile_limits.memory(found)]
    )
    for number in ("6.75 us", "11.32 %", "224 x 32x4", "9.15 %", "19.66 %", "11.55 %", "8.59 %", "40.73 %", "27.66 %"):
        assert number in shown
    assert "2,330,000 B" in shown
    assert "latency bounds it" in shown
    assert "345 GB/s of device memory" in shown  # ncu's own figure is 345.14 Gbyte/s
    assert "no intensity because the profile holds no flops" in shown
    details = text(list(profile_kernels._details(found.kernels[0])))
    assert "Memory Throughput [Gbyte/s]: 345.14 Gbyte/s" in details
    assert "16.67 % possible, limited by registers" in details


def test_a_trace_of_nsys_shows_times_lanes_and_gaps() -> None:
    found = read_profile(DATA / "nsys.sqlite")
    shown = text([*profile_kernels.by_time(found), *profile_launches.timeline(found)])
    for one in found.kernels:
        assert f"{one.total_us:,.3f}".rstrip("0") + " us" in shown
    assert "launches: 6" in shown
    assert "no kernel running" in shown


def test_gaps_are_the_times_without_any_launch() -> None:
    launches = [
        Launch(kernel=0, start_us=0.0, duration_us=10.0),
        Launch(kernel=1, start_us=2.0, duration_us=4.0, stream=1),
        Launch(kernel=0, start_us=15.0, duration_us=1.0),
    ]
    assert profile_launches.gaps(launches) == [(10.0, 5.0)]


def test_the_share_of_authored_kernels_and_the_others_by_name() -> None:
    both = [kernel("softmax(float*)", 30.0, authored=MINE), kernel("void ns::cublas_gemm<float>(int)", 10.0)]
    shown = text(profile_kernels.shares(Profile(source="ncu", kernels=both)))
    assert "75.0% of the time" in shown
    assert "softmax" in shown
    assert "cublas_gemm 25.0 %" in shown


@pytest.mark.parametrize(
    ("compute", "moved", "said"),
    [
        (80.0, 30.0, "compute bounds it"),
        (30.0, 80.0, "memory bounds it"),
        (59.0, 10.0, "latency"),
        (None, 9.0, "not measured"),
    ],
)
def test_what_bounds_a_kernel(compute: float | None, moved: float, said: str) -> None:
    one = kernel("k", 10.0, compute_percent=compute, memory_percent=moved)
    assert said in text(profile_roofline.roofline(Profile(source="ncu", kernels=[one]), None))


def test_stalls_most_first_and_engines_where_there_are_such() -> None:
    waits = kernel("k", 10.0, stalls={"long scoreboard": 7.5, "barrier": 0.25})
    shown = text(profile_limits.stalls(Profile(source="ncu", kernels=[waits])))
    assert shown.index("long scoreboard") < shown.index("barrier")
    assert "7.5" in shown
    busy = kernel("k", 10.0, busy={"tensor engine": 40.0})
    assert "40 %" in text(profile_limits.stalls(Profile(source="neuron-profile", kernels=[busy])))


def test_the_start_stands_against_the_solution() -> None:
    before = Profile(source="ncu", kernels=[kernel("softmax(float*)", 30.0)])
    after = Profile(source="ncu", kernels=[kernel("softmax(float*)", 15.0, authored=MINE), kernel("copy(int)", 1.0)])
    stage = Profiling(status="passed", profiles=[after])
    item = builders.item(
        {"sm_90": builders.evidence("sm_90", profile=stage)},
        start_profiles={"sm_90": Profiling(status="passed", profiles=[before])},
    )
    pane = profile.pane(item, None)  # type: ignore[arg-type]
    shown = text([pane.lines[number] for number in range(len(pane.lines))])
    assert "start on sm_90 against sm_90" in shown
    assert "2.00x faster" in shown
    assert "only after" in shown
    assert pane.glance.text == "94%"
    assert max(map(len, shown.splitlines())) <= 110
