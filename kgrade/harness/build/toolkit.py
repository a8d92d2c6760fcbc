"""Finding nvcc and the tools beside it: on PATH, under CUDA_HOME, or in the wheels that carry them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NOT_FOUND = "nvcc was not found on PATH, under CUDA_HOME or in site-packages/nvidia"


@dataclass(frozen=True)
class Toolkit:
    """An nvcc, the folder of its toolkit, and header folders that it would not find by itself."""

    nvcc: Path
    root: Path
    includes: tuple[Path, ...] = ()

    @property
    def demangler(self) -> str | None:
        """`cu++filt`, or else the system's `c++filt`, which reads the same names."""
        beside = self.nvcc.parent / "cu++filt"
        return str(beside) if beside.is_file() else shutil.which("cu++filt") or shutil.which("c++filt")


def find_assembler(path: Sequence[str], *, blackwell: bool) -> Path | None:
    """Return the ptxas that Triton would run, from the Triton on the import path `path`, or else the toolkit's."""
    name = "ptxas-blackwell" if blackwell else "ptxas"
    beside = _in_triton(path, name)
    if beside is not None:
        return beside
    toolkit = find_toolkit()
    own = toolkit.nvcc.with_name("ptxas") if toolkit else None
    return own if own is not None and own.is_file() else None


def find_disassembler(path: Sequence[str]) -> Path | None:
    """Return an nvdisasm: the toolkit's, or the one that comes with the Triton on the import path `path`."""
    toolkit = find_toolkit()
    if toolkit is not None and (own := toolkit.nvcc.resolve().with_name("nvdisasm")).is_file():
        return own
    return _in_triton(path, "nvdisasm")


def _in_triton(path: Sequence[str], tool: str) -> Path | None:
    places = (Path(entry) / "triton" / "backends" / "nvidia" / "bin" / tool for entry in path if entry)
    return next((place for place in places if place.is_file()), None)


def find_toolkit() -> Toolkit | None:
    """Return the toolkit to build with, or None; CUDA_HOME goes before PATH, because a person has set it."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = Path(os.environ.get(variable, ""))
        if os.environ.get(variable) and (home / "bin" / "nvcc").is_file():
            return Toolkit(home / "bin" / "nvcc", home)
    on_path = shutil.which("nvcc")
    if on_path:
        return Toolkit(Path(on_path), Path(on_path).resolve().parents[1])
    return next((found for entry in sys.path if (found := _in_wheels(Path(entry) / "nvidia"))), None)


def _in_wheels(nvidia: Path) -> Toolkit | None:
    """Return the nvcc of the wheels under `nvidia`: all in one folder (CUDA 13), or one folder for each part."""
    for nvcc in sorted(nvidia.glob("*/bin/nvcc"), reverse=True):
        own = nvcc.parents[1] / "include"
        others = [path for path in sorted(nvidia.glob("*/include")) if path != own and _belongs(path)]
        return Toolkit(nvcc, nvidia, (own, *others))
    return None


def _belongs(include: Path) -> bool:
    """Whether a wheel's headers are those of the runtime or of the core libraries."""
    return any((include / header).exists() for header in ("cuda_runtime.h", "cub", "cccl", "curand.h"))
