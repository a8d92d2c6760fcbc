"""The check stage: every case of a task, drawn afresh, called behind the wall, compared with the oracle."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from kgrade.harness.arguments import Argument, Returned
from kgrade.harness.controls import Situation
from kgrade.harness.drawing import NotDrawable, rooms, upstream_gradients
from kgrade.harness.examination import Examination
from kgrade.harness.losses import failure
from kgrade.harness.oracle import Expected, Oracle, gradient_rooms
from kgrade.harness.progress import Watch
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case, CaseCheck, Check, StageStatus
from kgrade.records.task import Task

SEED_BITS = 62  # JSON readers keep whole numbers up to 2**63 - 1
NO_REFERENCE = "NotImplementedError: "  # a task without anything to compare with says so in this way
CANDIDATE = "candidate"
PREPARE = "prepare"
Call = Callable[[Case, Sequence[Argument], int], Returned]


@dataclass(frozen=True)
class Checking:
    """What a check needs: the oracle, a way to call what is checked, and how it was run.

    With an `examination` the task itself is under review, and known-wrong kernels are tried at every required case.
    `in_another_order` calls it with its threads scheduled otherwise: that must pass as well.
    """

    task: Task
    oracle: Oracle
    call: Call
    method: str
    unseen: Sequence[str] = ()
    examination: Examination | None = None
    in_another_order: Call | None = None

    def run(self, watch: Watch) -> Check:
        """Check every case; only required ones can fail the stage."""
        cases = self.task.check_cases()
        checked = []
        for index, case in enumerate(cases):
            watch.step("check", index, len(cases), case.name)
            checked.append(self.case(case))
        status, reason = _stage(checked)
        examined = self.examination
        if examined is not None and status == "passed" and (weakness := examined.complaint()) is not None:
            status, reason = "flagged", weakness
        return Check(
            status=status,
            reason=reason,
            method=self.method,
            cases=checked,
            unseen=[*self.unseen, *sorted(self.oracle.narrowed)],
            controls=examined.controls() if examined is not None else [],
            proposals=examined.proposals() if examined is not None and self.task.checker is None else [],
        )

    def case(self, case: Case) -> CaseCheck:
        """Check one case with inputs that no one has seen before."""
        required = self.task.required(case)
        unsupported = self._unsupported(case)
        if unsupported is not None:
            return CaseCheck(case=case, status="not-run", required=required, reason=unsupported)
        seed = secrets.randbits(SEED_BITS)
        try:
            arguments = self.oracle.draw(case, seed)
        except NotDrawable as error:
            return CaseCheck(case=case, status="not-run", required=required, reason=str(error))
        except Lost as lost:
            return self._broken(case, required, seed, f"its inputs cannot be made: {lost.reason}", lost)
        try:
            expected = self.oracle.expected(case, arguments, seed)
        except Lost as lost:
            if lost.reason.startswith(NO_REFERENCE):
                reason = lost.reason.removeprefix(NO_REFERENCE)
                return CaseCheck(case=case, status="not-run", required=required, reason=reason)
            return self._broken(case, required, seed, f"the reference fails: {lost.reason}", lost)
        if self.examination is not None and required:
            self.examination.case(Situation(self.task, self.oracle, case, arguments, expected))
        begin = time.monotonic()
        try:
            returned = self.call(case, arguments, seed)
        except Lost as lost:
            return CaseCheck(
                case=case,
                status="not-run" if lost.kind in ("given up", "unable") else "failed",
                required=required,
                reason=lost.reason,
                seed=seed,
                seconds=time.monotonic() - begin,
                failure=failure(lost),
            )
        found = self._compared(case, required, seed, time.monotonic() - begin, arguments, expected, returned)
        if self.in_another_order is None or found.status != "passed":
            return found
        return self._again(found, arguments, expected)

    def _again(self, found: CaseCheck, arguments: Sequence[Argument], expected: Expected) -> CaseCheck:
        """Return `found`, or its failure when threads that run in another order give another result."""
        assert self.in_another_order is not None
        assert found.seed is not None
        try:
            returned = self.in_another_order(found.case, arguments, found.seed)
            other = self._compared(found.case, found.required, found.seed, found.seconds, arguments, expected, returned)
        except Lost as lost:
            other = msgspec.structs.replace(found, status="failed", reason=lost.reason, failure=failure(lost))
        if other.status == "passed":
            return found
        reason = f"it passes with its threads in order, and in another order not: {other.reason}"
        return msgspec.structs.replace(other, reason=reason)

    def _compared(
        self,
        case: Case,
        required: bool,
        seed: int,
        seconds: float,
        arguments: Sequence[Argument],
        expected: Expected,
        returned: Returned,
    ) -> CaseCheck:
        try:
            verdict = self.oracle.verdict(case, arguments, expected, returned.arrays)
        except Lost as lost:
            return self._broken(case, required, seed, f"the checker fails: {lost.reason}", lost)
        free = expected.touched if self.task.interface == "gpumode" else self.task.inplace
        touched = [name for name in returned.touched if name not in free]
        reasons = [f"inputs written: {', '.join(touched)}"] if touched else []
        if verdict.reason is not None:
            reasons.insert(0, verdict.reason)
        task_fault = any(output.status == "error" for output in verdict.outputs)
        return CaseCheck(
            case=case,
            status="error" if task_fault else "failed" if reasons else "passed",
            required=required,
            reason="; ".join(reasons) or None,
            seed=seed,
            seconds=seconds,
            outputs=verdict.outputs,
            touched=touched,
        )

    def _broken(self, case: Case, required: bool, seed: int, reason: str, lost: Lost) -> CaseCheck:
        return CaseCheck(
            case=case,
            status="error",
            required=required,
            reason=f"task fault: {reason}",
            seed=seed,
            failure=failure(lost, fault="task"),
        )

    def _unsupported(self, case: Case) -> str | None:
        if case.layout != "contiguous" and self.task.language == "pallas":
            return "JAX arrays have no strides, so they have no layouts"
        if case.layout not in ("contiguous", "offset") and self.task.interface == "cuda":
            return "a pointer says nothing about strides, so a launcher takes contiguous arrays only"
        if self.task.interface == "cuda" and set(case.symbols) != set(self.task.check_cases()[0].symbols):
            return "it lacks symbols of the first case, which say what the launcher takes"
        return None


def candidate_call(task: Task, workers: Standby, order: int = 0, within_s: float | None = None) -> Call:
    """Return what calls the submission once, with a fresh worker where the last one died.

    Threads of emulated extensions run in an order of their own where `order` is not 0. A call may take `within_s`
    seconds, or what the task allows.
    """

    return _call(CANDIDATE, task, workers, order, within_s)


def _call(function: str, task: Task, workers: Standby, order: int = 0, within_s: float | None = None) -> Call:
    def call(case: Case, arguments: Sequence[Argument], seed: int) -> Returned:
        gradients = task.backward
        return workers.get().call(
            function,
            arguments,
            rooms(task, case) | gradient_rooms(gradients, arguments),
            within_s or task.limits.run_s,
            gradients=gradients,
            upstream=upstream_gradients(task, case, seed) if gradients else [],
            order=order,
        )

    return call


def reference_call(task: Task, workers: Standby) -> Call:
    """Return what calls the task's own reference in the case's dtype: the candidate when a task is reviewed."""

    return _call("reference", task, workers)


def _stage(cases: Sequence[CaseCheck]) -> tuple[StageStatus, str | None]:
    failed = [case for case in cases if case.status == "failed" and case.required]
    broken = [case for case in cases if case.status == "error"]
    ran = [case for case in cases if case.status != "not-run"]
    if failed:
        return "failed", f"{len(failed)} of {len(ran)} cases failed, the first: {failed[0].case.name}"
    if broken:
        return "error", broken[0].reason or "a case could not be judged"
    if not ran:
        return "not-run", next((case.reason for case in cases if case.reason), "the task has no cases")
    return "passed", None
