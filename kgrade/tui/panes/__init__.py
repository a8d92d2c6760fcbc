"""The nine kinds of evidence, each a plain function from an item and the sheet being filled in to what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import build, diff, findings, history, performance, profile, source, task, tests

if TYPE_CHECKING:
    from kgrade.desk.item import Item
    from kgrade.desk.sheet import Sheet

_ROOMS: Final = {
    "task": task,
    "diff": diff,
    "source": source,
    "build": build,
    "tests": tests,
    "performance": performance,
    "profile": profile,
    "findings": findings,
    "history": history,
}

PANES: Final[Mapping[str, Callable[[Item, Sheet], Pane]]] = {name: room.pane for name, room in _ROOMS.items()}
"""Each pane's function by the id of its tab. Making a pane may align files; `tab_state` does not."""


def tab_state(item: Item) -> dict[str, Glance]:
    """The state of every pane in a few characters, without making any pane."""
    return {name: room.glance(item) for name, room in _ROOMS.items()}
