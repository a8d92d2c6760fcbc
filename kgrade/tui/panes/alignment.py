"""Which lines of two files correspond, in bounded time however large the files are.

Lines that occur once on both sides anchor the rest (patience); what lies between is compared by Myers' greedy
algorithm (E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1986) within a budget.
A stretch that would cost more is left unmatched: it shows as replaced, which is coarse and never wrong.
"""

from __future__ import annotations

import difflib
import operator
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import count, pairwise
from typing import NamedTuple

STEPS = 300_000
_DEEPEST = 16
_LONGEST_LINE = 1_000
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE = 0.4
_MOSTLY = 0.75
"""The share of lines from which on two files of one length are compared in place."""


class Match(NamedTuple):
    """`size` lines that are the same, from `old` on the one side and `new` on the other, counted from 0."""

    old: int
    new: int
    size: int


class Alignment(NamedTuple):
    """The matches in order; `coarse` when some stretch was too different to be compared within the budget."""

    matches: list[Match]
    coarse: bool


class _Stretch(NamedTuple):
    old: int
    old_end: int
    new: int
    new_end: int
    depth: int


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> Alignment:
    """Return the lines of `old` and `new` that correspond."""
    in_place = bytes(map(operator.eq, old, new))
    if len(old) == len(new) and in_place.count(1) >= _MOSTLY * len(old):
        return _in_place(old, new, in_place)
    pairs: list[Match] = []
    coarse = _align(old, new, _Stretch(0, len(old), 0, len(new), 0), STEPS, pairs)[0]
    return Alignment(_joined(sorted(pairs)), coarse)


def _in_place(old: Sequence[Hashable], new: Sequence[Hashable], same: bytes) -> Alignment:
    """Most lines stand where they stood: only the stretches between those are compared."""
    pairs: list[Match] = []
    coarse, budget, at = False, STEPS, 0
    while at < len(same):
        end = same.find(0, at)
        end = len(same) if end < 0 else end
        if end > at:
            pairs.append(Match(at, at, end - at))
        at = same.find(1, end)
        at = len(same) if at < 0 else at
        if at - end > 1:
            rough, budget = _align(old, new, _Stretch(end, at, end, at, 0), budget, pairs)
            coarse = coarse or rough
    return Alignment(_joined(sorted(pairs)), coarse)


def _align(
    old: Sequence[Hashable], new: Sequence[Hashable], whole: _Stretch, budget: int, pairs: list[Match]
) -> tuple[bool, int]:
    """Add what corresponds in a stretch to `pairs`; return whether that is coarse, and what is left of the budget."""
    names: dict[Hashable, int] = {}
    a, a_end, b, b_end, _ = whole
    left = list(map(names.setdefault, old[a:a_end], count()))
    right = list(map(names.setdefault, new[b:b_end], count(len(left))))
    found: list[Match] = []
    stack = [_Stretch(0, len(left), 0, len(right), 0)]
    coarse = False
    while stack:
        stretch = _trim(left, right, stack.pop(), found)
        old_lines, new_lines = stretch.old_end - stretch.old, stretch.new_end - stretch.new
        if not old_lines or not new_lines or old_lines == new_lines == 1:
            continue
        anchors = _anchors(left, right, stretch) if stretch.depth < _DEEPEST else []
        if anchors:
            stack += _between(stretch, anchors, found)
            continue
        shortest_edit = shortest(left[stretch.old : stretch.old_end], right[stretch.new : stretch.new_end], budget)
        coarse = coarse or shortest_edit.matches is None
        budget -= shortest_edit.steps
        found += [
            Match(stretch.old + match.old, stretch.new + match.new, match.size) for match in shortest_edit.matches or []
        ]
    pairs += [Match(a + match.old, b + match.new, match.size) for match in found]
    return coarse, budget


def changed_parts(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
    """Return the character ranges, end excluded, in which two lines differ, by words; None when they are not alike."""
    if max(len(old), len(new)) > _LONGEST_LINE:
        return None
    left, right = _TOKEN.findall(old), _TOKEN.findall(new)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    kept = sum(len("".join(left[a : a + n]).strip()) for a, _, n in matcher.get_matching_blocks())
    longest = max(len(old.strip()), len(new.strip()))
    if longest and kept / longest < _ALIKE:
        return None
    ends_left, ends_right = _ends(left), _ends(right)
    gone, come = [], []
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        if a_end > a:
            gone.append((ends_left[a], ends_left[a_end]))
        if b_end > b:
            come.append((ends_right[b], ends_right[b_end]))
    return gone, come


def _ends(tokens: list[str]) -> list[int]:
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    return ends


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


class Shortest(NamedTuple):
    """The matches of a shortest edit (None: over budget) and the steps that finding them took."""

    matches: list[Match] | None
    steps: int


def shortest(left: Sequence[int], right: Sequence[int], budget: int) -> Shortest:
    """Myers' greedy algorithm on two whole sequences, given up when it would take more than `budget` steps."""
    n, m = len(left), len(right)
    if (abs(n - m) + 1) ** 2 > budget:  # the least that as many lines more on one side than on the other cost
        return Shortest(None, 0)
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    steps = 0
    for distance in range(n + m + 1):
        steps += 2 * distance + 1
        if steps > budget:
            return Shortest(None, 0)
        trace.append(dict(reach))
        for k in range(-distance, distance + 1, 2):
            down = k == -distance or (k != distance and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < n and x - k < m and left[x] == right[x - k]:
                x += 1
                steps += 1
            reach[k] = x
            if x >= n and x - k >= m:
                return Shortest(_walked_back(trace, n, m), steps)
    raise AssertionError("two sequences differ by no more than all their elements")


def _walked_back(trace: list[dict[int, int]], x: int, y: int) -> list[Match]:
    matches = []
    for distance in range(len(trace) - 1, -1, -1):
        reach, k = trace[distance], x - y
        down = k == -distance or (k != distance and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        x_before = reach[before]
        start = (x_before if down else x_before + 1) if distance else 0
        if x > start:
            matches.append(Match(start, start - k, x - start))
        x, y = x_before, x_before - before
    return matches[::-1]


def _joined(pairs: list[Match]) -> list[Match]:
    joined: list[Match] = []
    for match in pairs:
        last = joined[-1] if joined else None
        if last and last.old + last.size == match.old and last.new + last.size == match.new:
            joined[-1] = Match(last.old, last.new, last.size + match.size)
        else:
            joined.append(match)
    return joined
