"""A submission's own stages: build it (for Python: import it), check it, time it."""

from __future__ import annotations

from kgrade.harness.ahead import Ahead
from kgrade.harness.build.targets import architecture
from kgrade.harness.check import CANDIDATE, PREPARE, Checking, candidate_call
from kgrade.harness.dynamic import examine, unexamined
from kgrade.harness.emulator.findings import told_findings
from kgrade.harness.entries import Unfound, find_entry
from kgrade.harness.extension_build import compile_extensions
from kgrade.harness.extension_sources import makes_extensions
from kgrade.harness.extensions import Emulation, NotHere, emulation
from kgrade.harness.losses import ADVICE, failure
from kgrade.harness.measure import Measuring
from kgrade.harness.methods import (
    INTERPRETED,
    Method,
    ahead_method,
    candidate_method,
    device_method,
    why_not_run,
)
from kgrade.harness.oracle import Oracle
from kgrade.harness.profiled import profiled
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.harness.timed import timed_on_device
from kgrade.harness.traced import Traced
from kgrade.harness.watching import ANOTHER_ORDER, NO_TIMING, Watching
from kgrade.harness.workers import Entry, Lost
from kgrade.records.evidence import Build, BuildTarget, Check, Failure, Integrity, Profiling, StageStatus, Timing


class Candidate:
    """A submission in Python, the workers that call it, and how the import went.

    On a GPU `compiling` are workers of another kind, which compile its kernels ahead of time; elsewhere the same serve.
    """

    def __init__(self, run: Run, method: Method) -> None:
        self.run = run
        self.task = run.source.task
        self.arch = architecture(run.target)
        ahead = ahead_method(self.task, self.arch.vendor) if self.arch else None
        self.ahead = ahead
        self.gpu = run.gpu if why_not_run(self.task, run.target, run.gpu) is None else None
        on_gpu = device_method(self.task) if self.gpu is not None else None
        self.method = on_gpu or ahead or method
        self.workers: Standby | None = None
        self.compiling: Standby | None = None
        self.failure: Failure | None = None
        self.seconds = 0.0
        self.emulation: Emulation | None = None
        self._import()

    @classmethod
    def of(cls, run: Run) -> Candidate | None:
        """Return the candidate, imported; None when submissions of this task are not called as Python functions."""
        task = run.source.task
        method = candidate_method(task)
        if method is None or task.interface == "cuda":
            return None
        native = task.language == "cuda" or (task.language == "python" and makes_extensions(run.source.solution))
        if native and run.target != INTERPRETED and run.gpu is None:
            return None
        return cls(run, method)

    def _import(self) -> None:
        assert self.run.source.solution is not None
        self.run.watch.step("build", 0, 1, "import")
        try:
            place = find_entry(self.task.entry, self.run.source.solution)
            functions: dict[str, Entry] = {CANDIDATE: (*place, self.run.source.calling)}
            if self.task.prepare is not None:
                functions[PREPARE] = find_entry(self.task.prepare, self.run.source.solution)
        except Unfound as error:
            advice = "Name the function as the task's `entry` says."
            self.failure = Failure(kind="form", line=str(error), fault="submission", advice=advice)
            return
        facts = self.arch.facts if self.arch and self.ahead else None
        if self.ahead is not None:
            self.compiling = self.run.workers("item", self.ahead, functions, device=facts)
        try:
            self.emulation = emulation(self.run) if self._loads_extensions else None
        except NotHere as error:
            self.failure = Failure(kind="environment", line=str(error), fault="environment", advice=ADVICE["unable"])
            return
        if self.emulation is not None:
            self.method = self.emulation.described(self.method)
        self.functions = functions
        self.workers = self.compiling
        if self.workers is None or self.gpu is not None:
            self.workers = self.run.workers("item", self.method, functions, emulation=self.emulation, gpu=self.gpu)
        try:
            self.workers.get()
            self.seconds = self.workers.import_seconds
        except Lost as lost:
            self.failure = failure(lost)

    @property
    def _loads_extensions(self) -> bool:
        """Whether CUDA sources that it loads can run here: where tensors are PyTorch's, and on the CPU."""
        return self.run.target == INTERPRETED and self.method.framework == "torch"

    def build(self, oracle: Oracle) -> Build:
        """Return the build stage: compiled ahead of time where that can be done, else built when it can be imported."""
        if self.failure is None and self.arch and self.compiling:
            try:
                if self.compiling.recipe.framework == "jax":
                    return Traced(self.run, self.compiling, self.arch).build()
                return Ahead(self.run, self.compiling, self.arch, oracle).build()
            finally:
                if self.compiling is not self.workers:
                    self.run.close("ahead", self.compiling)
        if (
            self.failure is None
            and self.arch
            and self.arch.vendor == "cuda"
            and makes_extensions(self.run.source.solution)
        ):
            return compile_extensions(self.run)
        method = f"import: {self.method.text}"
        found = BuildTarget(
            target=self.run.target,
            status="passed" if self.failure is None else "failed",
            seconds=self.seconds,
            failure=self.failure,
        )
        if self.failure is None and self.run.target != INTERPRETED and self.gpu is None:
            reason = f"it imports; compiling it for {self.run.target} ahead of time is not built yet"
            return Build(status="not-run", reason=reason, method=method)
        if self.failure is None:
            return Build(status="passed", method=method, targets=[found])
        if self.failure.fault == "environment":
            return Build(status="not-run", reason=f"it cannot be imported here: {self.failure.line}", method=method)
        return Build(status="failed", reason=self.failure.line, method=method, targets=[found])

    def check(self, oracle: Oracle) -> Check:
        """Return the check stage."""
        reason = why_not_run(self.task, self.run.target, self.run.gpu) or self._not_imported()
        if reason is not None or self.workers is None:
            return Check(status="not-run", reason=reason)
        call = candidate_call(self.task, self.workers)
        other = candidate_call(self.task, self.workers, ANOTHER_ORDER) if self.emulation else None
        checking = Checking(self.task, oracle, call, self.method.text, self.method.unseen, in_another_order=other)
        checked = checking.run(self.run.watch)
        return self._watched(checked, oracle, self.emulation) if self.emulation else checked

    def _watched(self, check: Check, oracle: Oracle, emulation: Emulation) -> Check:
        """Run the cases once more, with the extensions made anew under the checks, and add what these see."""
        workers = self.run.workers("item", self.method, self.functions, emulation=emulation.watched())
        watching = Watching(
            self.task,
            workers,
            oracle.draw,
            lambda within_s: candidate_call(self.task, workers, within_s=within_s),
            told_findings,
        )
        try:
            watching.run(check.cases, self.run.watch)
        finally:
            self.run.close("checks", workers)
        return watching.into(check)

    def time(self, oracle: Oracle) -> Timing:
        """Return the time stage."""
        reason = why_not_run(self.task, self.run.target, self.run.gpu) or self._not_imported()
        if reason is not None or self.workers is None:
            return Timing(status="not-run", reason=reason)
        if self.emulation is not None:
            return Timing(status="not-run", reason=NO_TIMING)
        if self.gpu is not None:
            return timed_on_device(self.run, self.workers, oracle, self.method)
        return Measuring(self.task, self.workers, oracle, self.method.text).run(self.run.watch)

    def profile(self, oracle: Oracle) -> Profiling:
        """Return the profile stage."""
        reason = why_not_run(self.task, self.run.target, self.run.gpu) or self._not_imported()
        if reason is not None or self.workers is None:
            return Profiling(status="not-run", reason=reason)
        if self.emulation is not None:
            return Profiling(status="not-run", reason=NO_TIMING)
        return profiled(self.run, self.workers, oracle, self.method)

    def integrity(self, oracle: Oracle, found: Integrity, checked: StageStatus | None) -> Integrity:
        """Return the integrity stage: `found`, which was read from the source, with what the tests show."""
        reason = self.why_not_examined()
        if reason is not None or self.workers is None:
            return unexamined(found, reason or "it has no worker")
        return examine(self.run, found, oracle, self.workers, self.method.framework, checked)

    def why_not_examined(self) -> str | None:
        """Say why the tests that settle findings cannot run it here; None when they can."""
        return why_not_run(self.task, self.run.target, self.run.gpu) or self._not_imported() or self._not_examined()

    def _not_examined(self) -> str | None:
        """Say why the tests that run a submission do not understand this task; None where they do."""
        task = self.task
        if task.interface != "function":
            return f"the interface {task.interface} is not examined by running it"
        if task.prepare is not None or task.stochastic is not None:
            return "a task with prepare or random outputs is not examined by running it"
        if any(spec.generator is not None for spec in task.inputs.values()):
            return "a task whose own code makes its inputs is not examined by running it"
        return None

    def _not_imported(self) -> str | None:
        return f"it cannot be imported: {self.failure.line}" if self.failure is not None else None
