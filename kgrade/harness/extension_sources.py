"""Which CUDA extensions a Python submission makes: it is imported where nothing is made of them but a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import randbits
from typing import Any

import msgspec
import numpy as np

from kgrade.harness.ahead import distinct_cases, said_of
from kgrade.harness.arguments import Argument
from kgrade.harness.build.targets import Architecture
from kgrade.harness.check import CANDIDATE, SEED_BITS
from kgrade.harness.drawing import NotDrawable
from kgrade.harness.entries import Unfound, find_entry
from kgrade.harness.foreign import oracle_functions
from kgrade.harness.losses import failure
from kgrade.harness.methods import Method, oracle_method
from kgrade.harness.oracle import Oracle
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Failure

MENTIONED = b"cpp_extension"
RECORDING = Method("torch", None, "extensions recorded, and not made", ())
MOST_EXTENSIONS = 32
MOST_FLAGS = 64
LONGEST_FLAG = 4000
_RECORD_S = 30.0
_ONE_ENTRY = "Name the function as the task's `entry` says."


class Piece(msgspec.Struct, array_like=True):
    """A part of a CUDA source: the path of its file, its text, and the file and line of the submission it stands on."""

    path: str
    text: str
    place: tuple[str, int] | None


class Extension(msgspec.Struct):
    """One extension as `worker.extension_sources` tells it; `pieces` are the parts of each CUDA source."""

    name: str
    pieces: list[list[Piece]]
    flags: list[str]
    includes: list[str]


class _Told(msgspec.Struct):
    extensions: list[Extension]
    flags: list[str]


@dataclass(frozen=True)
class Recorded:
    """The extensions of a submission, and PyTorch's own flags for nvcc; `failure` says why nothing is known.

    `root` is the folder of the item as the worker names it, `log` what importing it printed.
    """

    extensions: Sequence[Extension] = ()
    flags: Sequence[str] = ()
    failure: Failure | None = None
    facts: list[str] = field(default_factory=list)
    root: str = ""
    log: bytes = b""


def makes_extensions(solution: Mapping[str, bytes] | None) -> bool:
    """Return whether a file of the submission speaks of PyTorch's extensions."""
    return any(MENTIONED in data for path, data in (solution or {}).items() if path.endswith(".py"))


def record(run: Run, arch: Architecture) -> Recorded:
    """Import the submission as if `arch` were here; where nothing is made by that, call it once without data."""
    run.watch.step("build", 0, 1, "extensions")
    try:
        place = find_entry(run.source.task.entry, run.source.solution or {})
    except Unfound as error:
        return Recorded(failure=Failure(kind="form", line=str(error), fault="submission", advice=_ONE_ENTRY))
    device = {**arch.facts, "extensions": True}
    workers = run.workers("item", RECORDING, {CANDIDATE: (*place, run.source.calling)}, device=device)
    found = _recorded(run, workers)
    run.versions |= workers.versions
    return replace(found, log=bytes(workers.log))


def _recorded(run: Run, workers: Standby) -> Recorded:
    worker = workers.recipe.another()
    facts: list[str] = []
    try:
        worker.start()
        try:
            worker.load(workers.functions, workers.import_s)
        except Lost as lost:
            if not lost.alive:
                raise
            why: Lost | None = lost
        else:
            why = None
        told = _told(worker.recorded(_RECORD_S))
        if why is None and not told.extensions:
            stopped = _called(run, worker)
            told = _told(worker.recorded(_RECORD_S))
            if stopped and not told.extensions:
                facts.append(f"called without data, it ended before it made an extension: {stopped}")
        elif why is not None and told.extensions:
            facts.append(f"its import ended early, so what it makes after that is not known: {why.reason}"[:500])
        elif why is not None:
            raise why
        flags = _sane(told.flags)
        for each in told.extensions:
            each.flags = _sane(each.flags)
        return Recorded(told.extensions[:MOST_EXTENSIONS], flags, None, facts, worker.place(""))
    except Lost as lost:
        return Recorded(failure=failure(lost), facts=facts)
    finally:
        workers.log += worker.finish()
        workers.versions |= worker.versions


def _told(text: bytes) -> _Told:
    try:
        return msgspec.json.decode(text, type=_Told)
    except msgspec.DecodeError as error:
        raise Lost("form", f"what it recorded cannot be read: {error}", str(error), alive=False) from None


def _sane(flags: Sequence[str]) -> list[str]:
    """Leave out what no command could be given: hostile code may have written the flags."""
    return [flag for flag in flags[:MOST_FLAGS] if "\0" not in flag and len(flag) < LONGEST_FLAG]


def _called(run: Run, worker: Any) -> str | None:
    """Call the entry on the shapes of the smallest case; return what ended the call."""
    task = run.source.task
    oracles = run.workers("task", oracle_method(task), oracle_functions(task), precise=True)
    try:
        oracle = Oracle(run.source, oracles)
        made: list[tuple[int, list[Argument]]] = []
        for case in distinct_cases(task):
            arguments = oracle.shapes(case, randbits(SEED_BITS))
            arrays = [each.value for each in arguments if isinstance(each.value, np.ndarray)]
            made.append((sum(array.size for array in arrays), arguments))
        if not made:
            return "the task has no case"
        arguments = min(made, key=lambda each: each[0])[1]
    except (NotDrawable, Lost) as error:
        return str(error)[:200]
    finally:
        run.close("oracle", oracles)
    stopped = worker.capture(CANDIDATE, arguments, task.limits.run_s, fake=True).get("stopped")
    return said_of(stopped) if isinstance(stopped, dict) else None


def here(run: Run, path: str, root: str) -> Path | None:
    """Return where a file or folder that the worker calls `path` lies here, if it is one of the submission's."""
    inside = f"{path}/".removeprefix(f"{root.rstrip('/')}/solution/")
    known = [f"{each}/" for each in (*(run.source.solution or {}), *run.source.beside)]
    if inside == f"{path}/" or not any(each.startswith(inside) for each in known):
        return None
    return run.folder / "item" / "solution" / inside
