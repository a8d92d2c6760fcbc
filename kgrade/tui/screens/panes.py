"""The panes of an item in one line view, each left and found again where one was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from kgrade.desk.item import Item
from kgrade.desk.sheet import Sheet
from kgrade.tui.keys import KeyTable
from kgrade.tui.lines import Lines, message
from kgrade.tui.pane import TABS, Pane, Tab
from kgrade.tui.screens.stage import Stage
from kgrade.tui.widgets.lines import Position
from kgrade.tui.widgets.tabs import TabState

PaneMaker = Callable[[Item, Sheet], Pane]

_SPLIT_FROM = 150
"""Columns from which a diff stands side by side unless asked otherwise."""

_LOGS_AHEAD = 4
"""Large logs whose beginnings are brought before somebody looks: a process waits beside each."""

_NO_ITEM = Pane(message("no item is open", "Q shows the queue"))


class PaneSet:
    """The panes of the open item, made by `makers` and told by `tabs`; `open` is the id of the one that is shown."""

    def __init__(
        self, stage: Stage, makers: Mapping[str, PaneMaker], first: str = "diff", tabs: Sequence[Tab] = TABS
    ) -> None:
        self._stage = stage
        self._tabs = tabs
        self._makers = makers
        self._panes: dict[str, Pane] = {}
        self._positions: dict[str, Position] = {}
        self._split: bool | None = None
        self._bases: dict[str, str] = {}
        self._without_blanks: set[str] = set()
        self._shown_of: tuple[object, ...] = ()
        self.open = first

    def set_item(self, item: Item, sheet: Sheet) -> None:
        """Show another item, in the pane that was open, from its beginning."""
        self._positions.clear()
        self._bases.clear()
        self._without_blanks.clear()
        self._make(item, sheet)
        self.show(self.open)
        self._stage.call_after_refresh(_get_ready, item)

    def update(self, item: Item, sheet: Sheet) -> None:
        """Show what an edit changed, such as a note, without moving; scores and the like stand in no pane."""
        if self._shown_of == (item, *_said(sheet)):
            return
        self._keep()
        self._make(item, sheet)
        self._positions = {name: _moved(position, self._lines(name)) for name, position in self._positions.items()}
        self.show(self.open)

    def clear(self) -> None:
        """Show no item."""
        self._panes.clear()
        self._positions.clear()

    def show(self, name: str) -> None:
        """Show the pane `name` as it was left."""
        if name != self.open:
            self._keep()
        self.open = name
        position = self._positions.get(name)
        if position is None:
            self._stage.view.show(self._lines(name))
        else:
            self._stage.view.resume(position)

    @property
    def names(self) -> list[str]:
        """The ids of the panes, in their order."""
        return [tab.id for tab in self._tabs]

    def after(self, step: int) -> str:
        """The id of the pane `step` places on, round the end."""
        return self.names[(self.names.index(self.open) + step) % len(self.names)]

    def next_mark(self, step: int) -> bool:
        """Go to the next mark in any pane, from here round; False if there is none in another pane either."""
        if self._stage.view.next_mark(step):
            return True
        for distance in range(1, len(self.names) + 1):
            name = self.after(step * distance)
            marks = self._lines(name).marks
            if marks:
                self.show(name)
                self._stage.view.go_to_mark(0 if step > 0 else -1)
                return True
        return False

    def toggle_split(self) -> str | None:
        """Show the open pane side by side, or in one column; return why it cannot be, if it cannot."""
        if self._pane(self.open).split is None:
            return "this pane has one side only"
        self._split = not self._is_split()
        self._positions.pop(self.open, None)
        self._stage.view.show(self._lines(self.open))
        return None

    def next_base(self) -> str:
        """Compare with the next base; return what to say of it."""
        names = list(self._pane(self.open).bases)
        if len(names) < 2:
            return "this pane has nothing else to compare with"
        base = names[(names.index(self._bases.get(self.open, names[0])) + 1) % len(names)]
        self._bases[self.open] = base
        self._panes[self.open] = self._pane(self.open).bases[base]()
        self._positions.pop(self.open, None)
        self._stage.view.show(self._lines(self.open))
        return f"against {base}"

    def toggle_blanks(self) -> str:
        """Leave differences in blanks out, or show them again; return what to say of it."""
        blanks = self._pane(self.open).blanks
        if blanks is None:
            return "this pane compares nothing"
        self._without_blanks ^= {self.open}
        self._panes[self.open] = blanks()
        self._positions.pop(self.open, None)
        self._stage.view.show(self._lines(self.open))
        return "differences in blanks are " + ("left out" if self.open in self._without_blanks else "shown")

    def tabs(self, table: KeyTable) -> tuple[TabState, ...]:
        """The tab line."""
        return tuple(
            TabState(
                (table.of(f"pane.{tab.id}").keys or ("",))[0],
                tab.title,
                self._pane(tab.id).glance,
                tab.id == self.open,
                tab.short,
            )
            for tab in self._tabs
        )

    def _make(self, item: Item, sheet: Sheet) -> None:
        self._shown_of = (item, *_said(sheet))
        self._panes = {name: make(item, sheet) for name, make in self._makers.items()}
        for name, base in self._bases.items():
            self._panes[name] = self._panes[name].bases[base]()
        for name in self._without_blanks:
            blanks = self._panes[name].blanks
            if blanks is not None:
                self._panes[name] = blanks()

    def _pane(self, name: str) -> Pane:
        return self._panes.get(name, _NO_ITEM)

    def _lines(self, name: str) -> Lines:
        pane = self._pane(name)
        return pane.split if pane.split is not None and self._is_split() else pane.lines

    def _is_split(self) -> bool:
        return self._stage.size.width >= _SPLIT_FROM if self._split is None else self._split

    def _keep(self) -> None:
        if self._panes:
            self._positions[self.open] = self._stage.view.position


def _get_ready(item: Item) -> None:
    """Have the beginnings of large logs brought while the item is looked at: whoever opens one waits for no git."""
    logs = (log for file in item.evidence.values() for log in file.logs.values())
    for log in islice((log for log in logs if not isinstance(log, bytes)), _LOGS_AHEAD):
        log.get_ready()


def _said(sheet: Sheet) -> tuple[object, ...]:
    """What panes show of a sheet."""
    return dict(sheet.findings), dict(sheet.comments), dict(sheet.probes)


def _moved(position: Position, lines: Lines) -> Position:
    """The same place in lines made anew."""
    opened = position.opened.again(lines)
    last = max(0, len(opened) - 1)
    top, cursor = min(position.top, last), min(position.cursor, last)
    return Position(opened, cursor, top, position.x, at_end=position.at_end)
