"""Building Python kernels (Triton, Pallas, plain): what importing the solution in a worker has shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgrade.harness.failures import classify
from kgrade.records.evidence import Build, BuildTarget, Failure, StageStatus

METHOD = "import of the solution in a worker; kernels are compiled when they are first called"
_WARNING = re.compile(r"^\S.*\b\w*Warning: \S.*$")
_MOST_WARNINGS = 50


@dataclass(frozen=True)
class Imported:
    """What came of importing a solution. `error` is the traceback or the worker's end in words; None: it worked.

    `log` is everything printed meanwhile; `stopped_by` names the limit that ended the worker, or is None.
    """

    error: str | None
    log: str = ""
    seconds: float = 0.0
    stopped_by: str | None = None


def from_import(imported: Imported, targets: Sequence[str], *, log: str | None = None) -> Build:
    """Return the build stage of a Python solution for each target; `log` names the log file beside the evidence."""
    failure = _failure(imported)
    status: StageStatus = "passed"
    if failure:
        status = "failed" if failure.fault == "submission" else "error"
    built = BuildTarget(
        target="",
        status=status,
        reason=failure.line if failure else None,
        seconds=imported.seconds,
        warnings=list(dict.fromkeys(filter(_WARNING.match, imported.log.splitlines())))[:_MOST_WARNINGS],
        failure=failure,
    )
    return Build(
        status=status,
        reason=built.reason,
        method=METHOD,
        log=log,
        targets=[_for(built, target) for target in targets],
    )


def _for(built: BuildTarget, target: str) -> BuildTarget:
    return BuildTarget(
        target=target,
        status=built.status,
        reason=built.reason,
        seconds=built.seconds,
        warnings=built.warnings,
        failure=built.failure,
    )


def _failure(imported: Imported) -> Failure | None:
    if imported.error is None:
        return None
    if imported.stopped_by:
        advice = "Do less at import: build, tune and allocate when the entry is called."
        return Failure(kind="timeout", line=imported.stopped_by, fault="submission", advice=advice)
    found = classify(imported.error) or classify(imported.log)
    if found:
        return found
    last = next((line.strip() for line in reversed(imported.error.splitlines()) if line.strip()), "no message")
    advice = "The solution raises when it is imported: mend the line that the traceback names."
    return Failure(kind="compile", line=last[:400], fault="submission", advice=advice)
