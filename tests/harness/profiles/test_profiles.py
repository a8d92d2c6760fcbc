"""Profiles as the tools write them: every number as in the file, units right, and no file does harm."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.harness.profiles.ncu import read_ncu
from kgrade.harness.profiles.nsys import read_nsys_csv
from kgrade.harness.profiles.reading import read_profile
from kgrade.harness.profiles.units import BadProfile, dim, in_bytes, microseconds, number
from kgrade.records.profile import Launch, Profile

DATA = Path(__file__).parent / "data"
DETAILS = (DATA / "ncu.details.csv").read_text()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,275,068,416", 1275068416.0), ("2.33", 2.33), ("0", 0.0), ("13,485", 13485.0), ("9,495.42", 9495.42),
        ("-1.5e3", -1500.0), ("n/a", None), ("", None), ("1,2", None), ("nan", None), ("inf", None), (".", None),
        ("1e999", None), ("12 us", None),
    ],
)  # fmt: skip
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value


def test_units() -> None:
    assert [microseconds(2.0, unit) for unit in ("ns", "nsecond", "us", "usecond", "ms", "msecond", "s", "second")] == [
        0.002, 0.002, 2.0, 2.0, 2000.0, 2000.0, 2e6, 2e6,
    ]  # fmt: skip
    sizes = ("byte", "Kbyte", "Mbyte", "Gbyte", "KiB", "byte/block", "Kbyte/block")
    assert [in_bytes(2.0, unit) for unit in sizes] == [
        2.0, 2e3, 2e6, 2e9, 2048.0, 2.0, 2e3,
    ]  # fmt: skip
    assert microseconds(2.0, "byte") is None
    assert in_bytes(2.0, "Gbyte/s") is None
    assert dim("(32, 4, 1)") == (32, 4, 1)
    assert dim("x") is None


def test_every_number_of_an_ncu_page_is_that_of_the_file() -> None:
    [kernel] = read_ncu(io.StringIO(DETAILS), "ncu.details.csv").kernels
    assert (kernel.grid, kernel.block, kernel.launches) == ((224, 1, 1), (32, 4, 1), 1)
    assert (kernel.total_us, kernel.dram_read_bytes, kernel.dram_write_bytes) == (6.75, 2.33e6, 0.0)
    assert (kernel.compute_percent, kernel.memory_percent, kernel.dram_percent) == (9.15, 19.66, 19.66)
    assert (kernel.l1_percent, kernel.l2_percent, kernel.l1_hit_percent, kernel.l2_hit_percent) == (
        11.55,
        8.59,
        40.73,
        27.66,
    )
    assert (kernel.occupancy_percent, kernel.theoretical_occupancy_percent) == (11.32, 16.67)
    assert kernel.limiter == "registers"
    assert [advice.rule for advice in kernel.advice] == [
        "SOLBottleneck", "SOLFPRoofline", "IssueSlotUtilization", "TheoreticalOccupancy",
    ]  # fmt: skip
    assert (kernel.advice[2].scope, kernel.advice[2].speedup) == ("local", 80.34)
    written = {
        (row["Metric Name"], row["Metric Unit"]): row["Metric Value"] for row in csv.DictReader(io.StringIO(DETAILS))
    }
    for name, figure in kernel.figures.items():
        metric = name.removesuffix(f" [{figure.unit}]")
        assert number(written[metric, figure.unit]) == figure.value
    assert kernel.figures["Memory Throughput [Gbyte/s]"].value == 345.14


def test_a_page_of_one_section_and_two_kernels() -> None:
    [kernel] = read_profile(DATA / "ncu.section_Occupancy.csv").kernels
    assert (kernel.total_us, kernel.limiter, kernel.occupancy_percent) == (None, "shared memory", 15.18)
    second = "\n".join(line.replace('"0",', '"1",', 1).replace('"6.75"', '"8.25"') for line in DETAILS.splitlines()[1:])
    prof = "==PROF== Connected to process 7\n==PROF== Profiling\n"
    [both] = read_ncu(io.StringIO(prof + DETAILS.rstrip("\n") + "\n" + second), "two").kernels
    assert (both.launches, both.total_us, both.min_us, both.max_us, both.mean_us) == (2, 15.0, 6.75, 8.25, 7.5)


RAW = (
    '"ID","Kernel Name","Grid Size","Block Size","gpu__time_duration.sum","dram__bytes_read.sum",'
    '"launch__registers_per_thread","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",'
    '"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",'
    '"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",'
    '"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"\n'
    '"","","","","nsecond","Kbyte","register/thread","inst","inst","inst","inst"\n'
    '"0","gemm","(8, 8, 1)","(128, 1, 1)","1,500","12.5","168","1,000","24","7.5","0.25"\n'
    '"1","copy","(8, 1, 1)","(256, 1, 1)","9,500","64","16","0","n/a","1.5","2"\n'
)


def test_the_wide_form_has_its_units_below_the_titles() -> None:
    copy, gemm = read_ncu(io.StringIO(RAW), "raw").kernels
    assert (copy.name, copy.total_us, copy.dram_read_bytes, copy.registers) == ("copy", 9.5, 64e3, 16)
    assert (gemm.name, gemm.total_us, gemm.flops, gemm.registers) == ("gemm", 1.5, 2024.0, 168)
    assert list(gemm.stalls.items()) == [("long scoreboard", 7.5), ("barrier", 0.25)]
    assert list(copy.stalls) == ["barrier", "long scoreboard"]


def test_columns_may_come_in_any_order() -> None:
    rows = list(csv.reader(io.StringIO(DETAILS)))
    text = io.StringIO()
    csv.writer(text).writerows(
        [*reversed(row)] if len(row) == len(rows[0]) else [*reversed(row + [""] * (len(rows[0]) - len(row)))]
        for row in rows
    )
    assert read_ncu(io.StringIO(text.getvalue()), "turned") == read_ncu(io.StringIO(DETAILS), "turned")


def test_an_nsys_export_gives_kernels_and_the_timeline() -> None:
    found = read_profile(DATA / "nsys.sqlite")
    base = sqlite3.connect(DATA / "nsys.sqlite")
    [(count, total)] = base.execute("SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL")
    base.close()
    assert sum(kernel.launches for kernel in found.kernels) == len(found.launches) == count
    assert found.total_us == pytest.approx(total / 1e3)
    assert found.device == "A100-PCIE-40GB"
    assert found.launches[0].start_us == 0.0
    assert [launch.start_us for launch in found.launches] == sorted(launch.start_us for launch in found.launches)
    first = found.kernels[0]
    assert (first.registers, first.grid, first.launches) == (16, (1, 1, 1), 2)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Profile) == found


def test_nsys_csv_has_its_units_in_the_titles() -> None:
    sums = (
        '"Time (%)","Total Time (ns)","Instances","Avg (ns)","Med (ns)","Min (ns)","Max (ns)","StdDev (ns)","Name"\n'
        '"75.0","3,000","2","1500.0","1500.0","1000","2000","0.0","gemm"\n'
        '"25.0","1000","1","1000.0","1000.0","1000","1000","0.0","copy"\n'
    )
    gemm, copy = read_nsys_csv(io.StringIO(sums), "sums").kernels
    assert (gemm.total_us, gemm.launches, gemm.min_us, gemm.max_us) == (3.0, 2, 1.0, 2.0)
    assert copy.mean_us == 1.0
    trace = (
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
        "Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n"
        "5000,2000,1,4,2,1,128,1,1,40,0.001,0.002,,,,,A100,1,7,gemm\n"
        "1000,500,2,,,,,,,,,,4.0,8000,Pageable,Device,A100,1,7,[CUDA memcpy HtoD]\n"
    )
    found = read_nsys_csv(io.StringIO(trace), "trace")
    [gemm] = found.kernels
    assert (gemm.grid, gemm.block, gemm.registers, gemm.shared_bytes) == ((4, 2, 1), (128, 1, 1), 40, 3000)
    assert found.launches == [Launch(kernel=0, start_us=0.0, duration_us=2.0, stream=7)]


TRACE = {
    "deviceProperties": [{"id": 0, "name": "H200"}],
    "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1.0, "dur": 9.0},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 20.5, "dur": 4.25, "args": {
            "grid": [8, 1, 1], "block": [128, 1, 1], "registers per thread": 90, "shared memory": 1024, "stream": 7,
            "est. achieved occupancy %": 31}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10.5, "dur": 3.75, "args": {
            "grid": [8, 1, 1], "block": [128, 1, 1], "stream": 7}},
        {"ph": "X", "cat": "kernel", "name": "broken", "ts": "soon", "dur": -4, "args": []},
    ],
}  # fmt: skip


@pytest.mark.parametrize("zipped", [False, True])
def test_a_trace_gives_kernels_and_the_timeline(tmp_path: Path, zipped: bool) -> None:
    file = tmp_path / "trace.json"
    data = json.dumps(TRACE).encode()
    file.write_bytes(gzip.compress(data) if zipped else data)
    found = read_profile(file)
    [gemm] = found.kernels
    assert (gemm.launches, gemm.total_us, gemm.min_us, gemm.max_us) == (2, 8.0, 3.75, 4.25)
    assert [launch.start_us for launch in found.launches] == [0.0, 10.0]
    assert (found.source, found.device) == ("torch.profiler", "H200")


def test_rocprof_grids_are_counted_in_work_items(tmp_path: Path) -> None:
    file = tmp_path / "kernel_trace.csv"
    file.write_text(
        '"Kind","Agent_Id","Queue_Id","Kernel_Name","Start_Timestamp","End_Timestamp","Group_Segment_Size","VGPR_Count",'
        '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
        '"KERNEL_DISPATCH",1,2,"gemm",1000,4500,2048,64,256,1,1,1024,2,1\n'
    )
    [gemm] = read_profile(file).kernels
    assert (gemm.total_us, gemm.grid, gemm.block) == (3.5, (4, 2, 1), (256, 1, 1))
    assert (gemm.shared_bytes, gemm.registers) == (2048, 64)
    file.write_text(
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs"\n"gemm",4,8000,2000,100,1000,3000\n'
    )
    [gemm] = read_profile(file).kernels
    assert (gemm.launches, gemm.total_us, gemm.mean_us, gemm.max_us) == (4, 8.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is no profile that is known"),
        (b"hello", "is no profile that is known"),
        (b"a,b\n1,2\n", "is no profile that is known"),
        (b"{", "is no Chrome trace"),
        (b'{"traceEvents": 5}', "is no Chrome trace"),
        (b'{"traceEvents": []}', "holds neither a kernel nor an operator"),
        (b'{"n_1": {"total_time": "soon"}}', "is no Chrome trace"),
        (b"\x1f\x8b\x08\x00", "cannot be unpacked"),
        (b"SQLite format 3\0garbage", "nsys"),
        (b'"ID","Kernel Name","Metric Name"\n', "has no column Metric Unit"),
        (b'"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n', "holds no kernel"),
        (b"Total Time (ns),Instances\n1,2\n", "has no column Name"),
        (b"Kernel_Name,Start_Timestamp\nx,1\n", "has neither"),
    ],
)
def test_what_is_no_profile_is_told_in_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "profile"
    file.write_bytes(content)
    with pytest.raises(BadProfile) as refused:
        read_profile(file)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_cpu_trace_gives_operators_without_those_that_they_call() -> None:
    found = read_profile(DATA / "cpu_trace.json")
    events = [
        event
        for event in json.loads((DATA / "cpu_trace.json").read_text())["traceEvents"]
        if event.get("cat") == "cpu_op"
    ]
    assert (found.unit, found.device) == ("operator", "CPU")
    counts = {kernel.name: kernel.launches for kernel in found.kernels}
    assert counts == dict(Counter(event["name"] for event in events))
    times = {kernel.name: kernel.total_us for kernel in found.kernels}
    innermost = sum(event["dur"] for event in events if event["name"] == "aten::_softmax")
    assert times["aten::_softmax"] == pytest.approx(innermost)
    outermost = [event for event in events if event["name"] in ("aten::matmul", "aten::softmax")]
    assert found.total_us == pytest.approx(sum(event["dur"] for event in outermost))
    assert [launch.duration_us for launch in found.launches] == [event["dur"] for event in outermost]


def test_a_hostile_base_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "nsys.sqlite"
    base = sqlite3.connect(file)
    base.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT load_extension('x') AS start, 1 AS end")
    base.commit()
    base.close()
    with pytest.raises(BadProfile, match="no table CUPTI_ACTIVITY_KIND_KERNEL"):
        read_profile(file)


@given(value=st.integers(0, 10**9), prefix=st.sampled_from(["", "K", "M", "G"]))
def test_a_number_keeps_its_unit(value: int, prefix: str) -> None:
    page = RAW.replace('"Kbyte"', f'"{prefix}byte"').replace('"12.5"', f'"{value:,}"')
    gemm = next(kernel for kernel in read_ncu(io.StringIO(page), "raw").kernels if kernel.name == "gemm")
    assert gemm.dram_read_bytes == value * {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}[prefix]
