"""A desk on paper: real records, real edits and real totals, and saves that go nowhere."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kgrade.desk.item import Item
from kgrade.desk.people import DeskError, Moved, Slow
from kgrade.desk.sheet import Edits, Field, Sheet, told
from kgrade.desk.suggestions import suggested_after
from kgrade.desk.versions import Versions
from kgrade.records import codec, scoring
from kgrade.records.grade import About, SheetRef
from kgrade.records.rubric import Rubric
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.records.task import Task
from kgrade.repository.order import EmptyQueue
from kgrade.repository.sync import Standing
from kgrade.tui.highlight import file_rows
from kgrade.tui.lines import Row, Rows, Span, message
from kgrade.tui.pane import TABS, Glance, Pane
from tests.records.test_codec import TASK

RUBRIC = codec.decode(Rubric, Path("rubrics/generation.yaml").read_bytes(), "generation.yaml")
KERNEL = b"import triton\n\n\n" + b"".join(b"    line_%d = tl.load(x_ptr + %d)\n" % (n, n) for n in range(200))


def item(name: str) -> Item:
    return Item(
        id=ItemId("softmax-rows", name),
        task=codec.decode(Task, TASK.encode(), "task.yaml"),
        submission=Submission(author="bob", created="2026-11-03T09:30:00Z"),
        rubric=RUBRIC,
        rubric_ref=SheetRef(id="generation", sha256="0" * 64),
        about=About(task_tree="1" * 40),
        prompt="Write a softmax.\x1b[2J",
        files={},
        solution={"kernel.py": KERNEL},
        bases={},
        evidence={},
        grades=[],
        previous=None,
        notes_before=[],
        suggestions={"wrong-result": "3 required cases fail on cpu"},
        faults=[],
    )


def source_pane(item: Item, sheet: Sheet) -> Pane:
    signs = {note.lines[0]: "m" for note in sheet.comments.values()}
    return Pane(file_rows(item.solution["kernel.py"], "solution/kernel.py", note_signs=signs))


def diff_pane(item: Item, sheet: Sheet) -> Pane:
    rows = [Row((Span(f"row {n} of the diff"),), mark="hunk" if n % 50 == 10 else "") for n in range(120)]
    split = Rows([Row((Span("left"),), beside=Row((Span("right"),)))])
    return Pane(Rows(rows), Glance("+8 -3"), split)


MAKERS = {
    **{tab.id: lambda item, sheet: Pane(message("not run: there is no GPU here")) for tab in TABS},
    "task": lambda item, sheet: Pane(message(item.prompt)),
    "source": source_pane,
    "diff": diff_pane,
    "tests": lambda item, sheet: Pane(message("47 of 48 pass"), Glance("47/48✗", "bad")),
}


@dataclass
class PaperSave:
    item: ItemId
    notes: list[str] = field(default_factory=list)


@dataclass
class PaperProgress:
    graded: int
    total: int
    today: int


class PaperSitting:
    def __init__(self, desk: PaperDesk, name: str) -> None:
        self.item = item(name)
        self.status: Literal["Untouched", "Draft", "Committed", "Pushed"] = "Untouched"
        self.begun_texts: dict[str, str] = {}
        self.status_note = ""
        self.active_s = 0.0
        self.closed = False
        self.read_only: str | None = None
        self._desk = desk
        self._edits = Edits(Sheet(), lambda event: None)

    @property
    def sheet(self) -> Sheet:
        return self._edits.sheet

    @property
    def suggestions(self) -> Mapping[str, str]:
        fresh = {target: file.evidence for target, file in self.item.evidence.items() if not file.stale}
        return suggested_after(self.item.suggestions, self.item.rubric, fresh, self.sheet.findings)

    def edit(self, field: Field, key: str, value: Any) -> str:
        self.status = "Draft"
        return told(self._edits.do(field, key, value))

    def new_key(self, field: Literal["comments", "probes"]) -> str:
        return self._edits.new_key(field)

    def begin_text(self, label: str, text: str) -> None:
        self.begun_texts[label] = text

    def end_text(self, label: str) -> None:
        self.begun_texts.pop(label, None)

    def undo(self) -> str | None:
        edit = self._edits.undo()
        return None if edit is None else told(edit)

    def redo(self) -> str | None:
        edit = self._edits.redo()
        return None if edit is None else told(edit)

    def add_active(self, seconds: float) -> None:
        self.active_s += seconds

    def close(self) -> None:
        self.closed = True

    def result(self) -> scoring.Result:
        sheet = self.sheet
        return scoring.score(RUBRIC, sheet.scores, sheet.gates, sheet.verdict, frozenset(self.suggestions))


class PaperDesk:
    def __init__(self, names: tuple[str, ...] = ("s01", "s02")) -> None:
        self.ids = [ItemId("softmax-rows", name) for name in names]
        self.saved: dict[ItemId, Sheet] = {}
        self.skipped: dict[ItemId, str] = {}
        self.sittings: list[PaperSitting] = []
        self.refuses = ""
        self.moved: list[str] = []
        self.notes: list[str] = []
        self.read_only: str | None = None
        self.alarms: list[str] = []
        self.last_standing: Standing | None = None
        self.synced = 0
        self.slow = False

    def waits(self) -> bool:
        return self.slow

    def next(self, after: ItemId | None = None) -> ItemId | EmptyQueue:
        if self.slow:
            raise Slow("origin is slow: no answer yet after 30 s; it is waited for")
        start = self.ids.index(after) + 1 if after else 0
        left = [id for id in self.ids[start:] + self.ids[:start] if id not in self.saved | self.skipped]
        return (
            left[0]
            if left
            else EmptyQueue(reasons=[f"{len(self.saved)} graded by you"], hint="Q shows the queue, q leaves")
        )

    def neighbour(self, item: ItemId, step: int) -> ItemId | None:
        number = self.ids.index(item) + step if item in self.ids else -1
        return self.ids[number] if 0 <= number < len(self.ids) else None

    def save(
        self, sitting: PaperSitting, *, anyway: bool = False, still_valid: bool = False, follow: bool = True
    ) -> PaperSave:
        if self.refuses:
            raise DeskError(self.refuses)
        if self.moved and not still_valid:
            raise Moved(self.moved)
        self.saved[sitting.item.id] = sitting.sheet
        return PaperSave(sitting.item.id)

    def standing(self, item: ItemId) -> tuple[str, str]:
        return ("Committed" if item in self.saved else "Untouched"), ""

    def sync(self, cancel: threading.Event | None = None) -> None:
        self.synced += 1

    def catch_up(self, cancel: threading.Event | None = None) -> None:
        """Nothing was left for later."""

    def versions(self, item: ItemId) -> Versions | None:
        return None

    def accept_rewrite(self) -> list[str]:
        self.alarms = []
        return ["your grade of scan/s01 is not in the rewritten branch"]

    def unsent(self) -> int:
        return 0

    def take_back(self) -> PaperSitting | None:
        if not self.saved:
            return None
        item, _ = self.saved.popitem()
        return self.sit(item)

    def sit(self, id: ItemId, *, take_over: bool = False) -> PaperSitting:
        sitting = PaperSitting(self, id.submission or "")
        self.sittings.append(sitting)
        return sitting

    def progress(self) -> PaperProgress:
        return PaperProgress(len(self.saved), len(self.ids), len(self.saved))

    def skip(self, id: ItemId, reason: str) -> None:
        self.skipped[id] = reason


def source_of(item: Item, sheet: Sheet) -> Pane:
    """The first file handed in, with line numbers, for any real item."""
    path, data = next(iter(sorted(item.note_files.items())))
    return Pane(file_rows(data, path))
