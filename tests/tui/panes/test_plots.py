import pytest
from hypothesis import example, given
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
    assert plots.whiskers(2, 4, 6, plots.Axis(0, 10), 11) == "  |-*-|"
    assert plots.whiskers(1, 10, 100, plots.Axis(1, 100, log=True), 11) == "|----*----|"
    assert plots.whiskers(1, 1, 1, plots.Axis(1, 2), 2) == ""


def test_an_axis_is_logarithmic_from_a_ratio_of_ten_on_and_never_empty():
    assert plots.Axis.over([1, 9]) == plots.Axis(1, 9)
    assert plots.Axis.over([1, 10]).log
    assert not plots.Axis.over([0, 10]).log
    assert plots.Axis.over([5, 5]).place(5, 11) == 5
    assert plots.Axis.over([5, 5], log=True).place(5, 11) == 5


def test_a_density_shows_where_the_samples_lie_and_hides_no_single_one():
    assert plots.density([0] * 100 + [10], plots.Axis(0, 10), 11) == "█         ▁"


CURVES = {"candidate": [(1, 1), (100, 10), (10_000, 100)], "eager": [(1, 100), (10_000, 100)]}
LABELS = (lambda x: f"{x:g} B", lambda y: f"{y:g} us")


def test_a_chart_places_every_point_and_names_its_series():
    assert list(plots.chart(CURVES, LABELS, width=30, height=5)) == [
        "100 us │x⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⢉⣉⠭⠛@",
        "       │             ⣀⠤⠔⠊⠁",
        "       │        ⢀⡠⠔o⠉",
        "       │    ⣀⠤⠔⠊⠁",
        "  1 us │o⠤⠒⠉",
        "       └──────────────────────",
        "        1 B            10000 B",
        "        o candidate  x eager  @ several",
    ]


@pytest.mark.parametrize(("name", "value"), [("TERM", "linux"), ("LC_ALL", "C"), ("LC_ALL", "de_DE.ISO-8859-1")])
def test_a_terminal_without_these_characters_gets_ascii(monkeypatch, name, value):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert not plots.plain()
    monkeypatch.setenv(name, value)
    assert plots.plain()
    drawn = [*plots.chart(CURVES, LABELS), plots.bar(3, 8, 10), plots.strip([1, 2, 9], 9)]
    assert all(line.isascii() for line in [*drawn, plots.density([1, 2], plots.Axis(1, 2), 9)])
    assert "o candidate  x eager" in drawn[-3]
    assert plots.bar(1, 1_000_000, 10) == "#"


positive = st.floats(min_value=1e-6, max_value=1e12)


@given(st.lists(positive, min_size=1, max_size=200), st.integers(0, 80))
def test_nothing_is_wider_than_asked(values, width):
    axis = plots.Axis.over(values)
    assert cell_len(plots.strip(values, width)) <= width
    assert cell_len(plots.density(values, axis, width)) <= width
    assert cell_len(plots.bar(values[0], max(values), width)) <= width
    assert cell_len(plots.whiskers(min(values), values[0], max(values), axis, width)) <= width


@given(st.dictionaries(st.sampled_from(["a", "b"]), st.lists(st.tuples(positive, positive), min_size=1), min_size=1))
@example({"a": [(1.0000000000000002e-06, 1.0), (1e-06, 1.0)]})
def test_a_chart_fits_and_every_series_leaves_a_mark(series):
    lines = list(plots.chart(series, LABELS, width=64, height=6, joined=False))
    assert all(cell_len(line) <= 64 for line in lines)
    assert len(lines) == 6 + 3
    assert {plots.MARKS[len(series) - 1], plots.SEVERAL} & set("".join(lines[:6]))
