"""The one line view: everything long is shown by it, a screenful at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from kgrade.tui.highlight import colour, leave_plain
from kgrade.tui.lines import AT_ONCE, Lines, Row, Rows
from kgrade.tui.opened import Opened
from kgrade.tui.palette import STYLES
from kgrade.tui.timers import after
from kgrade.tui.widgets.row_strips import Layout, row_strips

_NOTHING: Final = Rows([])
_CACHED_ROWS: Final = 1024
_SLICE_S: Final = 0.02
"""Seconds that a search may keep the keys waiting."""

_PICTURE_S: Final = 0.05
"""Seconds in which what was asked for comes to the screen; rows that are still to come let it pass."""

_SOON_S: Final = 0.001
_SIDEWAYS: Final = 16
_MOST_HITS: Final = 100_000
_CURSOR: Final = Segment(">", STYLES["strong"])
_IN_RANGE: Final = Segment("|", STYLES["strong"])
_ELSEWHERE: Final = Segment(" ")


@dataclass
class Position:
    """Where one looks in some lines: kept per pane, so that coming back finds it as it was left."""

    opened: Opened
    cursor: int = 0
    top: int = 0
    x: int = 0
    range_from: int | None = None
    hits: list[int] = field(default_factory=list)
    at_end: bool = False
    """Whether the cursor goes to the last row whenever more rows come; what is done there is done at the very end."""


class LineView(Widget):
    """Shows `Lines`. It is moved by calls, never by keys of its own, and draws only what is on the screen."""

    DEFAULT_CSS = "LineView { height: 1fr; }"

    class Searched(Message):
        """A search went on: `text` is its state, such as ``3/17``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.position = Position(Opened(_NOTHING))
        self.wrap = False
        self.needle = ""
        self._search: Iterator[int | None] | None = None
        self._coming: Timer | None = None
        self._cache: LRUCache[int, list[Strip]] = LRUCache(_CACHED_ROWS)
        self._drawn_for: Layout | None = None

    # What is shown

    def show(self, lines: Lines) -> None:
        """Show `lines` from their first row; code is coloured when it is on the screen."""
        leave_plain()
        self.resume(Position(Opened(lines)))
        self.call_after_refresh(self._colour)

    def resume(self, position: Position) -> None:
        """Show what was shown when `position` was kept, as it was."""
        self.position = position
        self._search = None
        self._redraw()
        if self.needle:
            self.search(self.needle, jump=False)
        self._let_come()

    @property
    def row(self) -> Row | None:
        """The row under the cursor; None if there is none."""
        self._end_there()
        return self.position.opened[self.position.cursor] if len(self.position.opened) else None

    @property
    def selected(self) -> list[Row]:
        """The rows of the marked range, or the one under the cursor."""
        self._end_there()
        at = self.position
        if not len(at.opened):
            return []
        start = at.cursor if at.range_from is None else at.range_from
        return [at.opened[index] for index in range(min(start, at.cursor), max(start, at.cursor) + 1)]

    # Moving

    def move(self, rows: int) -> None:
        """Move the cursor by `rows`; the view follows when it leaves the screen."""
        self._end_there()
        self.go_to(self.position.cursor + rows)

    def page(self, screens: float) -> None:
        """Move the cursor and what is shown by a part of the screen's height."""
        self._end_there()
        at = self.position
        rows = int(screens * max(1, self.size.height - (abs(screens) == 1)))
        self._reach(at.top + rows + self.size.height)
        last_top = max(0, len(at.opened) - self.size.height)
        at.top = min(max(0, at.top + rows), last_top)
        self.go_to(at.cursor + rows)
        self.refresh()

    def go_to(self, index: int) -> None:
        """Put the cursor on row `index`, or as near to it as there are rows."""
        self._reach(index)
        at = self.position
        at.at_end = False
        before, top = at.cursor, at.top
        at.cursor = min(max(0, index), max(0, len(at.opened) - 1))
        self._follow()
        if at.top != top or at.range_from is not None or self.wrap:
            self.refresh()
        elif at.cursor != before:
            # Two rows are drawn instead of all.
            self.refresh(*(Region(0, index - top, self.size.width, 1) for index in (before, at.cursor)))

    def go_to_end(self) -> None:
        """Put the cursor on the last row, and on each that comes to be the last, until it is moved."""
        self.go_to(len(self.position.opened) - 1)
        self.position.at_end = True

    def sideways(self, steps: int) -> None:
        """Move what is shown to the right, or to the left if `steps` is negative."""
        x = max(0, self.position.x + steps * _SIDEWAYS)
        if not self.wrap and x != self.position.x:
            self.position.x = x
            self._redraw()

    def next_mark(self, step: int) -> bool:
        """Go to the next row with a mark, the previous one if `step` is negative; False if there is none."""
        at = self.position
        found = at.opened.next_mark(at.cursor) if step > 0 else at.opened.previous_mark(at.cursor)
        if found is not None:
            self.go_to(found)
        return found is not None

    def go_to_mark(self, number: int) -> None:
        """Go to mark `number`, counted from 0, or from the end if negative; there must be one."""
        self.go_to(self.position.opened.marks[number])

    # Changing what is shown

    def toggle_fold(self) -> bool:
        """Open or close the fold of the row under the cursor; False if it has none."""
        self._end_there()
        at = self.position
        done = bool(len(at.opened)) and at.opened.toggle(at.cursor)
        if done:
            self._redraw()
            if self.needle:
                self.search(self.needle, jump=False)
            self._let_come()
        return done

    def toggle_wrap(self) -> bool:
        """Wrap long rows, or stop it; return whether they are wrapped now."""
        self.wrap = not self.wrap
        self.position.x = 0
        self._redraw()
        return self.wrap

    def toggle_range(self) -> bool:
        """Begin a range at the cursor, or forget the one there is; return whether there is one now."""
        self._end_there()
        at = self.position
        at.range_from = at.cursor if at.range_from is None else None
        self.refresh()
        return at.range_from is not None

    def forget_range(self) -> None:
        """End the marked range, if there is one."""
        if self.position.range_from is not None:
            self.position.range_from = None
            self.refresh()

    # Searching

    def search(self, needle: str, *, jump: bool = True) -> None:
        """Find `needle` in all rows; if `jump`, go to its first hit from the cursor on. "" ends the search.

        The rows are gone through in slices, so that keys are answered meanwhile. `Searched` says how far
        it is.
        """
        self.needle = needle
        self.position.hits = []
        self._search = self.position.opened.find(needle) if needle else None
        self._redraw()
        self._go_on_searching(jump)

    def next_hit(self, step: int) -> None:
        """Go to the next hit, the previous one if `step` is negative, and round the end."""
        at = self.position
        if not at.hits:
            self._say_how_far()
            return
        later = [hit for hit in at.hits if hit > at.cursor]
        earlier = [hit for hit in at.hits if hit < at.cursor]
        self.go_to((later or at.hits)[0] if step > 0 else (earlier or at.hits)[-1])
        self._say_how_far()

    def _go_on_searching(self, jump: bool) -> None:
        search, at = self._search, self.position
        end = time.monotonic() + _SLICE_S
        while search is not None and time.monotonic() < end:
            found = next(search, -1)
            if found is None:
                continue
            if found < 0 or len(at.hits) >= _MOST_HITS:
                search = self._search = None
                break
            at.hits.append(found)
            if jump and found >= at.cursor:
                jump = False
                self.go_to(found)
        if search is not None:
            after(_SOON_S, self, lambda: self._go_on_searching(jump) if search is self._search else None)
        elif jump and at.hits:
            self.go_to(at.hits[0])
        if self.needle:
            self._say_how_far()

    def _say_how_far(self) -> None:
        hits, cursor = self.position.hits, self.position.cursor
        more = "+" if self._search is not None or len(hits) >= _MOST_HITS else ""
        if not hits:
            text = f"{self.needle!r}: searching" if more else f"{self.needle!r} is not here"
        else:
            text = f"{sum(hit <= cursor for hit in hits)}/{len(hits)}{more} {self.needle}"
        self.post_message(self.Searched(text))

    # What is still to come

    def _reach(self, index: int) -> None:
        """Let rows come until there is a row `index`, as far as they need no waiting for."""
        opened = self.position.opened
        while index >= len(opened) and opened.go_on() == AT_ONCE:
            pass

    def _end_there(self) -> None:
        """Where the end was asked for, be there: a key that comes before the last rows is meant for these."""
        at = self.position
        if at.at_end:
            while at.opened.go_on() == AT_ONCE:
                pass
            self.go_to_end()

    def _let_come(self) -> None:
        """Let rows that are still to come do so in slices, after the first picture, as long as these are shown."""
        if self._coming is not None:
            self._coming.stop()
        self._coming = after(_PICTURE_S, self, self._go_on_coming)

    def _go_on_coming(self) -> None:
        at = self.position
        wait = at.opened.go_on()
        self._coming = None
        if wait is None:
            return
        self._coming = after(max(wait, _SOON_S), self, self._go_on_coming)
        if at.at_end:
            self.go_to_end()
        self._cache.clear()
        self.refresh()

    # Drawing

    def _colour(self) -> None:
        colour()
        self._redraw()

    def render_line(self, y: int) -> Strip:
        """Line `y` of the screen."""
        width = self.size.width
        at = self.position
        line = self._lines_from_top(y)
        if line is None or width < 2:
            return Strip.blank(width, self.rich_style)
        index, part = line
        start = at.cursor if at.range_from is None else at.range_from
        inside = at.range_from is not None and min(start, at.cursor) <= index <= max(start, at.cursor)
        marker = _CURSOR if index == at.cursor and not part else _IN_RANGE if inside else _ELSEWHERE
        strip = Strip([marker, *self._strips(index)[part]])
        return strip.adjust_cell_length(width).apply_style(self.rich_style).simplify()

    def _lines_from_top(self, y: int) -> tuple[int, int] | None:
        """The row, and the part of it, that stands on line `y`."""
        at = self.position
        index, count = at.top, len(at.opened)
        if self.wrap:
            while index < count and y >= (height := len(self._strips(index))):
                y -= height
                index += 1
            return (index, y) if index < count else None
        return (index + y, 0) if index + y < count else None

    def _strips(self, index: int) -> list[Strip]:
        layout = Layout(self.size.width - 1, self.position.x, self.wrap, self.needle)
        if layout != self._drawn_for:
            self._cache.clear()
            self._drawn_for = layout
        strips = self._cache.get(index)
        if strips is None:
            strips = self._cache[index] = row_strips(self.position.opened[index], layout)
        return strips

    def _follow(self) -> None:
        """Move the top so that the cursor is on the screen."""
        at = self.position
        height = max(1, self.size.height)
        if at.cursor < at.top:
            at.top = at.cursor
        elif self.wrap:
            room = height - len(self._strips(at.cursor))
            top = at.cursor
            while top > at.top and room >= (above := len(self._strips(top - 1))):
                room -= above
                top -= 1
            at.top = top
        elif at.cursor >= at.top + height:
            at.top = at.cursor - height + 1

    def _redraw(self) -> None:
        self._drawn_for = None
        self._follow()
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor on the screen."""
        self._redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as there are, for layouts that ask."""
        return len(self.position.opened)
