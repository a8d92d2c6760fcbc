"""What the reading keys do to the line view: the same on every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgrade.tui.contexts import TextContext
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry

Deeds = Mapping[str, Callable[[str], object]]
"""What to do for each action; the argument is the key that asked for it."""


def reading_deeds(stage: Stage) -> Deeds:
    """The actions of the group Reading."""
    view = stage.view
    return {
        "line.down": lambda key: view.move(1),
        "line.up": lambda key: view.move(-1),
        "half.down": lambda key: view.page(0.5),
        "half.up": lambda key: view.page(-0.5),
        "page.down": lambda key: view.page(1),
        "page.up": lambda key: view.page(-1),
        "top": lambda key: view.go_to(0),
        "bottom": lambda key: view.go_to_end(),
        "left": lambda key: view.sideways(-1),
        "right": lambda key: view.sideways(1),
        "search": lambda key: TextContext(stage, TextEntry("search"), view.search),
        "search.next": lambda key: _again(stage, 1),
        "search.previous": lambda key: _again(stage, -1),
    }


def _again(stage: Stage, step: int) -> None:
    if stage.view.needle:
        stage.view.next_hit(step)
    else:
        stage.say(f"nothing was searched for yet: {stage.dispatcher.table.of('search').keys[0]} searches")
