"""The one-line parts: what gives way when there is no room, and what never does."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.geometry import Size

from kgrade.tui.keys import KeyTable
from kgrade.tui.lines import Span
from kgrade.tui.pane import Glance
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.widgets.bottom import KeysShown, key_lines
from kgrade.tui.widgets.rubric import CriterionLine, GateState, RubricView, rubric_lines, strip_height
from kgrade.tui.widgets.status import Status, status_lines
from kgrade.tui.widgets.tabs import TabState, tab_lines


def joined(line: list[Span]) -> str:
    return "".join(span.text for span in line)


STATUS = Status("softmax-rows/s01", "generation", "triton", "sm_90,cpu", 3, 41, 9, "Draft", "07:12")


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 160])
def test_the_state_of_the_work_is_never_left_out(width: int) -> None:
    line = joined(list(status_lines(STATUS, Size(width, 1))[0]))
    assert "Draft" in line
    assert width < 30 or cell_len(line) == width


def test_the_status_line_of_the_design() -> None:
    line = joined(list(status_lines(STATUS, Size(80, 1))[0]))
    assert " ".join(line.split()) == "softmax-rows/s01 generation triton sm_90,cpu 3/41 today 9 Draft 07:12"


def test_the_open_pane_is_in_capitals_at_any_width() -> None:
    tabs = tuple(
        TabState(key, title, Glance("47/48✗"), key == "t")
        for key, title in zip("dsbt", ["diff", "source", "build", "tests"])
    )
    wide, narrow = (joined(list(tab_lines(tabs, Size(width, 1))[0])) for width in (80, 40))
    assert wide == "d diff 47/48✗ s source 47/48✗ b build 47/48✗ t TESTS 47/48✗ "
    assert "TESTS" in narrow
    assert len(narrow) <= 41


def test_tabs_lose_their_titles_from_the_end_but_the_open_one_keeps_its_own() -> None:
    tabs = tuple(
        TabState(key, title, Glance("47/48✗"), key == "t", short)
        for key, title, short in zip("dsbt", ["diff", "source", "build", "tests"], ["diff", "src", "build", "test"])
    )
    shown = [joined(list(tab_lines(tabs, Size(width, 1))[0])) for width in (57, 50, 46, 30)]
    assert shown[0] == "d diff 47/48✗ s src 47/48✗ b build 47/48✗ t TESTS 47/48✗ "
    assert shown[1] == "d diff 47/48✗ s src 47/48✗ b47/48✗ t TESTS 47/48✗ "
    assert shown[2] == "d diff 47/48✗ s47/48✗ b47/48✗ t TESTS 47/48✗ "
    assert shown[3].startswith("d47/48✗ s47/48✗")


VIEW = RubricView(
    title="generation",
    criteria=tuple(
        CriterionLine(
            f"criterion-{n}", "3" if n == 0 else ".", levels=tuple(f"level text {level}" for level in range(5))
        )
        for n in range(8)
    ),
    focus=5,
    gates=(GateState("wrong-result", "x"), GateState("race", "?"), GateState("build")),
    verdict="revise",
    total="61.5",
)


@pytest.mark.parametrize(("width", "height", "rows"), [(80, 20, 2), (80, 24, 6), (100, 30, 8), (160, 48, 11)])
def test_the_strip_has_its_height_and_keeps_the_focus_in_sight(width: int, height: int, rows: int) -> None:
    assert strip_height(width, height) == rows
    lines = [joined(list(line)) for line in rubric_lines(VIEW, Size(width, rows))]
    assert len(lines) == rows
    assert any(line.startswith("> criterion-5") for line in lines)
    assert lines[-1] == " gates: wrong-result race?   verdict: revise   total so far 61.5"
    assert all(cell_len(line) <= width for line in lines)


def test_the_strip_can_be_made_larger_but_leaves_room_for_evidence() -> None:
    assert strip_height(80, 24, 3) == 9
    assert strip_height(80, 24, 99) == 16
    assert strip_height(80, 24, -99) == 2


def test_levels_of_the_focused_criterion_are_shown_as_far_as_there_is_room() -> None:
    line = next(joined(list(line)) for line in rubric_lines(VIEW, Size(80, 6)) if joined(list(line)).startswith(">"))
    assert "2 level text 2 | 3 level text 3" in line


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_way_to_help_is_always_named(width: int) -> None:
    line = joined(list(key_lines(KeysShown.of(KeyTable(), "grading"), Size(width, 1))[0]))
    assert line.rstrip().endswith("? help")
    assert cell_len(line) <= width + 1


def test_typing_moves_and_erases_whole_characters() -> None:
    entry = TextEntry("comment", "ab e\u0301漢")
    for action in ("text.left", "text.erase"):
        entry.edit(action)
    assert (entry.text, entry.cursor) == ("ab 漢", 3)
    entry.edit("text.delete")
    entry.typed("\x1b[x")
    spans, column = entry.drawn(80)
    assert (joined(spans), column) == ("comment: ab ␛[x", 15)
    entry.edit("text.erase-word")
    assert entry.text == "ab "
    entry.edit("text.start")
    entry.edit("text.erase-end")
    assert entry.text == ""


@pytest.mark.parametrize("length", [5, 30, 31, 45, 200])
def test_the_cursor_of_a_long_text_stays_on_the_line(length: int) -> None:
    entry = TextEntry("n", "漢" * length)
    spans, column = entry.drawn(40)
    assert column < 40
    assert cell_len(joined(spans)) == column


def test_a_strip_made_larger_on_a_narrow_screen_has_all_levels_of_the_criterion_in_focus() -> None:
    lines = [joined(list(line)) for line in rubric_lines(VIEW, Size(80, 16))]
    assert len(lines) == 16
    assert [line.strip() for line in lines if line.startswith("    ")] == [f"{n} level text {n}" for n in range(5)]
