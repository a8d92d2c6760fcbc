"""The architectures that a task may name as targets, and the limits of each that a build can run into.

Limits of CUDA architectures: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Numbers of
multiprocessors are those of one usual board each; host code asks for them to choose its grids. Local data share of
CDNA: the instruction set manuals of MI200, MI300 and MI350.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Vendor = Literal["cuda", "rocm", "tpu", "neuron", "cpu"]

KIB = 1024


@dataclass(frozen=True)
class MultiprocessorLimits:
    """What one CUDA multiprocessor holds; sizes in bytes, the rest in units.

    `shared_per_block` is what a kernel may opt in to, `shared_reserved` what the system takes from each block.
    """

    threads: int
    blocks: int
    shared: int
    shared_per_block: int
    shared_reserved: int
    shared_unit: int = 128
    registers: int = 65536

    @property
    def warps(self) -> int:
        """Most warps of 32 threads that are resident at once."""
        return self.threads // 32


@dataclass(frozen=True)
class Architecture:
    """One target: who makes it, what it is called, how a compiler is told to build for it."""

    name: str
    vendor: Vendor
    title: str
    compile_as: str
    limits: MultiprocessorLimits | None = None
    multiprocessors: int = 0
    shared_per_block: int = 0
    topology: str | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What a process that stands in for this device must know of it."""
        cuda = self.vendor == "cuda"
        return {
            "name": self.name,
            "backend": "hip" if self.vendor == "rocm" else self.vendor,
            "architecture": int(self.name.removeprefix("sm_")) if cuda else self.name,
            "warp_size": 32 if cuda else 64,
            "capability": list(self.capability) if self.multiprocessors else [0, 0],
            "multiprocessors": self.multiprocessors,
            "shared_bytes": self.shared_per_block,
            "topology": self.topology,
        }

    @property
    def capability(self) -> tuple[int, int]:
        """Major and minor number, as `torch.cuda.get_device_capability` would say: `sm_90` is (9, 0)."""
        digits = self.name.removeprefix("sm_").removeprefix("gfx")
        return (int(digits[:-1]), int(digits[-1])) if self.vendor == "cuda" else (int(digits[0]), int(digits[1], 16))


def _cuda(
    name: str, title: str, limits: MultiprocessorLimits, multiprocessors: int, *, specific: bool = False
) -> Architecture:
    compile_as = name + "a" if specific else name
    return Architecture(name, "cuda", title, compile_as, limits, multiprocessors, limits.shared_per_block)


def _tpu(name: str, title: str, topology: str) -> Architecture:
    """`topology` is how libtpu names the smallest group of chips that it describes."""
    return Architecture(name, "tpu", title, name, topology=topology)


_TURING = MultiprocessorLimits(1024, 16, 64 * KIB, 64 * KIB, 0, shared_unit=256)
_AMPERE = MultiprocessorLimits(2048, 32, 164 * KIB, 163 * KIB, KIB)
_AMPERE_SMALL = MultiprocessorLimits(1536, 16, 100 * KIB, 99 * KIB, KIB)
_ORIN = MultiprocessorLimits(1536, 16, 164 * KIB, 163 * KIB, KIB)
_ADA = MultiprocessorLimits(1536, 24, 100 * KIB, 99 * KIB, KIB)
_HOPPER = MultiprocessorLimits(2048, 32, 228 * KIB, 227 * KIB, KIB)
_THOR = MultiprocessorLimits(1536, 24, 228 * KIB, 227 * KIB, KIB)

# Hopper and Blackwell are built for the very architecture: wgmma, setmaxnreg and tcgen05 exist only there.
_ALL = (
    _cuda("sm_75", "Turing", _TURING, 40),
    _cuda("sm_80", "Ampere (A100)", _AMPERE, 108),
    _cuda("sm_86", "Ampere (A10, RTX 30)", _AMPERE_SMALL, 84),
    _cuda("sm_87", "Ampere (Orin)", _ORIN, 16),
    _cuda("sm_89", "Ada (L4, L40, RTX 40)", _ADA, 142),
    _cuda("sm_90", "Hopper (H100, H200)", _HOPPER, 132, specific=True),
    _cuda("sm_100", "Blackwell (B200)", _HOPPER, 148, specific=True),
    _cuda("sm_103", "Blackwell (B300)", _HOPPER, 148, specific=True),
    _cuda("sm_110", "Blackwell (Thor)", _THOR, 20, specific=True),
    _cuda("sm_120", "Blackwell (RTX 50)", _ADA, 170, specific=True),
    _cuda("sm_121", "Blackwell (GB10)", _ADA, 48, specific=True),
    Architecture("gfx90a", "rocm", "CDNA 2 (MI200)", "gfx90a", None, 104, 64 * KIB),
    Architecture("gfx942", "rocm", "CDNA 3 (MI300)", "gfx942", None, 304, 64 * KIB),
    Architecture("gfx950", "rocm", "CDNA 4 (MI350)", "gfx950", None, 256, 160 * KIB),
    _tpu("tpu", "TPU (compiled for v5e)", "v5e:2x2x1"),
    _tpu("tpu_v4", "TPU v4", "v4:2x2x1"),
    _tpu("tpu_v5e", "TPU v5e", "v5e:2x2x1"),
    _tpu("tpu_v5p", "TPU v5p", "v5p:2x2x1"),
    _tpu("tpu_v6e", "TPU v6e", "v6e:2x2x1"),
    Architecture("trn2", "neuron", "Trainium 2", "trn2"),
    Architecture("cpu", "cpu", "CPU (interpreter)", "cpu"),
)
ARCHITECTURES = {architecture.name: architecture for architecture in _ALL}


def architecture(target: str) -> Architecture | None:
    """Return the architecture that `target` names, or None for a name that only a queue's settings explain."""
    return ARCHITECTURES.get(target)
