"""What the pane keys do on the grading page: which pane, which base, which layout, where in it."""

from __future__ import annotations

from collections.abc import Callable

from kgrade.tui.screens.panes import PaneSet
from kgrade.tui.screens.reading import Deeds
from kgrade.tui.screens.stage import Stage


def looking_deeds(stage: Stage, panes: PaneSet, draw: Callable[[], None]) -> Deeds:
    """The actions of the group Panes; `draw` brings the tabs in line."""
    view = stage.view

    def show(name: str) -> None:
        panes.show(name)
        stage.say("")
        draw()

    def showing(name: str) -> Callable[[str], None]:
        return lambda key: show(name)

    def mark(step: int) -> None:
        if not view.next_mark(step):
            stage.say("no further mark in this pane" if step > 0 else "no mark before this in this pane")

    def mark_anywhere(step: int) -> None:
        if not panes.next_mark(step):
            stage.say("no pane has a mark")
        draw()

    def fold() -> None:
        if not view.toggle_fold():
            stage.say("nothing is folded here")

    return {
        **{f"pane.{name}": showing(name) for name in panes.names},
        "pane.next": lambda key: show(panes.after(1)),
        "pane.previous": lambda key: show(panes.after(-1)),
        "mark.next": lambda key: mark(1),
        "mark.previous": lambda key: mark(-1),
        "mark.next-anywhere": lambda key: mark_anywhere(1),
        "mark.previous-anywhere": lambda key: mark_anywhere(-1),
        "split": lambda key: stage.say(panes.toggle_split() or ""),
        "blanks": lambda key: stage.say(panes.toggle_blanks()),
        "base": lambda key: stage.say(panes.next_base()),
        "wrap": lambda key: stage.say("long lines are wrapped" if view.toggle_wrap() else "long lines are cut"),
        "zoom": lambda key: stage.zoom(),
        "strip.larger": lambda key: stage.enlarge_strip(1),
        "strip.smaller": lambda key: stage.enlarge_strip(-1),
        "fold": lambda key: fold(),
        "range": lambda key: stage.say("range: move, then m or y" if view.toggle_range() else ""),
    }


def leads_on(stage: Stage) -> bool:
    """Whether Enter goes somewhere from the line under the cursor."""
    row = stage.view.row
    return row is not None and row.to is not None


def go_on(stage: Stage) -> None:
    """Go where the line under the cursor leads."""
    view = stage.view
    if view.row is not None and view.row.to is not None:
        view.go_to(view.position.opened.shown_at(view.row.to))
