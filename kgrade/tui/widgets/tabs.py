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
    """One pane as its tab shows it."""

    key: str
    title: str
    glance: Glance
    active: bool


def tab_lines(tabs: tuple[TabState, ...], size: Size) -> Sequence[Sequence[Span]]:
    """One line; on narrow screens titles are cut, the open one last, and then tabs from the end."""
    for longest in (99, 4, 0):
        line = _line(tabs, longest)
        if sum(cell_len(span.text) for span in line) <= size.width + 1:
            break
    return [line]


def _line(tabs: Sequence[TabState], longest: int) -> list[Span]:
    line: list[Span] = []
    for tab in tabs:
        title = tab.title.upper() if tab.active else tab.title[:longest]
        style = "focus" if tab.active else ""
        line += [Span(tab.key, "key"), Span(f" {title}" if title else "", style)]
        joint = " " if tab.glance.text[:1].isalnum() and title else ""
        line += [Span(joint + tab.glance.text, tab.glance.style), Span(" ")]
    return line
