"""CUDA submissions on a GPU: nvcc builds their sources to one shared object, which a worker on the device calls."""

from __future__ import annotations

from pathlib import Path

from kgrade.harness.build.runner import output_of
from kgrade.harness.build.targets import architecture
from kgrade.harness.build.toolkit import NOT_FOUND, find_toolkit
from kgrade.harness.check import CANDIDATE, Checking
from kgrade.harness.compiled import Behind, compile_solution, relative
from kgrade.harness.dynamic import unexamined
from kgrade.harness.failures import classify
from kgrade.harness.methods import NATIVE
from kgrade.harness.oracle import Oracle
from kgrade.harness.profiled import profiled
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.harness.timed import timed_on_device
from kgrade.harness.watching import Launching
from kgrade.harness.workers import Entry
from kgrade.records.evidence import Build, Check, Failure, Integrity, Profiling, StageStatus, Timing

OBJECTS = "native"
OBJECT = "solution.so"


class NativeCandidate:
    """A CUDA submission with the `cuda` interface, on the GPU of its target."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.task = run.source.task
        arch = architecture(run.target)
        assert arch is not None, "a GPU was found for a target of no known architecture"
        self.arch = arch
        self.launching = Launching(self.task, arch)
        self.workers: Standby | None = None
        self.failure: Failure | None = None
        self.reason = self._link()
        if self.reason is None:
            entry = self.task.entry.rpartition(":")[2]
            functions: dict[str, Entry] = {CANDIDATE: (OBJECT, entry, "native")}
            self.workers = run.workers(OBJECTS, NATIVE, functions, gpu=run.gpu)

    @classmethod
    def of(cls, run: Run) -> NativeCandidate | None:
        """Return the candidate, linked; None where its target has no GPU here, or its task no launcher of its own."""
        task = run.source.task
        if run.gpu is None or task.language != "cuda" or task.interface != "cuda" or task.devices > 1:
            return None
        return cls(run)

    def build(self, oracle: Oracle) -> Build:
        """Return the build stage: what nvcc says of the target, and what each kernel costs."""
        return compile_solution(self.run)

    def check(self, oracle: Oracle) -> Check:
        """Return the check stage, on the device."""
        if self.workers is None:
            return Check(status="not-run", reason=self.reason)
        return Checking(self.task, oracle, self.launching.call(self.workers, 0), NATIVE.text).run(self.run.watch)

    def time(self, oracle: Oracle) -> Timing:
        """Return the time stage, on the device."""
        if self.workers is None:
            return Timing(status="not-run", reason=self.reason)
        return timed_on_device(self.run, self.workers, oracle, NATIVE, launch=lambda case: self.launching.told(case, 0))

    def profile(self, oracle: Oracle) -> Profiling:
        """Return the profile stage, on the device."""
        if self.workers is None:
            return Profiling(status="not-run", reason=self.reason)
        return profiled(self.run, self.workers, oracle, NATIVE, launch=lambda case: self.launching.told(case, 0))

    def integrity(self, oracle: Oracle, found: Integrity, checked: StageStatus | None) -> Integrity:
        """Return the integrity stage: what was read from the source; its tests call Python functions."""
        return unexamined(found, "a launcher is not called as a Python function")

    def _link(self) -> str | None:
        """Build the shared object; say why there is none."""
        self.run.watch.step("build", 0, 1, "shared object")
        toolkit = find_toolkit()
        if toolkit is None:
            return NOT_FOUND
        folder, out = self.run.folder / "item" / "solution", self.run.folder / OBJECTS
        sources = sorted(path for path in folder.rglob("*.cu") if path.is_file() and not path.is_symlink())
        if not sources:
            return "the solution holds no .cu file"
        out.mkdir()
        out.chmod(0o777)  # the compiler runs as a user of its own
        task_folder = self.run.folder / "task"
        includes = [folder, *(task_folder / each for each in self.task.build.include), *toolkit.includes]
        command = linking(toolkit.nvcc, self.arch.compile_as, includes, self.task.build.flags, out / OBJECT, sources)
        readable = [folder, task_folder, toolkit.root, *toolkit.includes]
        ended = Behind(self.run)(command, readable=readable, writable=[out], limit_s=self.task.limits.build_s)
        out.chmod(0o755)
        if (out / OBJECT).is_file() and ended.returncode == 0:
            return None
        said = relative(self.run, output_of(ended))
        known = classify(said)
        lines = [line for line in said.splitlines() if line.strip()]
        return f"it does not link: {known.line if known else lines[-1] if lines else 'no message'}"[:500]


def linking(
    nvcc: Path, arch: str, includes: list[Path], flags: list[str], shared: Path, sources: list[Path]
) -> list[str]:
    """Return the command that makes one shared object of `sources` for `arch`."""
    command = [str(nvcc), "-shared", "-Xcompiler", "-fPIC", f"-arch={arch}", "-lineinfo"]
    return [*command, *(f"-I{each}" for each in includes), *flags, "-o", str(shared), *(str(each) for each in sources)]
