"""All tests on one submission, in order; what they saw becomes findings, and settles those of the static analysis."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kgrade.harness.drawing import NotDrawable
from kgrade.harness.dynamic import surroundings
from kgrade.harness.dynamic.session import NotRun, Session, Sighting
from kgrade.harness.dynamic.table import TESTS, Scene, Test
from kgrade.harness.integrity.findings import GRAVITY, made, ordered
from kgrade.harness.integrity.runs import FIRST
from kgrade.harness.oracle import Oracle
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Case, Finding, Integrity, SettlingTest, StageStatus

BOX_S = 12.0  # for all tests of a submission together, on an interpreter
ALONE_S = 60.0  # for the tests that one finding asks for, while a person watches


def examine(
    run: Run, found: Integrity, oracle: Oracle, workers: Standby, framework: str, checked: StageStatus | None
) -> Integrity:
    """Return `found` with every test run on the submission that `workers` serve; raises `Cancelled`.

    `checked` is what the check stage came to, if it was run.
    """
    session = Session(run.source.task, oracle, workers, framework, time.monotonic() + BOX_S, checked)
    tests, sightings = _every(TESTS, run, session)
    return merged(found, tests, sightings, run.source.solution or {}, run.source.task.entry)


def settle(
    run: Run, rule: str, oracle: Oracle, workers: Standby, framework: str
) -> tuple[Case | None, list[SettlingTest]]:
    """Run the tests that settle findings of `rule`, and no others; return the case they began with and their results.

    The first answer is always asked for: what follows says nothing where it is wrong. Raises `Cancelled`.
    """
    session = Session(run.source.task, oracle, workers, framework, time.monotonic() + ALONE_S)
    wanted = [test for test in TESTS if test.name == FIRST or rule in test.settles]
    results, _ = _every(wanted, run, session)
    case = session.cases[0] if session.cases else None
    return case, [each for each in results if rule in each.settles]


def unexamined(found: Integrity, reason: str) -> Integrity:
    """Return `found` with the tests that settle its findings marked as not run, and why."""
    reason = f"the submission is not called here: {reason}"
    tests = [SettlingTest(name="all", status="not-run", said=reason)]
    findings = [msgspec.structs.replace(one, result=f"not run, because {reason}") for one in found.findings]
    return msgspec.structs.replace(found, findings=findings, tests=tests)


def _every(
    wanted: Sequence[Test], run: Run, session: Session
) -> tuple[list[SettlingTest], list[tuple[Test, Sighting]]]:
    """Run tests in order; return their results, and what each saw."""
    scene = Scene(run, surroundings.hashes(run.folder), session.workers.get().place(""))
    tests: list[SettlingTest] = []
    sightings: list[tuple[Test, Sighting]] = []
    for number, test in enumerate(wanted):
        run.watch.step("integrity", number, len(wanted), test.name)
        result, saw = _run(test, session, scene)
        tests.append(result)
        sightings += [(test, each) for each in saw]
    return tests, sightings


def _run(test: Test, session: Session, scene: Scene) -> tuple[SettlingTest, tuple[Sighting, ...]]:
    def result(status: str, said: str) -> SettlingTest:
        return SettlingTest(name=test.name, status=status, said=said[:1200], settles=list(test.settles))  # type: ignore[arg-type]

    if not test.cheap and not session.on_time():
        return result("not-run", "the time for such tests was used up"), ()
    try:
        outcome = test.run(session, scene)
    except (NotRun, NotDrawable) as why:
        return result("not-run", str(why)), ()
    except Lost as lost:
        if test.name == FIRST or not lost.alive:
            session.sound = session.sound or f"a call gave no result: {lost.reason}"
        sightings = _of_loss(lost)
        said = f"the call gave no result: {lost.reason}"
        return result("seen" if sightings else "not-run", said), sightings
    seen = any(sighting.severity != "note" for sighting in outcome.sightings)
    return result("seen" if seen else "not-seen", outcome.said), outcome.sightings


def _of_loss(lost: Lost) -> tuple[Sighting, ...]:
    if lost.kind == "protocol":
        return (Sighting("T8", "tell", lost.reason),)
    if lost.kind == "exited" and "exit status 0" in lost.reason:
        return (Sighting("T9", "tell", lost.reason),)
    return ()


def merged(
    found: Integrity,
    tests: Sequence[SettlingTest],
    sightings: Sequence[tuple[Test, Sighting]],
    solution: Mapping[str, bytes],
    entry: str,
) -> Integrity:
    """Join what was read with what was run: results on static findings, and findings that no line of source showed."""
    findings = {finding.key: _settled(finding, tests) for finding in found.findings}
    for test, sighting in sightings:
        known = _known(findings.values(), test, sighting)
        if known is None:
            one = made(sighting.rule, sighting.severity, sighting.file, sighting.line, sighting.said, solution, entry)
            findings.setdefault(one.key, _settled(one, tests))
        elif GRAVITY[sighting.severity] < GRAVITY[known.severity]:
            findings[known.key] = msgspec.structs.replace(known, severity=sighting.severity)
    suspicious = any(finding.severity != "note" for finding in findings.values())
    return msgspec.structs.replace(
        found,
        status="flagged" if suspicious else found.status,
        findings=ordered(findings.values()),
        tests=[*found.tests, *tests],
    )


def _known(findings: Iterable[Finding], test: Test, sighting: Sighting) -> Finding | None:
    """Return the finding that shows already what was seen: of its rule, or of a rule with the same cause."""
    found = sorted(findings, key=lambda one: (one.rule != sighting.rule, GRAVITY[one.severity]))
    for one in found:
        if one.rule == sighting.rule and (not sighting.file or sighting.file == one.path):
            return one
        if test.one_cause and one.rule in test.settles and one.severity != "note" and sighting.severity != "note":
            return one
    return None


def _settled(finding: Finding, tests: Sequence[SettlingTest]) -> Finding:
    """Put the results of the tests that settle it beside a finding."""
    results = [test for test in tests if finding.rule in test.settles]
    if not results:
        return finding
    words = {"seen": "seen", "not-seen": "not seen", "not-run": "not run, because"}
    said = "; ".join(f"{test.name}: {words[test.status]} {test.said}" for test in results)
    return msgspec.structs.replace(finding, result=said[:1600])
