"""One tensor of a safetensors file: eight bytes of header size, a JSON header, raw little-endian data.

Format: https://github.com/huggingface/safetensors (README, "Format").
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from kgrade.harness.numerics.formats import Array, numpy_dtype

DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
    "BOOL": "bool",
}  # fmt: skip


class Unreadable(ValueError):
    """The file does not hold the tensor as its header says, or at all."""


class _Entry(msgspec.Struct, frozen=True):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def tensor(data: bytes, key: str) -> Array:
    """Return the tensor called `key`; raise `Unreadable`."""
    size = int.from_bytes(data[:8], "little")
    try:
        header = msgspec.json.decode(data[8 : 8 + size], type=dict[str, msgspec.Raw])
        if key not in header:
            raise Unreadable(f"it holds no tensor {key!r}")
        entry = msgspec.json.decode(header[key], type=_Entry)
    except msgspec.DecodeError as why:
        raise Unreadable(f"its header cannot be read: {why}") from None
    if entry.dtype not in DTYPES or min(entry.shape, default=0) < 0:
        raise Unreadable(f"the tensor {key!r} has the dtype {entry.dtype!r} and the shape {entry.shape}")
    dtype = numpy_dtype(DTYPES[entry.dtype])
    begin, end = entry.data_offsets
    raw = data[8 + size + begin : 8 + size + end] if 0 <= begin <= end else b""
    if len(raw) != math.prod(entry.shape) * dtype.itemsize:
        raise Unreadable(f"the tensor {key!r} has {len(raw)} bytes where its shape needs another number")
    return np.frombuffer(raw, dtype).reshape(entry.shape)
