"""The nine kinds of evidence, each a plain function from an item and the sheet being filled in to what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import build, diff, findings, history, performance, profile, source, task, tests
from kgrade.tui.panes.layout import Late

if TYPE_CHECKING:
    from kgrade.desk.item import HistoryEntry, Item
    from kgrade.desk.sheet import Sheet
    from kgrade.records.slugs import ItemId

_GLANCES: Final[Mapping[str, Callable[[Item], Glance]]] = {
    "task": task.glance,
    "diff": diff.glance,
    "source": source.glance,
    "build": build.glance,
    "tests": tests.glance,
    "performance": performance.glance,
    "profile": profile.glance,
    "findings": findings.glance,
    "history": history.glance,
}


def panes(commits: Callable[[ItemId], Sequence[HistoryEntry]]) -> dict[str, Callable[[Item, Sheet], Pane]]:
    """What makes each pane, by the id of its tab; `commits` lists those that touched an item, newest first."""
    makers: dict[str, Callable[[Item, Sheet], Pane]] = {
        "task": task.pane,
        "source": source.pane,
        "build": build.pane,
        "tests": tests.pane,
        "performance": performance.pane,
        "profile": profile.pane,
        "findings": findings.pane,
        "history": partial(history.pane, commits=commits),
    }
    late = {name: partial(_when_looked_at, make, _GLANCES[name]) for name, make in makers.items()}
    return {name: diff.pane if name == "diff" else late[name] for name in _GLANCES}


def _when_looked_at(
    make: Callable[[Item, Sheet], Pane], glance: Callable[[Item], Glance], item: Item, sheet: Sheet
) -> Pane:
    """A pane whose content is made when somebody looks: opening an item, and each edit, makes all panes."""
    return Pane(Late(lambda: make(item, sheet).lines), glance(item))


def tab_state(item: Item) -> dict[str, Glance]:
    """The state of every pane in a few characters, without making any pane."""
    return {name: glance(item) for name, glance in _GLANCES.items()}
