"""The deeds on the sheet: scores, comments, gates, verdict, feedback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kgrade.desk.sheet import Field
from kgrade.desk.sitting import Sitting
from kgrade.records.grade import GateAnswer, Score
from kgrade.records.rubric import Criterion
from kgrade.tui.begun_text import BegunTexts
from kgrade.tui.contexts import FindContext, Option, PickContext
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence
from kgrade.tui.sheet_view import gate_sign, score_sign
from kgrade.tui.text_entry import TextEntry


class Scoring:
    """Edits the sheet of one sitting. `edited` is called after each edit."""

    def __init__(self, stage: Stage, sitting: Sitting, edited: Callable[[], None]) -> None:
        self._stage = stage
        self.sitting = sitting
        self.texts = BegunTexts(stage, sitting)
        self._edited = edited
        self.focus = 0

    @property
    def criterion(self) -> Criterion:
        """The criterion in focus."""
        return self.sitting.item.rubric.criteria[self.focus]

    def edit(self, field: Field, key: str, value: Any) -> bool:
        """Make an edit and say what it was, or why it could not be made; return whether it was."""
        try:
            told = self.sitting.edit(field, key, value)
        except TROUBLE as why:
            self._stage.say(sentence(why), "bad")
            return False
        undo = self._stage.dispatcher.table.of("undo").keys
        self._stage.say(f"{told}   ({undo[0]} undoes)" if undo else told)
        self._edited()
        return True

    def move_focus(self, step: int) -> None:
        """Focus the next criterion, or the previous one; it stops at the ends."""
        self.focus = min(max(0, self.focus + step), len(self.sitting.item.rubric.criteria) - 1)
        self._edited()

    def score(self, level: int) -> None:
        """Give the focused criterion `level` and go to the next one without a score."""
        rubric, criterion = self.sitting.item.rubric, self.criterion
        if level > rubric.scale:
            self._stage.say(f"{criterion.id} has levels 0 to {rubric.scale}", "warn")
            return
        comment = self._score(criterion).comment
        if not self._edit_and_go_on(criterion, Score(score=level, comment=comment)):
            return
        if level in criterion.comment_required_at and not comment:
            self._stage.say(f"{criterion.id} at {level} needs a comment: go back with K, then c", "warn")

    def not_applicable(self) -> None:
        """Ask why the focused criterion does not apply."""
        criterion = self.criterion

        def done(reason: str) -> bool:
            if reason.strip():
                return self._edit_and_go_on(criterion, Score(na=True, comment=reason))
            self._stage.say("not applicable needs a reason; nothing was changed", "warn")
            return True

        self.texts.ask(TextEntry(f"why {criterion.id} does not apply"), done)

    def comment(self, text: str | None = None) -> None:
        """Type the focused criterion's comment, starting from `text` if given."""
        criterion = self.criterion
        start = self._score(criterion).comment if text is None else text
        self.texts.ask(TextEntry(f"{criterion.id}", start), lambda said: self._set_comment(criterion, said))

    def comment_outside(self) -> None:
        """Write the focused criterion's comment in $EDITOR."""
        criterion = self.criterion
        said = self._stage.edit_outside(self._score(criterion).comment)
        if said is not None:
            self._set_comment(criterion, said)

    def snippet(self) -> None:
        """Choose a prepared sentence and go on typing after it."""
        criterion = self.criterion
        texts = [each.text for each in self.sitting.item.rubric.snippets if each.criterion == criterion.id]
        before = self._score(criterion).comment

        def chosen(number: str) -> None:
            self.comment(f"{before} {texts[int(number)]}".strip())

        options = [Option(str(number), text) for number, text in enumerate(texts)]
        FindContext(self._stage, f"snippets for {criterion.id}", options, chosen)

    def why_no_snippet(self) -> str | None:
        """Why there is none to choose."""
        if any(each.criterion == self.criterion.id for each in self.sitting.item.rubric.snippets):
            return None
        return f"the rubric has no snippet for {self.criterion.id}"

    def gates(self) -> None:
        """List the gates; choosing one confirms it, then denies it, then leaves it unanswered.

        One that the evidence suggests is confirmed at once, with the evidence's sentence as its reason.
        """
        gates = [gate.id for gate in self.sitting.item.rubric.gates]
        open_ones = [
            number
            for number, gate in enumerate(gates)
            if gate in self.sitting.suggestions and gate not in self.sitting.sheet.gates
        ]
        title = "gates: Enter confirms, again denies"
        first = open_ones[0] if open_ones else 0
        PickContext(self._stage, title, self._gate_options, self._gate, stays=True, first=first)

    def verdict(self) -> None:
        """Choose the verdict."""
        options = [Option(verdict, verdict) for verdict in self.sitting.item.rubric.verdicts]

        def chosen(verdict: str) -> None:
            self.edit("verdict", "", verdict)

        PickContext(self._stage, "verdict", lambda: options, chosen)

    def feedback(self) -> None:
        """Write the feedback for the author in $EDITOR."""
        said = self._stage.edit_outside(self.sitting.sheet.feedback)
        if said is not None and said != self.sitting.sheet.feedback:
            self.edit("feedback", "", said)

    def private_note(self) -> None:
        """Type a note to oneself; it is saved with the grade and never part of the feedback."""
        entry = TextEntry("note to yourself", self.sitting.sheet.private_note)
        self.texts.ask(entry, lambda said: self.edit("private_note", "", said.strip()))

    def flag(self) -> None:
        """Flag the item for a lead, with what for; nothing typed takes the flag away."""
        entry = TextEntry("flag for a lead", self.sitting.sheet.flagged)
        self.texts.ask(entry, lambda said: self.edit("flagged", "", said.strip()))

    def go_to(self, place: str) -> None:
        """Go where something is missing: a criterion, a gate, the verdict."""
        names = [criterion.id for criterion in self.sitting.item.rubric.criteria]
        if place in names:
            self.focus = names.index(place)
            self._edited()
        elif place == "verdict":
            self.verdict()
        elif self.sitting.item.rubric.gate(place):
            self.gates()

    def _score(self, criterion: Criterion) -> Score:
        return self.sitting.sheet.scores.get(criterion.id, Score())

    def _set_comment(self, criterion: Criterion, said: str) -> bool:
        score = self._score(criterion)
        if said.strip() == score.comment:
            return True
        value = msgspec.structs.replace(score, comment=said.strip())
        return self.edit("scores", criterion.id, None if value == Score() else value)

    def _edit_and_go_on(self, criterion: Criterion, value: Score) -> bool:
        """Put `value` in and focus the next criterion without a score; where it is refused the focus stays."""
        before = self.focus
        # Moved first, so that the strip is drawn once.
        self._to_next_unscored()
        done = self.edit("scores", criterion.id, value)
        if not done:
            self.focus = before
        return done

    def _to_next_unscored(self) -> None:
        names = [criterion.id for criterion in self.sitting.item.rubric.criteria]
        for distance in range(1, len(names)):
            number = (self.focus + distance) % len(names)
            if score_sign(self.sitting.sheet.scores.get(names[number])) == ".":
                self.focus = number
                return

    def _gate_options(self) -> list[Option]:
        options = []
        for gate in self.sitting.item.rubric.gates:
            answer = self.sitting.sheet.gates.get(gate.id)
            denied = answer is not None and not answer.confirmed
            sign = "-" if denied else gate_sign(self.sitting, gate.id)
            said = answer.comment if answer else self.sitting.suggestions.get(gate.id, "")
            first, then = (said, gate.title) if said else (gate.title, "")
            options.append(Option(gate.id, f"({sign}) {gate.id}: {first}", then))
        return options

    def _gate(self, gate: str) -> None:
        answer = self.sitting.sheet.gates.get(gate)
        suggested = self.sitting.suggestions.get(gate)
        if answer is None and suggested:
            self.edit("gates", gate, GateAnswer(confirmed=True, comment=suggested))
        elif answer is None:
            self.texts.ask(
                TextEntry(f"why {gate} holds"),
                lambda said: self.edit("gates", gate, GateAnswer(confirmed=True, comment=said.strip())),
            )
        elif answer.confirmed:
            self.edit("gates", gate, GateAnswer(confirmed=False))
        else:
            self.edit("gates", gate, None)
