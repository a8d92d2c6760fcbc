"""What a task gives to start from, built for every target: a solution's costs are read beside those of the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgrade.harness.candidate import Candidate
from kgrade.harness.extension_build import compile_submission
from kgrade.harness.foreign import oracle_functions
from kgrade.harness.methods import INTERPRETED, oracle_method
from kgrade.harness.oracle import Oracle
from kgrade.harness.run import Run
from kgrade.records.evidence import Build
from kgrade.records.task import Task

FOLDER = "start/"
NONE = "the task gives nothing to start from"


def build_start(run: Run) -> Build:
    """Build the start of the task of `run` for each target but the interpreter's.

    A start that does not build is flagged, never failed: tasks may start from faults.
    """
    source = run.source
    files = {path.removeprefix(FOLDER): data for path, data in source.task_files.items() if path.startswith(FOLDER)}
    if not files:
        return Build(status="not-run", reason=NONE)
    targets = _targets(source.task)
    if not targets:
        return Build(status="not-run", reason="the task names no target that is compiled for")
    builds = []
    for target in targets:
        folder = run.folder / f"start-{target}"
        folder.mkdir()
        inner = replace(run, source=replace(source, solution=files), target=target, folder=folder, logs={})
        inner.write_files()
        builds.append(_build(inner))
    return _joined(builds)


def _targets(task: Task) -> list[str]:
    """The task's targets, after the one that a migration comes from."""
    from_there = task.source.target if task.source else None
    named = [*([from_there] if from_there else []), *task.targets]
    return list(dict.fromkeys(target for target in named if target != INTERPRETED))


def _build(run: Run) -> Build:
    candidate = Candidate.of(run)
    if candidate is None:
        return compile_submission(run)
    task = run.source.task
    oracles = run.workers("task", oracle_method(task), oracle_functions(task), precise=True)
    try:
        return candidate.build(Oracle(run.source, oracles))
    finally:
        run.close("oracle", oracles)
        if candidate.workers is not None:
            run.close("kernel", candidate.workers)


def _joined(builds: Sequence[Build]) -> Build:
    broken = [build for build in builds if build.status in ("failed", "error", "flagged")]
    built = [build for build in builds if build.status == "passed"]
    first = (broken or built or list(builds))[0]
    return Build(
        status="flagged" if broken else first.status,
        reason=f"the start: {first.reason}" if first.reason else None,
        method=first.method and f"the task's start: {first.method}",
        targets=[target for build in builds for target in build.targets],
        kernels=[kernel for build in builds for kernel in build.kernels],
        facts=list(dict.fromkeys(fact for build in builds for fact in build.facts)),
    )
