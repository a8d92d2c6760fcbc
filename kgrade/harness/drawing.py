"""The arguments of one case: drawn by kgrade from a secret seed, so that no submission can know them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping

import numpy as np

from kgrade.harness.arguments import Argument, Array
from kgrade.harness.numerics.families import draw
from kgrade.harness.numerics.formats import numpy_dtype
from kgrade.records.evidence import Case
from kgrade.records.task import Task

LARGEST_ITEM_BYTES = 8


class NotDrawable(Exception):
    """A case whose inputs cannot be made; the message says why."""


def draw_arguments(
    task: Task, case: Case, seed: int, made: Mapping[str, Array | int | float | bool] | None = None
) -> list[Argument]:
    """Return the case's arguments, those in `made` as they are.

    Each input has a stream of its own, so that adding one leaves the others alone.
    """
    arguments = []
    for name, spec in task.inputs.items():
        if made and name in made:
            arguments.append(Argument(name, made[name]))
            continue
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        dtype = task.dtype(spec, case)
        try:
            array = draw(spec, task.input_shape(name, case), dtype, case.family, rng, case.symbols)
        except ValueError as error:
            raise NotDrawable(f"input {name}: {error}") from None
        if spec.scalar:
            arguments.append(Argument(name, array.astype(np.float64).item() if "float" in dtype else array.item()))
            continue
        layout = case.layout if case.layout in spec.layouts else "contiguous"
        if layout == "broadcast" and array.ndim:
            array = np.broadcast_to(array[:1], array.shape).copy()
        arguments.append(Argument(name, array, layout))
    return arguments


def rooms(task: Task, case: Case, *, widest: bool = False) -> dict[str, int]:
    """Return the bytes that each output takes; `widest` leaves room for float64 and int64, which the oracle returns."""
    sizes = {}
    for name, spec in task.outputs.items():
        item = LARGEST_ITEM_BYTES if widest else numpy_dtype(task.dtype(spec, case)).itemsize
        sizes[name] = math.prod(task.output_shape(name, case)) * item
    return sizes


def upstream_gradients(task: Task, case: Case, seed: int) -> list[Argument]:
    """Return the gradient of a loss with respect to each floating output: normal values in the output's dtype."""
    arguments = []
    for name, spec in task.outputs.items():
        dtype = task.dtype(spec, case)
        if "float" in dtype:
            rng = np.random.default_rng([seed, zlib.crc32(f"gradient of {name}".encode())])
            values: Array = rng.standard_normal(task.output_shape(name, case)).astype(numpy_dtype(dtype))
            arguments.append(Argument(name, values))
    return arguments
