"""A case of an evaluator's own: one shape, dtype, family and layout, at a tolerance of their choice."""

from __future__ import annotations

import math
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kgrade.harness.candidate import Candidate
from kgrade.harness.check import Call, Checking, candidate_call, reference_call
from kgrade.harness.foreign import Malformed, opened, oracle_functions
from kgrade.harness.methods import INTERPRETED, oracle_method, why_not_run
from kgrade.harness.oracle import Oracle
from kgrade.harness.progress import OnProgress, Watch
from kgrade.harness.run import ItemSource, Machine, Run
from kgrade.records.evidence import Case, CaseCheck, CaseStatus
from kgrade.records.expressions import ExpressionError
from kgrade.records.grade import Probe, ProbeCase
from kgrade.records.task import DTYPES, FAMILIES, Layout, Task, Tolerance

LAYOUTS: tuple[str, ...] = Layout.__args__  # type: ignore[attr-defined]
_BYTES_AN_ELEMENT = 32  # in the case's dtype, in float64, and what comparing them makes of both
BOUNDS = ("atol", "rtol", "ulp")


class BadOrder(ValueError):
    """What was typed is no case; one sentence that says what is wrong and what was expected."""


@dataclass(frozen=True)
class Order:
    """A case to run, on which target, and the tolerance where it is not the task's own."""

    case: Case
    target: str = INTERPRETED
    tolerance: Tolerance | None = None

    @classmethod
    def read(cls, text: str, task: Task) -> Order:
        """Read `M=1 N=7 bfloat16 nan strided atol=1e-3 rtol=1e-2 ulp=4 on cpu`, in any order.

        What is left out is that of the task's first case; the family is `normal`, the layout `contiguous`, the
        tolerance the task's, the target `cpu`. Raises `BadOrder`.
        """
        first = task.check_cases()[0]
        words, _, target = text.partition(" on ")
        symbols, bounds = dict(first.symbols), {}
        dtype, family, layout = first.dtype, "normal", "contiguous"
        for word in words.split():
            name, given, value = word.partition("=")
            if given and name in BOUNDS:
                bounds[name] = _number(name, value)
            elif given:
                symbols[name] = _size(name, value, first)
            elif word in DTYPES:
                dtype = word
            elif word in FAMILIES:
                family = word
            elif word in LAYOUTS:
                layout = word
            else:
                raise BadOrder(
                    f"{word!r} is no size (such as {next(iter(symbols), 'N')}=7), dtype, family or layout;"
                    f" families: {', '.join(FAMILIES)}"
                )
        case = Case(symbols=symbols, dtype=dtype, family=family, layout=layout)
        _check_size(task, case)
        return cls(case, target.strip() or INTERPRETED, _tolerance(bounds, dtype, task))


def probe(
    source: ItemSource,
    order: Order,
    on_progress: OnProgress,
    cancel: threading.Event,
    machine: Machine | None = None,
) -> CaseCheck:
    """Run the case of `order` on the item and judge it; for a task, its reference is what runs.

    Raises `Cancelled` when `cancel` is set meanwhile. Whatever the item does, it fails alone.
    """
    task = source.task
    machine = machine or Machine.here()
    reason = why_not_run(task, order.target, machine.gpu(order.target))
    if reason is not None:
        return CaseCheck(case=order.case, status="not-run", required=task.required(order.case), reason=reason)
    if order.tolerance is not None:
        rows = dict.fromkeys([*task.tolerance, order.case.dtype], order.tolerance)
        task = msgspec.structs.replace(task, tolerance=rows)
        source = ItemSource(**{**vars(source), "task": task})
    with tempfile.TemporaryDirectory(prefix="kgrade-probe-") as folder, ExitStack() as ending:
        try:
            source = opened(source)
        except Malformed as why:
            return CaseCheck(case=order.case, status="not-run", reason=str(why))
        run = Run(source, order.target, machine, Path(folder), Watch(on_progress, cancel))
        run.write_files()
        run.watch.step("probe", 0, 3, "the reference is started")
        task = source.task
        oracles = run.workers("task", oracle_method(task), oracle_functions(task), precise=True)
        ending.callback(run.close, "oracle", oracles)
        call: Call
        if source.solution is None:
            call = reference_call(task, oracles)
        else:
            run.watch.step("probe", 1, 3, "the submission is imported")
            candidate = Candidate.of(run)
            if candidate is not None and candidate.workers is not None:
                ending.callback(run.close, "kernel", candidate.workers)
            if candidate is None or candidate.workers is None or candidate.failure is not None:
                line = candidate.failure.line if candidate and candidate.failure else "this interface is not called"
                failure = candidate.failure if candidate else None
                status: CaseStatus = "failed" if failure and failure.fault == "submission" else "not-run"
                return CaseCheck(case=order.case, status=status, reason=line, failure=failure)
            call = candidate_call(task, candidate.workers)
        run.watch.step("probe", 2, 3, order.case.name)
        return Checking(task, Oracle(source, oracles), call, "").case(order.case)


def recorded(order: Order, found: CaseCheck) -> Probe:
    """Return the probe as the grade keeps it: the case, its result, and in words what was asked and what was seen."""
    case = order.case
    asked = [f"on {order.target}"]
    if case.layout != "contiguous":
        asked.append(case.layout)
    if order.tolerance is not None:
        given = {name: getattr(order.tolerance, name) for name in BOUNDS}
        asked += [f"{name}={value:g}" for name, value in given.items() if value is not None]
    if not found.required:
        asked.append("outside the task's contract")
    return Probe(
        case=ProbeCase(symbols=case.symbols, dtype=case.dtype, family=case.family),
        result=found.status,
        summary=f"{', '.join(asked)}: {seen(found)}",
    )


def seen(found: CaseCheck) -> str:
    """Say in words what a case showed: why it is wrong, or how far the outputs were from what is right."""
    if found.reason:
        return found.reason
    told = []
    for output in found.outputs:
        if output.figures is not None:
            worst = output.figures
            told.append(f"{output.name}: at most {worst.absolute.max} absolute, {worst.ulp.max} ULP")
    return "; ".join(told) or found.status


def _check_size(task: Task, case: Case) -> None:
    """Refuse what would not fit: the inputs and the float64 reference are made in memory, several times over."""
    try:
        shapes = [task.input_shape(name, case) for name in task.inputs]
        shapes += [task.output_shape(name, case) for name in task.outputs]
    except ExpressionError as why:
        raise BadOrder(f"{case.name}: {why}") from None
    size = sum(math.prod(shape) for shape in shapes) * _BYTES_AN_ELEMENT
    allowed = task.limits.memory_gb * 2**30
    if size > allowed:
        raise BadOrder(
            f"{case.name} takes about {size / 2**30:.3g} GiB; the task's limits.memory_gb allows {allowed / 2**30:g}"
        )


def _size(name: str, value: str, first: Case) -> int:
    if name not in first.symbols:
        raise BadOrder(f"the task has no symbol {name!r}; its symbols: {', '.join(first.symbols) or 'none'}")
    if not value.isascii() or not value.isdigit() or len(value) > 12:
        raise BadOrder(f"{name}={value!r}: expected a whole number that is not negative")
    return int(value)


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadOrder(f"{name}={value!r}: expected a number that is not negative, such as 1e-3")
    return number


def _tolerance(bounds: dict[str, float], dtype: str, task: Task) -> Tolerance | None:
    if bounds:
        return Tolerance(atol=bounds.get("atol", 0.0), rtol=bounds.get("rtol", 0.0), ulp=bounds.get("ulp"))
    if dtype not in task.tolerance:
        raise BadOrder(f"the task has no tolerance for {dtype}; add atol=… and rtol=…, or ulp=…")
    return None
