"""Known-wrong kernels: what a task's check must not let pass.

Each control makes the outputs that one common mistake would give, from the oracle's own results. A control whose
outputs happen to be right at a case (zeros where zeros are due) is not tried there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgrade.harness.arguments import Argument, Array
from kgrade.harness.numerics.formats import float_format, numpy_dtype, round_to, widen
from kgrade.harness.oracle import Expected, Oracle
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case
from kgrade.records.task import Task

BLOCK = 32
LOWER = {
    "float64": "float32", "float32": "bfloat16", "float16": "float8_e4m3fn", "bfloat16": "float8_e4m3fn",
}  # fmt: skip


@dataclass(frozen=True)
class Situation:
    """One case with its inputs and what is right there."""

    task: Task
    oracle: Oracle
    case: Case
    arguments: Sequence[Argument]
    expected: Expected

    def dtype(self, output: str) -> str:
        """Return the dtype of an output, or of an input's gradient (called `grad x`)."""
        spec = self.task.outputs.get(output) or self.task.inputs[output.removeprefix("grad ")]
        return self.task.dtype(spec, self.case)

    def rounded(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Return `values` by output in the dtype of each."""
        return {name: _rounded(array, self.dtype(name)) for name, array in values.items()}

    def reference(self, arguments: Sequence[Argument], *, exact: bool) -> dict[str, Array] | None:
        """Return the reference's outputs for other arguments, or None where it has none."""
        if self.task.backward:
            return None  # the gradients would need to be pulled anew; the other controls cover them
        try:
            return self.oracle.reference(self.case, arguments, exact=exact).arrays
        except Lost:
            return None


Make = Callable[[Situation], dict[str, Array] | None]


def _rounded(array: Array, dtype: str) -> Array:
    if float_format(dtype) is not None:
        return round_to(widen(array), dtype)
    whole: Array = array if array.dtype.kind in "iub" else np.rint(np.nan_to_num(array))
    return whole.astype(numpy_dtype(dtype))


def _each(change: Callable[[Array], Array | None]) -> Make:
    """Make a control from a change of one output; where one output cannot be changed so, there is no control."""

    def make(at: Situation) -> dict[str, Array] | None:
        changed = {name: change(array) for name, array in at.expected.arrays.items()}
        found = {name: array for name, array in changed.items() if array is not None}
        return at.rounded(found) if len(found) == len(changed) else None

    return make


def _mean(exact: Array) -> Array | None:
    values = widen(exact)
    finite = values[np.isfinite(values)]
    return np.full(exact.shape, finite.mean()) if finite.size > 1 else None


def _one_off(exact: Array) -> Array | None:
    return np.roll(exact.reshape(-1), 1).reshape(exact.shape) if exact.size > 1 else None


def _without_last_block(exact: Array) -> Array | None:
    if exact.size < 2:
        return None
    short = exact.reshape(-1).copy()
    short[-_block(exact.size) :] = 0
    return short.reshape(exact.shape)


def _unmasked_tail(exact: Array) -> Array | None:
    """The last, partial block of each row holds what stands in the next row: the store had no mask."""
    if exact.ndim == 0 or exact.size < 2:
        return None
    rows = exact.reshape(-1, exact.shape[-1])
    tail = exact.shape[-1] % BLOCK or _block(exact.shape[-1])
    over = rows.copy()
    over[:, -tail:] = np.roll(exact.reshape(-1), -tail).reshape(rows.shape)[:, -tail:]
    return over.reshape(exact.shape)


def _block(size: int) -> int:
    return max(1, min(BLOCK, size // 4))


def _input_copy(at: Situation) -> dict[str, Array] | None:
    """The input of an output's shape, else of its size, is handed back."""
    arrays = [argument.value for argument in at.arguments if isinstance(argument.value, np.ndarray)]
    copies = {}
    for name, exact in at.expected.arrays.items():
        fitting = [array for array in arrays if array.size == exact.size]
        if not fitting:
            return None
        best = next((array for array in fitting if array.shape == exact.shape), fitting[0])
        copies[name] = best.reshape(exact.shape)
    return at.rounded(copies)


def _unread_block(at: Situation) -> dict[str, Array] | None:
    """The last block of the largest input is taken for zeros: a loop that ends too early."""
    sizes = {argument.name: argument.value.size for argument in at.arguments if isinstance(argument.value, np.ndarray)}
    if not sizes:
        return None
    largest = max(sizes, key=lambda name: sizes[name])
    changed = [
        Argument(each.name, _blanked(each.value), each.layout)
        if each.name == largest and isinstance(each.value, np.ndarray)
        else each
        for each in at.arguments
    ]
    found = at.reference(changed, exact=True)
    return at.rounded(found) if found is not None else None


def _blanked(array: Array) -> Array:
    blank = array.copy()
    if array.ndim and array.size:
        blank[..., -_block(array.shape[-1]) :] = 0
    return blank


def _lower_precision(at: Situation) -> dict[str, Array] | None:
    """The reference computes on operands of the next lower format, and in it where its framework can."""
    lower = LOWER.get(at.case.dtype)
    if lower is None:
        return None
    narrow = []
    for each in at.arguments:
        if isinstance(each.value, np.ndarray) and each.value.dtype == numpy_dtype(at.case.dtype):
            values = round_to(widen(each.value), lower)
            if lower.startswith("float8") or at.task.interface != "function":
                values = round_to(widen(values), at.case.dtype)
            narrow.append(Argument(each.name, values, each.layout))
        else:
            narrow.append(each)
    found = at.reference(narrow, exact=False)
    return at.rounded(found) if found is not None else None


CONTROLS: dict[str, Make] = {
    "zeros": _each(np.zeros_like),
    "mean": _each(_mean),
    "input copy": _input_copy,
    "one element off": _each(_one_off),
    "last block missing": _each(_without_last_block),
    "last block not read": _unread_block,
    "unmasked tail": _each(_unmasked_tail),
    "lower precision inside": _lower_precision,
}


DISTORTING = ("zeros", "mean", "input copy", "last block missing")  # what makes a random sample another one


def attempts(at: Situation) -> dict[str, dict[str, Array]]:
    """Return the outputs of every control that is wrong at this case, by its name."""
    right = at.rounded(at.expected.arrays)
    found = {}
    for name, make in CONTROLS.items():
        if at.task.stochastic is not None and name not in DISTORTING:
            continue
        got = make(at)
        if got is not None and not all(_same(array, right[output]) for output, array in got.items()):
            found[name] = got
    return found


def _same(got: Array, right: Array) -> bool:
    if got.dtype.kind in "iub":
        return got.shape == right.shape and bool((got == right).all())
    return got.shape == right.shape and np.array_equal(widen(got), widen(right), equal_nan=True)
