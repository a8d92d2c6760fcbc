"""The line view: what stands on each line of the screen, whatever the rows are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from rich.cells import cell_len
from textual.app import App, ComposeResult

from kgrade.tui.highlight import file_rows
from kgrade.tui.lines import LazyRows, Lines, Row, Rows, Span, row
from kgrade.tui.panes.coming import Coming
from kgrade.tui.widgets.lines import LineView
from kgrade.tui.widgets.row_strips import Layout, row_strips


class Viewer(App[None]):
    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self.view = LineView()
        self._shown = lines
        self.said: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.show(self._shown)

    def on_line_view_searched(self, event: LineView.Searched) -> None:
        self.said.append(event.text)


def look(lines: Lines, scene: Callable[[Viewer], Awaitable[None]], size: tuple[int, int] = (40, 6)) -> None:
    async def run() -> None:
        app = Viewer(lines)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scene(app)

    asyncio.run(run())


def drawn(app: Viewer) -> list[str]:
    return [app.view.render_line(y).text.rstrip() for y in range(app.view.size.height)]


def texts(value: Row, **layout: object) -> list[str]:
    return [strip.text for strip in row_strips(value, Layout(**layout))]  # type: ignore[arg-type]


def test_a_million_rows_are_shown_and_only_those_on_the_screen_are_made() -> None:
    made: set[int] = set()

    def make(index: int) -> Row:
        made.add(index)
        return row(f"row {index}")

    async def scene(app: Viewer) -> None:
        app.view.go_to(999_999)
        assert drawn(app)[-1] == "> row 999999"
        app.view.page(-1)
        assert drawn(app)[0] == "  row 999989"
        assert len(made) < 50

    look(LazyRows(1_000_000, make), scene)


def test_the_view_follows_the_cursor_and_stops_at_the_ends() -> None:
    async def scene(app: Viewer) -> None:
        view = app.view
        view.move(-1)
        assert drawn(app)[0] == "> row 0"
        view.move(6)
        assert drawn(app)[0] == "  row 1"
        view.page(0.5)
        assert (view.position.cursor, view.position.top) == (9, 4)
        view.move(99)
        assert drawn(app)[-1] == "> row 19"

    look(Rows([row(f"row {n}") for n in range(20)]), scene)


def coming(rows: int) -> Coming:
    """Rows that come one by one, each with a pause before it; the last has a fold."""

    def parts() -> Iterator[Lines | None]:
        for number in range(rows):
            yield None
            fold = Rows([row("folded")]) if number == rows - 1 else None
            yield Rows([Row(spans=(Span(f"row {number}"),), fold=fold)])

    return Coming(parts, "more")


def test_what_is_done_at_the_end_is_done_at_the_very_end_though_it_has_not_come_yet() -> None:
    def at_the_end(deed: Callable[[LineView], object], expected: str) -> None:
        async def scene(app: Viewer) -> None:
            app.view.show(coming(2_000))
            assert len(app.view.position.opened) < 2_000
            app.view.go_to_end()
            deed(app.view)
            assert app.view.row is not None
            assert app.view.row.text == expected

        look(Rows([]), scene)

    at_the_end(lambda view: view.toggle_fold() and view.move(1), "folded")
    at_the_end(lambda view: view.move(-1), "row 1998")
    at_the_end(lambda view: view.page(-1), "row 1994")
    at_the_end(lambda view: view.toggle_range() and view.move(-3), "row 1996")
    at_the_end(lambda view: None, "row 1999")


def test_long_rows_are_reached_sideways_and_say_where_they_go_on() -> None:
    assert texts(row("0123456789" * 5), width=12) == [" 0123456789»"]
    assert texts(row("0123456789" * 5), width=12, x=16) == [" «789012345»"]
    assert texts(row("0123456789"), width=12, x=16) == [" «          "]
    assert texts(row(""), width=6, x=16) == ["      "]


def test_wrapping_cuts_no_wide_character_and_loses_none() -> None:
    wrapped = texts(row("a漢字漢字漢字b"), width=6, wrap=True)
    assert "".join(line.strip() for line in wrapped) == "a漢字漢字漢字b"
    assert all(cell_len(line) == 6 for line in wrapped)


def test_wrapped_rows_take_the_lines_they_need() -> None:
    async def scene(app: Viewer) -> None:
        app.view.toggle_wrap()
        assert [line[:6].strip() for line in drawn(app)] == ["> x" + "x" * 3, "xxxx", "xxxx", "b", "", ""]
        app.view.go_to(1)
        assert drawn(app)[3] == "> b"

    look(Rows([row("x" * 100), row("b")]), scene)


def test_gutters_stand_still_and_go_on_narrow_screens() -> None:
    value = Row((Span("0123456789" * 9),), gutter=(Span("  38 "),))
    assert texts(value, width=70, x=16)[0].startswith("   38 «")
    assert texts(value, width=50)[0].startswith(" 0123")


def test_an_aside_stands_at_the_right_edge() -> None:
    assert texts(Row((Span("code"),), aside=(Span("! S5"),)), width=20) == [" code           ! S5"]


def test_split_rows_share_the_width() -> None:
    left, right = texts(Row((Span("old"),), beside=Row((Span("new"),))), width=21)[0].split("│")
    assert (left.strip(), right.strip(), len(left)) == ("old", "new", 10)


def test_hits_are_marked_and_counted_round_the_end() -> None:
    async def scene(app: Viewer) -> None:
        app.view.search("row 1")
        assert app.view.position.cursor == 1
        app.view.next_hit(-1)
        assert app.view.position.cursor == 19
        app.view.next_hit(1)
        assert app.view.position.cursor == 1
        strip = app.view.render_line(0)
        assert [segment.text for segment in strip if segment.style and segment.style.reverse] == ["row 1"]
        app.view.search("nowhere")
        while len(app.said) < 4:
            await asyncio.sleep(0.01)
        assert app.said == ["1/11 row 1", "11/11 row 1", "1/11 row 1", "'nowhere' is not here"]

    look(Rows([row(f"row {n}") for n in range(20)]), scene)


def test_a_search_through_a_million_lines_lets_others_in_and_ends() -> None:
    async def scene(app: Viewer) -> None:
        app.view.search("line 999999")
        assert app.view.position.cursor == 0
        while not app.said or "+" in app.said[-1] or "searching" in app.said[-1]:
            await asyncio.sleep(0.01)
        assert app.said[-1] == "1/1 line 999999"
        assert app.view.position.cursor == 999_999

    look(file_rows(b"".join(b"line %d\n" % n for n in range(1_000_000)), "big.log"), scene)


def test_a_range_is_marked_and_gives_its_rows() -> None:
    async def scene(app: Viewer) -> None:
        app.view.move(2)
        app.view.toggle_range()
        app.view.move(-1)
        assert [value.text for value in app.view.selected] == ["row 1", "row 2"]
        assert drawn(app)[1:3] == ["> row 1", "| row 2"]

    look(Rows([row(f"row {n}") for n in range(9)]), scene)


def test_nothing_to_show_is_no_error() -> None:
    async def scene(app: Viewer) -> None:
        app.view.move(1)
        app.view.page(1)
        app.view.search("x")
        assert not app.view.next_mark(1)
        assert not app.view.toggle_fold()
        assert app.view.row is None
        assert app.view.selected == []
        assert drawn(app) == [""] * 6

    look(Rows([]), scene)
