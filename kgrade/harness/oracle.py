"""The oracle: the task's reference in float64 and in the case's own dtype, and the task's checker.

It runs in a worker of its own, behind a wall of its own, and never sees a submission; a submission never sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import msgspec
import numpy as np

from kgrade.harness.arguments import Argument, Array, Form, Made, Returned
from kgrade.harness.drawing import rooms, upstream_gradients
from kgrade.harness.foreign import AS_RETURNED
from kgrade.harness.inputs import arguments as arguments_of
from kgrade.harness.inputs import shapes as shapes_of
from kgrade.harness.numerics.comparison import NonFinite
from kgrade.harness.numerics.formats import numpy_dtype
from kgrade.harness.numerics.judge import acceptable, judge
from kgrade.harness.numerics.random_outputs import judge_random
from kgrade.harness.run import ItemSource
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case, OutputCheck, ToleranceUsed

FOREIGN = ("kernelbench", "gpumode", "flashinfer")


@dataclass(frozen=True)
class Expected:
    """What is right at one case: the float64 arrays by output, and the framework's own result where it has one.

    `touched` are the inputs that the reference writes in the case's own dtype.
    """

    arrays: dict[str, Array]
    framework: dict[str, Array]
    touched: Sequence[str] = ()


@dataclass(frozen=True)
class Verdict:
    """How the outputs of one case compare, and what the task's checker says where it has one."""

    outputs: list[OutputCheck]
    reason: str | None


class Oracle:
    """Answers what is right at a case, and judges what came back."""

    def __init__(self, source: ItemSource, workers: Standby) -> None:
        self.source = source
        self.task = source.task
        self.workers = workers
        self.narrowed: set[str] = set()

    def draw(self, case: Case, seed: int) -> list[Argument]:
        """Return the case's arguments from `seed`; raise `NotDrawable`, or `Lost` when the task's code fails."""

        def make(function: str, name: str, room: int, **details: Any) -> Made:
            return self.workers.get().make(function, name, room, self.task.limits.run_s, **details)

        return arguments_of(self.task, case, seed, make, self.source.workloads, dict(self.source.task_files))

    def shapes(self, case: Case, seed: int) -> list[Argument]:
        """Return what `draw` returns, without data; raise as it does.

        Inputs that a problem's own code cannot make without data, because it looks at values, are made in full.
        """

        def make(function: str, name: str, room: int, **details: Any) -> Made:
            try:
                return self.workers.get().make(function, name, room, self.task.limits.run_s, fake=True, **details)
            except Lost as lost:
                if not lost.alive:
                    raise
            return self.workers.get().make(function, name, room, self.task.limits.run_s, **details)

        return shapes_of(self.task, case, seed, make, self.source.workloads)

    def expected(self, case: Case, arguments: Sequence[Argument], seed: int) -> Expected:
        """Return what is right for `arguments`; raise `Lost` when the reference fails in float64."""
        gradients = self.task.backward
        upstream = upstream_gradients(self.task, case, seed) if gradients else []
        try:
            exact = self.reference(case, arguments, exact=True, gradients=gradients, upstream=upstream)
        except Lost:
            if self.task.interface not in FOREIGN:
                raise
            exact = None  # a foreign reference was not written for float64: then its own result is what is right
        try:
            own = self.reference(case, arguments, exact=False, gradients=gradients, upstream=upstream)
        except Lost:  # a framework need not have the operation in this dtype: then that row is absent
            if exact is None:
                raise
            self._note_narrowing(exact)
            return Expected(exact.arrays, {})
        self._note_narrowing(exact)
        return Expected((exact or own).arrays, own.arrays, own.touched)

    def _note_narrowing(self, exact: Returned | None) -> None:
        """Remember what the reference does not give in float64 although its inputs are: it narrows inside."""
        if exact is None:
            self.narrowed.add("errors against float64: the reference fails in it, and its own result is compared with")
            return
        for name, array in exact.arrays.items():
            if array.dtype.kind not in "iub" and array.dtype != np.float64:
                self.narrowed.add(
                    f"errors of {name} under the rounding of {array.dtype.name}: the reference narrows to it"
                )

    def reference(
        self,
        case: Case,
        arguments: Sequence[Argument],
        *,
        exact: bool,
        gradients: Sequence[str] = (),
        upstream: Sequence[Argument] = (),
    ) -> Returned:
        """Call the reference, in float64 where `exact`; raise `Lost` when it fails."""
        room = rooms(self.task, case, widest=True) | gradient_rooms(gradients, arguments, widest=True)
        return self.workers.get().call(
            "reference",
            self._widened(arguments) if exact else arguments,
            room,
            self.task.limits.run_s,
            widen=exact,
            gradients=gradients,
            upstream=upstream,
        )

    def _widened(self, arguments: Sequence[Argument]) -> list[Argument]:
        """Return `arguments`; the form of a kernelbench module asks for weights in float64 too."""
        if self.task.interface != "kernelbench":
            return list(arguments)
        return [
            Argument(each.name, {"dict": [*each.value["dict"], ["dtype", {"value": "float64"}]]})
            if isinstance(each.value, dict)
            else each
            for each in arguments
        ]

    def verdict(self, case: Case, arguments: Sequence[Argument], expected: Expected, got: dict[str, Array]) -> Verdict:
        """Compare `got` with what is right; the task's checker, if any, has the last word on the outputs' values.

        It has none on gradients: those stay judged by the tolerance.
        """
        outputs = [self._judged(name, case, arguments, expected, got[name]) for name in expected.arrays]
        if self.task.checker is None:
            return Verdict(outputs, _wrong(outputs))
        malformed = [
            f"{name}: {array.dtype.name} {list(array.shape)}"
            for name in self.task.outputs
            if ((array := got[name]).shape, array.dtype) != self._form(name, case, expected)
        ]
        if malformed:
            return Verdict(outputs, "; ".join(malformed))
        passed, message = self._checked(arguments, expected, got)
        status, why = ("passed", f"checker: {message}") if passed else ("failed", f"checker: {message}")
        values = [output for output in outputs if output.name in self.task.outputs]
        gradients = [output for output in outputs if output.name not in self.task.outputs]
        judged = [msgspec.structs.replace(output, status=status, reason=why) for output in values]
        reasons = [reason for reason in (None if passed else why, _wrong(gradients)) if reason is not None]
        return Verdict([*judged, *gradients], "; ".join(reasons) or None)

    def _form(self, name: str, case: Case, expected: Expected) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype that an output must have: as the task says, else as the reference returns it."""
        spec = self.task.outputs[name]
        if spec is AS_RETURNED:
            own = expected.framework.get(name, expected.arrays[name])
            return own.shape, own.dtype
        return self.task.output_shape(name, case), numpy_dtype(self.task.dtype(spec, case))

    def accepts(self, case: Case, arguments: Sequence[Argument], expected: Expected, got: dict[str, Array]) -> bool:
        """Whether `verdict` would pass `got`; quicker where no checker has the last word."""
        if self.task.checker is not None or self.task.stochastic is not None:
            plain = Expected(expected.arrays, expected.framework if self.task.stochastic else {})
            return self.verdict(case, arguments, plain, got).reason is None
        return all(
            acceptable(got[name], array, *self._rules(name, case), self.task.matched_ratio, self.task.error_cap)
            for name, array in expected.arrays.items()
        )

    def _rules(self, name: str, case: Case) -> tuple[str, ToleranceUsed, NonFinite]:
        """Return the dtype of an output, or of an input's gradient, its tolerance, and how NaN and Inf are judged."""
        spec = self.task.outputs.get(name)
        dtype = self.task.dtype(spec or self.task.inputs[name.removeprefix("grad ")], case)
        row = self.task.tolerance.get(dtype)  # type: ignore[call-overload]
        used = ToleranceUsed(atol=row.atol, rtol=row.rtol, ulp=row.ulp) if row else ToleranceUsed(atol=0, rtol=0)
        return dtype, used, spec.nonfinite if spec is not None else "match"

    def _judged(
        self, name: str, case: Case, arguments: Sequence[Argument], expected: Expected, got: Array
    ) -> OutputCheck:
        dtype, used, nonfinite = self._rules(name, case)
        if self.task.stochastic is not None and name in self.task.outputs:
            sample = expected.framework.get(name, expected.arrays[name])
            sources = [each.value for each in arguments if isinstance(each.value, np.ndarray)]
            source = next((array for array in sources if array.shape == sample.shape), None)
            return judge_random(name, got, sample, source, dtype, used, self.task.stochastic)
        framework = expected.framework.get(name)
        if framework is not None and framework.dtype != numpy_dtype(dtype):
            framework = None
        return judge(
            name,
            got,
            expected.arrays[name],
            framework,
            dtype,
            used,
            nonfinite,
            self.task.matched_ratio,
            self.task.error_cap,
        )

    def _checked(self, arguments: Sequence[Argument], expected: Expected, got: dict[str, Array]) -> tuple[bool, str]:
        native = self.task.interface == "gpumode"  # its checker was written for the framework's own arrays
        shown = (lambda value: value) if native else _plain
        groups = (
            [Argument(argument.name, shown(argument.value)) for argument in arguments],
            [Argument(name, shown(array)) for name, array in got.items()],
            [Argument(name, shown(array)) for name, array in expected.arrays.items()],
        )
        return self.workers.get().judge("checker", groups, self.task.limits.run_s, native=native)


def _wrong(outputs: Sequence[OutputCheck]) -> str | None:
    return "; ".join(f"{output.name}: {output.reason}" for output in outputs if output.status != "passed") or None


def _plain(value: Array | int | float | bool | Form) -> Array | int | float | bool | Form:
    """Widen the dtypes that plain numpy lacks to float32, which holds each of their values exactly."""
    if isinstance(value, np.ndarray) and hasattr(ml_dtypes, value.dtype.name):
        return value.astype(np.float32)
    return value


def gradient_rooms(names: Sequence[str], arguments: Sequence[Argument], *, widest: bool = False) -> dict[str, int]:
    """Return the bytes of the gradient of each input in `names`, under the name that its check carries."""
    arrays = {argument.name: argument.value for argument in arguments}
    sizes = {}
    for name in names:
        value = arrays[name]
        assert isinstance(value, np.ndarray), f"a gradient of the number {name}"
        sizes[f"grad {name}"] = value.size * (8 if widest else value.itemsize)
    return sizes
