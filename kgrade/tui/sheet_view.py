"""What the status line and the rubric strip show of a sitting: plain functions from records to values."""

from __future__ import annotations

from kgrade.desk.listing import Progress
from kgrade.desk.sitting import Sitting
from kgrade.records.grade import Score
from kgrade.tui.widgets.rubric import CriterionLine, GateState, RubricView
from kgrade.tui.widgets.status import Status


def status_of(sitting: Sitting, progress: Progress, clock: str, *, idle: bool = False, alarm: str = "") -> Status:
    """The first line for the open item; `idle` while nobody works on it, `alarm` says what is to be settled."""
    item, minutes = sitting.item, int(sitting.active_s) // 60
    return Status(
        item=str(item.id),
        kind=item.task.type if item.submission else "task review",
        language=item.task.language,
        targets=",".join(item.task.targets),
        position=min(progress.graded + 1, progress.total),
        count=progress.total,
        today=progress.today,
        worked=f"{minutes} min{', paused' if idle else ''}" if minutes else "",
        alarm=alarm,
        state=sitting.status,
        clock=clock,
    )


def rubric_view(sitting: Sitting, focus: int) -> RubricView:
    """The strip for the open sheet, with criterion number `focus` in focus."""
    item, sheet, result = sitting.item, sitting.sheet, sitting.result()
    return RubricView(
        title=item.rubric_ref.id,
        criteria=tuple(
            CriterionLine(
                name=criterion.id,
                score=score_sign(sheet.scores.get(criterion.id)),
                comment=sheet.scores.get(criterion.id, Score()).comment,
                levels=tuple(criterion.levels[level] for level in sorted(criterion.levels)),
            )
            for criterion in item.rubric.criteria
        ),
        focus=focus,
        gates=tuple(GateState(gate.id, gate_sign(sitting, gate.id)) for gate in item.rubric.gates),
        verdict=sheet.verdict or "",
        total="" if result.total is None else f"{result.total:.1f}",
        said=tuple(
            word
            for word, text in (
                ("flagged", sheet.flagged),
                ("feedback", sheet.feedback),
                ("own note", sheet.private_note),
            )
            if text
        ),
    )


def score_sign(score: Score | None) -> str:
    """The level as a digit, ``-`` for not applicable, ``.`` for none."""
    if score is None or (score.score is None and not score.na):
        return "."
    return "-" if score.na else str(score.score)


def gate_sign(sitting: Sitting, gate: str) -> str:
    """``x`` confirmed, ``?`` suggested by evidence and not answered, a space for neither."""
    answer = sitting.sheet.gates.get(gate)
    if answer is not None:
        return "x" if answer.confirmed else " "
    return "?" if gate in sitting.suggestions else " "
