"""Lines with some of their folds opened, numbered as they stand on the screen."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from kgrade.tui.lines import Lines, Row


class Opened:
    """`lines`, and below each row whose fold is open the rows of the fold, which may be opened in turn."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._inner: dict[int, Opened] = {}
        """Open folds by the number of their row in `lines`, ascending."""

    def __len__(self) -> int:
        return len(self._lines) + sum(map(len, self._inner.values()))

    def __getitem__(self, index: int) -> Row:
        level, own = self._locate(index)
        return level._lines[own]

    def toggle(self, index: int) -> bool:
        """Open or close the fold of row `index`; False if it has none."""
        level, own = self._locate(index)
        fold = level._lines[own].fold
        if fold is None:
            return False
        if level._inner.pop(own, None) is None:
            level._inner = dict(sorted([*level._inner.items(), (own, Opened(fold))]))
        return True

    def again(self, lines: Lines) -> Opened:
        """`lines`, which were made anew, with the same folds open, as far as their rows are still there."""
        opened = Opened(lines)
        moved = len(lines) - len(self._lines)
        for own, inner in self._inner.items():
            text = self._lines[own].text
            for place in (own, own + moved):
                row = lines[place] if 0 <= place < len(lines) else None
                if row is not None and row.fold is not None and row.text == text:
                    opened._inner[place] = inner.again(row.fold)
                    break
        opened._inner = dict(sorted(opened._inner.items()))
        return opened

    def origin(self, index: int) -> int:
        """The number in the lines themselves of row `index`; of a fold's row, that of the row it belongs to."""
        for at, inner in self._inner.items():
            if index <= at:
                break
            if index <= at + len(inner):
                return at
            index -= len(inner)
        return index

    def shown_at(self, own: int) -> int:
        """The row at which row `own` of the lines themselves stands, with the folds above it that are open."""
        return own + sum(len(inner) for at, inner in self._inner.items() if at < own)

    def next_mark(self, index: int) -> int | None:
        """The first row after `index` with a mark."""
        marks = self.marks
        found = bisect_right(marks, index)
        return marks[found] if found < len(marks) else None

    def previous_mark(self, index: int) -> int | None:
        """The last row before `index` with a mark."""
        marks = self.marks
        found = bisect_left(marks, index)
        return marks[found - 1] if found else None

    def find(self, needle: str) -> Iterator[int | None]:
        """Rows that hold `needle`, those of open folds after the row that they belong to; None as a pause."""
        shift = 0
        pending = list(self._inner.items())
        for own in self._lines.find(needle):
            while own is not None and pending and pending[0][0] < own:
                at, inner = pending.pop(0)
                yield from _shifted(inner.find(needle), at + shift + 1)
                shift += len(inner)
            yield None if own is None else own + shift
        for at, inner in pending:
            yield from _shifted(inner.find(needle), at + shift + 1)
            shift += len(inner)

    def go_on(self) -> float | None:
        """Let more rows come, here and in open folds; see `Lines.go_on`."""
        waits = [each.go_on() for each in (self._lines, *self._inner.values())]
        return min((wait for wait in waits if wait is not None), default=None)

    @property
    def marks(self) -> list[int]:
        """The rows with a mark, ascending."""
        marks: list[int] = []
        shift = 0
        pending = list(self._inner.items())
        for own in self._lines.marks:
            while pending and pending[0][0] < own:
                shift += self._inner_marks(pending.pop(0), shift, marks)
            marks.append(own + shift)
        for opened in pending:
            shift += self._inner_marks(opened, shift, marks)
        return marks

    @staticmethod
    def _inner_marks(opened: tuple[int, Opened], shift: int, marks: list[int]) -> int:
        at, inner = opened
        marks.extend(at + shift + 1 + mark for mark in inner.marks)
        return len(inner)

    def _locate(self, index: int) -> tuple[Opened, int]:
        if not 0 <= index < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        for at, inner in self._inner.items():
            if index <= at:
                break
            if index <= at + len(inner):
                return inner._locate(index - at - 1)
            index -= len(inner)
        return self, index


def _shifted(found: Iterator[int | None], by: int) -> Iterator[int | None]:
    return (None if index is None else index + by for index in found)
