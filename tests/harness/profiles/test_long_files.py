"""The short ways through long files give what a whole parse gives."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.harness.profiles import trace_file
from kgrade.harness.profiles.ncu import table
from kgrade.harness.profiles.reading import read_profile
from kgrade.harness.profiles.units import BadProfile
from tests.benchmarks.profiler_files import torch_trace

CELLS = st.text(st.sampled_from('a",\n\r =\t1é'), max_size=6)


@given(
    rows=st.lists(st.lists(CELLS, max_size=4), max_size=4),
    style=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_rows_are_split_as_csv_splits_them(rows: list[list[str]], style: int, end: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=style, lineterminator=end).writerows(rows)  # type: ignore[arg-type]
    page = text.getvalue()
    assert list(table(io.StringIO(page, newline=""))) == list(csv.reader(io.StringIO(page, newline="")))


@given(text=st.text(st.sampled_from('a",\n '), max_size=24))
def test_any_text_is_split_as_csv_splits_it(text: str) -> None:
    assert list(table(io.StringIO(text, newline=""))) == list(csv.reader(io.StringIO(text, newline="")))


HOSTILE = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": 'say "},\n {" and [', "ts": 1, "dur": 2,
         "args": {"list": [{}, {"a": [{}]}]}},
        {"ph": "X", "cat": "cpu_op", "name": "é\\", "ts": 1, "dur": 5, "args": {"of": [{"x": 1}, {"y": "},{"}]}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "copy", "ts": 4, "dur": 3},
        *({"ph": "X", "cat": "kernel", "name": f"k{n % 3}", "ts": 10 * n, "dur": n + 1} for n in range(40)),
    ],
    "deviceProperties": [{"name": "behind the events"}],
}  # fmt: skip


@pytest.mark.parametrize("piece", [64, 300, 1000, 5000])
def test_a_trace_in_pieces_is_the_trace_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    own = torch_trace(tmp_path / "own.json", 20_000)
    hostile = tmp_path / "hostile.json"
    hostile.write_text(json.dumps(HOSTILE, indent=1, ensure_ascii=False))
    zipped = tmp_path / "hostile.json.gz"
    zipped.write_bytes(gzip.compress(hostile.read_bytes()))
    files = [own, hostile, zipped]
    whole = [read_profile(file) for file in files]
    assert whole[1].device == "behind the events"
    assert {kernel.name: kernel.launches for kernel in whole[1].kernels} == {
        "k0": 14, "k1": 13, "k2": 13, 'say "},\n {" and [': 1,
    }  # fmt: skip
    monkeypatch.setattr(trace_file, "PIECE", piece)
    assert [read_profile(file) for file in files] == whole


def test_a_trace_that_breaks_off_says_behind_which_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "PIECE", 1000)
    file = torch_trace(tmp_path / "trace.json", 20_000)
    file.write_bytes(file.read_bytes()[:12_000])
    with pytest.raises(BadProfile, match=r"trace\.json is no Chrome trace: it breaks off, .* behind event \d\d"):
        read_profile(file)


def test_a_bomb_stops_at_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "LARGEST", 1 << 20)
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b'{"traceEvents":[' + b" " * (8 << 20)))
    with pytest.raises(BadProfile, match="unpacks to more than 1 MiB"):
        read_profile(file)
