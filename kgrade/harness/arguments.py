"""What crosses to a worker and back: arguments, what a call returned, and how both lie in shared memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from kgrade.harness.channel import Memory

Array = npt.NDArray[Any]
Form = dict[str, Any]
ALIGNMENT = 256
NUMBERS: dict[str, np.dtype[Any]] = {
    np.dtype(kind).name: np.dtype(kind)
    for kind in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn),
        *(ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz),
    )
}


@dataclass(frozen=True)
class Argument:
    """One argument of a call: an array in its own dtype with its layout in memory, a plain number, or a form.

    A form (see `worker/trees.py`) is JSON that says how a foreign interface puts its arguments together.
    """

    name: str
    value: Array | int | float | bool | Form
    layout: str = "contiguous"


@dataclass(frozen=True)
class Made:
    """Arrays that a task's own code made, and the form that they fill."""

    arrays: dict[str, Array]
    form: Form


@dataclass(frozen=True)
class Returned:
    """What a call gave back. `arrays` holds what was written, in the dtype that the worker says it has."""

    arrays: dict[str, Array]
    touched: list[str]
    seconds: float


def packed(*groups: Sequence[Argument]) -> tuple[Any, ...]:
    """Lay out the arrays of all groups in one sealed memory; return it and, for each group, its specifications."""
    pieces: list[bytes | memoryview] = []
    all_specs: list[list[dict[str, Any]]] = []
    offset = 0
    for group in groups:
        specs: list[dict[str, Any]] = []
        for argument in group:
            if not isinstance(argument.value, np.ndarray):
                specs.append({"name": argument.name, "value": argument.value})
                continue
            raw = argument.value.tobytes()
            padding = -len(raw) % ALIGNMENT
            pieces += [raw, bytes(padding)]
            specs.append(
                {
                    "name": argument.name,
                    "offset": offset,
                    "shape": list(argument.value.shape),
                    "dtype": argument.value.dtype.name,
                    "layout": argument.layout,
                }
            )
            offset += len(raw) + padding
        all_specs.append(specs)
    return (Memory.holding(pieces), *all_specs)


def described(arguments: Sequence[Argument]) -> list[dict[str, Any]]:
    """Return specifications of arrays without their data; `Argument.value` may be a broadcast view of one element."""
    return [
        {"name": each.name, "shape": list(each.value.shape), "dtype": each.value.dtype.name, "layout": each.layout}
        if isinstance(each.value, np.ndarray)
        else {"name": each.name, "value": each.value}
        for each in arguments
    ]


def unpacked(answered: Any, places: dict[str, tuple[int, int]], received: Memory) -> dict[str, Array]:
    """Return the outputs that an answer describes, from their `places` (offset, room); raise ValueError for others."""
    entries = answered if isinstance(answered, list) else []
    if [entry.get("name") for entry in entries if isinstance(entry, dict)] != list(places):
        raise ValueError("the answer does not describe every output once")
    arrays = {}
    for entry in entries:
        offset, room = places[entry["name"]]
        dtype = dtype_of(str(entry["dtype"]))
        shape = shape_of(entry["shape"])
        count = math.prod(shape) * dtype.itemsize
        if count > room or entry.get("written") is not True:
            raise ValueError(
                f"output {entry['name']} has shape {str(list(shape))[:80]} and dtype {dtype.name}: larger than expected"
            )
        arrays[entry["name"]] = np.frombuffer(received.read(offset, count), dtype).reshape(shape)
    return arrays


def shape_of(sizes: Any) -> tuple[int, ...]:
    """Return a shape as an answer gives it; raise ValueError for what is none."""
    shape = tuple(sizes)
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        raise ValueError(f"a size that is no whole number in {str(shape)[:80]}")
    return shape


def dtype_of(name: str) -> np.dtype[Any]:
    """Look a dtype up by its plain name: numpy itself would parse hostile text as a language of dtypes."""
    if name not in NUMBERS:
        raise ValueError(f"dtype {name[:40]} is not one of numbers")
    return NUMBERS[name]
