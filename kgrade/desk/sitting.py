"""One item on the desk: its sheet, every edit in the journal before it counts, saved as a commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from kgrade.desk.claiming import Claiming, Hold
from kgrade.desk.item import Item
from kgrade.desk.people import DeskError, Incomplete
from kgrade.desk.sheet import Edit, Edits, Field, Sheet, kept, told
from kgrade.desk.suggestions import suggested_after
from kgrade.records import scoring
from kgrade.records.grade import About, Grade, Score, SheetRef, Times
from kgrade.repository.drafts import Journal

Status = Literal["Untouched", "Draft", "Committed", "Pushed"]


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft began with: when, on which bytes, under which sheet, over which saved grade (`base`, a blob id)."""

    opened: str
    about: About
    rubric: SheetRef
    base: str | None
    sheet: Sheet


class ReadOnly:
    """A place where an item is only read; `note` says why."""

    def __init__(self, note: str) -> None:
        self.note = note

    def work(self) -> None:
        """Reading keeps nothing from anyone."""

    def leave(self, *, keep: bool) -> None:
        """There is nothing to give back."""


class SitterPlace:
    """A place where an item is graded, claimed unless `hold` is None (it was graded before); `words` go before."""

    def __init__(self, claiming: Claiming, hold: Hold | None, words: str = "") -> None:
        self._claiming = claiming
        self._hold = hold
        self._words = words

    @property
    def note(self) -> str:
        """What is wrong with the claim, if anything."""
        return self._words or (self._hold.note if self._hold else "")

    def work(self) -> None:
        """Keep the claim alive."""
        if self._hold is not None:
            self._claiming.work(self._hold)

    def leave(self, *, keep: bool) -> None:
        """Give the claim back, or `keep` it for the draft."""
        hold, self._hold = self._hold, None
        if hold is not None:
            self._claiming.leave(hold, keep=keep)


class Sitting:
    """An item being graded. Nothing is journalled, and no draft exists, before the first edit."""

    def __init__(
        self,
        item: Item,
        start: Start,
        journal: Journal,
        standing: Callable[[], tuple[Status, str]],
        place: SitterPlace | ReadOnly,
    ) -> None:
        """Sit down at `item`; `standing` tells how the grade stands, `place` whether it may be graded here."""
        self.item = item
        self.start = start
        self.active_s = 0.0
        self.begun_texts: dict[str, str] = {}
        """Texts that were begun and are not part of the sheet yet, by what they are for."""
        self._journal = journal
        self._place = place
        self._standing = standing
        self._begun = False
        self._edits = Edits(start.sheet, self._write)

    @property
    def sheet(self) -> Sheet:
        """What is filled in now."""
        return self._edits.sheet

    @property
    def is_draft(self) -> bool:
        """Whether there is something that no commit holds yet."""
        return self._edits.touched or bool(self.begun_texts)

    @property
    def can_undo(self) -> bool:
        """Whether an edit of this draft can be taken back."""
        return self._edits.can_undo

    @property
    def status(self) -> Status:
        """How far what the screen shows has come; always true."""
        return "Draft" if self.is_draft else self._standing()[0]

    @property
    def status_note(self) -> str:
        """Why it has come no further, or may not be graded here; empty when all is well."""
        return "; ".join(filter(None, [self._place.note, self._standing()[1]]))

    @property
    def read_only(self) -> str | None:
        """Why nothing can be scored here, in one sentence; None when it can."""
        return self._place.note if isinstance(self._place, ReadOnly) else None

    @property
    def suggestions(self) -> Mapping[str, str]:
        """The gates that evidence suggests, as the findings that were judged leave them, each with its sentence."""
        fresh = {target: file.evidence for target, file in self.item.evidence.items() if not file.stale}
        return suggested_after(self.item.suggestions, self.item.rubric, fresh, self.sheet.findings)

    def resume(self, events: list[dict[str, Any]]) -> None:
        """Take up the draft whose journal holds `events`."""
        if events:
            self.start = msgspec.convert(events[0]["begin"], Start)
            self._edits = Edits(self.start.sheet, self._write)
            self._edits.replay(events[1:])
            for event in events[1:]:
                if "begun" in event:
                    self.begun_texts[event["begun"]] = event["text"]
                elif "ended" in event:
                    self.begun_texts.pop(event["ended"], None)
            self.active_s = max((event.get("active_s", 0.0) for event in events), default=0.0)

    def new_key(self, field: Literal["comments", "probes"]) -> str:
        """A key for a new line note or probe."""
        return self._edits.new_key(field)

    def edit(self, field: Field, key: str, value: Any) -> str:
        """Put `value` (None: nothing) in its place and say what changed; raise DraftError when it cannot be kept."""
        return told(self._edits.do(field, key, value))

    def score(self, criterion: str, level: int | None) -> str:
        """Score a criterion, keeping its comment."""
        held = self.sheet.scores.get(criterion, Score())
        empty = level is None and not held.comment
        return self.edit("scores", criterion, None if empty else Score(score=level, comment=held.comment))

    def comment(self, criterion: str, text: str) -> str:
        """Comment a criterion, keeping its score."""
        held = self.sheet.scores.get(criterion, Score())
        value = msgspec.structs.replace(held, comment=text)
        return self.edit("scores", criterion, None if value == Score() else value)

    def begin_text(self, label: str, text: str) -> None:
        """Keep a text that is still being typed; raise DraftError when it cannot be kept."""
        self._write({"begun": label, "text": text})
        self.begun_texts[label] = text

    def end_text(self, label: str) -> None:
        """The text is done or given up; raise DraftError when that cannot be kept."""
        if label in self.begun_texts:
            self._write({"ended": label})
            del self.begun_texts[label]

    def undo(self) -> str | None:
        """Take the last edit back and say what changed; None when there is none."""
        edit = self._edits.undo()
        return told(edit) if edit else None

    def redo(self) -> str | None:
        """Do the last undone edit again and say what changed; None when there is none."""
        edit = self._edits.redo()
        return told(edit) if edit else None

    def reach(self, sheet: Sheet) -> None:
        """Edit until the sheet equals `sheet`."""
        for edit in _differences(self.sheet, sheet):
            self._edits.do(edit.field, edit.key, edit.after)

    def settle(self) -> None:
        """The sheet is in a commit: the draft has done its work."""
        self.start = msgspec.structs.replace(self.start, sheet=self.sheet)
        self.discard()

    def discard(self) -> None:
        """Give the draft up: what was saved before stands again."""
        if self.read_only is None:
            self._journal.drop()
        self._begun = False
        self.begun_texts = {}
        self._edits = Edits(self.start.sheet, self._write)

    def add_active(self, seconds: float) -> None:
        """Count `seconds` of work; written down with the next edit. The item stays claimed meanwhile."""
        self.active_s += seconds
        self._place.work()

    def result(self) -> scoring.Result:
        """Points, total, gates that fired and what is missing."""
        suggested = frozenset(self.suggestions)
        return scoring.score(self.item.rubric, self.sheet.scores, self.sheet.gates, self.sheet.verdict, suggested)

    def grade(self, evaluator: str, *, anyway: bool = False) -> Grade:
        """The grade as it would be saved; raise Incomplete unless `anyway`, which leaves out what cannot stand."""
        result = self.result()
        if result.missing and not anyway:
            raise Incomplete(result.missing)
        scores = kept(self.sheet.scores)
        if not scores and not self.sheet.verdict and not self.sheet.flagged:
            raise DeskError(f"{self.item.id} has no score and no verdict yet; there is nothing to save")
        counted = scoring.score(self.item.rubric, scores, self.sheet.gates, self.sheet.verdict)
        return Grade(
            item=str(self.item.id),
            evaluator=evaluator,
            rubric=self.start.rubric,
            about=msgspec.structs.replace(self.start.about, evidence=self.item.about.evidence),
            scores=scores,
            gates=self.sheet.gates,
            findings=self.sheet.findings,
            comments=list(self.sheet.comments.values()),
            probes=list(self.sheet.probes.values()),
            verdict=self.sheet.verdict,
            flagged=self.sheet.flagged,
            points=counted.points,
            total=counted.total,
            feedback=self.sheet.feedback,
            private_note=self.sheet.private_note,
            times=Times(opened=self.start.opened, active_s=round(self.active_s), saved=now()),
        )

    def close(self) -> None:
        """Leave the item; a draft stays, and its claim with it."""
        self._journal.close()
        self._begun = False
        self._place.leave(keep=self.is_draft)

    def _write(self, event: dict[str, Any]) -> None:
        if self.read_only is not None:
            raise DeskError(self.read_only)
        if not self._begun:
            self._journal.begin({"begin": msgspec.to_builtins(self.start)})
            self._begun = True
        self._journal.append({**event, "active_s": round(self.active_s, 1)})


def now() -> str:
    """The time, RFC 3339, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _differences(old: Sheet, new: Sheet) -> list[Edit]:
    found: list[Edit] = []
    for field in Sheet.__struct_fields__:
        before, after = getattr(old, field), getattr(new, field)
        if isinstance(before, dict):
            keys = dict.fromkeys([*before, *after])
            pairs = [(key, before.get(key), after.get(key)) for key in keys]
        else:
            pairs = [("", before, after)]
        found += [Edit(field=field, key=key, before=a, after=b) for key, a, b in pairs if a != b]  # type: ignore[arg-type]
    return found
