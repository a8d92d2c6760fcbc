"""Signs of cheating, unfairness or fragility: proof, what settles it, and what the evaluator made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgrade.tui.lines import Lines, Place, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures
from kgrade.tui.panes.glances import aged, worst_state
from kgrade.tui.panes.layout import BLANK, Joined, sentence
from kgrade.tui.panes.logs import log_section
from kgrade.tui.panes.remarks import SEVERITY_STYLES, Sighting, findings
from kgrade.tui.panes.rule import MEANING, result_rows
from kgrade.tui.panes.sections import collected, missing_targets, not_run, spaced, state, target_heading

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item
    from kgrade.desk.sheet import Sheet

_SNIPPET_LINES = 12


def pane(item: Item, sheet: Sheet) -> Pane:
    """The findings on `item`, gravest first, then what each target's examination came to."""
    found = findings(item)
    sections = [_summary(found)] if found else []
    sections += [_finding(one, sheet) for one in found]
    sections += [_target(target, file, item) for target, file in collected(item)] + [missing_targets(item)]
    parts: list[Lines] = [Rows(spaced(sections))]
    for _, file in collected(item):
        log = log_section(file, file.evidence.stages.integrity.log)
        parts += [Rows([BLANK]), *log] if log else []
    return Pane(Joined(parts), glance(item))


def glance(item: Item) -> Glance:
    """How many findings want a look (tells and suspects)."""
    found = findings(item)
    if not found:
        return worst_state(item, "integrity")
    grave = [one for one in found if one.finding.severity != "note"]
    tells = any(one.finding.severity == "tell" for one in grave)
    text = f"{len(grave)}!" if grave else f"{len(found)} note{'s' if len(found) > 1 else ''}"
    return aged(item, "integrity", Glance(text, "bad" if tells else "warn" if grave else "note"))


def _summary(found: list[Sighting]) -> list[Row]:
    counts = {level: sum(one.finding.severity == level for one in found) for level in SEVERITY_STYLES}
    text = ", ".join(f"{figures.count(count, level)} ({MEANING[level]})" for level, count in counts.items() if count)
    rows = sentence(f"{text}. A finding is evidence, never a verdict.")
    return rows + sentence("D judges, Enter with a comment; O runs what settles it; I shows its rule.", "dim")


def _finding(sighting: Sighting, sheet: Sheet) -> list[Row]:
    one = sighting.finding
    place = Place(one.path, one.line)
    title = (
        Span(f"! {one.rule} {one.name}", SEVERITY_STYLES[one.severity]),
        Span(f"  {one.severity}, {MEANING[one.severity]}  ", "dim"),
    )
    rows = [Row(spans=(*title, Span(f"{one.path}:{one.line}", "place")), mark="finding", place=place)]
    for number, line in enumerate(one.snippet.split("\n")[:_SNIPPET_LINES]):
        rows.append(
            Row(
                spans=(Span(f"    {one.line + number:>5} | ", "number"), Span(line)),
                place=Place(one.path, one.line + number),
            )
        )
    rows += sentence(one.why, indent="  ", lead="why      ")
    rows += sentence(one.settles, indent="  ", lead="settles  ")
    probes = [probe for probe in sheet.probes.values() if probe.finding == one.key]
    return rows + result_rows(sighting.results, sheet.findings.get(one.key), probes)


def _target(target: str, file: EvidenceFile, item: Item) -> list[Row]:
    stage = file.evidence.stages.integrity
    rows = target_heading(target, file)
    if stage.status in ("not-run", "error"):
        return rows + not_run(stage, item, "The integrity examination")
    count = len(stage.findings)
    said = (
        figures.count(count, "finding")
        if count
        else "no finding: none of the signs that were sought stands in the code"
    )
    rows.append(Row(spans=(state(stage.status), Span(f"  {said}"))))
    return rows + (sentence(stage.reason, lead="> ") if stage.reason else [])
