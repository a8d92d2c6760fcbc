"""The nine kinds of evidence, each a plain function from an item and the sheet being filled in to what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import build, diff, findings, history, performance, profile, source, task, tests

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
    return {
        "task": task.pane,
        "diff": diff.pane,
        "source": source.pane,
        "build": build.pane,
        "tests": tests.pane,
        "performance": performance.pane,
        "profile": profile.pane,
        "findings": findings.pane,
        "history": partial(history.pane, commits=commits),
    }


def tab_state(item: Item) -> dict[str, Glance]:
    """The state of every pane in a few characters, without making any pane."""
    return {name: glance(item) for name, glance in _GLANCES.items()}
