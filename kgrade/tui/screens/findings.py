"""What the evaluator makes of a finding: confirmed, a false alarm, or allowed here, with a comment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kgrade.records.evidence import Finding
from kgrade.records.grade import Disposition, FindingAnswer
from kgrade.tui.contexts import Option, PickContext, TextContext
from kgrade.tui.panes.remarks import findings
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
    """The deed on the finding under the cursor. `pane` tells which pane is open."""

    def __init__(self, stage: Stage, scoring: Scoring, pane: Callable[[], str]) -> None:
        self._stage = stage
        self._scoring = scoring
        self._pane = pane

    def why_not(self) -> str | None:
        """Why there is nothing to judge here."""
        if self._here() is not None:
            return None
        if not findings(self._scoring.sitting.item):
            return "this item has no finding"
        return "no finding stands here: f lists them, ] goes to the next"

    def judge(self) -> None:
        """Ask what the finding is, then for a comment; the judgement counts before the comment is typed."""
        finding = self._here()
        if finding is None:
            return
        options = [Option(each, text) for each, text in _MEANINGS.items()]
        if finding.key in self._scoring.sitting.sheet.findings:
            options.append(Option(_OPEN, "open again: not judged yet"))

        def chosen(what: str) -> None:
            answer = next((FindingAnswer(disposition=each) for each in _MEANINGS if each == what), None)
            self._scoring.edit("findings", finding.key, answer)
            if answer is not None:
                self._comment(finding, answer.disposition)

        PickContext(self._stage, f"{finding.rule} {finding.name}", lambda: options, chosen)

    def _comment(self, finding: Finding, disposition: Disposition) -> None:
        def done(said: str) -> None:
            if said.strip():
                value = FindingAnswer(disposition=disposition, comment=said.strip())
                self._scoring.edit("findings", finding.key, value)

        TextContext(self._stage, TextEntry(f"{finding.rule} {disposition}, why (Enter: no comment)"), done)

    def _here(self) -> Finding | None:
        """The finding whose line is under the cursor; in the findings pane the one whose rows are."""
        found = [sighting.finding for sighting in findings(self._scoring.sitting.item)]
        if self._pane() == "findings":
            position = self._stage.view.position
            above = sum(mark <= position.cursor for mark in position.opened.marks)
            return found[above - 1] if 0 < above <= len(found) else None
        row = self._stage.view.row
        place = row.place if row is not None else None
        if place is None or place.side != "new":
            return None
        return next((each for each in found if (each.path, each.line) == (place.path, place.line)), None)
