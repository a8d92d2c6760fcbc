"""Pallas kernels for a device that is not here: every case is traced, lowered and, where libtpu is, compiled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kgrade.harness.ahead import distinct_cases, empty_grids, said_of
from kgrade.harness.build.targets import Architecture
from kgrade.harness.check import CANDIDATE
from kgrade.harness.failures import classify
from kgrade.harness.inputs import shapes_of
from kgrade.harness.losses import failure
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Build, BuildTarget, Case, Failure, KernelResources, StageStatus

METHOD = "each case traced on shapes alone and lowered for {target} by jax {version}; {compiled}"
VMEM = (
    "shared: VMEM of the blocks, twice because they are double-buffered, and of scratch; code: the case's whole program"
)
_STEPS = {"trace": "it cannot be traced", "lower": "it does not lower", "compile": "it does not compile"}


@dataclass
class Traced:
    """One Pallas submission and the architecture that it is lowered for."""

    run: Run
    workers: Standby
    arch: Architecture
    kernels: dict[str, KernelResources] = field(default_factory=dict)
    facts: dict[str, None] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    chip: str = ""

    def build(self) -> Build:
        """Take every case through the compiler as far as it goes; a case that fails leaves the others alone."""
        begin = time.monotonic()
        cases = distinct_cases(self.run.source.task)
        for index, case in enumerate(cases):
            self.run.watch.step("build", index, len(cases), f"{case.name} for {self.arch.name}")
            self._case(case)
        status, reason, why = self._outcome(cases)
        done = BuildTarget(
            target=self.arch.name, status=status, reason=reason, seconds=time.monotonic() - begin, failure=why
        )
        compiled = f"compiled in full for {self.chip}" if self.chip else "not compiled further"
        return Build(
            status=status,
            reason=reason,
            method=METHOD.format(
                target=self.arch.vendor, version=self.workers.versions.get("jax", "?"), compiled=compiled
            ),
            targets=[done],
            kernels=list(self.kernels.values()),
            facts=[
                *self.facts,
                *empty_grids(list(self.kernels.values())),
                *([VMEM] if self.kernels and self.arch.vendor == "tpu" else []),
            ],
        )

    def _case(self, case: Case) -> None:
        task = self.run.source.task
        try:
            limit = task.limits.build_s
            answer = self.workers.get().capture(
                CANDIDATE, shapes_of(task, case), limit, fake=True, gradients=task.backward
            )
        except Lost as lost:
            self.failures[case.name] = failure(lost)
            return
        why = _stopped(answer)
        if why is not None:
            self.failures[case.name] = why
        if answer.get("lacking"):
            self.facts[f"not compiled in full: {answer['lacking']!s:.300}"] = None
        compiled = answer.get("compiled")
        figures = compiled if isinstance(compiled, dict) else {}
        self.chip = str(figures.get("chip", self.chip))[:40]
        for call in answer["calls"] if isinstance(answer.get("calls"), list) else []:
            self._kernel(call, case, figures, why)

    def _kernel(self, call: Any, case: Case, figures: dict[str, Any], why: Failure | None) -> None:
        try:
            found = KernelResources(
                kernel=str(call["kernel"])[:80],
                target=self.arch.name,
                config={
                    "case": " ".join([*(f"{k}={v}" for k, v in case.symbols.items()), case.dtype]),
                    "blocks": " ".join(str(each)[:60] for each in call["blocks"]),
                },
                grid=[int(size) for size in call["grid"]],
                shared_bytes=int(call["vmem_bytes"]) if self.arch.vendor == "tpu" else 0,
                code_bytes=int(figures.get("code_bytes", 0)),
                failure=why,
            )
        except (TypeError, KeyError, ValueError, OverflowError):
            return
        self.kernels.setdefault(found.variant, found)

    def _outcome(self, cases: Sequence[Case]) -> tuple[StageStatus, str | None, Failure | None]:
        if self.failures:
            name, why = next(iter(self.failures.items()))
            status: StageStatus = "failed" if why.fault == "submission" else "not-run"
            return status, f"{len(self.failures)} of {len(cases)} cases, first {name}: {why.line}"[:500], why
        if not self.kernels:
            return "flagged", "the entry makes no pallas_call", None
        return "passed", None, None


def _stopped(answer: dict[str, Any]) -> Failure | None:
    stopped = answer.get("stopped")
    if not isinstance(stopped, dict):
        return None
    said = {key: str(value) for key, value in stopped.items()}
    known = classify(said.get("traceback", ""))
    line = f"{_STEPS.get(str(answer.get('step')), 'it fails')}: {said_of(said)}"
    if known is not None:
        return Failure(kind=known.kind, line=line, fault=known.fault, retry=known.retry, advice=known.advice)
    advice = "Mend what the compiler names; block shapes and memory spaces are what a TPU refuses most."
    return Failure(kind="compile", line=line, fault="submission", advice=advice)
