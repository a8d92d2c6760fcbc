"""The page of the rule behind a finding: what it is, why it matters, what honest code looks alike, what settles it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgrade.records.evidence import Finding
from kgrade.records.grade import FindingAnswer, Probe
from kgrade.tui.lines import Row, Rows, Span
from kgrade.tui.panes.layout import BLANK, heading, sentence
from kgrade.tui.panes.remarks import SEVERITY_STYLES

MEANING: Mapping[str, str] = {"tell": "proves itself", "suspect": "needs a look", "note": "context"}


def rule_rows(
    finding: Finding,
    results: Mapping[str, str | None],
    answer: FindingAnswer | None,
    probes: Sequence[Probe],
    settle_key: str,
) -> Rows:
    """The page. `results` are those of the settling tests by target, `probes` those that were run for this finding.

    `settle_key` is the key that runs what settles it.
    """
    # Imported when a page is opened: the rules bring the analysis with them.
    from kgrade.harness.integrity.explanations import EXPLANATIONS, KINDS
    from kgrade.harness.integrity.findings import BY_ID
    from kgrade.harness.integrity.runs import runs_for

    rows = [
        heading(f"{finding.rule} {finding.name}", KINDS.get(finding.rule[:1], "")),
        Row((Span(f"{finding.severity}, {MEANING[finding.severity]}", SEVERITY_STYLES[finding.severity]),)),
    ]
    rule = BY_ID.get(finding.rule)
    explained = EXPLANATIONS.get(finding.rule)
    if rule is None or explained is None:
        text = f"This version of kgrade has no rule {finding.rule}: another version, or another tool, made the finding."
        rows += [BLANK, *sentence(text, "warn")]
    else:
        rows += _section("what it is", rule.what)
        rows += _section("why it matters", explained.matters)
        rows += [BLANK, heading("what it looks like", "an example, not from here")]
        rows += [Row((Span("    " + line, "strong"),)) for line in explained.sample.split("\n")]
        rows += _section("what honest code looks alike", rule.honest)
        rows += _section("what settles it", rule.settles)
        runs = runs_for(finding.rule)
        rows += [row for run in runs for row in sentence(run.does, indent="  ", lead=f"{run.name}: ")]
        how = f"{settle_key} runs {'these' if len(runs) > 1 else 'this'} on cpu, and keeps the result as a probe."
        if not runs:
            how = (
                f"{settle_key} collects the stage {explained.stage} anew."
                if explained.stage
                else "No run settles it: read both sides."
            )
        rows += sentence(how, "dim", indent="  ", lead="> ")
    rows += [BLANK, heading("here", f"{finding.path}:{finding.line}", "place")]
    rows += [Row((Span(f"    {line}"),)) for line in finding.snippet.split("\n")[:12]]
    rows += sentence(finding.why, indent="  ")
    rows += result_rows(results, answer, probes)
    return Rows(rows)


def result_rows(results: Mapping[str, str | None], answer: FindingAnswer | None, probes: Sequence[Probe]) -> list[Row]:
    """What tests and people have said of a finding so far."""
    rows = []
    for target, result in results.items():
        text = f"{target}: {result}" if result else f"{target}: not run, so a person must judge"
        rows += sentence(text, "" if result else "dim", indent="  ", lead="result   ")
    for probe in probes:
        style = {"failed": "bad", "passed": "good"}.get(probe.result, "dim")
        rows += sentence(probe.summary, style, indent="  ", lead="you ran  ")
    if answer is None:
        return rows + sentence("not judged yet", "dim", indent="  ", lead="you      ")
    said = answer.disposition.replace("-", " ") + (f": {answer.comment}" if answer.comment else "")
    return rows + sentence(said, "note", indent="  ", lead="you      ")


def _section(title: str, text: str) -> list[Row]:
    return [BLANK, heading(title), *sentence(text, indent="  ")]
