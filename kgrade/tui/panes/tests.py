"""Where it is wrong: cases with their errors, failed and worst first; details of every case behind a fold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kgrade.records.evidence import CaseCheck, Check, Figures, Number
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures
from kgrade.tui.panes.errors import case_details
from kgrade.tui.panes.glances import aged, worst_state
from kgrade.tui.panes.layout import BLANK, Column, Entry, Joined, Late, heading, long_table, sentence
from kgrade.tui.panes.logs import log_section
from kgrade.tui.panes.sections import collected, missing_targets, not_run, provenance, spaced, state, target_heading

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item
    from kgrade.desk.sheet import Sheet

_ORDER = ("failed", "error", "passed", "not-run")
_MARKED = ("failed", "error")


def pane(item: Item, sheet: Sheet) -> Pane:
    """The check on every target of `item`, and the evaluator's own cases."""
    parts: list[Lines] = []
    for target, file in collected(item):
        parts += [Rows([BLANK])] if parts else []
        parts += _target(target, file, item)
    rest = spaced([missing_targets(item), _probes(sheet)])
    parts.append(Rows([BLANK, *rest] if parts and rest else rest))
    return Pane(Joined(parts), glance(item))


def glance(item: Item) -> Glance:
    """Required cases that passed out of those that ran, on the target where the fewest did: `47/48✗`."""
    ran = []
    for _, file in collected(item):
        required = [case for case in file.evidence.stages.check.cases if case.required and case.status != "not-run"]
        if required:
            ran.append((sum(case.status == "passed" for case in required), len(required)))
    state_only = worst_state(item, "check")
    if not ran:
        return state_only
    passed, of = min(ran, key=lambda pair: (pair[0] / pair[1], -pair[1]))
    return aged(item, "check", Glance(f"{passed}/{of}{state_only.text.removesuffix('~')}", state_only.style))


def _target(target: str, file: EvidenceFile, item: Item) -> list[Lines]:
    check = file.evidence.stages.check
    head = target_heading(target, file)
    if check.status in ("not-run", "error") and not check.cases:
        return [Rows([*head, *not_run(check, item, "The check")]), *log_section(file, check.log)]
    lines: list[Lines] = [Rows([*head, *_verdict(check)])]
    lines += _cases("required", [case for case in check.cases if case.required])
    extra = [case for case in check.cases if not case.required]
    lines += _cases("extra (outside the contract: cannot fail it)", extra)
    rest = [_seen(check), _unseen(check, target), provenance(file.evidence.environment, check.method)]
    lines.append(Rows([BLANK, *spaced(rest), *([BLANK] if check.log else [])]))
    return [*lines, *log_section(file, check.log)]


def _verdict(check: Check) -> list[Row]:
    required = [case for case in check.cases if case.required]
    passed = sum(case.status == "passed" for case in required)
    skipped = sum(case.status == "not-run" for case in required)
    rest = f", {skipped} not run" if skipped else ""
    text = f"  {passed} of {figures.count(len(required), 'required case')} passed{rest}"
    return [Row(spans=(state(check.status), Span(text))), *(sentence(check.reason) if check.reason else [])]


def _cases(title: str, cases: list[CaseCheck]) -> list[Lines]:
    """One row a case. A pass is a pass at the tolerance beside; the framework's figure says what a library reaches."""
    if not cases:
        return []
    columns = [
        Column("case", most=32), Column("state"), Column("wrong", right=True), Column("max abs", right=True),
        Column("rel", right=True), Column("ulp", right=True), Column("framework", right=True),
        Column("tolerance (max |ref|)", most=60),
    ]  # fmt: skip
    ordered = sorted(cases, key=_gravity)
    marks = [number for number, case in enumerate(ordered) if case.status in _MARKED]

    def entry(number: int) -> Entry:
        case = ordered[number]
        details = Late(lambda: Rows(case_details(case)))
        return Entry(_cells(case), mark="case" if case.status in _MARKED else "", fold=details)

    head = heading(title, f"{len(cases)}, o opens a case")
    return [Rows([BLANK, head]), long_table(columns, len(ordered), entry, marks)]


def _cells(case: CaseCheck) -> list[str | Span]:
    name = figures.case_name(case.case)
    figured = [output for output in case.outputs if output.figures]
    if not figured:
        why = case.reason or next((output.reason for output in case.outputs if output.reason), None)
        why = why or (case.failure.advice if case.failure else "no figures")
        return [name, _state(case), "", "", "", "", "", why]
    worst = max(figured, key=lambda output: _size(output.figures.ulp.max if output.figures else 0))
    found = worst.figures
    assert found is not None
    wrong = sum(_wrong(output.figures) for output in figured if output.figures)
    beside = f"{figures.ulp(worst.framework.ulp.max)} ulp" if worst.framework else figures.NOTHING
    size = f" ({figures.error(worst.magnitude.max_abs)})" if worst.magnitude else ""
    return [
        name,
        _state(case),
        Span(f"{wrong:,}", "bad") if wrong else Span("0"),
        figures.error(found.absolute.max),
        figures.error(found.relative.max),
        figures.ulp(found.ulp.max),
        beside,
        (figures.tolerance(worst.tolerance) if worst.tolerance else "by the task's checker") + size,
    ]


def _state(case: CaseCheck) -> Span:
    return Span("— not run", "dim") if case.status == "not-run" else state(case.status)


def _gravity(case: CaseCheck) -> tuple[int, float]:
    """Failed before passed, then by the share of wrong elements, then by the largest ULP error."""
    shares = [_wrong(output.figures) / max(1, output.figures.elements) for output in case.outputs if output.figures]
    ulps = [_size(output.figures.ulp.max) for output in case.outputs if output.figures]
    return _ORDER.index(case.status), -(max(shares, default=0.0) * 1e300 + min(max(ulps, default=0.0), 1e290))


def _wrong(found: Figures) -> int:
    """Elements outside the tolerance, and those that are NaN or Inf on one side only."""
    return found.mismatched + found.nonfinite_wrong


def _size(value: Number) -> float:
    number = float(value)
    return math.inf if math.isnan(number) else number


def _seen(check: Check) -> list[Row]:
    """Faults that no result shows. The first case that showed one is named; others may show it too."""
    if not check.seen:
        return []
    rows = [heading("seen by the checks of CPU emulation", figures.count(len(check.seen), "fault"))]
    return rows + [row for fault in check.seen for row in sentence(f"{fault.text} (at {fault.case})", lead="- ")]


def _unseen(check: Check, target: str) -> list[Row]:
    if not check.unseen:
        return []
    rows = [heading("what this method cannot see", f"a pass on {target} says nothing about these")]
    return rows + [row for text in check.unseen for row in sentence(text, lead="- ")]


def _probes(sheet: Sheet) -> list[Row]:
    own = [probe for probe in sheet.probes.values() if not probe.finding]
    if not own:
        return []
    rows = [heading("your own cases")]
    for probe in own:
        symbols = " ".join(f"{name}={value}" for name, value in probe.case.symbols.items())
        name = f"{symbols} {figures.dtype(probe.case.dtype)} {probe.case.family}"
        rows.append(Row(spans=(state(probe.result), Span(f"  {name}"))))
        rows += sentence(probe.summary, indent="  ")
    return rows
