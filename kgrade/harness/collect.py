"""The stages in order, for one item on one target: from the item's bytes to its evidence and logs."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Collection
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import kgrade
from kgrade.harness import integrity
from kgrade.harness.candidate import Candidate
from kgrade.harness.check import Checking, reference_call
from kgrade.harness.dynamic import unexamined
from kgrade.harness.emulated import EmulatedCandidate
from kgrade.harness.examination import Examination
from kgrade.harness.extension_build import compile_submission
from kgrade.harness.foreign import Malformed, opened, oracle_functions
from kgrade.harness.machine import environment
from kgrade.harness.methods import INTERPRETED, oracle_method, why_not_run
from kgrade.harness.native import NativeCandidate
from kgrade.harness.oracle import Oracle
from kgrade.harness.progress import OnProgress, Watch
from kgrade.harness.run import ItemSource, Machine, Run
from kgrade.harness.start import build_start
from kgrade.harness.timing.ceilings import kept
from kgrade.records.evidence import (
    NOT_SUPPORTED,
    Build,
    Check,
    Evidence,
    Inputs,
    Integrity,
    Profiling,
    Stage,
    Stages,
    StageStatus,
    Timing,
    Tool,
)

UNSUPPORTED = ("sanitize",)
"""Stages that this version does not collect."""
REVIEW = "a task review: there is no submission to look at"


def collect(
    source: ItemSource,
    target: str,
    stages: Collection[str],
    on_progress: OnProgress,
    cancel: threading.Event,
    machine: Machine | None = None,
) -> tuple[Evidence, dict[str, bytes]]:
    """Run `stages` of `source` on `target`; return the evidence and its logs by file name.

    Raises `Cancelled` when `cancel` is set meanwhile. Whatever the item does, it fails alone.
    """
    with tempfile.TemporaryDirectory(prefix="kgrade-collect-") as folder:
        run = Run(source, target, machine or Machine.here(), Path(folder), Watch(on_progress, cancel))
        try:
            run.source = opened(source)
        except Malformed as why:
            found = _malformed(why, stages)
        else:
            run.write_files()
            found = _submission(run, stages) if source.solution is not None else _review(run, stages)
        missing = {each: Stage(status="not-run", reason=NOT_SUPPORTED) for each in UNSUPPORTED if each in stages}
        found = msgspec.structs.replace(found, **missing)
        around = environment(
            run.machine.wall, run.versions, interpreter=target == INTERPRETED, gpu=run.gpu, clocks=run.clocks
        )
        found = with_ceilings(found, around.hardware)
        evidence = Evidence(
            item=source.item,
            target=target,
            collected=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            inputs=Inputs(task_tree=source.task_tree, solution_tree=source.solution_tree),
            tool=Tool(version=kgrade.__version__),
            environment=around,
            stages=_with_logs(found, run),
        )
        return evidence, run.logs


def _submission(run: Run, wanted: Collection[str]) -> Stages:
    task = run.source.task
    found: dict[str, Build | Check | Timing | Integrity | Profiling] = {}
    with ExitStack() as ending:
        candidate = NativeCandidate.of(run) or EmulatedCandidate.of(run) or Candidate.of(run)
        if candidate is None:
            return _compiled(run, wanted)
        oracles = run.workers("task", oracle_method(task), oracle_functions(task), precise=True)
        ending.callback(run.close, "oracle", oracles)
        oracle = Oracle(run.source, oracles)
        if candidate.workers is not None:
            ending.callback(run.close, "kernel", candidate.workers)
        if "build" in wanted:
            found["build"] = candidate.build(oracle)
        if "check" in wanted:
            found["check"] = candidate.check(oracle)
        if "time" in wanted:
            found["time"] = candidate.time(oracle)
        if "integrity" in wanted:
            found["integrity"] = candidate.integrity(
                oracle, _read(run), found["check"].status if "check" in found else None
            )
        if "profile" in wanted:
            found["profile"] = candidate.profile(oracle)
    return Stages(**found)  # type: ignore[arg-type]


def _review(run: Run, wanted: Collection[str]) -> Stages:
    """Examine the task itself: build its start, check its reference, and see what its tolerance would let pass."""
    task = run.source.task
    found: dict[str, Build | Check | Timing | Integrity | Profiling] = {
        name: kind(status="not-run", reason=REVIEW)
        for name, kind in (("time", Timing), ("integrity", Integrity), ("profile", Profiling))
        if name in wanted
    }
    if "build" in wanted:
        found["build"] = build_start(run)
    if "check" in wanted:
        method = oracle_method(task)
        oracles = run.workers("task", method, oracle_functions(task), precise=True)
        try:
            oracle = Oracle(run.source, oracles)
            text = f"the reference in each case's dtype against itself in float64, {method.text}"
            checking = Checking(task, oracle, reference_call(task, oracles), text, examination=Examination())
            found["check"] = _of_reference(checking.run(run.watch))
        finally:
            run.close("oracle", oracles)
    return Stages(**found)  # type: ignore[arg-type]


def _malformed(why: Malformed, wanted: Collection[str]) -> Stages:
    """Return the stages of an item whose foreign files cannot be opened: nothing of it is run."""
    reason = f"{'task fault: ' if why.fault == 'task' else ''}{why}"
    status: StageStatus = "error" if why.fault == "task" else "failed"
    found: dict[str, Build | Check | Timing | Integrity | Profiling] = {}
    if "integrity" in wanted:
        found["integrity"] = Integrity(status="not-run", reason=reason)
    if "build" in wanted:
        found["build"] = Build(status=status, reason=reason)
    if "check" in wanted:
        found["check"] = Check(status="error" if why.fault == "task" else "not-run", reason=reason)
    if "time" in wanted:
        found["time"] = Timing(status="not-run", reason=reason)
    if "profile" in wanted:
        found["profile"] = Profiling(status="not-run", reason=reason)
    return Stages(**found)  # type: ignore[arg-type]


def _read(run: Run) -> Integrity:
    """Read the submission for signs of cheating; nothing of it is run."""
    source = run.source
    assert source.solution is not None
    run.watch.step("integrity", 0, 1, "static analysis")
    return integrity.stage(source.solution, source.task, source.task_files, source.others)


def _of_reference(check: Check) -> Check:
    """A reference that misses the tolerance in the case's own dtype tells about the task; nobody has failed."""
    if check.status != "failed":
        return check
    missed = [case.case.name for case in check.cases if case.status == "failed"]
    reason = f"run in the case's dtype, the reference misses the tolerance in {len(missed)} cases, first {missed[0]}"
    return msgspec.structs.replace(check, status="flagged", reason=reason)


def _compiled(run: Run, wanted: Collection[str]) -> Stages:
    """Return the stages of a submission that is compiled or read, and that nothing here can call."""
    reason = (
        why_not_run(run.source.task, run.target, run.gpu)
        or f"{run.source.task.interface} submissions are not called yet"
    )
    found: dict[str, Build | Check | Timing | Integrity | Profiling] = {}
    if "build" in wanted:
        found["build"] = compile_submission(run)
    if "integrity" in wanted:
        found["integrity"] = unexamined(_read(run), reason)
    if "check" in wanted:
        found["check"] = Check(status="not-run", reason=reason)
    if "time" in wanted:
        found["time"] = Timing(status="not-run", reason=reason)
    if "profile" in wanted:
        found["profile"] = Profiling(status="not-run", reason=reason)
    return Stages(**found)  # type: ignore[arg-type]


def with_ceilings(stages: Stages, hardware: str) -> Stages:
    """Put what was measured of `hardware` beside times that were taken on it; an interpreter's times have no roof."""
    timing = stages.time
    if not timing.indicative or not timing.cases:
        return stages
    return msgspec.structs.replace(stages, time=msgspec.structs.replace(timing, ceilings=kept(hardware)))


def _with_logs(stages: Stages, run: Run) -> Stages:
    """Let each stage that ran name the log of its worker: the kernel's, else the oracle's."""
    names = [file for name in ("kernel", "oracle") if (file := f"{run.target}.{name}.log") in run.logs]
    if not names:
        return stages
    ran = {
        name: msgspec.structs.replace(stage, log=names[0])
        for name in ("build", "check", "time")
        if (stage := getattr(stages, name)).status != "not-run" and stage.log is None
    }
    return msgspec.structs.replace(stages, **ran)
