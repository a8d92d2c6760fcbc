"""The ceilings of this machine's device: measured when a person asks, kept per device, put into evidence from it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from kgrade.harness.machine import processor
from kgrade.records import codec
from kgrade.records.evidence import Ceilings
from kgrade.records.faults import BadRecord

SCRIPT = Path(__file__).parents[1] / "worker" / "ceilings.py"
LIMIT_S = 600.0


class Unmeasured(Exception):
    """The ceilings could not be measured; the sentence says why and what to do."""


class _Series(msgspec.Struct):
    """Seconds of each of several equal calls, and what one of them does."""

    seconds: list[float]
    bytes: int = 0
    size: int = 0
    operations: int = 0

    @property
    def fastest(self) -> float:
        """Seconds of the fastest call: a ceiling is what was reached, not what is usual."""
        if not self.seconds or min(self.seconds) <= 0:
            raise Unmeasured("a call took no time at all; this device's clock cannot be used")
        return min(self.seconds)


class _Said(msgspec.Struct):
    torch: str = ""
    on_gpu: bool = False
    calls: int = 0
    device: str | None = None
    copy: _Series | None = None
    matmul: dict[str, _Series] = {}
    refused: dict[str, str] = {}
    lacks: str | None = None


def measure(python: str = sys.executable, *, within_s: float = LIMIT_S) -> Ceilings:
    """Measure the device that `python`'s torch sees first, or the processor where it sees none; takes a minute."""
    try:
        done = subprocess.run(
            [python, "-I", str(SCRIPT)], stdin=subprocess.DEVNULL, capture_output=True, timeout=within_s, check=False
        )
    except OSError as why:
        raise Unmeasured(f"{python} cannot be started: {why.strerror}; see targets.<name>.python") from None
    except subprocess.TimeoutExpired:
        raise Unmeasured(f"measuring took longer than {within_s:g} s; is the device busy?") from None
    lines = done.stdout.splitlines()
    try:
        said = msgspec.json.decode(lines[-1] if lines else b"", type=_Said)
    except msgspec.DecodeError:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unmeasured(f"{python} did not measure: {words[-1] if words else f'exit {done.returncode}'}") from None
    if said.lacks is not None or said.copy is None:
        raise Unmeasured(f"{python}: {said.lacks or 'nothing was copied'}; name one that has torch")
    clock = "device events" if said.on_gpu else "the process's clock"
    sizes = ", ".join(f"{name} {each.size}" for name, each in said.matmul.items())
    return Ceilings(
        device=said.device or processor(),
        measured=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        method=f"torch {said.torch}, {clock}, fastest of {said.calls}: a copy of {said.copy.bytes >> 21} MiB (read and"
        f" write counted), square products ({sizes})",
        copy_bytes_per_s=said.copy.bytes / said.copy.fastest,
        flops_per_s={name: each.operations / each.fastest for name, each in said.matmul.items()},
        refused=said.refused,
    )


def keep(found: Ceilings) -> Path:
    """Keep ceilings on this machine, in place of earlier ones of the same device; return where."""
    path = _place(found.device)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_bytes(codec.encode_json(found))
    beside.replace(path)
    return path


def kept(device: str) -> Ceilings | None:
    """Return what was measured of `device` on this machine, None where nothing was, or nothing that can be read."""
    path = _place(device)
    try:
        found = codec.decode(Ceilings, path.read_bytes(), str(path))
    except (OSError, BadRecord):
        return None
    return found if found.device == device else None


def _place(device: str) -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home if home.startswith("/") else Path.home() / ".local" / "state")
    return base / "kgrade" / "ceilings" / f"{hashlib.sha256(device.encode()).hexdigest()[:16]}.json"
