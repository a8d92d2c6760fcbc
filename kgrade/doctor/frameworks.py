"""Python and the frameworks that kernels need. Each is imported in a process of its own: some crash, some hang."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec

from kgrade.doctor.ask import Answer, ask
from kgrade.doctor.line import Line

IMPORT_SECONDS = 60
OLDEST_PYTHON = (3, 11)

_TORCH = """
import json, torch
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "devices": torch.cuda.device_count()}))
"""
_VERSION = "import json, {0}; print(json.dumps({{'version': {0}.__version__}}))"


class Torch(msgspec.Struct, frozen=True):
    """What torch says of itself; `cuda` is the toolkit it was built with, None for a CPU build."""

    version: str
    cuda: str | None = None
    devices: int = 0


def examine() -> Iterator[Line]:
    """Yield Python, torch, triton and jax."""
    running = ".".join(map(str, sys.version_info[:3]))
    new_enough = sys.version_info >= OLDEST_PYTHON
    yield Line(
        subject="python",
        status="ok" if new_enough else "problem",
        found=f"{running} at {sys.executable}",
        advice="" if new_enough else f"use Python {'.'.join(map(str, OLDEST_PYTHON))} or newer",
        needed=True,
    )
    yield _torch()
    yield _module("triton", "Triton kernels are not run; install with: pip install 'kgrade[run]'")
    yield _module("jax", "Pallas kernels are not run; install with: pip install 'kgrade[pallas]'")


def torch_facts() -> Torch | Answer:
    """Ask torch, in another process; return its facts, or what went wrong."""
    said = _import(_TORCH)
    if not said.ok:
        return said
    return msgspec.json.decode(said.out.splitlines()[-1], type=Torch)


def _torch() -> Line:
    facts = torch_facts()
    if isinstance(facts, Answer):
        return _lacking("torch", facts, "results are not checked; install with: pip install 'kgrade[run]'")
    built = f"built for CUDA {facts.cuda}" if facts.cuda else "CPU build"
    return Line(subject="torch", status="ok", found=f"{facts.version}, {built}")


def _module(name: str, advice: str) -> Line:
    said = _import(_VERSION.format(name))
    if not said.ok:
        return _lacking(name, said, advice)
    version = msgspec.json.decode(said.out.splitlines()[-1])["version"]
    return Line(subject=name, status="ok", found=str(version))


def _lacking(name: str, said: Answer, advice: str) -> Line:
    if f"No module named '{name}'" in said.err:
        return Line(subject=name, status="missing", found="not installed in this Python", advice=advice)
    found = f"does not import: {said.why}"
    return Line(subject=name, status="problem", found=found, advice=f"reinstall {name} in {sys.executable}")


def _import(script: str) -> Answer:
    # -P: a torch.py in the folder where the doctor was started is not torch.
    return ask([sys.executable, "-P", "-c", script], seconds=IMPORT_SECONDS)
