"""The grades of an item side by side, and a decision being made, as rows and as the strip: plain functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kgrade.audit.adjudication import Case, Line, agreed, total_of
from kgrade.audit.effects import effects
from kgrade.records.adjudication import Cause
from kgrade.records.rubric import Verdict
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.panes.layout import BLANK, Column, Entry, heading, sentence, table
from kgrade.tui.widgets.rubric import CriterionLine, GateState, RubricView

CAUSES: dict[Cause, str] = {
    "unclear-rubric": "the rubric is unclear: its levels can be read in two ways",
    "unclear-task": "the task is unclear: it does not say what is wanted here",
    "slip": "a slip: somebody overlooked something",
    "edge-case": "a real edge case: both readings can be defended",
}


@dataclass
class Decision:
    """A decision being made: nothing of it is in git."""

    levels: dict[str, int] = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)
    verdict: Verdict | None = None
    cause: Cause | None = None
    reason: str = ""

    @property
    def begun(self) -> bool:
        """Whether anything of it would be lost."""
        return bool(self.levels or self.gates or self.verdict or self.cause or self.reason)

    def missing(self, case: Case) -> Iterator[tuple[str, str]]:
        """What is still open: where it is settled, and a sentence."""
        for line in case.criteria:
            if line.gap and line.id not in self.levels:
                yield line.id, f"{line.id}: {_said(case, line)}; no level is settled"
        for line in case.gates:
            if len(set(line.levels)) > 1 and line.id not in self.gates:
                yield "gates", f"gate {line.id}: {_said(case, line, gate=True)}; whether it holds is not settled"
        if self.verdict is None:
            yield "verdict", f"verdict: {', '.join(grade.verdict or '-' for grade in case.grades)}; none is given"
        if self.cause is None:
            yield "cause", "cause: why the grades differ"
        if not self.reason.strip():
            yield "reason", "reason: a sentence that the evaluators will read"

    def total(self, case: Case) -> float | None:
        """The total that follows from what is settled and agreed."""
        return total_of(case, self.levels, self.gates)


def case_lines(case: Case) -> Lines:
    """Every grader's levels in one table, then each criterion in full, the widest gap first; each is a mark."""
    rows = [heading(case.title, f"under {case.rubric_id}, {len(case.grades)} grades")]
    for each in case.moved:
        rows += sentence(f"look again: {each}", "warn", lead="! ")
    rows += _matrix(case)
    if case.decided is not None:
        decided = case.decided
        what = f"{decided.verdict} {decided.total:g}, {decided.cause}, by {decided.lead} on {decided.decided}"
        rows += [BLANK, heading("decided", what), *sentence(decided.reason, indent="  ")]
        for effect in effects(case, decided):
            rows += sentence(effect.sentence, "dim", indent="  ")
    for line in case.criteria:
        rows += [BLANK, *_criterion(case, line)]
    for line in case.gates:
        rows += [BLANK, heading(f"gate {line.id}", line.title)]
        for grader, held, comment in zip(case.graders, line.levels, line.comments):
            rows += _word(grader, "yes" if held else "no", "", comment)
    remarks = [(grader, grade.feedback) for grader, grade in zip(case.graders, case.grades) if grade.feedback.strip()]
    for grader, feedback in remarks:
        rows += [BLANK, heading(f"{grader}'s feedback"), *sentence(feedback, indent="  ")]
    return Rows(rows)


def decision_strip(case: Case, decision: Decision, focus: int) -> RubricView:
    """The decision as the strip shows it: settled and agreed levels, who said what, what follows."""
    same, total = agreed(case), decision.total(case)
    levels = {criterion.id: criterion.levels for criterion in case.rubric.criteria}
    holding = {line.id: all(level == 1 for level in line.levels) for line in case.gates} | decision.gates
    differ = {line.id for line in case.gates if len(set(line.levels)) > 1} - set(decision.gates)
    return RubricView(
        title=f"{case.criteria[focus].id}: {_said(case, case.criteria[focus])}",
        criteria=tuple(
            CriterionLine(
                name=line.id,
                score=str(decision.levels.get(line.id, same.get(line.id, "."))),
                comment=_said(case, line),
                levels=tuple(levels[line.id][level] for level in sorted(levels[line.id])),
            )
            for line in case.criteria
        ),
        focus=focus,
        gates=tuple(GateState(name, "?" if name in differ else "x" if holding[name] else " ") for name in holding),
        verdict=decision.verdict or "",
        total="" if total is None else f"{total:.1f}",
        said=tuple(filter(None, [decision.reason and "reason", decision.cause])),
    )


def _matrix(case: Case) -> list[Row]:
    columns = [Column("", most=1), Column("", most=22), *(Column(who, right=True, most=12) for who in case.graders)]
    entries = [_levels(case, line) for line in case.criteria]
    for line in case.gates:
        words = ["yes" if held else "no" for held in line.levels]
        entries.append(Entry([_sign(len(set(line.levels)) > 1), f"gate {line.id}", *words, ""]))
    verdicts = [grade.verdict or "-" for grade in case.grades]
    entries.append(Entry([_sign(len(set(verdicts)) > 1), Span("verdict", "strong"), *verdicts, ""]))
    totals = ["-" if grade.total is None else f"{grade.total:g}" for grade in case.grades]
    entries.append(Entry([_sign(len(set(totals)) > 1), Span("total", "strong"), *totals, ""]))
    return table([*columns, Column("")], entries)


def _levels(case: Case, line: Line) -> Entry:
    cells = ["-" if level is None else str(level) for level in line.levels]
    apart = f"{line.gap} {'level' if line.gap == 1 else 'levels'} apart" if line.gap else ""
    return Entry([_sign(line.gap > 0), line.id, *cells, Span(apart, "warn" if line.gap else "dim")])


def _sign(differs: bool) -> Span:
    return Span("!", "warn") if differs else Span("✓", "good")


def _criterion(case: Case, line: Line) -> list[Row]:
    criterion = case.rubric.criterion(line.id)
    texts = criterion.levels if criterion else {}
    apart = f"{line.gap} {'level' if line.gap == 1 else 'levels'} apart" if line.gap else "all agree"
    top = heading(line.id, f"{line.title}, {apart}")
    rows = [Row(top.spans, mark="finding")]
    level = line.levels[0]
    if level is not None and set(line.levels) == {level}:
        rows += _word("all", str(level), texts.get(level, ""), "")
        for grader, comment in zip(case.graders, line.comments):
            rows += _word(grader, "", "", comment) if comment.strip() else []
        return rows
    for grader, level, comment in zip(case.graders, line.levels, line.comments):
        rows += _word(
            grader, "-" if level is None else str(level), texts.get(level, "") if level is not None else "", comment
        )
    return rows


def _word(grader: str, said: str, meaning: str, comment: str) -> list[Row]:
    """Who said what: the level's own text, then the comment in full."""
    lead = f"  {grader:<12} {said:<4}"
    rows = sentence(meaning, "dim", lead=lead) if meaning else [Row((Span(lead),))]
    return rows + (sentence(comment, indent=" " * len(lead)) if comment.strip() else [])


def _said(case: Case, line: Line, *, gate: bool = False) -> str:
    words = {1: "yes", 0: "no"} if gate else {}
    given = zip(case.graders, line.levels)
    return ", ".join(f"{who} {'-' if level is None else words.get(level, level)}" for who, level in given)
