"""The second line: the panes, each with its key and its state at a glance; the open one in capitals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.geometry import Size

from kgrade.tui.lines import Span
from kgrade.tui.pane import Glance


@dataclass(frozen=True, slots=True)
class TabState:
    """One pane as its tab shows it; `short` is its title where there is little room."""

    key: str
    title: str
    glance: Glance
    active: bool
    short: str = ""


def tab_lines(tabs: tuple[TabState, ...], size: Size) -> Sequence[Sequence[Span]]:
    """One line; without room titles become short, then go from the end, but never that of the open pane."""
    line = _line([tab.title for tab in tabs], tabs)
    shorts = [tab.title if tab.active else tab.short for tab in tabs]
    for number in range(len(tabs), -1, -1):
        if sum(cell_len(span.text) for span in line) <= size.width + 1:
            break
        kept = (title if index < number or tab.active else "" for index, (title, tab) in enumerate(zip(shorts, tabs)))
        line = _line(list(kept), tabs)
    return [line]


def _line(titles: Sequence[str], tabs: Sequence[TabState]) -> list[Span]:
    line: list[Span] = []
    for title, tab in zip(titles, tabs):
        style = "focus" if tab.active else ""
        line += [Span(tab.key, "key"), Span(f" {title.upper() if tab.active else title}" if title else "", style)]
        joint = " " if tab.glance.text[:1].isalnum() and title else ""
        line += [Span(joint + tab.glance.text, tab.glance.style), Span(" ")]
    return line
