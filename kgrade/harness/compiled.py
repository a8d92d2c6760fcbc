"""Submissions that a compiler builds, or whose source alone can be read: the build stage behind the wall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

import kgrade
from kgrade.harness import sandbox
from kgrade.harness.build import build
from kgrade.harness.build.nvcc import LOG
from kgrade.harness.build.runner import Runner
from kgrade.harness.run import Run
from kgrade.harness.watchdog import Limits
from kgrade.records.evidence import Build, BuildTarget

PACKAGE = Path(kgrade.__file__).parent


def compile_solution(run: Run) -> Build:
    """Build the submission of `run` for its target and keep the log."""
    run.watch.step("build", 0, 1, run.target)
    out = run.folder / "out"
    out.mkdir()
    out.chmod(0o711)
    solution = run.folder / "item" / "solution"
    task = run.source.task
    found = build(solution, task, [run.target], out, behind_wall(run), task_folder=run.folder / "task")
    return kept(run, out, found)


def kept(run: Run, out: Path, found: Build) -> Build:
    """Return what was built below `out` with its log kept and paths as the queue knows them."""
    log = run.keep_log("build", relative(run, (out / LOG).read_text("utf-8")).encode()) if found.log else None
    targets = [_without_folder(run, target) for target in found.targets]
    reason = found.reason and relative(run, found.reason)
    return msgspec.structs.replace(found, log=log, targets=targets, reason=reason)


def _without_folder(run: Run, target: BuildTarget) -> BuildTarget:
    """`target` with paths as the queue knows them: the temporary folder means nothing to a reader."""
    failure = target.failure
    return msgspec.structs.replace(
        target,
        command=[relative(run, part) for part in target.command],
        reason=target.reason and relative(run, target.reason),
        warnings=[relative(run, warning) for warning in target.warnings],
        failure=failure and msgspec.structs.replace(failure, line=relative(run, failure.line)),
    )


class Behind:
    """Runs a compiler behind the wall, with folders visible under their own paths."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __call__(
        self, command: Sequence[str], *, readable: Sequence[Path], writable: Sequence[Path], limit_s: float
    ) -> sandbox.Ended:
        """Run `command` to its end, within the task's limits."""
        task = self.run.source.task
        return sandbox.run(
            self.run.machine.wall,
            command,
            binds=[
                *(sandbox.Bind(path, path) for path in readable),
                *(sandbox.Bind(path, path, writable=True) for path in writable),
            ],
            limits=Limits(wall_s=limit_s, cpu_s=int(4 * limit_s), memory_bytes=int(task.limits.memory_gb * 2**30)),
        )


def behind_wall(run: Run) -> Runner:
    """Return what runs the tools of a build behind the wall of `run`."""
    return Behind(run)


def relative(run: Run, text: str) -> str:
    """Return `text` with paths as the queue knows them, and what belongs to Python or kgrade without where it lies."""
    for folder in (run.folder / "item", run.folder / "out", run.folder):
        text = text.replace(f"{folder}/", "")
    python = run.machine.interpreter
    for place in sorted((*python.path, *map(str, python.folders)), key=len, reverse=True):
        text = text.replace(f"{place}/", f"{Path(place).name}/")
    return text.replace(f"{PACKAGE}/", "kgrade/")
