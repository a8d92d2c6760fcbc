"""The shortest edit between two sequences, within a budget.

E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1986: the greedy algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Match(NamedTuple):
    """`size` lines that are the same, from `old` on the one side and `new` on the other, counted from 0."""

    old: int
    new: int
    size: int


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
