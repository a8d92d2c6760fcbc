"""Reports of ncu: read by the ncu that is there, or by NVIDIA's package, and what is said where neither is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kgrade.harness.profiles import report
from kgrade.harness.profiles.reading import read_profile
from kgrade.harness.profiles.units import BadProfile
from tests.harness.profiles.test_profiles import RAW

# What NVIDIA's package answers for a report with one kernel, in its own terms.
PACKAGE = """
class Metric:
    ValueKind_STRING = 1
    def __init__(self, value, unit): self.value, self.text = value, unit
    def has_value(self): return True
    def kind(self): return self.ValueKind_STRING if isinstance(self.value, str) else 0
    def as_string(self): return self.value
    def as_double(self): return float(self.value)
    def unit(self): return self.text
class Action:
    NameBase_DEMANGLED = 0
    METRICS = {"gpu__time_duration.sum": (4700.0, "ns"), "launch__grid_dim_x": (8, ""), "launch__grid_dim_y": (2, ""),
        "launch__grid_dim_z": (1, ""), "device__attribute_display_name": ("H200", ""),
        "device__attribute_compute_capability_major": (9, ""), "device__attribute_compute_capability_minor": (0, "")}
    def name(self, base): return "gemm(float*)"
    def metric_names(self): return list(self.METRICS)
    def metric_by_name(self, name): return Metric(*self.METRICS[name])
    def rule_results_as_dicts(self): return [{"name": "Bound", "rule_message": {"message": "Use more warps."}}]
class Part:
    def __init__(self, kernels): self.kernels = kernels
    def num_actions(self): return self.kernels
    def action_by_idx(self, at): return Action()
class Report:
    def __init__(self, kernels): self.kernels = kernels
    def num_ranges(self): return 1
    def range_by_idx(self, at): return Part(self.kernels)
def load_report(path): return Report(open(path).read().count("kernel"))
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "one.ncu-rep"
    made.write_text("kernel")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return made


def test_an_installed_ncu_reads_it(file: Path) -> None:
    ncu = file.parent / "bin" / "ncu"
    page = file.with_name("page.csv")
    page.write_text(f"==PROF== Imported\n{RAW}")
    ncu.write_text(f'#!/bin/sh\n[ "$*" = "--import {file} --csv --page raw" ] && exec /bin/cat {page}\nexit 9\n')
    ncu.chmod(0o755)
    assert [kernel.name for kernel in read_profile(file).kernels] == ["copy", "gemm"]
    ncu.write_text("#!/bin/sh\necho '==ERROR== The file is not a report' >&2\nexit 1\n")
    with pytest.raises(BadProfile, match=r"one.ncu-rep could not be read .* The file is not a report"):
        read_profile(file)


def test_the_package_reads_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.parent / "ncu_report.py").write_text(PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(file.parent))
    monkeypatch.syspath_prepend(str(file.parent))
    found = read_profile(file)
    [kernel] = found.kernels
    assert (kernel.name, kernel.grid, kernel.total_us) == ("gemm(float*)", (8, 2, 1), pytest.approx(4.7))
    assert (found.device, found.capability) == ("device H200", "9.0")
    assert [advice.text for advice in kernel.advice] == ["Use more warps."]
    file.write_text("nothing")
    with pytest.raises(BadProfile, match="could not be read as a report of ncu"):
        read_profile(file)


def test_where_nothing_reads_it_the_way_out_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    monkeypatch.setattr(report.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadProfile, match="pip install ncu-report"):
        read_profile(file)


def test_other_vendors_reports_are_to_be_exported(tmp_path: Path) -> None:
    for name, advice in (("a.nsys-rep", "nsys export --type sqlite"), ("a.ntff", "summary-json")):
        (tmp_path / name).write_bytes(b"\1\2")
        with pytest.raises(BadProfile, match=advice):
            read_profile(tmp_path / name)
