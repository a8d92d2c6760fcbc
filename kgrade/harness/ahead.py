"""Triton kernels for a device that is not here: host code is run to see what it launches, then all of it is compiled.

The submission runs in its worker: on tensors without data first, which cost nothing at any size; where host code asks
for values, once more on the smallest case with real ones. Each distinct kernel is lowered in the worker, and assembled
by kgrade with tools that run behind a wall of their own.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from kgrade.harness.arguments import Argument
from kgrade.harness.build.launches import Assembling, Launched, Lowered
from kgrade.harness.build.targets import Architecture
from kgrade.harness.build.toolkit import find_assembler, find_disassembler
from kgrade.harness.check import CANDIDATE, SEED_BITS
from kgrade.harness.compiled import behind_wall, relative
from kgrade.harness.drawing import NotDrawable
from kgrade.harness.failures import classify
from kgrade.harness.losses import failure
from kgrade.harness.oracle import Oracle
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Build, BuildTarget, Case, Failure, KernelResources, StageStatus
from kgrade.records.task import Task

METHOD = (
    "launches recorded from the submission's own host code with no device, each compiled ahead of time by Triton;"
    " registers, spills and occupancy from the assembler's output"
)
MOST_CASES = 48
MOST_KERNELS = 64
LOWER_S = 60.0


@dataclass
class Captured:
    """What host code launches, over all cases; `stopped` says for which case and why a capture ended early."""

    launches: list[Launched] = field(default_factory=list)
    stopped: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    with_data: bool = False


@dataclass
class Ahead:
    """One Triton submission and the architecture that it is compiled for; `oracle` knows what its cases are."""

    run: Run
    workers: Standby
    arch: Architecture
    oracle: Oracle
    replay: list[tuple[list[Argument], bool]] = field(default_factory=list)
    left: dict[str, None] = field(default_factory=dict)

    def build(self) -> Build:
        """Capture, lower and assemble; raises nothing that a submission can cause."""
        begin = time.monotonic()
        try:
            captured = self._capture()
        except Lost as lost:
            return _none(self.arch, failure(lost), "its launches could not be recorded")
        kernels, log, warnings = self._kernels(captured)
        kept = self.run.keep_log("build", log)
        status, reason, why = _outcome(captured, kernels)
        return Build(
            status=status,
            reason=reason,
            method=METHOD,
            log=kept,
            targets=[
                BuildTarget(
                    target=self.arch.name,
                    status=status,
                    reason=reason,
                    seconds=time.monotonic() - begin,
                    warnings=list(dict.fromkeys(warnings)),
                    failure=why,
                )
            ],
            kernels=kernels,
            facts=[*_facts(captured, kernels), *self.left],
        )

    def _capture(self) -> Captured:
        task = self.run.source.task
        found = Captured()
        cases = distinct_cases(task)
        made: list[tuple[int, Case]] = []
        for index, case in enumerate(cases):
            self.run.watch.step("build", index, len(cases), f"launches of {case.name}")
            try:
                arguments = self.oracle.shapes(case, secrets.randbits(SEED_BITS))
            except (NotDrawable, Lost) as why:
                found.stopped[case.name] = {"type": "its inputs", "place": task.reference, "message": str(why)}
                continue
            arrays = [each.value for each in arguments if isinstance(each.value, np.ndarray)]
            made.append((sum(array.nbytes for array in arrays), case))
            self._case(found, case, arguments, fake=True)
        if made and len(found.stopped) == len(cases):
            self._with_data(found, min(made, key=lambda each: each[0])[1])
        found.launches = list(self._launches())
        return found

    def _case(self, found: Captured, case: Case, arguments: list[Argument], *, fake: bool) -> None:
        answer = self._recorded(arguments, fake)
        stopped = answer.get("stopped")
        if isinstance(stopped, dict):
            found.stopped[case.name] = {key: str(value) for key, value in stopped.items()}
        notes = answer.get("pruned")
        found.notes = [str(note) for note in notes] if isinstance(notes, list) else []
        if answer.get("left_out"):
            found.notes.append(f"{answer['left_out']!s:.10} further kinds of launches were not kept")

    def _recorded(self, arguments: list[Argument], fake: bool) -> dict[str, Any]:
        task = self.run.source.task
        worker = self.workers.get()
        self.replay.append((arguments, fake))
        return worker.capture(CANDIDATE, arguments, task.limits.run_s, fake=fake, gradients=task.backward)

    def _with_data(self, found: Captured, smallest: Case) -> None:
        """Host code that asks for values gets them, at the smallest case; a kernel's own results it cannot have."""
        try:
            arguments = self.oracle.draw(smallest, secrets.randbits(SEED_BITS))
        except (NotDrawable, Lost):
            return
        before = found.stopped.pop(smallest.name)
        self.run.watch.step("build", 0, 1, f"launches of {smallest.name}, with data")
        self._case(found, smallest, arguments, fake=False)
        if smallest.name not in found.stopped:
            found.with_data = True
            found.stopped.clear()
            found.notes.append(
                f"host code asks for values ({said_of(before)}): only {smallest.name} was recorded, with data"
            )

    def _launches(self) -> Iterator[Launched]:
        """Ask for what was recorded; of each kernel with its types and constants, the first is taken."""
        seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        start, total = 0, 1
        while start < min(total, 1024):
            answer = self.workers.get().captured(start, LOWER_S)
            described = answer.get("launches")
            if not isinstance(described, list) or not described:
                return
            total = answer["total"] if isinstance(answer.get("total"), int) else 0
            start += len(described)
            for each in described:
                launched = _launched(each)
                if launched is None:
                    continue
                known = (launched.kernel, tuple(launched.config.items()))
                if known not in seen:
                    seen.add(known)
                    yield launched
                else:
                    self.left[
                        "other alignments and sizes of the same kernels are compiled once, for the first of them"
                    ] = None

    def _kernels(self, captured: Captured) -> tuple[list[KernelResources], bytes, list[str]]:
        out = self.run.folder / "out"
        (out / "compiled").mkdir(parents=True)
        (out / "compiled").chmod(0o777)  # the assembler runs as a user of its own
        out.chmod(0o711)
        path = self.run.machine.interpreter.path
        assembling = Assembling(
            self.arch,
            out,
            behind_wall(self.run),
            find_assembler(path, blackwell=self.arch.vendor == "cuda" and self.arch.capability >= (10, 0)),
            find_disassembler(path),
        )
        wanted = captured.launches[:MOST_KERNELS]
        if len(captured.launches) > len(wanted):
            self.left[f"{len(captured.launches) - len(wanted)} more kernels and configs were not compiled"] = None
        until = time.monotonic() + self.run.source.task.limits.build_s
        kernels = []
        for index, launched in enumerate(wanted):
            if time.monotonic() > until:
                self.left[f"{len(wanted) - index} kernels and configs were not compiled within limits.build_s"] = None
                break
            self.run.watch.step("build", index, len(wanted), f"{launched.kernel} for {self.arch.name}")
            kernels.append(assembling.resources(self._lowered(launched)))
        log = relative(self.run, "".join(assembling.log))
        return kernels, log.encode(), [relative(self.run, each) for each in assembling.warnings]

    def _lowered(self, launched: Launched) -> Lowered:
        limit = min(LOWER_S, self.run.source.task.limits.build_s)
        try:
            text, said = self._again().lower(launched.number, limit)
        except Lost as lost:
            return Lowered(launched, failure=_refused(lost))
        figures = said.get("figures")
        options = said.get("options")
        return Lowered(
            launched,
            text,
            {k: v for k, v in figures.items() if isinstance(v, int)} if isinstance(figures, dict) else {},
            [str(option) for option in options] if isinstance(options, list) else [],
        )

    def _again(self) -> Any:
        """Return a worker that has recorded everything: a kernel that ended the last one must not end the others."""
        before = self.workers.started
        worker = self.workers.get()
        if self.workers.started != before:
            task = self.run.source.task
            for arguments, fake in self.replay:
                worker.capture(CANDIDATE, arguments, task.limits.run_s, fake=fake, gradients=task.backward)
        return worker


def _refused(lost: Lost) -> Failure:
    """Return why a kernel was not compiled: what is known, else the first error that the compiler printed."""
    if lost.kind not in ("exception", "exited"):
        return failure(lost)
    known = classify(lost.text)
    if known is not None:
        return _with_cause(known, lost.text)
    errors = [line.strip() for line in lost.text.splitlines() if "error:" in line.lower()]
    advice = "Triton's compiler does not take this kernel for this architecture: read what it says."
    return Failure(kind="compile", line=(errors or [lost.reason])[0][:400], fault="submission", advice=advice)


def _with_cause(known: Failure, text: str) -> Failure:
    """Triton names the place on the first line of an error and the cause on its last: show both."""
    if not known.line.endswith(":"):
        return known
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    return msgspec.structs.replace(known, line=f"{known.line} {last}"[:400])


def distinct_cases(task: Task) -> list[Case]:
    """The cases that differ in shape, dtype or layout, those that are timed first: their sizes are the real ones."""
    every = [*task.benchmark_cases(), *task.check_cases()]
    return list({(str(case.symbols), case.dtype, case.layout): case for case in reversed(every)}.values())[::-1][
        :MOST_CASES
    ]


def _launched(described: Any) -> Launched | None:
    """Return a launch from what the worker says, or None where it does not have the form of one."""
    try:
        types = ", ".join(str(each)[:40] for each in described["types"])
        return Launched(
            number=int(described["number"]),
            kernel=f"{str(described['kernel'])[:80]}({types})",
            config={str(name)[:40]: str(value)[:60] for name, value in described["constants"].items()},
            grid=tuple(int(size) for size in described["grid"][:3]),
            times=int(described["times"]),
            tried=described["tuned"] is True,
            place=str(described["place"])[:80],
        )
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return None


def _outcome(captured: Captured, kernels: Sequence[KernelResources]) -> tuple[StageStatus, str | None, Failure | None]:
    """Return the stage's status: a kernel that is launched must build and fit, a config that is only tried need not."""
    broken = [each for each in kernels if each.failure and not each.tried]
    hopeless = [each for each in kernels if each.failure and each.tried and _all_fail(each.kernel, kernels)]
    bad = (broken or hopeless)[:1]
    if bad and bad[0].failure:
        return "failed", f"{bad[0].kernel}: {bad[0].failure.line}"[:500], bad[0].failure
    if not kernels and captured.stopped:
        case, stopped = next(iter(captured.stopped.items()))
        return "not-run", f"its launches could not be recorded at {case}: {said_of(stopped)}", None
    if not kernels:
        return "flagged", "the entry launches no Triton kernel", None
    return "passed", None, None


def _all_fail(kernel: str, kernels: Sequence[KernelResources]) -> bool:
    return all(each.failure for each in kernels if each.kernel == kernel)


def _facts(captured: Captured, kernels: Sequence[KernelResources]) -> list[str]:
    facts = list(captured.notes)
    if captured.stopped and kernels:
        case, stopped = next(iter(captured.stopped.items()))
        facts.append(f"not recorded in full at {len(captured.stopped)} cases, first {case}: {said_of(stopped)}")
    out = [each for each in kernels if each.failure and each.tried]
    if out:
        tried = sum(each.tried for each in kernels)
        facts.append(f"{len(out)} of {tried} configs that the autotuner tries fall out, first {out[0].variant}")
    return [fact[:500] for fact in (*facts, *empty_grids(kernels))]


def empty_grids(kernels: Sequence[KernelResources]) -> list[str]:
    """Return a fact where a kernel is launched with a grid of 0: no error comes of it, and nothing runs."""
    empty = [each.variant for each in kernels if 0 in each.grid]
    return [f"launched with a grid of 0, which runs nothing: {empty[0]}"[:500]] if empty else []


def said_of(stopped: dict[str, str]) -> str:
    """Return what ended a capture as one line: type, place and the first line of the message."""
    first = next((line.strip() for line in stopped.get("message", "").splitlines() if line.strip()), "no message")
    return f"{stopped.get('type', 'error')[:60]} at {stopped.get('place', '?')[:80]}: {first}"[:300]


def _none(arch: Architecture, why: Failure, words: str) -> Build:
    status: StageStatus = "failed" if why.fault == "submission" else "not-run"
    reason = f"{words}: {why.line}"[:500]
    target = BuildTarget(target=arch.name, status=status, reason=reason, failure=why)
    return Build(status=status, reason=reason, method=METHOD, targets=[target])
