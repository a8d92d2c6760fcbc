"""Interface `cuda` where there is no GPU: the object that CPU emulation made, called with pointers to host memory."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy

from ..arrays import CARRIERS

FINDINGS_CHARACTERS = 24000  # what an answer has room for, with every quotation mark escaped
SCALARS = {
    "float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64, "int32": ctypes.c_int32,
    "int16": ctypes.c_int16, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8, "bool": ctypes.c_bool,
}  # fmt: skip


class KernelFailed(Exception):
    """The launcher returned an error: its number, and what ended the kernel if one was ended."""


class Emulated:
    """`int entry(inputs..., outputs..., int64_t symbols..., cudaStream_t)` of one emulated object."""

    def __init__(self, library: str, entry: str) -> None:
        self.shared = ctypes.CDLL(library)
        self.shared.kgrade_emulator_fault.restype = ctypes.c_char_p
        self.shared.kgrade_emulator_findings.restype = ctypes.c_char_p
        self.entry = getattr(self.shared, entry)
        self.entry.restype = ctypes.c_int

    def target(
        self, capability: int, multiprocessors: int, shared_per_block: int, shared: int, threads: int, blocks: int
    ) -> None:
        """Set the limits that launches are held to: sm_90 is (90, 132, 227 KiB, 228 KiB, 2048, 32)."""
        self.shared.kgrade_emulator_target(
            ctypes.c_int(capability), ctypes.c_int(multiprocessors), ctypes.c_long(shared_per_block),
            ctypes.c_long(shared), ctypes.c_int(threads), ctypes.c_int(blocks),
        )  # fmt: skip

    def call(
        self,
        inputs: Sequence[Tuple[str, str, Any]],
        outputs: Sequence[Tuple[str, Any]],
        symbols: Sequence[int],
        seed: int = 0,
    ) -> None:
        """Call the launcher once, or raise `KernelFailed`.

        `inputs` are (name, dtype, value), a value being a contiguous numpy array or, for a scalar, a number; `outputs`
        are (name, array), filled in place. Seed 0 runs blocks and threads in order, any other in an order of its own.
        """
        self.shared.kgrade_emulator_reset()
        self.shared.kgrade_emulator_seed(ctypes.c_ulonglong(seed))
        arguments: List[Any] = []
        for name, dtype, value in inputs:
            scalar = not isinstance(value, numpy.ndarray)
            arguments.append(SCALARS[dtype](value) if scalar else self._lent(name, value, True))
        arguments += [self._lent(name, array, False) for name, array in outputs]
        arguments += [ctypes.c_int64(symbol) for symbol in symbols]
        status = self.entry(*arguments, ctypes.c_void_p(None))
        if status != 0:
            fault = self.shared.kgrade_emulator_fault().decode(errors="replace")
            raise KernelFailed("the launcher returned CUDA error {}{}".format(status, ": " + fault if fault else ""))

    def launcher(self, launch: Dict[str, Any]) -> Callable[..., Dict[str, Any]]:
        """Return a function of the inputs by name that makes the outputs, launches and returns the outputs by name.

        `launch` holds `outputs` as [name, dtype, shape], `symbols` in order, `scalars` (dtypes of the inputs that are
        numbers), `seed`, `target` (see the method), and `bounds`, the most threads of a block by kernel. An output that
        bears an input's name is that input.
        """
        self.target(*launch["target"])
        for kernel, threads in launch["bounds"].items():
            self.shared.kgrade_emulator_bound(kernel.encode(), ctypes.c_int(threads))

        def launched(**inputs: Any) -> Dict[str, Any]:
            made = {name: _unwritten(dtype, shape) for name, dtype, shape in launch["outputs"] if name not in inputs}
            given = [(name, launch["scalars"].get(name, ""), value) for name, value in inputs.items()]
            self.call(given, list(made.items()), launch["symbols"], launch["seed"])
            return {name: made.get(name, inputs.get(name)) for name, _, _ in launch["outputs"]}

        return launched

    def findings(self) -> str:
        """Return what the checks found in the last call, one JSON object a line; empty without checks.

        Lines that an answer has no room for are left out.
        """
        return shortened_findings(self.shared.kgrade_emulator_findings())

    def _lent(self, name: str, array: Any, written: bool) -> Any:
        if not array.flags.c_contiguous:
            raise ValueError("{} is not contiguous: a pointer says nothing about strides".format(name))
        pointer = ctypes.c_void_p(array.ctypes.data)
        self.shared.kgrade_emulator_lend(pointer, ctypes.c_ulong(array.nbytes), name.encode(), ctypes.c_int(written))
        return pointer


def shortened_findings(text: bytes) -> str:
    """Return the lines of `text` for which an answer has room."""
    kept: List[str] = []
    room = FINDINGS_CHARACTERS
    for line in text.decode(errors="replace").splitlines():
        room -= len(line)
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _unwritten(dtype: str, shape: Sequence[int]) -> Any:
    """Return an array whose every byte is 255: NaN in every floating type, and -1 or 255 in the others."""
    kind = getattr(importlib.import_module("ml_dtypes"), dtype) if dtype in CARRIERS else dtype
    size = int(numpy.prod(shape)) * numpy.dtype(kind).itemsize
    return numpy.frombuffer(bytearray(b"\xff" * size), kind).reshape(shape)
