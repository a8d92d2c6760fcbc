"""Which of this machine's GPUs a target can be run on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgrade.harness.build.targets import architecture
from kgrade.harness.device.nvml import Gpu, Nvml

NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps")


def find_gpus(nvml: Nvml | None, environment: Mapping[str, str] = os.environ) -> tuple[Gpu, ...]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves to this process, in its order; all where it is not set."""
    every = nvml.gpus() if nvml is not None else []
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return tuple(every)
    chosen: list[Gpu] = []
    for name in (part.strip() for part in wanted.split(",")):
        found = [gpu for number, gpu in enumerate(every) if str(number) == name or (name and gpu.uuid.startswith(name))]
        if not found:  # CUDA ends the list at the first name that it does not know
            break
        chosen += found[:1]
    return tuple(chosen)


def gpu_for(target: str, gpus: Sequence[Gpu]) -> Gpu | None:
    """Return the first GPU that is of the architecture which `target` names."""
    arch = architecture(target)
    if arch is None or arch.vendor != "cuda":
        return None
    return next((gpu for gpu in gpus if gpu.capability == arch.capability), None)


def driver_folders(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return where LD_LIBRARY_PATH leads to the driver's library: not every loader's cache knows its place."""
    folders = [Path(part) for part in environment.get("LD_LIBRARY_PATH", "").split(":") if part.startswith("/")]
    return [folder for folder in dict.fromkeys(folders) if (folder / "libcuda.so.1").exists()]


def nodes(gpu: Gpu, devices: Path = Path("/dev")) -> list[Path]:
    """Return the device nodes that a process needs to use `gpu`."""
    every = [devices / f"nvidia{gpu.minor}", *(devices / name for name in NODES)]
    return [node for node in every if node.exists()]
