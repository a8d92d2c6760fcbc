"""The build stage: whether a solution compiles or imports for its targets, and what its kernels cost there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgrade.harness.build.nki import read_nki
from kgrade.harness.build.nvcc import build_cuda
from kgrade.harness.build.python import Imported, from_import
from kgrade.harness.build.runner import Finished, Runner
from kgrade.records.evidence import Build
from kgrade.records.task import Task

__all__ = ["Finished", "Imported", "Runner", "build"]


def build(
    folder: Path,
    task: Task,
    targets: Sequence[str],
    out: Path,
    run: Runner,
    *,
    task_folder: Path | None = None,
    imported: Imported | None = None,
) -> Build:
    """Build the solution in `folder` for `targets`, with outputs and logs under `out`.

    Compilers run by `run`, behind the wall. Python kernels are built by importing them in a worker, so for those
    the caller hands in what came of it as `imported`. `task_folder` is what the task's include folders start from.
    """
    match task.language:
        case "cuda":
            return build_cuda(folder, task, targets, out, run, task_folder=task_folder)
        case "nki":
            return read_nki(folder, task, targets)
        case "hip":
            return Build(status="not-run", reason="HIP sources need hipcc, which kgrade does not run")
    if imported is None:
        return Build(status="not-run", reason="the solution was not imported in a worker")
    return from_import(imported, targets)
