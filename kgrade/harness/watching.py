"""Emulated launches: what a launcher is told, and what the checks see when a case runs under them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from kgrade.harness.arguments import Argument, Returned
from kgrade.harness.build.targets import Architecture, architecture
from kgrade.harness.check import CANDIDATE, Call
from kgrade.harness.drawing import rooms
from kgrade.harness.emulator.findings import Finding, Unreadable
from kgrade.harness.progress import Watch
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case, CaseCheck, Check, SeenFault
from kgrade.records.task import Task

# Of a usual product of each architecture, from NVIDIA's data sheets: cooperative launches are held to it.
MULTIPROCESSORS = {
    "sm_75": 40, "sm_80": 108, "sm_86": 72, "sm_87": 16, "sm_89": 142, "sm_90": 132,
    "sm_100": 148, "sm_103": 148, "sm_110": 20, "sm_120": 170, "sm_121": 48,
}  # fmt: skip
TARGET = "sm_90"  # what is emulated where a task names no CUDA target
REGISTERS = "registers, and launches that fail for want of them"
UNSEEN = (
    "the order that a device would choose: blocks and threads ran in order, and once in a random order",
    "weakly ordered memory: what one thread writes, every other sees at once",
    "how tensor cores round inside a product, and the last bits of approximate instructions",
    REGISTERS,
)
ANOTHER_ORDER = 1
NO_TIMING = "CPU emulation yields no timing"
WATCHED_S = 60.0
MOST = 40


def emulated_target(task: Task) -> Architecture:
    """Return the architecture that is emulated for `task`: the first of its CUDA targets."""
    known = [found for name in (*task.targets, TARGET) if (found := architecture(name)) is not None]
    return next(found for found in known if found.vendor == "cuda")


def launch_limits(arch: Architecture) -> list[int]:
    """Return what `cuda_emulated.Emulated.target` takes."""
    limits = arch.limits
    assert limits is not None
    capability = int(arch.name.removeprefix("sm_"))
    return [
        capability, MULTIPROCESSORS[arch.name], limits.shared_per_block, limits.shared, limits.threads, limits.blocks
    ]  # fmt: skip


@dataclass(frozen=True)
class Launching:
    """How the launcher of `task` is called in emulation of `arch`; `bounds` is what `launch_bounds` returned."""

    task: Task
    arch: Architecture
    bounds: Mapping[str, int] = field(default_factory=dict)

    def call(self, workers: Standby, order: int, within_s: float | None = None) -> Call:
        """Return what calls the launcher once; `order` 0 runs blocks and threads in order, others at random."""

        def call(case: Case, arguments: Sequence[Argument], seed: int) -> Returned:
            told, room = self.told(case, order), rooms(self.task, case)
            return workers.get().call(CANDIDATE, arguments, room, within_s or self.task.limits.run_s, launch=told)

        return call

    @property
    def _symbols(self) -> list[str]:
        """The symbols in the order of the task's first case, whatever the order of the others."""
        return list(self.task.check_cases()[0].symbols)

    def told(self, case: Case, order: int) -> dict[str, Any]:
        """Return what the worker is told beside the inputs (see `worker.interfaces.cuda_emulated`)."""
        task = self.task
        return {
            "outputs": [
                [name, task.dtype(spec, case), list(task.output_shape(name, case))]
                for name, spec in task.outputs.items()
            ],
            "symbols": [case.symbols[name] for name in self._symbols],
            "scalars": {name: task.dtype(spec, case) for name, spec in task.inputs.items() if spec.scalar},
            "seed": order,
            "target": launch_limits(self.arch),
            "bounds": dict(self.bounds),
        }


@dataclass
class Watching:
    """Runs cases in what was compiled with checks. Each fault is kept once, with the case that showed it.

    `draw` gives the inputs of a case, `call` what calls the submission once, within so many seconds; `read` gives the
    findings in what the checks of `workers` say, or raises `Unreadable`.
    """

    task: Task
    workers: Standby
    draw: Callable[[Case, int], Sequence[Argument]]
    call: Callable[[float], Call]
    read: Callable[[str], Sequence[Finding]]
    found: list[SeenFault] = field(default_factory=list)
    done: int = 0
    left: int = 0
    lost: str | None = None

    def run(self, cases: Sequence[CaseCheck], watch: Watch) -> None:
        """Run every case that could be called, the smallest first, as long as there is time."""
        called = [each for each in cases if each.seed is not None]
        deadline = time.monotonic() + WATCHED_S
        for number, each in enumerate(sorted(called, key=lambda each: self._elements(each.case))):
            watch.step("check", number, len(called), f"watched: {each.case.name}")
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not self._watched(each, remaining):
                self.left = len(called) - number
                return
            self.done += 1

    @property
    def extent(self) -> str:
        """Say how much was watched, and why not all of it."""
        text = f"memory, races and barriers watched in {self.done} of {self.done + self.left} cases"
        return f"{text} ({self.lost or f'the smallest ones, {WATCHED_S:.0f} s'})" if self.left else text

    def into(self, check: Check) -> Check:
        """Return `check` with what was seen: right results with a fault are flagged."""
        status, reason = check.status, check.reason
        if self.found and status == "passed":
            status, reason = "flagged", f"the results are right, but the checks saw {self.found[0].text}"
        method = f"{check.method}; {self.extent}"
        return msgspec.structs.replace(check, status=status, reason=reason, method=method, seen=self.found)

    def _watched(self, check: CaseCheck, within_s: float) -> bool:
        """Run one case and keep what is seen; False when the worker died of it, or has no time left."""
        assert check.seed is not None
        try:
            self.call(within_s)(check.case, self.draw(check.case, check.seed), check.seed)
        except Lost as lost:
            if not lost.alive:
                self.lost = None if lost.kind == "timeout" else f"then {lost.reason}"
                return False
        try:
            self._keep(self.read(self.workers.get().faults(CANDIDATE, self.task.limits.run_s)), check.case)
        except (Lost, Unreadable) as error:
            self.lost = f"then the findings could not be read: {error}"
            return False
        return True

    def _keep(self, findings: Sequence[Finding], case: Case) -> None:
        known = {(each.kind, each.path, each.line, each.kernel) for each in self.found}
        for finding in findings:
            path = f"solution/{finding.file}" if finding.file else ""
            key = (finding.kind, path, finding.line, finding.kernel)
            if key not in known and len(self.found) < MOST:
                known.add(key)
                self.found.append(
                    SeenFault(
                        kind=finding.kind,
                        path=path,
                        line=finding.line,
                        kernel=finding.kernel,
                        text=finding.sentence(),
                        case=case.name,
                    )
                )

    def _elements(self, case: Case) -> int:
        task = self.task
        inputs = [task.input_shape(name, case) for name in task.inputs]
        outputs = [task.output_shape(name, case) for name in task.outputs]
        return sum(int(np.prod(shape)) for shape in (*inputs, *outputs))
