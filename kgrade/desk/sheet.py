"""The sheet being filled in: every edit is one value in one place, so that each can be written down and undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from kgrade.records.base import Part
from kgrade.records.grade import FindingAnswer, GateAnswer, Grade, LineNote, Probe, Score
from kgrade.records.rubric import Verdict

Field = Literal[
    "scores", "gates", "findings", "comments", "probes", "verdict", "feedback", "private_note", "flagged"
]  # fmt: skip


class Sheet(Part, frozen=True, kw_only=True):
    """What an evaluator has said so far. Line notes and probes carry a key of their own, so that each can change."""

    scores: dict[str, Score] = {}
    gates: dict[str, GateAnswer] = {}
    findings: dict[str, FindingAnswer] = {}
    comments: dict[str, LineNote] = {}
    probes: dict[str, Probe] = {}
    verdict: Verdict | None = None
    feedback: str = ""
    private_note: str = ""
    flagged: str = ""

    @classmethod
    def of(cls, grade: Grade) -> Sheet:
        """The sheet that led to `grade`."""
        return cls(
            scores=grade.scores,
            gates=grade.gates,
            findings=grade.findings,
            comments={str(number): note for number, note in enumerate(grade.comments, 1)},
            probes={str(number): probe for number, probe in enumerate(grade.probes, 1)},
            verdict=grade.verdict,
            feedback=grade.feedback,
            private_note=grade.private_note,
            flagged=grade.flagged,
        )


def kept(scores: Mapping[str, Score]) -> dict[str, Score]:
    """The scores that a record may hold: with a level, or not applicable with a reason."""
    return {
        name: score
        for name, score in scores.items()
        if score.score is not None or bool(score.na and score.comment.strip())
    }


def saved_as(sheet: Sheet, saved: Sheet) -> bool:
    """Whether saving `sheet` led to `saved`, as it is read back from its grade."""
    plain = msgspec.structs.replace(sheet, scores=kept(sheet.scores), comments={}, probes={})
    notes = [list(sheet.comments.values()), list(sheet.probes.values())]
    return plain == msgspec.structs.replace(saved, comments={}, probes={}) and notes == [
        list(saved.comments.values()),
        list(saved.probes.values()),
    ]


class Edit(Part, frozen=True, kw_only=True, omit_defaults=False):
    """One change: `before` and `after` are what stands in `field` under `key` ("" for a field of one value).

    None means that nothing stands there.
    """

    field: Field
    key: str
    before: Any
    after: Any

    def reversed(self) -> Edit:
        """The edit that takes this one back."""
        return Edit(field=self.field, key=self.key, before=self.after, after=self.before)


_KINDS: Mapping[str, Any] = {
    "scores": Score,
    "gates": GateAnswer,
    "findings": FindingAnswer,
    "comments": LineNote,
    "probes": Probe,
}
_VERDICT: Any = Verdict | None


def value_at(sheet: Sheet, field: Field, key: str) -> Any:
    """What stands there; None for nothing."""
    held = getattr(sheet, field)
    return held.get(key) if field in _KINDS else held


def apply(sheet: Sheet, edit: Edit) -> Sheet:
    """Return `sheet` with the edit done; raise msgspec.ValidationError when the value is of the wrong kind."""
    if edit.field not in _KINDS:
        kind = _VERDICT if edit.field == "verdict" else str
        return msgspec.structs.replace(sheet, **{edit.field: msgspec.convert(edit.after, kind)})
    held = dict(getattr(sheet, edit.field))
    if edit.after is None:
        held.pop(edit.key, None)
    else:
        held[edit.key] = msgspec.convert(edit.after, _KINDS[edit.field])
    return msgspec.structs.replace(sheet, **{edit.field: held})


def free_key(taken: Iterable[str]) -> str:
    """The next number that no line note or probe has had."""
    return str(1 + max((int(key) for key in taken if key.isdigit()), default=0))


class Edits:
    """The edits of a sitting, with undo and redo. `record` writes each step down before it counts."""

    def __init__(self, start: Sheet, record: Callable[[dict[str, Any]], None]) -> None:
        self.start = start
        self.sheet = start
        self._record = record
        self._done: list[Edit] = []
        self._undone: list[Edit] = []
        self._used: dict[str, set[str]] = {"comments": set(start.comments), "probes": set(start.probes)}

    @property
    def touched(self) -> bool:
        """Whether the sheet differs from what the sitting began with."""
        return self.sheet != self.start

    @property
    def can_undo(self) -> bool:
        """Whether an edit is left to take back."""
        return bool(self._done)

    def new_key(self, field: Literal["comments", "probes"]) -> str:
        """A key for a new line note or probe."""
        return free_key(self._used[field] | set(getattr(self.sheet, field)))

    def do(self, field: Field, key: str, after: Any) -> Edit:
        """Put `after` (None: nothing) in its place; a value that is already there is no edit but is returned as one."""
        before = _json(value_at(self.sheet, field, key))
        edit = Edit(field=field, key=key, before=before, after=_json(after))
        changed = apply(self.sheet, edit)
        if edit.before != edit.after:
            self._record({"do": msgspec.to_builtins(edit)})
            self._take(changed, edit)
        return edit

    def undo(self) -> Edit | None:
        """Take the last edit back; None when there is none."""
        if not self._done:
            return None
        self._record({"undo": True})
        edit = self._done.pop()
        self._undone.append(edit)
        self.sheet = apply(self.sheet, edit.reversed())
        return edit.reversed()

    def redo(self) -> Edit | None:
        """Do the edit that was last taken back again; None when there is none."""
        if not self._undone:
            return None
        self._record({"redo": True})
        edit = self._undone.pop()
        self._done.append(edit)
        self.sheet = apply(self.sheet, edit)
        return edit

    def replay(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Repeat the steps that were written down, undo and redo included, without writing them again."""
        record, self._record = self._record, lambda event: None
        try:
            for event in events:
                if "do" in event:
                    edit = msgspec.convert(event["do"], Edit)
                    self._take(apply(self.sheet, edit), edit)
                elif "undo" in event:
                    self.undo()
                elif "redo" in event:
                    self.redo()
        finally:
            self._record = record

    def _take(self, changed: Sheet, edit: Edit) -> None:
        self.sheet = changed
        self._done.append(edit)
        self._undone.clear()
        if edit.field in self._used:
            self._used[edit.field].add(edit.key)


def _json(value: Any) -> Any:
    """`value` as it will be read back from the journal, so that an edit made and an edit replayed are equal."""
    return msgspec.json.decode(msgspec.json.encode(value))


def told(edit: Edit) -> str:
    """The edit in a few words, such as `numerics 2 -> 3`."""
    subject = edit.key or edit.field
    if edit.field in ("comments", "probes"):
        subject = "line note" if edit.field == "comments" else "probe"
        word = "removed" if edit.after is None else "added" if edit.before is None else "changed"
        return f"{subject} {word}"
    old, new = (_short(edit.field, value) for value in (edit.before, edit.after))
    if old == new:
        return f"{subject}: comment {'changed' if edit.before else 'added'}"
    return f"{subject} {old} -> {new}"


def _short(field: str, value: Any) -> str:
    if not value:
        return "."
    if field == "scores":
        return "n/a" if value.get("na") else str(value.get("score", "."))
    if field == "gates":
        return "yes" if value["confirmed"] else "no"
    if field == "findings":
        return str(value["disposition"])
    if field == "verdict":
        return str(value)
    return f"{len(value.split())} words"
