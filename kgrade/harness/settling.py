"""What settles one finding: the tests that its rule names, run while a person watches."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from kgrade.harness.candidate import Candidate
from kgrade.harness.dynamic import settle as settle_by_running
from kgrade.harness.foreign import Malformed, opened, oracle_functions
from kgrade.harness.integrity.runs import runs_for
from kgrade.harness.methods import oracle_method, why_not_run
from kgrade.harness.oracle import Oracle
from kgrade.harness.progress import OnProgress, Watch
from kgrade.harness.run import ItemSource, Machine, Run
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case, CaseStatus, Finding, SettlingTest
from kgrade.records.grade import Probe, ProbeCase

SUMMARY_MOST: Final = 2000
WORDS: Final = {"seen": "seen", "not-seen": "not seen", "not-run": "not run, because"}


def settle(
    source: ItemSource,
    rule: str,
    target: str,
    on_progress: OnProgress,
    cancel: threading.Event,
    machine: Machine | None = None,
) -> tuple[Case, list[SettlingTest]]:
    """Run the tests that settle findings of `rule` on a submission; return the case they began with and their results.

    What cannot be run comes back as not run, with the reason. Raises `Cancelled` when `cancel` is set meanwhile.
    """
    first = source.task.check_cases()[0]
    machine = machine or Machine.here()
    reason = why_not_run(source.task, target, machine.gpu(target))
    if reason is None and source.solution is None:
        reason = "a task under review has no submission to call"
    if reason is not None:
        return first, not_run(rule, reason)
    with tempfile.TemporaryDirectory(prefix="kgrade-settle-") as folder, ExitStack() as ending:
        try:
            source = opened(source)
        except Malformed as why:
            return first, not_run(rule, str(why))
        run = Run(source, target, machine, Path(folder), Watch(on_progress, cancel))
        run.write_files()
        candidate = Candidate.of(run)
        if candidate is not None and candidate.workers is not None:
            ending.callback(run.close, "kernel", candidate.workers)
        reason = candidate.why_not_examined() if candidate else "this kind of submission is not called as a function"
        if reason is not None or candidate is None or candidate.workers is None:
            return first, not_run(rule, reason or "it has no worker")
        oracles = run.workers("task", oracle_method(source.task), oracle_functions(source.task), precise=True)
        ending.callback(run.close, "oracle", oracles)
        oracle = Oracle(run.source, oracles)
        try:
            case, tests = settle_by_running(run, rule, oracle, candidate.workers, candidate.method.framework)
        except Lost as lost:
            return first, not_run(rule, lost.reason)
        return case or first, tests


def not_run(rule: str, reason: str) -> list[SettlingTest]:
    """Return the tests that settle findings of `rule`, none of them run, for one reason."""
    return [
        SettlingTest(name=test.name, status="not-run", said=reason, settles=list(test.settles))
        for test in runs_for(rule)
    ]


def recorded(finding: Finding, target: str, case: Case, tests: Sequence[SettlingTest]) -> Probe:
    """Return what a grade keeps of the tests that were run to settle `finding`."""
    states = {test.status for test in tests}
    result: CaseStatus = "failed" if "seen" in states else "passed" if "not-seen" in states else "not-run"
    told = "; ".join(
        f"{test.name}: {WORDS[test.status]}{'' if test.status == 'not-run' else ':'} {test.said}" for test in tests
    )
    return Probe(
        case=ProbeCase(symbols=case.symbols, dtype=case.dtype, family=case.family),
        result=result,
        summary=f"{finding.rule} {finding.name} on {target}: {told}"[:SUMMARY_MOST],
        finding=finding.key,
    )
