"""Which gates the evidence suggests, and the sentence that says why. A person confirms or denies each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgrade.records.evidence import CaseCheck, Evidence, Finding, Severity
from kgrade.records.grade import FindingAnswer
from kgrade.records.rubric import Rubric
from kgrade.records.task import Task

# Rules of the integrity catalogue by what they would mean if they were confirmed.
TAMPERING = ("T5", "T6", "T7", "T8", "T10", "E3")
SUBSTITUTION = ("B1", "B2", "B3", "B4", "B5", "B6", "S10")
RACE_KINDS = ("race", "out-of-bounds", "nondeterminism")

Accept = Callable[[Finding, Severity], bool]
"""Whether a finding that weighs so much suggests a gate."""


def suggested_gates(
    rubric: Rubric, task: Task, evidence: Mapping[str, Evidence], missing: str | None
) -> dict[str, str]:
    """Return a sentence for each gate of `rubric` that fresh `evidence` (by target) suggests.

    `missing` says which of the item's files could not be read, if any.
    """
    found: dict[str, str] = {}
    for gate in rubric.gates:
        if gate.suggests == "artifacts.missing":
            why = missing
        elif gate.suggests == "time.not-run":
            why = _not_timed(task, evidence)
        else:
            probe = _PROBES.get(gate.suggests or "")
            why = next((text for each in evidence.values() if probe and (text := probe(each))), None)
        if why:
            found[gate.id] = why
    return found


def suggested_after(
    suggested: Mapping[str, str],
    rubric: Rubric,
    evidence: Mapping[str, Evidence],
    answers: Mapping[str, FindingAnswer],
) -> Mapping[str, str]:
    """Return `suggested` as it stands once a person has judged findings (`answers`, by their keys).

    A false alarm, or what the task allows, suggests no gate; a confirmed finding suggests its gate whatever its
    severity. `evidence` is the fresh evidence by target.
    """
    if not answers:
        return suggested
    found = dict(suggested)
    for gate in rubric.gates:
        accept = _OF_FINDINGS.get(gate.suggests or "")
        if accept is None:
            continue
        probe = _finding(_judged(accept, answers))
        why = next((text for each in evidence.values() if (text := probe(each))), None)
        found.pop(gate.id, None)
        if why:
            found[gate.id] = why
    return found


def _judged(accept: Accept, answers: Mapping[str, FindingAnswer]) -> Accept:
    def accepted(finding: Finding, severity: Severity) -> bool:
        answer = answers.get(finding.key)
        if answer is None:
            return accept(finding, severity)
        return answer.disposition == "confirmed" and accept(finding, "tell")

    return accepted


def _build_failed(evidence: Evidence) -> str | None:
    build = evidence.stages.build
    if build.status != "failed":
        return None
    failed = next((target for target in build.targets if target.status == "failed"), None)
    if failed is None:
        return f"{evidence.target}: the build failed: {build.reason or 'see the log'}"
    why = failed.failure.line if failed.failure else failed.reason or "see the log"
    return f"{failed.target}: the build failed: {why}"


def _check_failed(evidence: Evidence) -> str | None:
    failed = [case for case in evidence.stages.check.cases if case.required and case.status == "failed"]
    if not failed:
        return None
    required = sum(case.required for case in evidence.stages.check.cases)
    return f"{evidence.target}: {len(failed)} of {required} required cases fail, first {failed[0].case.name}"


def _race(evidence: Evidence) -> str | None:
    case = next((case for case in evidence.stages.check.cases if _is_race(case)), None)
    if case is None or case.failure is None:
        return None
    return f"{evidence.target}: {case.case.name}: {case.failure.line}"


def _is_race(case: CaseCheck) -> bool:
    return case.failure is not None and any(kind in case.failure.kind for kind in RACE_KINDS)


def _finding(accept: Accept) -> Callable[[Evidence], str | None]:
    def probe(evidence: Evidence) -> str | None:
        found = evidence.stages.integrity.findings
        finding = next((each for each in found if accept(each, each.severity)), None)
        if finding is None:
            return None
        return f"{finding.rule} {finding.name} at {finding.path}:{finding.line}: {finding.why}"

    return probe


def _flagged(evidence: Evidence) -> str | None:
    timing = evidence.stages.time
    if timing.status != "flagged":
        return None
    return f"{evidence.target}: the timing is flagged: {timing.reason or '; '.join(timing.notes)}"


def _not_timed(task: Task, evidence: Mapping[str, Evidence]) -> str | None:
    if task.benchmark is None:
        return None
    wanted = [target for target in task.targets if target != "cpu"] or task.targets
    untimed = [target for target in wanted if target not in evidence or not _timed(evidence[target])]
    return f"no timing on {', '.join(untimed)}" if untimed else None


def _timed(evidence: Evidence) -> bool:
    timing = evidence.stages.time
    return timing.indicative and timing.status in ("passed", "flagged", "failed") and bool(timing.cases)


def _passes_zeros(evidence: Evidence) -> str | None:
    controls = evidence.stages.check.controls
    zeros = next((control for control in controls if control.name == "zeros" and control.passes), None)
    if zeros is not None:
        return f"zeros pass at the task's tolerance in {len(zeros.passes)} required cases, first {zeros.passes[0]}"
    unseen = next((control for control in controls if control.undetected), None)
    if unseen is None:
        return None
    return f"no required case in {', '.join(unseen.undetected)} tells this from a right kernel: {unseen.name}"


def _reference_wrong(evidence: Evidence) -> str | None:
    broken = next((case for case in evidence.stages.check.cases if case.status == "error"), None)
    return f"{broken.case.name}: {broken.reason}" if broken else None


_OF_FINDINGS: dict[str, Accept] = {
    "integrity.tell": lambda each, severity: severity == "tell" and each.rule not in TAMPERING + SUBSTITUTION,
    "integrity.tampering": lambda each, severity: severity != "note" and each.rule in TAMPERING,
    "integrity.substitution": lambda each, severity: severity != "note" and each.rule in SUBSTITUTION,
}
_PROBES: dict[str, Callable[[Evidence], str | None]] = {
    "build.failed": _build_failed,
    "check.failed": _check_failed,
    "check.race": _race,
    **{name: _finding(accept) for name, accept in _OF_FINDINGS.items()},
    "time.flagged": _flagged,
    "task.passes-zeros": _passes_zeros,
    "task.reference-wrong": _reference_wrong,
}
