"""What people said of an answer, carried inside a foreign result, whose format has no field of its own for it.

A result that leaves holds it under `kgrade`, beside what was measured where a verdict takes that field's place. When
the result comes back, the measured value takes its place again and each word becomes a grade of a foreign evaluator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from kgrade.exchange.brought import BroughtGrade
from kgrade.exchange.fields import Fields, name_of
from kgrade.exchange.notes import imported_note, note_of
from kgrade.exchange.standing import Graded
from kgrade.records.grade import Grade
from kgrade.records.rubric import Verdict
from kgrade.records.slugs import FOREIGN
from kgrade.records.submission import is_time

KEY = "kgrade"
MARK = "# verdict, imported"
OF_STATUS = "# status of a trace, imported"
ADJUDICATION = "adjudication"
VERDICTS: tuple[Verdict, ...] = ("accept", "revise", "reject", "hold")

Ruling = Literal["wrong-result", "cheating"]
Word = dict[str, Any]


def words_about(graded: Graded | None, solution_tree: str, *, named: bool) -> list[Word]:
    """What stands about these very bytes, an adjudication last; `named` tells the evaluators."""
    if graded is None:
        return []
    own = [grade for grade in graded.grades if not grade.private_note.startswith(OF_STATUS)]  # the status says it
    told = [grade for grade in own if grade.about.solution_tree == solution_tree]
    found = [_as_it_came(grade) or _given_here(grade) for grade in told]
    if not named:
        found = [{**word, "evaluator": f"evaluator-{number}"} for number, word in enumerate(found, 1)]
    decided = graded.adjudication
    if decided is not None:
        word = {"evaluator": ADJUDICATION, "verdict": decided.verdict, "total": decided.total, "saved": decided.decided}
        found.append({**word, "feedback": decided.reason})
    return found


def ruling(words: Sequence[Word]) -> Ruling | None:
    """Why the answer is rejected: by the adjudication where there is one, else by all who said something."""
    final = [word for word in words if word["evaluator"] == ADJUDICATION] or words
    if not final or any(word["verdict"] != "reject" for word in final):
        return None
    why = {word["because"] for word in words if word.get("because")}
    return "cheating" if "cheating" in why else "wrong-result" if why else None


def brought_words(block: Fields, task: str, submission: str) -> Iterator[BroughtGrade]:
    """The words of one result as grades of foreign evaluators."""
    for number, each in enumerate(block.list("grades", [])):
        word = Fields(block.place, each, f"{block.within}.grades[{number}]")
        said, saved = word.text("verdict", None), word.text("saved")
        verdict = next((each for each in VERDICTS if each == said), None)
        if verdict != said:
            raise word.misfit("verdict", f"one of {', '.join(VERDICTS)}")
        if not is_time(saved):
            raise word.misfit("saved", "a time such as 2026-11-03T09:30:00Z")
        total = word.number("total", None)
        head = f"Verdict there: {verdict or 'none'}" + ("" if total is None else f", {total:g} points")
        by = word.text("evaluator")
        yield BroughtGrade(
            place=block.place,
            task=task,
            submission=submission,
            evaluator=name_of(FOREIGN + by),
            verdict=verdict,
            feedback="\n\n".join(part for part in (head, word.text("feedback", "").strip()) if part) + "\n",
            note=note_of(MARK, word.values),
            saved=saved,
            given_by=by,
        )


def _as_it_came(grade: Grade) -> Word | None:
    """The word that an imported grade holds."""
    held = imported_note(grade, MARK)
    return held if held is not None and {"evaluator", "verdict"} <= set(held) else None


def _given_here(grade: Grade) -> Word:
    wrong = "wrong-result" in grade.gates and grade.gates["wrong-result"].confirmed
    cheats = any(answer.disposition == "confirmed" for answer in grade.findings.values())
    because: Ruling | None = "cheating" if cheats else "wrong-result" if wrong else None
    word = {
        "evaluator": grade.evaluator.removeprefix(FOREIGN),
        "verdict": grade.verdict,
        "total": grade.total,
        "saved": grade.times.saved,
        "feedback": grade.feedback.strip(),
        "because": because,
    }
    return {name: value for name, value in word.items() if name == "verdict" or value not in (None, "")}
