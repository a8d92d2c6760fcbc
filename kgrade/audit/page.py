"""The audit as one page of HTML: self-contained, no script, plots as SVG, good on paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from kgrade.audit.agreement import GOOD, TENTATIVE, Agreement
from kgrade.audit.changes import Change
from kgrade.audit.coverage import Coverage
from kgrade.audit.drift import Standing, Suspicion
from kgrade.audit.findings import SHALLOW
from kgrade.audit.overview import Disagreement, Overview
from kgrade.audit.page_history import forecast, histories
from kgrade.audit.phrases import STANDING, criterion_row, figure, levels, share, standing_row

LISTED = 50
_CLASSES = {"good": "good", "tentative": "tentative", "mend the sheet": "mend"}


def page(found: Overview, history: Sequence[Change], name: str) -> str:
    """Return the page for `found` and the saves in `history`, newest first; `name` says which queue."""
    agreed = found.agreement
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    style = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    sections = [
        _section("Coverage", *_coverage(found.coverage)),
        _section("Agreement by criterion", *_agreement(agreed)),
        _section("Gates", _gates(agreed)),
        _section("Pairs of evaluators", _pairs(agreed)),
        _section("Evaluators", *_evaluators(found.standings)),
        _section("Widest disagreements", _disagreements(found.disagreements[:LISTED])),
        _section("Worth a look", _suspicions(found.suspicions)),
        _section("Grades that cannot be read", _table(["fault"], [[fault] for fault in found.faults])),
        _section("History by item", *histories(history), _sentence(SHALLOW) if found.shallow else ""),
    ]
    count = f"{agreed.grades} grades by {len(agreed.evaluators)} evaluators, {when}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Audit of {escape(name)}</title><style>{style}</style>"
        f'<h1>Audit of {escape(name)}</h1><p class="sub">{count}</p>{"".join(sections)}</html>\n'
    )


def _coverage(covered: Coverage) -> Iterator[str]:
    pace = "" if covered.days_left is None else f", about {covered.days_left:.0f} days at the pace of the last week"
    begun = covered.graded - covered.finished
    done = f"{covered.finished} of {covered.items} submissions finished{f', {begun} begun' if begun > 0 else ''}"
    yield _sentence(f"{done}; {covered.grades_left} grades to go{pace}.")
    yield _bar(covered.finished, covered.graded, covered.items)
    yield forecast(covered)


def _agreement(agreed: Agreement) -> Iterator[str]:
    yield _sentence(
        f"{agreed.doubly_rated} items were rated twice or more. Alpha is Krippendorff's, ordinal, with its 95 %"
        f" interval over items; AC2 is Gwet's, quadratic. From {GOOD} an agreement is good,"
        f" from {TENTATIVE} tentative; below, the sheet needs mending."
    )
    yield _forest(agreed)
    yield _criteria(agreed)


def _evaluators(standings: Sequence[Standing]) -> Iterator[str]:
    if standings:
        yield _sentence(
            "Levels above (+) or below (-) the others on the same items: over all, and over the last 20;"
            " and above or below the levels that leads know to be right."
        )
        yield _severity(standings)
        yield _people(standings)


def _disagreements(found: Sequence[Disagreement]) -> str:
    rows = [
        [d.item, d.criterion, str(d.gap), ", ".join(d.evaluators), _numbers(d.totals), ", ".join(d.verdicts)]
        for d in found
    ]
    return _table(["item", "criterion", "levels apart", "evaluators", "totals", "verdicts"], rows)


def _suspicions(found: Sequence[Suspicion]) -> str:
    rows = [[each.kind, each.evaluator, each.item, each.why] for each in found]
    return _table(["kind", "evaluator", "item", "why"], rows)


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _section(title: str, *parts: str) -> str:
    body = "".join(parts)
    return f"<section><h2>{title}</h2>{body}</section>" if body else ""


def _sentence(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str] = ()) -> str:
    if not rows:
        return ""
    cells = "".join(f"<th>{escape(each)}</th>" for each in head)
    marks = [*classes, *[""] * (len(rows) - len(classes))]
    lines = [
        f'<tr class="{mark}">' + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row, mark in zip(rows, marks, strict=True)
    ]
    return f"<table><thead><tr>{cells}</tr></thead>{''.join(lines)}</table>"


def _criteria(agreed: Agreement) -> str:
    head = ["rubric", "criterion", "items", "exact", "within 1", "alpha", "AC2", "band"]
    classes = [_CLASSES.get(of.band or "", "") for of in agreed.criteria]
    return _table(head, [criterion_row(of) for of in agreed.criteria], classes)


def _gates(agreed: Agreement) -> str:
    rows = [[of.rubric, of.gate, str(of.items), share(of.exact), figure(of.ac1)] for of in agreed.gates if of.items]
    return _table(["rubric", "gate", "items", "exact", "AC1"], rows)


def _pairs(agreed: Agreement) -> str:
    rows = [
        [of.first, of.second, str(of.items), figure(of.kappa), figure(of.icc), levels(of.ahead)]
        for of in agreed.pairs
        if of.items
    ]
    return _table(["first", "second", "items", "weighted kappa", "ICC(A,1) of totals", "first ahead by"], rows)


def _people(standings: Sequence[Standing]) -> str:
    return _table(STANDING, [standing_row(each) for each in standings])


def _bar(finished: int, graded: int, items: int) -> str:
    if not items:
        return ""
    done, begun = 600 * finished / items, 600 * graded / items
    return (
        '<svg viewBox="0 0 600 18" width="100%" role="img" aria-label="share of submissions finished and begun">'
        f'<rect width="600" height="18" class="rest"/><rect width="{begun:.1f}" height="18" class="begun"/>'
        f'<rect width="{done:.1f}" height="18" class="done"/></svg>'
    )


def _forest(agreed: Agreement) -> str:
    """Alpha of each criterion with its interval, on an axis from -0.2 to 1."""
    shown = [of for of in agreed.criteria if of.alpha.value is not None]
    if not shown:
        return ""
    height = 22 * len(shown) + 26

    def x(value: float) -> float:
        return 220 + 560 * (min(max(value, -0.2), 1.0) + 0.2) / 1.2

    lines: list[str] = []
    for edge in (0.0, TENTATIVE, GOOD, 1.0):
        lines.append(f'<line class="grid" x1="{x(edge):.1f}" x2="{x(edge):.1f}" y1="0" y2="{height - 22}"/>')
        lines.append(f'<text class="soft" x="{x(edge):.1f}" y="{height - 6}" text-anchor="middle">{edge:g}</text>')
    for at, of in enumerate(shown):
        y = 22 * at + 14
        lines.append(f'<text x="0" y="{y + 4}">{escape(f"{of.rubric}: {of.criterion}")[:60]}</text>')
        if of.alpha.low is not None and of.alpha.high is not None:
            lines.append(
                f'<line class="mark" x1="{x(of.alpha.low):.1f}" x2="{x(of.alpha.high):.1f}" y1="{y}" y2="{y}"/>'
            )
        lines.append(f'<circle class="dot" cx="{x(of.alpha.value or 0):.1f}" cy="{y}" r="4"/>')
    head = f'<svg viewBox="0 0 800 {height}" width="100%" role="img" aria-label="alpha by criterion">'
    return f"{head}{''.join(lines)}</svg>"


def _severity(standings: Sequence[Standing]) -> str:
    return "".join(_severity_plot([s for s in standings if s.severity is not None]))


def _severity_plot(shown: Sequence[Standing]) -> Iterator[str]:
    """A bar per evaluator, from -2 to +2 levels."""
    if not shown:
        return
    height = 22 * len(shown)
    yield f'<svg viewBox="0 0 800 {height}" width="100%" role="img" aria-label="severity by evaluator">'
    yield f'<line class="grid" x1="500" x2="500" y1="0" y2="{height}"/>'
    for at, standing in enumerate(shown):
        level = min(max(standing.severity or 0.0, -2.0), 2.0)
        left, width = (500 + 140 * min(level, 0.0), 140 * abs(level))
        yield f'<text x="0" y="{22 * at + 16}">{escape(standing.evaluator)}</text>'
        yield f'<rect class="dot" x="{left:.1f}" y="{22 * at + 5}" width="{max(width, 1):.1f}" height="12"/>'
    yield "</svg>"
