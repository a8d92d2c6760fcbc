"""The CUDA side: nvcc, the devices and their driver, whether driver, nvcc and torch fit together, and the clocks."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kgrade.doctor.ask import ask
from kgrade.doctor.frameworks import Torch, torch_facts
from kgrade.doctor.line import Line

Version = tuple[int, int]


class Device(msgspec.Struct, frozen=True):
    """One GPU as nvidia-smi tells it; clocks in MHz."""

    name: str
    driver: str
    clock: str
    most: str


def examine() -> Iterator[Line]:
    """Yield compiler, devices, their fit and their clocks."""
    nvcc, toolkit = _nvcc()
    yield nvcc
    devices, line = _devices()
    yield line
    if not devices:
        return
    yield _fit(_driver_cuda(), toolkit, torch_facts())
    yield _clocks(devices)


def _nvcc() -> tuple[Line, Version | None]:
    for place, program in _nvcc_places():
        said = ask([program, "--version"])
        match = re.search(r"release (\d+)\.(\d+)", said.out)
        if match:
            found = f"{match[1]}.{match[2]} from {place}: {program}"
            return Line(subject="nvcc", status="ok", found=found), (int(match[1]), int(match[2]))
        advice = "repair that toolkit, or put another nvcc first on PATH"
        return Line(subject="nvcc", status="problem", found=f"{program}: {said.why}", advice=advice), None
    advice = "CUDA sources are not built; install a CUDA toolkit, or: pip install nvidia-cuda-nvcc nvidia-cuda-cccl"
    found = "not on PATH, nor under CUDA_HOME, nor as wheels"
    return Line(subject="nvcc", status="missing", found=found, advice=advice), None


def _nvcc_places() -> Iterator[tuple[str, str]]:
    on_path = shutil.which("nvcc")
    if on_path:
        yield "PATH", on_path
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        program = Path(os.environ.get(variable) or "/nonexistent", "bin", "nvcc")
        if program.exists():
            yield variable, str(program)
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or [] if spec else []:
        for program in sorted(Path(root).glob("*/bin/nvcc")):
            yield "wheels", str(program)


def _devices() -> tuple[list[Device], Line]:
    if shutil.which("nvidia-smi") is None:
        nodes = Path("/dev/nvidiactl").exists()
        if nodes:
            advice = "install nvidia-utils of the driver's version: clocks and throttling cannot be read without it"
            return [], Line(subject="gpu", status="problem", found="device nodes, no nvidia-smi", advice=advice)
        advice = "kernels are checked on interpreters and CUDA is compiled only; collect on a GPU machine for the rest"
        return [], Line(subject="gpu", status="missing", found="no NVIDIA device", advice=advice)
    fields = "name,driver_version,clocks.current.sm,clocks.max.sm"
    said = ask(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], seconds=30)
    rows = [[cell.strip() for cell in row.split(",")] for row in said.out.splitlines() if row.strip()]
    if not said.ok or not rows or any(len(row) != 4 for row in rows):
        found = f"nvidia-smi fails: {said.why}"
        return [], Line(subject="gpu", status="problem", found=found, advice="repair or reload the NVIDIA driver")
    devices = [Device(*row) for row in rows]
    names = ", ".join(device.name for device in devices)
    return devices, Line(subject="gpu", status="ok", found=f"{names}; driver {devices[0].driver}")


def _driver_cuda() -> Version | None:
    """The newest CUDA that the driver runs, from the head of nvidia-smi's own table."""
    match = re.search(r"CUDA (?:UMD )?Version:\s*(\d+)\.(\d+)", ask(["nvidia-smi"], seconds=30).out)
    return (int(match[1]), int(match[2])) if match else None


def _fit(driver: Version | None, toolkit: Version | None, torch: object) -> Line:
    """Within one major version a newer toolkit's binaries run; PTX of a newer one does not, so both are told."""
    if driver is None:
        advice = "compare the driver with the toolkit by hand"
        return Line(subject="cuda fit", status="problem", found="the driver does not tell its CUDA", advice=advice)
    built = torch.cuda if isinstance(torch, Torch) else None
    known = {"nvcc": toolkit, "torch": _version(built)}
    found = ", ".join([f"driver runs up to {_text(driver)}", *(f"{name} {_text(v)}" for name, v in known.items() if v)])
    newer_major = [name for name, version in known.items() if version and version[0] > driver[0]]
    newer_minor = [name for name, version in known.items() if version and version[0] == driver[0] and version > driver]
    if newer_major:
        advice = f"update the driver, or use {' and '.join(newer_major)} of CUDA {driver[0]}"
        return Line(subject="cuda fit", status="problem", found=found, advice=advice)
    if isinstance(torch, Torch) and torch.cuda is None:
        advice = "this torch is a CPU build: point targets.<name>.python at a Python whose torch has CUDA"
        return Line(subject="cuda fit", status="problem", found=found, advice=advice)
    if isinstance(torch, Torch) and torch.devices == 0:
        advice = "torch sees no device: check CUDA_VISIBLE_DEVICES and the driver"
        return Line(subject="cuda fit", status="problem", found=found, advice=advice)
    if newer_minor:
        advice = f"{' and '.join(newer_minor)} may emit PTX that this driver cannot load: build for the exact sm"
        return Line(subject="cuda fit", status="ok", found=found, advice=advice)
    return Line(subject="cuda fit", status="ok", found=found)


def _clocks(devices: list[Device]) -> Line:
    found = "; ".join(f"{device.clock} of at most {device.most} MHz" for device in devices)
    if any(not device.clock.isdigit() for device in devices):
        advice = "times from this machine cannot be marked throttled or not: this user may not read the clocks"
        return Line(subject="clocks", status="problem", found=found, advice=advice)
    return Line(subject="clocks", status="ok", found=f"{found}; read before and after timing, never set")


def _version(text: str | None) -> Version | None:
    match = re.match(r"(\d+)\.(\d+)", text or "")
    return (int(match[1]), int(match[2])) if match else None


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
