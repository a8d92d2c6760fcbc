"""Records in which every place that can hold text holds the same text, found by their types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from kgrade.desk.item import EvidenceFile, GradeEntry, HistoryEntry, Item, OldNote
from kgrade.desk.sheet import Sheet
from kgrade.records.evidence import Evidence
from kgrade.records.faults import Fault
from kgrade.records.grade import Grade, LineNote, Score
from kgrade.records.rubric import Effect, Rubric
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.repository.index_rows import EvidenceRow, GradeRow, ItemRow
from kgrade.repository.order import Place
from tests.tui.panes import builders

SHOWN = (Submission, Rubric, Evidence, Grade)
"""The kinds of record that the app shows and that hold text of people's or machines' own; tasks are built by hand."""


TIME = "2026-11-03T09:30:00Z"


def full(kind: Any, text: str, choice: int = 0) -> Any:
    """A value of `kind` with nothing left out and `text` wherever text is free; `choice` turns what is fixed."""
    return _full(inspect.type_info(kind), text, choice)


def _full(of: inspect.Type, text: str, choice: int) -> Any:
    match of:
        case inspect.StructType():
            fields = {field.name: _full(field.type, text, choice) for field in of.fields}
            return of.cls(**fields)
        case inspect.LiteralType():
            return of.values[choice % len(of.values)]
        case inspect.UnionType():
            kinds = [each for each in of.types if not isinstance(each, inspect.NoneType)]
            return _full(kinds[choice % len(kinds)], text, choice)
        case inspect.StrType():
            return "slug" if of.pattern else text
        case inspect.IntType():
            return max(of.ge or 0, min(1 + choice, of.le if of.le is not None else 4))
        case inspect.FloatType():
            return float(max(of.ge or 0, 1.5 + choice))
        case inspect.BoolType():
            return choice % 2 == 0
        case inspect.ListType():
            return [_full(of.item_type, text, choice)]
        case inspect.VarTupleType():
            return (_full(of.item_type, text, choice),)
        case inspect.TupleType():
            return tuple(_full(each, text, choice) for each in of.item_types)
        case inspect.DictType():
            return {_full(of.key_type, text, choice): _full(of.value_type, text, choice)}
        case inspect.CustomType() | inspect.AnyType():
            return text
    raise AssertionError(f"no value of {of} is made")


def texts(value: Any) -> Iterator[str]:
    """Every text in a record, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from texts(getattr(value, name))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from texts(key)
            yield from texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


def hostile_item(text: str, data: bytes, choice: int = 0) -> Item:
    """An item whose names, texts, files, logs, faults and suggestions are `text` or `data`."""
    rubric = hostile_rubric(text, choice)
    evidence = full(Evidence, text, choice)
    log = evidence.stages.build.log
    file = EvidenceFile(evidence=evidence, stale=choice % 2 == 1, blob="b" * 40, logs={log: data})
    named = text.encode("utf-8", "ignore").decode()  # names that are no UTF-8 never become a path
    path = f"{named}.py"
    note = LineNote(path=f"solution/{path}", lines=(1, 2), text_sha256="0", text=text)
    made = builders.item(
        task=builders.task(title=text, targets=["sm_90", text]),
        submission=msgspec.structs.replace(full(Submission, text, choice), created=TIME),
        rubric=rubric,
        prompt=text + "\n# " + text + "\n- " + text + "\n| " + text + " |\n|---|\n| " + text + " |\n```\n" + text,
        files={"reference.py": data, f"start/{path}": data, named: data},
        solution={path: b"x = 1\n" + data, "kernel.py": data},
        bases={"start": {path: data}, "previous": {path: b"y" + data}},
        grades=[GradeEntry(evaluator=text, grade=hostile_grade(text, choice))],
        previous=hostile_grade(text, choice),
        notes_before=[OldNote(note=note, status="open", lines=(1, 2))],
        suggestions={gate.id: text for gate in rubric.gates},
        faults=[Fault(path=text, found=text, expected=text, advice=text)],
    )
    return msgspec.structs.replace(made, evidence={"sm_90": file, text: file})


def hostile_rubric(text: str, choice: int = 0) -> Rubric:
    """A rubric of which every text is `text`, with as many levels, gates and verdicts as one needs."""
    made = full(Rubric, text, choice)
    levels = dict.fromkeys(range(made.scale + 1), text)
    criteria = [msgspec.structs.replace(made.criteria[0], id=name, levels=levels) for name in ("one", "two")]
    (gate,) = made.gates
    gates = [msgspec.structs.replace(gate, effects=[Effect(fail=True)])]
    snippets = [msgspec.structs.replace(made.snippets[0], criterion="one")]
    return msgspec.structs.replace(
        made, criteria=criteria, gates=gates, snippets=snippets, verdicts=["accept", "revise"]
    )


def hostile_grade(text: str, choice: int = 0) -> Grade:
    """A grade of which every free text is `text`."""
    made = full(Grade, text, choice)
    return msgspec.structs.replace(
        made,
        item="softmax-rows/s01",
        scores={"one": Score(score=1, comment=text), "two": Score(na=True, comment=text)},
        comments=[msgspec.structs.replace(made.comments[0], lines=(1, 2))],
        times=msgspec.structs.replace(made.times, opened=TIME, saved=TIME),
    )


def hostile_sheet(item: Item, text: str, choice: int = 0) -> Sheet:
    """A sheet about `item` in which everything is said, and `text` is all that is said."""
    said = full(Sheet, text, choice)
    scores = {criterion.id: Score(score=1, comment=text) for criterion in item.rubric.criteria}
    note = LineNote(path=next(iter(item.note_files)), lines=(1, 1), text_sha256="0", text=text)
    return msgspec.structs.replace(said, scores=scores, comments={"1": note}, verdict="accept")


def hostile_commit(text: str) -> HistoryEntry:
    """A commit of which every word is `text`."""
    return HistoryEntry(commit="c" * 40, when="2026-11-03T10:00:00Z", who=text, what=text, changed=[text])


def hostile_place(id: ItemId, text: str, choice: int = 0) -> Place:
    """A row of the queue of which every word is `text`."""
    row = ItemRow(
        id=id,
        title=text,
        type="generation",
        language="triton",
        targets=[text],
        author=text,
        created=text,
        supersedes=text,
        faults=[text],
        grades=[GradeRow(evaluator=text, verdict=text, total=1.0, points=1.0, saved=text, sheet=text, fault=text)],
        evidence=[EvidenceRow(target=text, stages={"build": "passed", "check": "failed"}, stale=True, fault=text)],
    )
    states = ("open", "draft", "graded", "claimed")
    return Place(row=row, state=states[choice % len(states)], why=text)  # type: ignore[arg-type]
