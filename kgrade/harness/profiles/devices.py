"""What known devices can reach at most, by their data sheets: the roof of a roofline where nothing was measured.

Bandwidth of the device memory, and dense rates: float32 of the ordinary units, and 16-bit floating point of the matrix
units. Sources: NVIDIA's data sheets of T4, V100, A100, L4, L40S, H100 and H200, its Ada and Ampere GeForce white
papers, and AMD's data sheets of MI250X and MI300X.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Peaks(NamedTuple):
    """Bytes and floating-point operations a second; `title` is the device of the data sheet."""

    title: str
    bytes_per_s: float
    float32: float
    matrix: float


def _peaks(title: str, gigabytes: float, float32: float, matrix: float) -> Peaks:
    return Peaks(title, gigabytes * 1e9, float32 * 1e12, matrix * 1e12)


# A part of a device, and those for laptops, go by the name of a faster one.
_OTHERS: Final = frozenset({"mig", "laptop", "max"})
# Words that a device's name must all hold; the first that fits counts, so the closer ones come first.
_KNOWN: Final[tuple[tuple[tuple[str, ...], Peaks], ...]] = (
    (("h200",), _peaks("H200 SXM", 4800, 67, 989.5)),
    (("h100", "pcie"), _peaks("H100 PCIe", 2000, 51, 756)),
    (("h100", "nvl"), _peaks("H100 NVL", 3900, 60, 835.5)),
    (("h100",), _peaks("H100 SXM", 3350, 67, 989.5)),
    (("a100", "pcie", "80gb"), _peaks("A100 PCIe 80GB", 1935, 19.5, 312)),
    (("a100", "80gb"), _peaks("A100 SXM 80GB", 2039, 19.5, 312)),
    (("a100",), _peaks("A100 40GB", 1555, 19.5, 312)),
    (("l40s",), _peaks("L40S", 864, 91.6, 362)),
    (("l4",), _peaks("L4", 300, 30.3, 121)),
    (("v100", "pcie"), _peaks("V100 PCIe", 900, 14, 112)),
    (("v100",), _peaks("V100 SXM2", 900, 15.7, 125)),
    (("t4",), _peaks("T4", 320, 8.1, 65)),
    (("rtx", "4090"), _peaks("GeForce RTX 4090", 1008, 82.6, 165.2)),
    (("rtx", "3090"), _peaks("GeForce RTX 3090", 936, 35.6, 71)),
    (("mi300x",), _peaks("MI300X", 5300, 163.4, 1307.4)),
    (("mi250x",), _peaks("MI250X", 3276, 47.9, 383)),
)


def peaks_of(device: str) -> Peaks | None:
    """Return what the data sheet of `device` says, None where it is not among those that are known."""
    words = device.lower().replace("-", " ").split()
    if not _OTHERS.isdisjoint(words):
        return None
    for names, peaks in _KNOWN:
        if all(any(word.startswith(name) if name == "80gb" else word == name for word in words) for name in names):
            return peaks
    return None
