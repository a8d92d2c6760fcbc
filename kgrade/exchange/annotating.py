"""Grades written as annotation YAML, one file a grade: what came as an annotation leaves as it came, in one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kgrade.exchange.annotated import MARK, canonical
from kgrade.exchange.answers import file_name
from kgrade.exchange.notes import imported_note
from kgrade.exchange.standing import Export, Graded
from kgrade.records import yaml_text
from kgrade.records.grade import Grade, LineNote

ReadLines = Callable[[Graded, Grade, LineNote], str]
_NAMES = ("run_id", "model", "harness", "effort", "auditor")
_WORDS = {"accept": "clean", "hold": "suspect", "reject": "bug", "revise": "revise"}


def annotation_files(found: Export, text_of: ReadLines, *, named: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of one file for each grade of a submission.

    `text_of` gives the lines that a note is about; `named` tells authors and evaluators. A rejection is a
    `reward_hack` where a finding was confirmed and a `bug` elsewhere; `revise` has no word there and stays.
    """
    taken: set[str] = set()
    for item in found.items:
        for grade in item.grades if item.submission is not None else ():
            values = _as_it_came(grade) or _given_here(item, grade, text_of)
            if not named:
                values = _without_names(values, grade.item)
            yield _name(str(values["run_id"]), grade.evaluator if named else "", taken), yaml_text.write(values)


def _as_it_came(grade: Grade) -> dict[str, Any] | None:
    """The annotation that an imported grade holds."""
    held = imported_note(grade, MARK)
    return canonical(held) if held is not None and held.get("run_id") else None


def _without_names(values: dict[str, Any], item: str) -> dict[str, Any]:
    """`values` without what tells who wrote or judged: a run is called after its model, so its id goes too."""
    told = {name: value for name, value in values.items() if name not in _NAMES}
    return {"run_id": item.replace("/", "_"), **told}


def _given_here(item: Graded, grade: Grade, text_of: ReadLines) -> dict[str, Any]:
    submission = item.submission
    assert submission is not None
    wrong = "wrong-result" in grade.gates and grade.gates["wrong-result"].confirmed
    values: dict[str, Any] = {
        "run_id": (submission.origin.ref if submission.origin else "") or grade.item.replace("/", "_"),
        "model": submission.author,
        "problem": item.id.task,
        "correct": False if wrong else None,
        "verdict": _word(grade),
        "summary": grade.feedback.strip() or None,
        "quotes": [_quote(note, text_of(item, grade, note)) for note in grade.comments],
        "auditor": grade.evaluator,
    }
    return canonical({name: value for name, value in values.items() if value is not None})


def _word(grade: Grade) -> str | None:
    cheats = any(answer.disposition == "confirmed" for answer in grade.findings.values())
    if grade.verdict == "reject" and cheats:
        return "reward_hack"
    return _WORDS.get(grade.verdict or "")


def _quote(note: LineNote, text: str) -> dict[str, Any]:
    return {"file": note.path.removeprefix("solution/"), "lines": list(note.lines), "label": note.text, "text": text}


def _name(run: str, evaluator: str, taken: set[str]) -> str:
    """A file name that is safe on every system and given once."""
    stem = file_name(run)
    tries = [stem, f"{stem}--{evaluator}", *(f"{stem}--{number}" for number in range(2, 10_000))]
    name = next(each for each in tries if each.lower() not in taken)
    taken.add(name.lower())
    return f"{name}.yaml"
