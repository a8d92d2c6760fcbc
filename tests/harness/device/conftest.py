"""A management library of NVIDIA's that the test itself tells what to say, built by the system's compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from kgrade.harness.device.nvml import Nvml

SOURCE = Path(__file__).with_name("fake_nvml.c")


class Driver:
    """The library: `file` is the library, `tell` sets what it says."""

    def __init__(self, library: Path) -> None:
        self.file = library
        self._loaded = ctypes.CDLL(str(library))

    def tell(self, what: str, *values: int) -> None:
        kinds = (ctypes.c_uint, ctypes.c_ulonglong) if what == "process" else (ctypes.c_ulonglong,) * len(values)
        getattr(self._loaded, f"tell_{what}")(*(kind(value) for kind, value in zip(kinds, values, strict=False)))

    @property
    def asked(self) -> int:
        """How many looks it has answered."""
        return int(self._loaded.asked())

    def opened(self) -> Nvml:
        nvml = Nvml.opened(str(self.file))
        assert nvml is not None
        return nvml


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs cc")
    library = tmp_path / "libnvidia-ml.so.1"  # a file of its own for each test, so that none sees another's values
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", str(library), str(SOURCE)], check=True, timeout=60)
    return Driver(library)
