"""Lines that come part by part: the first can be read before the last is known."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kgrade.tui.lines import AT_ONCE, Lines, Row, Span

_FIRST: Final = 60
"""Rows without which nothing is shown, unless there are no more."""

_SLICE_S: Final = 0.01


class Coming:
    """The lines of `parts`, one after the other; None among them is a place to pause.

    What has come stays where it is: more comes below it, above a last row that says `waiting`. Whoever asks for all
    marks waits for the rest. Nothing is asked of `parts` before somebody looks.
    """

    def __init__(self, parts: Callable[[], Iterator[Lines | None]], waiting: str) -> None:
        self._make = parts
        self._coming: Iterator[Lines | None] | None = None
        self._waiting = Row(spans=(Span(waiting, "dim"),))
        self._parts: list[Lines] = []
        self._ends = [0]
        self._is_whole = False

    def __len__(self) -> int:
        self._begin()
        return self._ends[-1] + (not self._is_whole)

    def __getitem__(self, index: int, /) -> Row:
        if not 0 <= index < len(self):
            raise IndexError(index)
        if index == self._ends[-1]:
            return self._waiting
        number = bisect_right(self._ends, index) - 1
        return self._parts[number][index - self._ends[number]]

    @property
    def marks(self) -> Sequence[int]:
        """The numbers of the rows with a mark, when all have come."""
        self._begin()
        while not self._is_whole:
            self._pull()
        return [start + mark for start, part in zip(self._ends, self._parts) for mark in part.marks]

    def find(self, needle: str) -> Iterator[int | None]:
        """Rows that hold `needle`; see `Lines.find`. What has not come yet comes meanwhile."""
        self._begin()
        number = 0
        while number < len(self._parts) or not self._is_whole:
            if number == len(self._parts):
                self._pull()
                yield None
                continue
            for found in self._parts[number].find(needle):
                yield None if found is None else self._ends[number] + found
            number += 1

    def go_on(self) -> float | None:
        """Let more come; see `Lines.go_on`."""
        self._begin()
        if self._is_whole:
            return None
        until = time.monotonic() + _SLICE_S
        while not self._is_whole and time.monotonic() < until:
            self._pull()
        return AT_ONCE

    def _begin(self) -> None:
        """Let as much come as is shown at first, and all that may be had at once."""
        if self._coming is None:
            self._coming = self._make()
            while not self._is_whole and (self._pull() or self._ends[-1] < _FIRST):
                pass

    def _pull(self) -> bool:
        """Let the next part come; whether there was one."""
        assert self._coming is not None
        try:
            part = next(self._coming)
        except StopIteration:
            self._is_whole = True
            return False
        if part is None:
            return False
        self._parts.append(part)
        self._ends.append(self._ends[-1] + len(part))
        return True
