"""Feedback for the author of a submission: Markdown made of one or several grades, without duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgrade.desk.anchors import text_lines
from kgrade.records.grade import Grade, LineNote
from kgrade.records.rubric import Rubric
from kgrade.records.task import Task


def feedback_markdown(
    item: str, task: Task, rubric: Rubric, grades: Sequence[Grade], files: Mapping[str, bytes], *, named: bool = True
) -> str:
    """Return the feedback on `item`; `files` are its files by the paths that line notes use.

    `named` puts the evaluators' names beside what they said; private notes are never part of it.
    """
    parts = [f"# {item}: {task.title}", ""]
    for grade in grades:
        who = f" ({grade.evaluator})" if named else ""
        total = "not scored" if grade.total is None else f"{grade.total:g} of 100"
        parts += [f"**{grade.verdict or 'no verdict'}**, {total}{who}", ""]
    parts += _section("What decides", _gates(rubric, grades))
    parts += _section("What to do", _once(grade.feedback.strip() for grade in grades if grade.feedback.strip()))
    parts += _section("By criterion", _criteria(rubric, grades))
    parts += _section("In the code", _notes(grades, files))
    parts += _section("Cases tried by hand", _probes(grades))
    return "\n".join(parts).rstrip() + "\n"


def _section(title: str, lines: Iterator[str]) -> list[str]:
    body = list(lines)
    return [f"## {title}", "", *body, ""] if body else []


def _gates(rubric: Rubric, grades: Sequence[Grade]) -> Iterator[str]:
    for gate in rubric.gates:
        comments = [grade.gates[gate.id].comment.strip() for grade in grades if _confirmed(grade, gate.id)]
        if comments:
            said = "; ".join(_once(comment for comment in comments if comment))
            yield f"- **{gate.title}**" + (f": {said}" if said else "")


def _confirmed(grade: Grade, gate: str) -> bool:
    return gate in grade.gates and grade.gates[gate].confirmed


def _criteria(rubric: Rubric, grades: Sequence[Grade]) -> Iterator[str]:
    for criterion in rubric.criteria:
        given = [grade.scores[criterion.id] for grade in grades if criterion.id in grade.scores]
        if not given:
            continue
        levels = list(_once("n/a" if score.score is None else str(score.score) for score in given))
        yield f"- **{criterion.title}** {' / '.join(levels)} of {rubric.scale}"
        for score in given:
            if score.score is not None and len(levels) == 1:
                yield f"  - {criterion.levels[score.score]}"
                break
        yield from (f"  - {text}" for text in _once(score.comment.strip() for score in given if score.comment.strip()))


def _notes(grades: Sequence[Grade], files: Mapping[str, bytes]) -> Iterator[str]:
    notes = sorted((note for grade in grades for note in grade.comments), key=lambda note: (note.path, note.lines))
    for note in dict.fromkeys(notes):
        first, last = note.lines
        place = f"{note.path}:{first}" if first == last else f"{note.path}:{first}-{last}"
        side = "" if note.side == "new" else " (before the change)"
        yield f"- `{place}`{side}: {note.text.strip()}"
        yield from _quote(note, files)


def _quote(note: LineNote, files: Mapping[str, bytes]) -> Iterator[str]:
    if note.path not in files or note.side == "old":
        return
    lines = text_lines(files[note.path])[note.lines[0] - 1 : note.lines[1]]
    fence = "`" * max(3, 1 + max((_longest_run(line) for line in lines), default=0))
    yield f"  {fence}"
    yield from (f"  {line}" for line in lines)
    yield f"  {fence}"


def _longest_run(line: str) -> int:
    longest = run = 0
    for character in line:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _probes(grades: Sequence[Grade]) -> Iterator[str]:
    for probe in dict.fromkeys(_shown(grade) for grade in grades):
        yield from probe


def _shown(grade: Grade) -> tuple[str, ...]:
    return tuple(
        f"- {' '.join(f'{name}={size}' for name, size in probe.case.symbols.items())} {probe.case.dtype} "
        f"{probe.case.family}: {probe.result}: {probe.summary}"
        for probe in grade.probes
    )


def _once(texts: Iterator[str]) -> Iterator[str]:
    yield from dict.fromkeys(texts)
