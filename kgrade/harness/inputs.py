"""Where a case's arguments come from: drawn here, or made by the task's own code behind its wall."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from kgrade.harness.arguments import Argument, Array, Made
from kgrade.harness.drawing import NotDrawable, draw_arguments
from kgrade.harness.numerics.formats import float_format, numpy_dtype, round_to, widen
from kgrade.harness.run import Workload
from kgrade.harness.safetensors import Unreadable, tensor
from kgrade.records.evidence import Case
from kgrade.records.task import Task

FORM = "form"
LARGEST_MADE = 4 << 30
Value = Array | int | float | bool
Make = Callable[..., Made]  # (function, name, room in bytes, **details)


def arguments(
    task: Task, case: Case, seed: int, make: Make, workloads: Sequence[Workload], files: dict[str, bytes]
) -> list[Argument]:
    """Return the case's arguments; raise `NotDrawable`, or `Lost` when the task's code fails."""
    if task.interface in ("kernelbench", "gpumode"):
        return _made(task, case, seed, make)
    made: dict[str, Value] = {
        name: _generated(task, name, case, seed, make)
        for name, spec in task.inputs.items()
        if spec.generator is not None
    }
    if task.interface == "flashinfer":
        made |= _numbers_of_workload(case, workloads) | _files_of_workload(case, workloads, files)
    return [*draw_arguments(task, case, seed, made), *_to_fill(task, case)]


def shapes(task: Task, case: Case, seed: int, make: Make, workloads: Sequence[Workload]) -> list[Argument]:
    """Return what `arguments` returns, without data: each array is one element seen everywhere.

    Raises `NotDrawable`, or `Lost` when the task's code, which `make` calls, fails.
    """
    if task.interface in ("kernelbench", "gpumode"):
        return _made(task, case, seed, make)
    numbers = _numbers_of_workload(case, workloads) if task.interface == "flashinfer" else {}
    return [*shapes_of(task, case, numbers), *_to_fill(task, case)]


def shapes_of(task: Task, case: Case, numbers: Mapping[str, Value] | None = None) -> list[Argument]:
    """The case's arguments as shapes. A scalar that is not among `numbers` gets its smallest value."""
    arguments = []
    for name, spec in task.inputs.items():
        if numbers and name in numbers:
            arguments.append(Argument(name, numbers[name]))
            continue
        if spec.scalar:
            arguments += draw_arguments(msgspec.structs.replace(task, inputs={name: spec}), case, 0)
            continue
        array = np.broadcast_to(np.zeros((), numpy_dtype(task.dtype(spec, case))), task.input_shape(name, case))
        arguments.append(Argument(name, array, case.layout if case.layout in spec.layouts else "contiguous"))
    return arguments


def _to_fill(task: Task, case: Case) -> list[Argument]:
    """Return the form that says which outputs a flashinfer entry point is handed to fill; none for others."""
    if task.interface != "flashinfer":
        return []
    outputs = [
        {"name": name, "shape": list(task.output_shape(name, case)), "dtype": task.dtype(spec, case)}
        for name, spec in task.outputs.items()
    ]
    return [Argument(FORM, {"outputs": outputs})]


def _made(task: Task, case: Case, seed: int, make: Make) -> list[Argument]:
    """Return everything that a foreign problem makes: its arrays, and the form that they fill."""
    if task.inputs:
        raise NotDrawable(f"a {task.interface} task makes its own inputs; take `inputs` out of task.yaml")
    name = "data" if task.interface == "gpumode" else ""
    room = min(int(task.limits.memory_gb * 2**30) // 4, LARGEST_MADE)
    made = make("inputs", name, room, symbols=case.symbols, dtype=case.dtype, seed=seed)
    return [*(Argument(each, array) for each, array in made.arrays.items()), Argument(FORM, made.form)]


def _generated(task: Task, name: str, case: Case, seed: int, make: Make) -> Array:
    """Return one input from the task's generator, rounded to its dtype; it must have the shape that was asked for."""
    shape = task.input_shape(name, case)
    room = max(math.prod(shape), 1) * 8
    made = make(f"input {name}", name, room, symbols=case.symbols, seed=seed, shape=list(shape))
    array = made.arrays.get(name)
    if array is None or array.shape != shape:
        found = "nothing" if array is None else str(list(array.shape))
        raise NotDrawable(f"the generator of {name} made {found} where {list(shape)} was expected")
    dtype = task.dtype(task.inputs[name], case)
    return round_to(widen(array), dtype) if float_format(dtype) else array.astype(numpy_dtype(dtype))


def _of_workload(case: Case, workloads: Sequence[Workload], kind: str) -> dict[str, dict[str, Any]]:
    """Return the inputs of that kind which the workload with this case's axes fixes."""
    workload = next((each for each in workloads if each.axes == case.symbols), None)
    return {name: spec for name, spec in (workload.inputs if workload else {}).items() if spec.get("type") == kind}


def _numbers_of_workload(case: Case, workloads: Sequence[Workload]) -> dict[str, Value]:
    specs = _of_workload(case, workloads, "scalar")
    return {name: spec["value"] for name, spec in specs.items() if isinstance(spec.get("value"), int | float)}


def _files_of_workload(case: Case, workloads: Sequence[Workload], files: dict[str, bytes]) -> dict[str, Value]:
    return {name: _of_file(name, spec, files) for name, spec in _of_workload(case, workloads, "safetensors").items()}


def _of_file(name: str, spec: dict[str, Any], files: dict[str, bytes]) -> Array:
    path, key = str(spec.get("path", "")), str(spec.get("tensor_key", name))
    found = next((data for file, data in files.items() if file == path or path.endswith(f"/{file}")), None)
    if found is None:
        raise NotDrawable(f"input {name} comes from {path}, which is not in the task's folder")
    try:
        return tensor(found, key)
    except Unreadable as why:
        raise NotDrawable(f"input {name}: {path}: {why}") from None
