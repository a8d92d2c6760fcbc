from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgrade.tui.panes import plots


def test_a_bar_grows_by_eighths_and_never_hides_what_is_there():
    assert plots.bar(4, 8, 10) == "█████"
    assert plots.bar(1, 1_000_000, 10) == "▏"
    assert plots.bar(0, 8, 10) == ""


def test_a_strip_shows_drift_and_spikes():
    assert plots.strip([1, 2, 3, 4, 5, 6, 7, 8], 8) == "▁▂▃▄▅▆▇█"
    assert plots.strip([5, 5, 5], 8) == "▁▁▁"
    assert plots.strip([1] * 50 + [9] + [1] * 49, 10) == "▁▁▁▁▁█▁▁▁▁"


def test_whiskers_keep_their_places_on_the_axis():
    assert plots.whiskers(2, 4, 6, 0, 10, 11) == "  |-*-|    "
    assert plots.whiskers(1, 1, 1, 1, 1, 11) == ""


@given(st.lists(st.floats(min_value=0, max_value=1e9), max_size=200), st.integers(0, 80))
def test_nothing_is_wider_than_asked(values, width):
    assert cell_len(plots.strip(values, width)) <= width
    if values:
        assert cell_len(plots.bar(values[0], max(values), width)) <= width
        assert cell_len(plots.whiskers(min(values), values[0], max(values), min(values), max(values), width)) <= width
