"""Every place that can hold text, found by the records' types, on every screen: a safe picture, and no hang."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrade.desk.people import DeskError
from kgrade.desk.sheet import Edits
from kgrade.desk.versions import Versions
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.grade import Grade
from kgrade.records.rubric import Rubric
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.repository.index_rows import GradeRow, ItemRow
from kgrade.repository.order import Place
from kgrade.repository.sync import Standing
from kgrade.tui.panes import panes
from tests.tui import hostile
from tests.tui.paper_desk import PaperSitting
from tests.tui.snapshot_desk import SnapshotDesk
from tests.tui.stages import Play, play

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
STEERING = (
    "\x1b[2J\x1b]52;c;QUFB\x07\x9b31m\r\n\t\x00\x7f\x08"  # erase, clipboard, pen, line ends, NUL
    "\u202e\u2066\u200f\u200b\ufeff\u2028\u3164\udcff\U000e0041"  # bidirectional, unseen, no UTF-8
    "[bold red]x[/] [@click=app.quit]y[/]"  # markup
    "e\u0301\u0301\u0301 \u0301 👩‍👩‍👧 漢字 한"  # marks that climb, emoji joined, wide
)
MARKER = "␛"
BYTES = b"\xff\xfe\x00\xc3\x28\x1b[2J" + STEERING.encode("utf-8", "surrogateescape") + b"\r\n"
WALK = [
    *(f"{pane}{moves}" for pane in "idsbtprfL" for moves in ("", "]ojwll", "w|G")),
    "]D", "f]I", "q", "f]\r", "q", "c", "\x1b", "sjm", "\x1b", "sjmnoted\r", "sjy", "sjY", "sjVjy",
    "C", "\x1b", "!", "\x1b", "a", "\x1b",
    ";", "\x1b", "x", "q", "v", "q", "S", "q", "T", "q", "R", "q", "?", "q", "Q", "s", "/x\r", "q", "H", "q",
    "/1\r", "n", ":", "\x1b", "P", "\x1b", "X", "\x1b", "z", "z", "E", "u", "U", "y", "Y", "J", "K",
]  # fmt: skip


class HostileDesk(SnapshotDesk):
    """A desk at which everybody and everything says `text`."""

    def __init__(self, text: str, data: bytes, choice: int) -> None:
        super().__init__(("s01",))
        self.said = (text, data, choice)
        self.root = Path("none")
        self.notes = [text]
        self.alarms = [text]
        self.refuses = text
        self.last_standing = Standing(state="committed", trouble="collision", reason=text)

    def sit(self, id: ItemId, *, take_over: bool = False) -> PaperSitting:
        sitting = super().sit(id, take_over=take_over)
        text, data, choice = self.said
        sitting.item = hostile.hostile_item(text, data, choice)
        sitting._edits = Edits(hostile.hostile_sheet(sitting.item, text, choice), lambda event: None)
        sitting.status_note = text
        sitting.read_only = text
        return sitting

    def rows(self) -> list[Place]:
        return [hostile.hostile_place(id, self.said[0], number) for number, id in enumerate(self.ids * 4)]

    def my_grades(self) -> list[tuple[ItemRow, GradeRow]]:
        return [(place.row, grade) for place in self.rows() for grade in place.row.grades]

    def versions(self, item: ItemId) -> Versions | None:
        text, _, choice = self.said
        grade = hostile.hostile_grade(text, choice)
        return Versions(item=item, mine=grade, theirs=grade, faults=[text])

    def skip(self, id: ItemId, reason: str) -> None:
        raise DeskError(self.said[0])


def walked(text: str, data: bytes, choice: int, size: tuple[int, int], keys: Sequence[str] = WALK) -> str:
    """Walk through every screen; return all that was seen. AssertionError for what steers or cannot be seen."""
    seen: list[str] = []

    async def scene(on: Play) -> None:
        for each in keys:
            await on.press(each)
            for line in on.lines:
                unseen = [hex(ord(one)) for one in line if unicodedata.category(one) in UNSEEN]
                assert not unseen, f"after {each!r}: {unseen} in {line!r}"
            seen.extend(on.lines)

    commits = [hostile.hostile_commit(text)]
    play(scene, size=size, desk=HostileDesk(text, data, choice), makers=panes(lambda item: commits))
    return "\n".join(seen)


@pytest.mark.parametrize(("size", "choice"), [((80, 24), 0), ((160, 48), 1)])
def test_every_screen_stays_safe_whatever_every_place_says(
    size: tuple[int, int], choice: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    seen = walked(STEERING, BYTES, choice, size)
    for shown in (MARKER, "⟨9B⟩", "⟨RLO⟩", "⟨200B⟩", "⟨xFF⟩", "␀", "[bold red]x[/]"):
        assert shown in seen, shown


@pytest.mark.long
@pytest.mark.parametrize("choice", range(6))
@settings(max_examples=25, deadline=None)
@given(text=st.text(st.characters(), max_size=200), data=st.binary(max_size=400))
def test_every_screen_stays_safe_whatever_is_drawn(choice: int, text: str, data: bytes) -> None:
    walked(text, data, choice, (100, 30))


def test_places_are_those_that_a_queue_can_hold() -> None:
    made = {
        Evidence: partial(hostile.full, Evidence),
        Grade: hostile.hostile_grade,
        Rubric: hostile.hostile_rubric,
    }
    assert {*made, Submission} == set(hostile.SHOWN)
    text = "[red]\u202e\x1b[2J\x00"
    for kind, make in made.items():
        for choice in range(5):
            value = make(text, choice)
            encoded = codec.encode_json(value) if kind is Evidence else codec.encode_yaml(value)
            assert codec.decode(kind, encoded, "a file") == value
            assert list(hostile.texts(value)).count(text) >= (3 if kind is not Evidence else 40), kind
    assert text in list(hostile.texts(hostile.full(Submission, text)))


HUGE_LINE = b"x" * 1_000_000 + b"\x1b[2J" + "漢".encode() * 1000


@pytest.mark.parametrize("size", [30_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_line_of_a_megabyte_and_texts_of_hundreds_of_kilobytes_are_shown(
    size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    keys = [*(f"{pane}{moves}" for pane in "idsbtprfL" for moves in ("", "oG")), "w", "x", "q", ";", "\x1b", "Q", "q"]
    seen = walked("w" * size + "\x1b" + "漢" * 1_000, HUGE_LINE, 0, (80, 24), keys)
    assert "wwwwwwww" in seen
    assert "more characters⟩" in seen
