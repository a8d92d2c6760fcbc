"""A part of the screen that is drawn from one value by one plain function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from kgrade.tui.lines import Span
from kgrade.tui.palette import segments

Value = TypeVar("Value")
Draw = Callable[[Value, Size], Sequence[Sequence[Span]]]
"""Makes the lines of a value for a size in columns and rows. Lines may come out too long or too few."""


class Drawn(Widget, Generic[Value]):
    """Shows `value` as the lines that `draw` makes of it. `base` is the style of all of it."""

    def __init__(self, draw: Draw[Value], value: Value, *, base: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self.value = value
        self._draw = draw
        self._base = base
        self._lines: list[Strip] = []
        self._lines_size: Size | None = None

    def show(self, value: Value) -> None:
        """Show `value` from now on; nothing is drawn again for an equal one."""
        if value != self.value:
            self.value = value
            self._lines_size = None
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Line `y` of what is drawn."""
        size = self.size
        # By the size and not by the message that tells of it, which may come after the picture.
        if self._lines_size != size:
            self._lines_size = size
            self._lines = [_fitted(segments(line, self._base), size.width) for line in self._draw(self.value, size)]
        strip = self._lines[y] if y < len(self._lines) else _fitted(segments([Span("")], self._base), size.width)
        return strip.apply_style(self.rich_style)


def _fitted(line: list[Segment], width: int) -> Strip:
    strip = Strip(line)
    if strip.cell_length > width:
        strip = Strip([*strip.crop(0, width - 1), Segment("…")])
    return strip.adjust_cell_length(width)
