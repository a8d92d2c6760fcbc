"""Desks that stand still: the same clock, the same items, for programs whose screens are compared.

"screens" has an item with all kinds of evidence and a queue in every state; "wide" has wide characters, emoji and
combining marks in its panes; "scored" is "screens" with every criterion scored and a verdict, ready to be saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from unittest import mock

from kgrade.desk.item import Item
from kgrade.desk.sheet import Sheet
from kgrade.records.grade import GateAnswer, Score
from kgrade.records.slugs import ItemId
from kgrade.tui.lines import LazyRows, Row, Span
from kgrade.tui.pane import Pane
from kgrade.tui.screens.panes import PaneMaker
from tests.tui.paper_desk import RUBRIC, PaperSitting
from tests.tui.snapshot_desk import MAKERS, SnapshotDesk

WORDS: Final = (
    "漢字 ｆｕｌｌ",
    "🚀 up",
    "e\u0301 한글",
    "plain",
    "\x1b[31m no",
    "ｅ\u0302 a\u0308o",
    "👩\u200d💻 ─│✓✗",
)
_STYLES: Final = ("added", "code.keyword", "dim", "bad", "heading", "good")

KINDS: Final = ("screens", "wide", "scored")


class StillDesk(SnapshotDesk):
    """A desk of three items, the same each time. `root` is where evidence would be collected."""

    def __init__(self, kind: str, root: Path) -> None:
        super().__init__(("s01", "s02", "s03"))
        self.root = root
        self._kind = kind

    def sit(self, id: ItemId, *, take_over: bool = False) -> PaperSitting:
        """An item to grade, its sheet filled in where this is a "scored" desk."""
        sitting = super().sit(id, take_over=take_over)
        if self._kind == "scored":
            for criterion in RUBRIC.criteria:
                sitting.edit("scores", criterion.id, Score(score=3, comment="as the evidence says"))
            sitting.edit("gates", "wrong-result", GateAnswer(confirmed=False))
            sitting.edit("verdict", "", "accept")
        return sitting


def makers(kind: str) -> Mapping[str, PaneMaker]:
    """The panes of a desk of that kind."""
    if kind != "wide":
        return MAKERS
    return {**MAKERS, "task": _mixed_pane, "diff": _mixed_pane}


def nothing_collected() -> AbstractContextManager[object]:
    """Evidence cannot be collected meanwhile: it takes its time, and no two screens of it are the same."""

    def refused(*_: object, **__: object) -> None:
        raise OSError("nothing is collected here")

    stand_in = SimpleNamespace(Popen=refused, PIPE=None, STDOUT=None, DEVNULL=None)
    return mock.patch("kgrade.tui.screens.collecting.subprocess", stand_in)


def _mixed_pane(item: Item, sheet: Sheet) -> Pane:
    return Pane(LazyRows(500, _mixed))


def _mixed(number: int) -> Row:
    first, second = WORDS[number % len(WORDS)], WORDS[number % 3]
    style = _STYLES[number % len(_STYLES)]
    mark = "hunk" if number % 40 == 7 else ""
    return Row((Span(f"{number} "), Span(first * (number % 5), style), Span(second * 3, "code.string")), mark=mark)
