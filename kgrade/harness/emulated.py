"""CUDA submissions where there is no GPU: translated, compiled and checked in CPU emulation, which yields no timing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from kgrade.harness.build.targets import Architecture
from kgrade.harness.check import CANDIDATE, Checking
from kgrade.harness.compiled import Behind
from kgrade.harness.dynamic import unexamined
from kgrade.harness.emulator import CannotRun, translate
from kgrade.harness.emulator.compiler import NO_COMPILER, Compiled, Compiler, find_compiler, runtime_cache
from kgrade.harness.emulator.complaints import why_not
from kgrade.harness.emulator.findings import read_findings
from kgrade.harness.launch_bounds import launch_bounds
from kgrade.harness.methods import INTERPRETED, Method
from kgrade.harness.oracle import Oracle
from kgrade.harness.run import Run, write
from kgrade.harness.standby import Standby
from kgrade.harness.watching import (
    ANOTHER_ORDER,
    NO_TIMING,
    REGISTERS,
    UNSEEN,
    Launching,
    Watching,
    emulated_target,
)
from kgrade.records.evidence import Build, BuildTarget, Check, Integrity, Profiling, StageStatus, Timing

OBJECTS = "emulated"


class EmulatedCandidate:
    """A CUDA submission with the `cuda` interface: its translation, its object, its worker."""

    def __init__(self, run: Run, arch: Architecture) -> None:
        self.run = run
        self.task = run.source.task
        self.arch = arch
        self.launching = Launching(self.task, arch)
        self.workers: Standby | None = None
        self.reason: str | None = None
        self.made: Compiled | None = None
        self.method = Method("numpy", None, f"CPU emulation of {arch.name}", UNSEEN)
        self._compile()
        bounds = launch_bounds(run, arch) if self.workers is not None else None
        if bounds is not None:
            unseen = tuple(what for what in UNSEEN if what != REGISTERS)
            self.method = replace(self.method, text=f"{self.method.text}, registers from ptxas", unseen=unseen)
            self.launching = Launching(self.task, arch, bounds)

    @classmethod
    def of(cls, run: Run) -> EmulatedCandidate | None:
        """Return the candidate, compiled; None where submissions of this task are not emulated on this target."""
        task = run.source.task
        if run.target != INTERPRETED or task.language != "cuda" or task.interface != "cuda" or task.devices > 1:
            return None
        return cls(run, emulated_target(task))

    def build(self, oracle: Oracle) -> Build:
        """Return the build stage: the translation compiles, or why not. Whose fault it is, nvcc says, not this."""
        seconds = self.made.seconds if self.made else 0.0
        log = self.run.keep_log("build", self.made.log.encode()) if self.made else None
        method = f"translated and compiled by the system's C++ compiler for {self.method.text}"
        if self.reason is not None:
            return Build(status="not-run", reason=self.reason, method=method, log=log)
        target = BuildTarget(target=self.run.target, status="passed", seconds=seconds)
        return Build(status="passed", method=method, log=log, targets=[target])

    def check(self, oracle: Oracle) -> Check:
        """Return the check stage: every case in order and in another order, then what the checks see."""
        if self.workers is None:
            return Check(status="not-run", reason=self.reason or "it was not compiled")
        calls = [self.launching.call(self.workers, order) for order in (0, ANOTHER_ORDER)]
        checking = Checking(
            self.task, oracle, calls[0], self.method.text, self.method.unseen, in_another_order=calls[1]
        )
        return self._watched(_untimed(checking.run(self.run.watch)), oracle)

    def time(self, oracle: Oracle) -> Timing:
        """Return the time stage, which an emulation does not have."""
        return Timing(status="not-run", reason=NO_TIMING)

    def profile(self, oracle: Oracle) -> Profiling:
        """Return the profile stage, which an emulation does not have."""
        return Profiling(status="not-run", reason=NO_TIMING)

    def integrity(self, oracle: Oracle, found: Integrity, checked: StageStatus | None) -> Integrity:
        """Return the integrity stage: what was read from the source; its tests call Python functions."""
        return unexamined(found, "a submission in CPU emulation is not called as a Python function")

    def _compile(self) -> None:
        """Make the object without checks and put a worker on it, or keep the reason why there is none."""
        self.run.watch.step("build", 0, 1, "translation")
        executable = find_compiler()
        if executable is None:
            self.reason = NO_COMPILER
            return
        self.compiler = Compiler(executable, self._cache(), Behind(self.run), self.task.limits.build_s)
        try:
            self.made = self._object(checks=False)
        except CannotRun as error:
            self.reason = f"CPU emulation does not run {error.construct} (solution/{error.path}:{error.line})"
            return
        if self.made.shared is None:
            self.reason = why_not(self.made.log, self.run.source.solution or {}, "solution/")
            return
        self.workers = self._workers(self.made.shared)

    def _cache(self) -> Path:
        """Without bubblewrap the user behind the wall reaches this run's folder, and nobody's home."""
        return runtime_cache() if self.run.machine.wall.moves_paths else self.run.folder / "runtime"

    def _object(self, checks: bool) -> Compiled:
        """Compile the plain object, or that with checks. Raises `CannotRun`.

        Kernels of the plain one are split into loops over their threads; where that does not compile, they are not.
        """
        if checks:
            return self._compiled("checked", checks=True, split=False)
        made = self._compiled("plain", checks=False, split=True)
        return made if made.shared is not None else self._compiled("unsplit", checks=False, split=False)

    def _compiled(self, name: str, *, checks: bool, split: bool) -> Compiled:
        assert self.run.source.solution is not None
        source, out = self.run.folder / f"emulated-{name}", self.run.folder / OBJECTS
        write(source, translate(self.run.source.solution, split=split))
        out.mkdir(exist_ok=True)
        out.chmod(0o777)  # the compiler runs as a user of its own
        includes = [self.run.folder / "task" / each for each in self.task.build.include]
        capability = int(self.arch.name.removeprefix("sm_"))
        made = self.compiler.compile(source, out, checks, arch=capability, includes=includes)
        out.chmod(0o755)
        return replace(made, log=made.log.replace(f"{self.run.folder}/", ""))

    def _workers(self, library: Path) -> Standby:
        return self.run.workers(OBJECTS, self.method, {CANDIDATE: (library.name, self.task.entry.rpartition(":")[2])})

    def _watched(self, check: Check, oracle: Oracle) -> Check:
        """Run the cases once more under the checks and add what these see."""
        made = self._object(checks=True)
        if made.shared is None:
            return msgspec.structs.replace(check, method=f"{check.method}; its checks do not compile")
        workers, shared = self._workers(made.shared), made.shared
        sources = sorted(self.run.source.solution or {})
        watching = Watching(
            self.task,
            workers,
            oracle.draw,
            lambda within_s: self.launching.call(workers, 0, within_s),
            lambda text: read_findings(text, shared, sources, Behind(self.run)),
        )
        try:
            watching.run(check.cases, self.run.watch)
        finally:
            self.run.close("checks", workers)
        return watching.into(check)


def _untimed(check: Check) -> Check:
    """Leave out how long the cases took: no number of an emulation may be taken for a time."""
    return msgspec.structs.replace(check, cases=[msgspec.structs.replace(case, seconds=0.0) for case in check.cases])
