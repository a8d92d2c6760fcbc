"""Calling an emulated object from a test, with numpy arrays where a kernel takes pointers."""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgrade.harness.build.runner import Runner
from kgrade.harness.emulator.findings import Finding, read_findings


@dataclass
class Finished:
    returncode: int
    stdout: bytes
    stderr: bytes
    seconds: float
    stopped_by: str | None = None


def run(command: Sequence[str], *, readable: Sequence[Path], writable: Sequence[Path], limit_s: float) -> Finished:
    """Run without a wall: the sources are the tests' own."""
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, timeout=limit_s, check=False)
    return Finished(done.returncode, done.stdout, done.stderr, time.monotonic() - begin)


class Loaded:
    """One shared object. `call` passes arrays as pointers, ints as int64_t, floats as float, None as the stream."""

    def __init__(self, library: Path, sources: list[str], run: Runner) -> None:
        self.path = library
        self.sources = sources
        self.run = run
        self.shared = ctypes.CDLL(str(library))
        self.shared.kgrade_emulator_fault.restype = ctypes.c_char_p
        self.shared.kgrade_emulator_findings.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any, seed: int = 0, outputs: tuple[int, ...] = ()) -> int:
        """Call `name` on a clean slate; the checks know every array, those at `outputs` as not yet written."""
        self.shared.kgrade_emulator_reset()
        self.shared.kgrade_emulator_seed(ctypes.c_ulonglong(seed))
        for index, value in enumerate(arguments):
            if isinstance(value, np.ndarray):
                label = f"argument {index}".encode()
                written = int(index not in outputs)
                self.shared.kgrade_emulator_lend(_passed(value), ctypes.c_ulong(value.nbytes), label, written)
        status = getattr(self.shared, name)(*map(_passed, arguments))
        return int(status)

    @property
    def fault(self) -> str:
        text: bytes = self.shared.kgrade_emulator_fault()
        return text.decode()

    @property
    def findings(self) -> list[Finding]:
        text: bytes = self.shared.kgrade_emulator_findings()
        return read_findings(text.decode(), self.path, self.sources, self.run)


def _passed(value: Any) -> Any:
    if value is None:
        return ctypes.c_void_p(None)
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, float):
        return ctypes.c_float(value)
    return ctypes.c_int64(value)


Sources = str | Mapping[str, str]
