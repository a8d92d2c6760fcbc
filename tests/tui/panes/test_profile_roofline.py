"""The drawn roofline: kernels lie on or below the roof of their device, and what bounds them follows from it."""

from __future__ import annotations

import pytest

from kgrade.harness.profiles.devices import peaks_of
from kgrade.records.evidence import Ceilings
from kgrade.records.profile import KernelProfile, Profile
from kgrade.tui.panes import profile_limits, profile_roofline
from tests.tui.panes.test_profile_pane import kernel, text

H100 = "NVIDIA H100 80GB HBM3"
CEILINGS = Ceilings(
    device="this one",
    measured="2026-11-03T10:00:00Z",
    method="torch",
    copy_bytes_per_s=4e12,
    flops_per_s={"float32": 5e13, "float16": 7e14},
)


def moving(flops: float, moved: float, **more: object) -> KernelProfile:
    """Two launches of 20 us; half of the bytes are read."""
    return kernel("softmax(float*)", 40.0, flops=flops, dram_read_bytes=moved / 2, dram_write_bytes=moved / 2, **more)


def shown(device: str, *kernels: KernelProfile, measured: Ceilings | None = None) -> str:
    return text(profile_roofline.roofline(Profile(source="ncu", device=device, kernels=list(kernels)), measured))


def test_a_kernel_is_marked_below_the_roof_of_its_data_sheet() -> None:
    drawn = shown(H100, moving(2e8, 4e7), moving(8e6, 4e6)).splitlines()
    rows = [line.partition("│")[2] for line in drawn if "│" in line]
    [own] = [number for number, row in enumerate(rows) if "o" in row]
    column = rows[own].index("o")
    roof = min(number for number, row in enumerate(rows) if len(row) > column and "\u2800" < row[column] < "\u2900")
    assert roof <= own
    assert any("x" in row for row in rows)
    said = "\n".join(drawn)
    assert "2,000 GB/s of device memory, 59.7% of 3,350 GB/s" in said  # 4e7 B in 20 us
    assert "10.0 TFLOP/s, 14.9% of 67.0 TFLOP/s in float32" in said  # 2e8 in 20 us
    assert "5.00 flop/B, the ridge of float32 lies at 20.0 flop/B" in said
    assert "memory sets the roof there; it reaches 59.7% of it" in said  # 10 of 5 * 3.35 TFLOP/s
    assert "the data sheet of H100 SXM" in " ".join(said.split())


def test_what_was_measured_of_the_device_goes_before_its_data_sheet() -> None:
    said = shown("this one", moving(8e8, 4e7), measured=CEILINGS)
    assert "50.0% of 4,000 GB/s" in said
    assert "compute sets the roof there; it reaches 80.0% of it" in said  # 40 of 50 TFLOP/s, past the ridge at 12.5
    assert "measured 2026-11-03T10:00:00Z" in " ".join(said.split())
    assert "4,000 GB/s" not in shown("another one", moving(8e8, 4e7), measured=CEILINGS)


def test_without_a_ceiling_the_place_is_drawn_and_the_roof_is_not() -> None:
    said = shown("nobody's", moving(8e8, 4e7))
    assert "o the longest kernel" in said
    assert "no roof is drawn because the device is in no table here" in said
    assert "20.0 flop/B" in said
    from_share = shown("nobody's", moving(8e8, 4e7, dram_percent=50.0))
    assert "50.0% of 4,000 GB/s" in from_share
    assert "what the profiler's own share makes its peak" in from_share


@pytest.mark.parametrize(
    ("name", "title"),
    [
        (H100, "H100 SXM"), ("NVIDIA H100 PCIe", "H100 PCIe"), ("NVIDIA H200", "H200 SXM"),
        ("A100-PCIE-40GB", "A100 40GB"), ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"), ("NVIDIA L4", "L4"), ("NVIDIA L40S", "L40S"), ("Tesla T4", "T4"),
        ("NVIDIA L40", None), ("NVIDIA A10", None), ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None), ("device 0", None),
    ],
)  # fmt: skip
def test_devices_are_told_by_whole_words(name: str, title: str | None) -> None:
    found = peaks_of(name)
    assert (found.title if found else None) == title


def test_the_ridge_of_each_known_device_is_where_data_sheets_put_it() -> None:
    peaks = peaks_of("Tesla V100-SXM2-16GB")
    assert peaks is not None
    assert peaks.float32 / peaks.bytes_per_s == pytest.approx(17.4, abs=0.1)


def test_memory_is_drawn_as_the_way_of_the_data() -> None:
    one = moving(8e8, 4e7, l1_percent=11.55, l2_percent=8.59, dram_percent=83.0, l1_hit_percent=40.73)
    drawn = text(profile_limits.memory(Profile(source="ncu", kernels=[one])))
    assert max(map(len, drawn.splitlines())) <= 80
    widths = {len(line) for line in drawn.splitlines()[1:]}
    assert len(widths) == 1, drawn
    for part in ("L1/TEX", "L2", "device memory", "11.55 % of its peak", "40.73 % hits", "reads", "20,000,000 B"):
        assert part in drawn
    large = moving(8e8, 4e12, dram_percent=83.0)
    assert "2,000,000,000,000 B" in text(profile_limits.memory(Profile(source="ncu", kernels=[large])))
