"""What the evaluator makes of a finding, and what tells more of it: its rule's page, and the tests that settle it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kgrade.records.evidence import Finding
from kgrade.records.grade import Disposition, FindingAnswer
from kgrade.tui.contexts import Option, PickContext, TextContext
from kgrade.tui.keys import Context
from kgrade.tui.panes.remarks import Sighting, findings
from kgrade.tui.panes.rule import rule_rows
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.scoring import Scoring
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry

_MEANINGS: Final[dict[Disposition, str]] = {
    "confirmed": "confirmed: it is what it looks like",
    "false-alarm": "false alarm: the code does not do that",
    "allowed-here": "allowed here: the task permits it",
}
_OPEN: Final = "open"


class Findings:
    """The deeds on the finding under the cursor. `pane` tells which pane is open.

    `run` runs what settles a finding: its own tests, or else the stage that is named.
    """

    def __init__(
        self,
        stage: Stage,
        scoring: Scoring,
        pane: Callable[[], str],
        run: Callable[[Finding, str | None], None],
    ) -> None:
        self._stage = stage
        self._scoring = scoring
        self._pane = pane
        self._run = run

    def why_not(self, action: str) -> str | None:
        """Why `action` cannot be done on a finding here."""
        here = self._here()
        if here is None:
            if not findings(self._scoring.sitting.item):
                return "this item has no finding"
            return "no finding stands here: f lists them, ] goes to the next"
        if action == "finding.settle" and self._scoring.sitting.read_only:
            return self._scoring.sitting.read_only
        return None

    def judge(self) -> None:
        """Ask what the finding is, then for a comment; the judgement counts before the comment is typed."""
        here = self._here()
        if here is None:
            return
        finding = here.finding
        options = [Option(each, text) for each, text in _MEANINGS.items()]
        if finding.key in self._scoring.sitting.sheet.findings:
            options.append(Option(_OPEN, "open again: not judged yet"))

        def chosen(what: str) -> None:
            answer = next((FindingAnswer(disposition=each) for each in _MEANINGS if each == what), None)
            self._scoring.edit("findings", finding.key, answer)
            if answer is not None:
                self._comment(finding, answer.disposition)

        PickContext(self._stage, f"{finding.rule} {finding.name}", lambda: options, chosen)

    def next_judgement(self) -> None:
        """Judge the finding by one key: confirmed, then a false alarm, then allowed here, then open again.

        A comment stays with the judgement.
        """
        here = self._here()
        if here is None:
            return
        key = here.finding.key
        answer = self._scoring.sitting.sheet.findings.get(key)
        order = list(_MEANINGS)
        if answer is None:
            self._scoring.edit("findings", key, FindingAnswer(disposition=order[0]))
            return
        number = order.index(answer.disposition) + 1
        after = FindingAnswer(disposition=order[number], comment=answer.comment) if number < len(order) else None
        self._scoring.edit("findings", key, after)

    def explain(self) -> None:
        """Open the page of the finding's rule."""
        here = self._here()
        if here is not None:
            RulePage(self._stage, self._scoring, here)

    def settle(self) -> None:
        """Run what settles the finding."""
        from kgrade.harness.integrity.explanations import EXPLANATIONS
        from kgrade.harness.integrity.runs import runs_for

        here = self._here()
        if here is None:
            return
        rule = here.finding.rule
        explained = EXPLANATIONS.get(rule)
        if runs_for(rule):
            self._run(here.finding, None)
        elif explained is not None and explained.stage is not None:
            self._run(here.finding, explained.stage)
        else:
            self._stage.say(f"no run settles {rule} {here.finding.name}: read both sides, then judge", "warn")

    def _comment(self, finding: Finding, disposition: Disposition) -> None:
        def done(said: str) -> None:
            if said.strip():
                value = FindingAnswer(disposition=disposition, comment=said.strip())
                self._scoring.edit("findings", finding.key, value)

        TextContext(self._stage, TextEntry(f"{finding.rule} {disposition}, why (Enter: no comment)"), done)

    def _here(self) -> Sighting | None:
        """The finding whose line is under the cursor; in the findings pane the one whose rows are."""
        found = findings(self._scoring.sitting.item)
        if self._pane() == "findings":
            position = self._stage.view.position
            above = sum(mark <= position.cursor for mark in position.opened.marks)
            return found[above - 1] if 0 < above <= len(found) else None
        row = self._stage.view.row
        place = row.place if row is not None else None
        if place is None or place.side != "new":
            return None
        return next(
            (each for each in found if (each.finding.path, each.finding.line) == (place.path, place.line)), None
        )


class RulePage:
    """The page of the rule behind a finding, over the page that it was opened from."""

    context: Context = "help"

    def __init__(self, stage: Stage, scoring: Scoring, about: Sighting) -> None:
        self._stage = stage
        self._before = stage.view.position
        self._deeds: Deeds = {
            **reading_deeds(stage),
            "redraw": lambda key: stage.draw_afresh(),
            "close": lambda key: self.close(),
        }
        finding, sheet = about.finding, scoring.sitting.sheet
        probes = [probe for probe in sheet.probes.values() if probe.finding == finding.key]
        keys = stage.dispatcher.table.of("finding.settle").keys
        settle_key = keys[0] if keys else "finding.settle"
        stage.view.show(rule_rows(finding, about.results, sheet.findings.get(finding.key), probes, settle_key))
        stage.say(f"the rule {finding.rule} {finding.name}: q closes")
        stage.dispatcher.open(self)

    def why_not(self, action: str) -> str | None:
        """Everything can be done here."""
        return None

    def perform(self, action: str, key: str) -> None:
        """Read, or close."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def close(self) -> None:
        """Show again what was there before."""
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._stage.dispatcher.close(self)
