"""The analysis behind a wall: each submission is read by a process with limits, many by several at once.

One that passes a limit, or ends its process in any other way, gets a finding that says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from kgrade.harness.integrity import reading
from kgrade.harness.integrity.alike import shares
from kgrade.harness.integrity.analysis import overall
from kgrade.harness.integrity.findings import BY_ID, of_rule
from kgrade.records.evidence import Finding, Integrity
from kgrade.records.task import Task

if TYPE_CHECKING:
    from kgrade.harness.run import HandedIn


def stage(
    files: Mapping[str, bytes],
    task: Task,
    reference: Mapping[str, bytes],
    others: Mapping[str, HandedIn] | None = None,
) -> Integrity:
    """Return the integrity stage of a submission; `files` are those under `solution/`, by path relative to it.

    `others` are the submissions, by item id, that it may have copied.
    """
    alike = shares(files, reference, others or {})
    given = {f"solution/{path}": data for path, data in files.items()}
    answer = reading.ask(reading.Request(given, task, reference, alike))
    if answer.fault:
        return Integrity(status="error", reason=answer.fault)
    found = _found(given, answer)
    return Integrity(status="flagged" if overall(found) in ("suspect", "tell") else "passed", findings=found)


def findings(
    files: Mapping[str, bytes],
    task: Task | None = None,
    reference: Mapping[str, bytes] | None = None,
    *,
    wall_s: float = reading.WALL_S,
) -> list[Finding]:
    """Return what `analyse` finds, or one finding that says why there is no more."""
    return _found(files, reading.ask(reading.Request(files, task, reference or {}), wall_s))


def findings_of_each(
    submissions: Iterable[Mapping[str, bytes]],
    task: Task | None = None,
    reference: Mapping[str, bytes] | None = None,
    *,
    workers: int | None = None,
) -> Iterator[list[Finding]]:
    """Return `findings` of each of `submissions`, in their order, read by `workers` processes at once.

    Without `workers` there are as many as there are processors to run on.
    """
    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0))) as pool:
        yield from pool.map(lambda files: findings(files, task, reference), submissions)


def _found(files: Mapping[str, bytes], answer: reading.Answer) -> list[Finding]:
    """What was found, or the finding that stands for what could not be."""
    why = answer.stopped or answer.fault
    return [of_rule(BY_ID["E1"], "suspect", min(files, default=""), 1, "", why)] if why else answer.findings
