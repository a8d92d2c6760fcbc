from hypothesis import given
from hypothesis import strategies as st

from kgrade.tui.panes.alignment import Match, align, changed_parts, shortest

FEW_KINDS = st.lists(st.sampled_from("abcde"), max_size=40)


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
    matches, coarse = align(old, new)
    assert not coarse
    old_end = new_end = 0
    for match in matches:
        assert match.size > 0
        assert match.old >= old_end
        assert match.new >= new_end
        assert old[match.old : match.old + match.size] == new[match.new : match.new + match.size]
        old_end, new_end = match.old + match.size, match.new + match.size


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


def test_two_files_with_nothing_in_common_stay_within_the_budget():
    alignment = align(["a", "b"] * 20_000, ["c", "d"] * 20_000)
    assert alignment.coarse
    assert alignment.matches == []


def test_changed_parts_are_the_words_that_differ():
    assert changed_parts("num = tl.exp(row - row_max)", "num = tl.exp(row)") == ([(16, 26)], [])
    assert changed_parts("return a", "completely other") is None
    assert changed_parts("x" * 2_000, "x" * 2_001) is None
