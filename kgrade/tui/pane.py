"""What a pane gives to the screen: its lines and the few characters of its tab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kgrade.tui.lines import Lines


class Glance(NamedTuple):
    """The state of a pane in its tab, such as ``47/48✗``; `style` only underlines what the text says."""

    text: str = ""
    style: str = ""


NOTHING_TO_SAY: Final = Glance()


@dataclass(frozen=True, slots=True)
class Pane:
    """One kind of evidence about one item. `split` is the same side by side, for 150 columns and more.

    `bases` makes the pane against each thing that it can be compared with, by name; the first is shown at first.
    `blanks` makes it with differences in blanks left out, or with them again.
    """

    lines: Lines
    glance: Glance = NOTHING_TO_SAY
    split: Lines | None = None
    bases: Mapping[str, Callable[[], Pane]] = field(default_factory=dict)
    blanks: Callable[[], Pane] | None = None


class Tab(NamedTuple):
    """A pane's place in the tab line; the action that opens it is ``pane.<id>`` in the key table.

    `short` stands for the title where there is little room.
    """

    id: str
    title: str
    short: str


TABS: Final = (
    Tab("task", "task", "task"),
    Tab("diff", "diff", "diff"),
    Tab("source", "source", "src"),
    Tab("build", "build", "build"),
    Tab("tests", "tests", "test"),
    Tab("performance", "perf", "perf"),
    Tab("profile", "profile", "prof"),
    Tab("findings", "find", "find"),
    Tab("history", "log", "log"),
)
