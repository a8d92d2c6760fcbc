"""All tests on one submission, in order; what they saw becomes findings, and settles those of the static analysis."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kgrade.harness.drawing import NotDrawable
from kgrade.harness.dynamic import beside, calling, remembering, surroundings
from kgrade.harness.dynamic.session import NotRun, Outcome, Session, Sighting
from kgrade.harness.integrity.findings import GRAVITY, made, ordered
from kgrade.harness.oracle import Oracle
from kgrade.harness.run import Run
from kgrade.harness.standby import Standby
from kgrade.harness.workers import Lost
from kgrade.records.evidence import Finding, Integrity, SettlingTest, StageStatus

BOX_S = 12.0  # for all tests of a submission together, on an interpreter


@dataclass(frozen=True)
class Test:
    """One test: its name, the rules whose findings it settles, and how it is run.

    `cheap` ones are run whatever time is left. With `one_cause`, what it sees is what a static finding of any of these
    rules shows, and no finding of its own.
    """

    name: str
    settles: tuple[str, ...]
    run: Callable[[Session], Outcome]
    cheap: bool = False
    one_cause: bool = False


def examine(
    run: Run, found: Integrity, oracle: Oracle, workers: Standby, framework: str, checked: StageStatus | None
) -> Integrity:
    """Return `found` with every test run on the submission that `workers` serve; raises `Cancelled`.

    `checked` is what the check stage came to, if it was run.
    """
    session = Session(run.source.task, oracle, workers, framework, time.monotonic() + BOX_S, checked)
    before = surroundings.hashes(run.folder)
    tests: list[SettlingTest] = []
    sightings: list[tuple[Test, Sighting]] = []
    wanted = _tests(run, session, before)
    for number, test in enumerate(wanted):
        run.watch.step("integrity", number, len(wanted), test.name)
        result, saw = _run(test, session)
        tests.append(result)
        sightings += [(test, each) for each in saw]
    return merged(found, tests, sightings, run.source.solution or {}, run.source.task.entry)


def unexamined(found: Integrity, reason: str) -> Integrity:
    """Return `found` with the tests that settle its findings marked as not run, and why."""
    reason = f"the submission is not called here: {reason}"
    tests = [SettlingTest(name="all", status="not-run", said=reason)]
    findings = [msgspec.structs.replace(one, result=f"not run, because {reason}") for one in found.findings]
    return msgspec.structs.replace(found, findings=findings, tests=tests)


def _tests(run: Run, session: Session, before: Mapping[str, str]) -> Sequence[Test]:
    folder = session.workers.get().place("") if session.workers is not None else ""

    def place(file: str) -> str:
        inside = file.removeprefix(folder.rstrip("/") + "/")
        return inside if inside != file else ""

    return (
        Test("first-answer", ("T8", "T9", "S1", "S3", "S4", "R4", "R7"), calling.first_answer, cheap=True),
        Test("output-form", ("T3", "T4"), calling.output_form, cheap=True),
        Test("later-look", ("T1", "T2"), calling.later_look, cheap=True, one_cause=True),
        Test("same-storage", ("R1", "R2", "T15", "T12", "T14"), remembering.same_storage, one_cause=True),
        Test("new-storage", ("R1", "R2", "T15", "T12", "T14"), remembering.new_storage, one_cause=True),
        Test("one-element", ("R2", "R1", "T15", "T12", "T14"), remembering.one_element, one_cause=True),
        Test("late-calls", ("T12", "T14", "R1", "R2", "T15"), calling.late_calls, one_cause=True),
        Test("launches", ("B2", "B6", "B1"), lambda session: calling.launches(session, folder), one_cause=True),
        Test("timed-path", ("T13", "S6"), beside.timed_path, one_cause=True),
        Test("shapes-beside", ("S6",), beside.shapes_beside),
        Test("scales", ("S7",), beside.scales),
        Test("distributions", ("S5", "S7", "S8"), beside.distributions, one_cause=True),
        Test("replaced-names", ("T5", "T6", "T7", "U1"), lambda ours: surroundings.replaced_names(ours, place), True),
        Test("global-state", ("S13",), lambda ours: surroundings.moved_switches(ours, place), True),
        Test(
            "what-ran",
            ("E1", "E2", "E3", "R5", "T6", "T9", "T10"),
            lambda ours: surroundings.what_ran(ours, place, run.source),
            True,
        ),
        Test(
            "task-files", ("E3",), lambda _: surroundings.files_changed(before, surroundings.hashes(run.folder)), True
        ),
    )


def _run(test: Test, session: Session) -> tuple[SettlingTest, tuple[Sighting, ...]]:
    def result(status: str, said: str) -> SettlingTest:
        return SettlingTest(name=test.name, status=status, said=said[:1200], settles=list(test.settles))  # type: ignore[arg-type]

    if not test.cheap and not session.on_time():
        return result("not-run", f"the {BOX_S:g} s for such tests were used up"), ()
    try:
        outcome = test.run(session)
    except (NotRun, NotDrawable) as why:
        return result("not-run", str(why)), ()
    except Lost as lost:
        if test.run is calling.first_answer or not lost.alive:
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
