"""Which lines of two files correspond, found from their first lines on, in bounded time however large the files are.

Lines that occur once on both sides anchor the rest (patience); what lies between is compared by the shortest edit
within a budget. A stretch that would cost more is left unmatched: it shows as replaced, which is coarse and never
wrong. What is large is aligned window by window, each ending where both sides clearly agree: its beginning can be
shown before its end is known, and does not change any more.
"""

from __future__ import annotations

import operator
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import count, pairwise
from typing import Final, NamedTuple, Protocol

from kgrade.tui.panes.shortest_edit import Match, shortest

WINDOW: Final = 1_000
"""Lines of both sides that are aligned at a time."""

_FIRST_WINDOW: Final = 125
"""Lines of the first window of what is long, which a screen waits for; the next ones grow."""

STEPS: Final = 300_000
_DEEPEST: Final = 16
_ANCHORED: Final = 16
"""Anchors from which on a window can be told to have its counterpart beside it."""

_MOSTLY: Final = 0.75
"""The share of lines from which on two stretches of one length are compared in place."""

_SAME_RUN: Final = re.compile(b"\x01+")


class _Stretch(NamedTuple):
    old: int
    old_end: int
    new: int
    new_end: int
    depth: int = 0


class Side(Protocol):
    """The lines of one file, or what they are compared by, taken some at a time: those far down may not be made yet."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice, /) -> Sequence[Hashable]: ...


class Aligning:
    """The lines of `old` and `new` that correspond, as far as `step` was called.

    `matches` are in order. The last one may grow by the next step, all else stays. `coarse` is set when some stretch
    was too different to be compared within the budget.
    """

    def __init__(self, old: Side, new: Side) -> None:
        self.matches: list[Match] = []
        self.coarse = False
        self._old, self._new = old, new
        self._at = 0, 0
        self._budget = STEPS
        self._window = _FIRST_WINDOW

    @property
    def is_whole(self) -> bool:
        """Whether both sides are aligned to their ends."""
        return self._at == (len(self._old), len(self._new))

    def leave(self) -> None:
        """Compare nothing: all that was not aligned yet shows as replaced."""
        self._at = len(self._old), len(self._new)
        self.coarse = True

    def step(self) -> None:
        """Align some more lines; nothing is done once the alignment is whole."""
        self._take_common()
        size, self._window = self._window, min(2 * self._window, WINDOW)
        while not self.is_whole:
            (a, b), rest = self._at, max(len(self._old) - self._at[0], len(self._new) - self._at[1])
            if rest <= 2 * max(size, WINDOW) or a == len(self._old) or b == len(self._new):
                self._take(_Stretch(a, len(self._old), b, len(self._new)))
                return
            window = _Stretch(a, min(a + size, len(self._old)), b, min(b + size, len(self._new)))
            if self._take_in_place(window) or self._take_anchored(window):
                return
            size *= 2

    def _take_common(self) -> None:
        """Go past what is the same on both sides, as far as it is so for whole windows."""
        a, b = start = self._at
        while (lines := self._old[a : a + WINDOW]) and lines == self._new[b : b + WINDOW]:
            a, b = a + len(lines), b + len(lines)
        self._advance([Match(*start, a - start[0])] if a > start[0] else [], a, b)

    def _take(self, stretch: _Stretch) -> None:
        """Align a stretch that ends where both sides agree, or end."""
        a, a_end, b, b_end, _ = stretch
        same = self._same_in_place(stretch)
        if same is not None:
            self._fill_in_place(stretch, same)
            return
        left, right = _named(self._old[a:a_end], self._new[b:b_end])
        self._fill(left, right, [_Stretch(0, len(left), 0, len(right))], stretch)

    def _take_in_place(self, window: _Stretch) -> bool:
        """Align the window up to its last clear agreement, where most of its lines stand where they stood."""
        same = self._same_in_place(window)
        if same is None:
            return False
        half = len(same) // 2
        runs = list(_SAME_RUN.finditer(same, half))
        if not runs:
            return False
        end = max(runs, key=lambda run: (run.end() - run.start(), run.end())).end()
        self._fill_in_place(_Stretch(window.old, window.old + end, window.new, window.new + end), same[:end])
        return True

    def _take_anchored(self, window: _Stretch) -> bool:
        """Align the window up to its last clear agreement, where enough lines anchor it."""
        left, right = _named(self._old[window.old : window.old_end], self._new[window.new : window.new_end])
        anchors = _anchors(left, right, _Stretch(0, len(left), 0, len(right)))
        if len(anchors) < _ANCHORED:
            return False
        kept = anchors[: _last_of_longest_run(anchors) + 1]
        a_end, b_end = kept[-1][0] + 1, kept[-1][1] + 1
        found: list[Match] = []
        stack = _between(_Stretch(0, a_end, 0, b_end), kept, found)
        whole = _Stretch(window.old, window.old + a_end, window.new, window.new + b_end)
        self._fill(left, right, stack, whole, found)
        return True

    def _same_in_place(self, stretch: _Stretch) -> bytes | None:
        """For each line whether it is the same on both sides; None where too few are."""
        a, a_end, b, b_end, _ = stretch
        if a_end - a != b_end - b:
            return None
        same = bytes(map(operator.eq, self._old[a:a_end], self._new[b:b_end]))
        return same if same.count(1) >= _MOSTLY * len(same) else None

    def _fill_in_place(self, stretch: _Stretch, same: bytes) -> None:
        """Only the stretches between lines that stand where they stood are compared."""
        a, a_end, b, b_end, _ = stretch
        found = [Match(a + run.start(), b + run.start(), run.end() - run.start()) for run in _SAME_RUN.finditer(same)]
        at = 0
        for old, _new, size in [*found, Match(a_end, b_end, 0)]:
            if old - a - at > 1:
                left, right = _named(self._old[a + at : old], self._new[b + at : b + old - a])
                self._compare(left, right, [_Stretch(0, len(left), 0, len(right))], (a + at, b + at), found)
            at = old - a + size
        self._advance(found, a_end, b_end)

    def _fill(
        self, left: list[int], right: list[int], stack: list[_Stretch], whole: _Stretch, found: Sequence[Match] = ()
    ) -> None:
        """Align the stretches on the stack, which are counted within `whole` as `found` is; then that is aligned."""
        matches = [Match(whole.old + match.old, whole.new + match.new, match.size) for match in found]
        self._compare(left, right, stack, (whole.old, whole.new), matches)
        self._advance(matches, whole.old_end, whole.new_end)

    def _compare(
        self, left: list[int], right: list[int], stack: list[_Stretch], origin: tuple[int, int], matches: list[Match]
    ) -> None:
        """Add what corresponds in the stretches on the stack to `matches`; the stretches are counted from `origin`."""
        found: list[Match] = []
        while stack:
            stretch = _trim(left, right, stack.pop(), found)
            old_lines, new_lines = stretch.old_end - stretch.old, stretch.new_end - stretch.new
            if not old_lines or not new_lines or old_lines == new_lines == 1:
                continue
            anchors = _anchors(left, right, stretch) if stretch.depth < _DEEPEST else []
            if anchors:
                stack += _between(stretch, anchors, found)
                continue
            edit = shortest(left[stretch.old : stretch.old_end], right[stretch.new : stretch.new_end], self._budget)
            self.coarse = self.coarse or edit.matches is None
            self._budget -= edit.steps
            found += [Match(stretch.old + old, stretch.new + new, size) for old, new, size in edit.matches or []]
        matches += [Match(origin[0] + old, origin[1] + new, size) for old, new, size in found]

    def _advance(self, found: list[Match], old_end: int, new_end: int) -> None:
        self._at = old_end, new_end
        for match in sorted(found):
            last = self.matches[-1] if self.matches else None
            if last and last.old + last.size == match.old and last.new + last.size == match.new:
                self.matches[-1] = Match(last.old, last.new, last.size + match.size)
            else:
                self.matches.append(match)


def _named(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Both sides with a number for each line; the same lines have the same number."""
    names: dict[Hashable, int] = {}
    left = list(map(names.setdefault, old, count()))
    return left, list(map(names.setdefault, new, count(len(left))))


def _last_of_longest_run(anchors: Sequence[tuple[int, int]]) -> int:
    """Where the longest row of neighbours ends, in the later half of the anchors."""
    best = longest = 0
    begin = half = len(anchors) // 2
    for at in range(half, len(anchors)):
        old, new = anchors[at - 1] if at > half else (-2, -2)
        if anchors[at] != (old + 1, new + 1):
            begin = at
        if at - begin + 1 >= longest:
            best, longest = at, at - begin + 1
    return best


def _trim(left: list[int], right: list[int], stretch: _Stretch, pairs: list[Match]) -> _Stretch:
    """Record what both sides share at the start and the end, and return what is left between."""
    a, a_end, b, b_end, depth = stretch
    start = a
    while a < a_end and b < b_end and left[a] == right[b]:
        a, b = a + 1, b + 1
    if a > start:
        pairs.append(Match(start, b - (a - start), a - start))
    tail = 0
    while a < a_end and b < b_end and left[a_end - 1] == right[b_end - 1]:
        a_end, b_end, tail = a_end - 1, b_end - 1, tail + 1
    if tail:
        pairs.append(Match(a_end, b_end, tail))
    return _Stretch(a, a_end, b, b_end, depth)


def _anchors(left: list[int], right: list[int], stretch: _Stretch) -> list[tuple[int, int]]:
    """Return the longest rising run of lines that occur exactly once on both sides of the stretch."""
    a, a_end, b, b_end, _ = stretch
    often_left, often_right = Counter(left[a:a_end]), Counter(right[b:b_end])
    place = {right[i]: i for i in range(b, b_end) if often_right[right[i]] == 1}
    pairs = [(i, place[left[i]]) for i in range(a, a_end) if often_left[left[i]] == 1 and left[i] in place]
    tops: list[int] = []
    top_index: list[int] = []
    before: list[int] = []
    for index, (_, target) in enumerate(pairs):
        pile = bisect_left(tops, target)
        before.append(top_index[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(target)
            top_index.append(index)
        else:
            tops[pile], top_index[pile] = target, index
    run: list[tuple[int, int]] = []
    index = top_index[-1] if top_index else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _between(stretch: _Stretch, anchors: list[tuple[int, int]], pairs: list[Match]) -> list[_Stretch]:
    """Record runs of anchors as matches, and return the stretches that are left between them."""
    left = []
    old, new = stretch.old, stretch.new
    begin = anchors[0]
    for anchor, after in pairwise([*anchors, (-1, -1)]):
        if after == (anchor[0] + 1, anchor[1] + 1):
            continue
        left.append(_Stretch(old, begin[0], new, begin[1], stretch.depth + 1))
        pairs.append(Match(*begin, anchor[0] - begin[0] + 1))
        old, new = anchor[0] + 1, anchor[1] + 1
        begin = after
    return [*left, _Stretch(old, stretch.old_end, new, stretch.new_end, stretch.depth + 1)]
