"""Calling an emulated object from a test, with numpy arrays where a kernel takes pointers."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np


class Loaded:
    """One shared object. `call` passes arrays as pointers, ints as int64_t, floats as float, None as the stream."""

    def __init__(self, library: Path) -> None:
        self.path = library
        self.library = ctypes.CDLL(str(library))
        self.library.kgrade_emulator_fault.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any, seed: int = 0) -> int:
        self.library.kgrade_emulator_reset()
        self.library.kgrade_emulator_seed(ctypes.c_ulonglong(seed))
        status = getattr(self.library, name)(*map(_passed, arguments))
        return int(status)

    @property
    def fault(self) -> str:
        text: bytes = self.library.kgrade_emulator_fault()
        return text.decode()


def _passed(value: Any) -> Any:
    if value is None:
        return ctypes.c_void_p(None)
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, float):
        return ctypes.c_float(value)
    return ctypes.c_int64(value)
