import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrade.tui.panes.alignment import WINDOW, Aligning
from kgrade.tui.panes.changed_words import changed_parts
from kgrade.tui.panes.shortest_edit import Match, shortest

FEW_KINDS = st.lists(st.sampled_from("abcde"), max_size=40)


def align(old, new):
    aligning = Aligning(old, new)
    while not aligning.is_whole:
        aligning.step()
    return aligning


def assert_sound(old, new, matches):
    """All matches are of equal lines, in order on both sides."""
    old_end = new_end = 0
    for match in matches:
        assert match.size > 0
        assert match.old >= old_end
        assert match.new >= new_end
        assert old[match.old : match.old + match.size] == new[match.new : match.new + match.size]
        old_end, new_end = match.old + match.size, match.new + match.size


def common(old, new):
    """The length of the longest common subsequence, by the textbook table."""
    row = [0] * (len(new) + 1)
    for x in old:
        above = row[:]
        for j, y in enumerate(new):
            row[j + 1] = above[j] + 1 if x == y else max(above[j + 1], row[j])
    return row[-1]


@given(FEW_KINDS, FEW_KINDS)
def test_matches_are_equal_lines_in_order_on_both_sides(old, new):
    aligning = align(old, new)
    assert not aligning.coarse
    assert_sound(old, new, aligning.matches)


@given(st.lists(st.sampled_from([0, 1, 2]), max_size=25), st.lists(st.sampled_from([0, 1, 2]), max_size=25))
def test_the_shortest_edit_keeps_a_longest_common_subsequence(old, new):
    matches = shortest(old, new, budget=10_000).matches
    assert sum(match.size for match in matches) == common(old, new)


def test_equal_and_empty_files():
    assert align(["x", "y"], ["x", "y"]).matches == [Match(0, 0, 2)]
    assert align([], ["x"]).matches == []


def test_a_moved_function_keeps_its_longer_neighbour_matched():
    old = ["def f():", "  1", "", "def g():", "  2", "  3", ""]
    new = ["def g():", "  2", "  3", "", "def f():", "  1", ""]
    kept = sum(match.size for match in align(old, new).matches)
    assert kept >= 4


def test_fifty_thousand_lines_with_scattered_edits_align_exactly():
    old = [f"line {i % 9000}" for i in range(50_000)]
    new = list(old)
    for i in range(0, 50_000, 250):
        new[i] = f"edited {i}"
    alignment = align(old, new)
    assert not alignment.coarse
    assert sum(match.size for match in alignment.matches) == 50_000 - 200


def scattered(lines, seed):
    """A long file, what became of it, and how many lines are in both: some went, some came, some are others."""
    draw = random.Random(seed)
    old = [f"    row_{n % 9000} = {n % 11}" if n % 5 else "" for n in range(lines)]
    new, unchanged = [], 0
    for line in old:
        fate = draw.random()
        if fate < 0.04:
            new += [f"    # put in {draw.random()}"] * draw.randrange(1, 4)
        if fate < 0.96:
            new.append(line + " changed" if fate > 0.9 else line)
            unchanged += fate <= 0.9
    return old, new, unchanged


@pytest.mark.parametrize("seed", range(3))
def test_a_long_file_is_aligned_window_by_window_and_what_is_aligned_stays(seed):
    old, new, unchanged = scattered(12 * WINDOW, seed)
    aligning = Aligning(old, new)
    before: list[Match] = []
    steps = 0
    while not aligning.is_whole:
        aligning.step()
        steps += 1
        if before:
            assert aligning.matches[: len(before) - 1] == before[:-1]
            last, now = before[-1], aligning.matches[len(before) - 1]
            assert (now.old, now.new) == (last.old, last.new)
            assert now.size >= last.size
        before = list(aligning.matches)
    assert steps >= 6
    assert not aligning.coarse
    assert_sound(old, new, aligning.matches)
    assert sum(match.size for match in aligning.matches) >= 0.998 * unchanged


def test_a_long_insertion_is_no_end_of_the_alignment():
    old = [f"line {n}" for n in range(5 * WINDOW)]
    put_in = [f"new {n}" for n in range(4 * WINDOW)]
    new = [*old[:700], *put_in, *old[700:]]
    assert align(old, new).matches == [Match(0, 0, 700), Match(700, 700 + 4 * WINDOW, 5 * WINDOW - 700)]
    assert align(new, old).matches == [Match(0, 0, 700), Match(700 + 4 * WINDOW, 700, 5 * WINDOW - 700)]


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_windows_of_few_kinds_of_lines_stay_sound(seed):
    draw = random.Random(seed)
    old = [draw.choice("abcdefg") * draw.choice((1, 40)) for _ in range(3 * WINDOW)]
    new = [line for line in old if draw.random() > 0.02]
    assert_sound(old, new, align(old, new).matches)


def test_two_files_with_nothing_in_common_stay_within_the_budget():
    alignment = align(["a", "b"] * 20_000, ["c", "d"] * 20_000)
    assert alignment.coarse
    assert alignment.matches == []


def test_changed_parts_are_the_words_that_differ():
    assert changed_parts("num = tl.exp(row - row_max)", "num = tl.exp(row)") == ([(16, 26)], [])
    assert changed_parts("return a", "completely other") is None
    assert changed_parts("x" * 2_000, "x" * 2_001) is None
