"""Summaries of neuron-profile: seconds, bytes, and shares of 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kgrade.harness.profiles.reading import read_profile
from kgrade.records.profile import Figure, Profile

SUMMARY: dict[str, Any] = {
    "total_time": 0.0125,
    "total_active_time": 0.01,
    "tensor_engine_active_time": 0.005,
    "tensor_engine_active_time_percent": 0.4,
    "vector_engine_active_time": 0.00025,
    "dma_active_time_percent": 0.25,
    "mfu_estimated_percent": 0.129,
    "mbu_estimated_percent": 0.085,
    "hardware_flops": 309237645312,
    "hbm_read_bytes": 335609856,
    "hbm_write_bytes": 67108864,
    "spill_save_bytes": 0,
    "tensor_engine_instruction_count": 2119,
    "instance_type": "trn1.2xlarge",
    "profiler_version": "2.24",
}


def read(tmp_path: Path, content: Any) -> Profile:
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(content))
    return read_profile(file)


@pytest.mark.parametrize("content", [{"n_12ab": SUMMARY}, SUMMARY])
def test_every_number_is_that_of_the_file(tmp_path: Path, content: dict[str, Any]) -> None:
    found = read(tmp_path, content)
    [kernel] = found.kernels
    assert (found.source, found.device, found.version) == ("neuron-profile", "trn1.2xlarge", "2.24")
    assert kernel.name == ("n_12ab" if "n_12ab" in content else "summary.json")
    assert kernel.total_us == pytest.approx(12500)
    assert (kernel.dram_read_bytes, kernel.dram_write_bytes, kernel.flops) == (335609856, 67108864, 309237645312)
    assert (kernel.compute_percent, kernel.memory_percent) == pytest.approx((12.9, 8.5))
    assert kernel.busy == pytest.approx({"tensor engine": 40.0, "DMA": 25.0, "vector engine": 2.0})
    assert kernel.figures["total_active_time"] == Figure(value=0.01, unit="s")
    assert kernel.figures["spill_save_bytes"] == Figure(value=0.0, unit="byte")


def test_shares_in_another_unit_are_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, {**SUMMARY, "mfu_estimated_percent": 12.9})
    [kernel] = found.kernels
    assert (kernel.compute_percent, kernel.memory_percent) == (None, None)
    assert kernel.busy == pytest.approx({"tensor engine": 40.0, "vector engine": 2.0})  # from the times
    assert not [name for name in kernel.figures if name.endswith("_percent")]
    assert any("between 0 and 1" in note for note in found.notes)
