"""The driver that sends changed cells leaves the same screen as Textual's own stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.drivers import headless_driver
from textual.widgets import Static

from kgrade.tui.driver import ChangedCellsDriver, chosen_driver
from kgrade.tui.driver.cells import PLAIN, Pen, changed_by
from kgrade.tui.driver.emit import pen_change
from kgrade.tui.driver.shadow import Shadow
from kgrade.tui.driver.stream import cells_of
from tests.tui.terminal import Emulator

FAMILY = "👩\u200d💻"
WIDE = "漢字 ｆｕｌｌ 🚀 한글 é e\u0301 mixed"


class Pair:
    """The same stream on two emulated terminals: as it is, and through the shadow."""

    def __init__(self, width: int = 80, height: int = 24, *, scrolls: bool = True) -> None:
        self.stock = Emulator(width, height)
        self.ours = Emulator(width, height)
        self.shadow = Shadow(width, height, scrolls=scrolls)
        self.sent = 0
        self.feed("\x1b[?1049h\x1b[?7l")

    def feed(self, data: str) -> str:
        self.stock.feed(data)
        out = self.shadow.feed(data)
        self.sent += len(out.encode())
        self.ours.feed(out)
        return out

    def resize(self, width: int, height: int) -> None:
        self.stock.resize(width, height)
        self.stock.feed("\x1b[m\x1b[2J")
        self.ours.resize(width, height)
        self.ours.feed(self.shadow.resize(width, height))

    def assert_equal(self) -> None:
        stock, ours = self.stock.cells(), self.ours.cells()
        for y, (expected, found) in enumerate(zip(stock, ours, strict=True)):
            assert found == expected, f"row {y}: {self.ours.lines[y]!r} != {self.stock.lines[y]!r}"

    def assert_equal_cursor(self) -> None:
        """Where it is, if it is seen."""
        if not (self.ours.cursor_hidden and self.stock.cursor_hidden):
            assert (self.ours.cursor, self.ours.cursor_hidden) == (self.stock.cursor, self.stock.cursor_hidden)


class Shifting(App[None]):
    """Rows of mixed width under a title, which scroll, restyle and change."""

    CSS = "#title {height: 1} #rows {height: 1fr} Screen {layout: vertical}"

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Static("", id="rows")

    def show(self, first: int, lit: int) -> None:
        rows = [
            f"[reverse]{n:4} {WIDE}[/]" if n == lit else f"[green]{n:4}[/] line [bold red]{n % 7}[/] {WIDE[n % 9 :]}"
            for n in range(first, first + 40)
        ]
        self.query_one("#title", Static).update(f"at {first} 漢" if first % 2 else f"at {first}")
        self.query_one("#rows", Static).update("\n".join(rows))


async def record(monkeypatch: pytest.MonkeyPatch, theme: str) -> list[str | tuple[int, int]]:
    """What Textual writes while `Shifting` scrolls, and the sizes its terminal takes."""
    session: list[str | tuple[int, int]] = []

    class Recorder(headless_driver.HeadlessDriver):
        is_headless = False  # type: ignore[assignment]

        def write(self, data: str) -> None:
            session.append(data)

    monkeypatch.setattr(headless_driver, "HeadlessDriver", Recorder)
    app = Shifting()
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = theme
        for first, lit in [(0, 0), (0, 1), (1, 2), (2, 3), (3, 3), (15, 20), (14, 20), (13, 13), (200, 205)]:
            app.show(first, lit)
            await pilot.pause()
        for size in [(100, 30), (61, 20), (80, 24)]:
            session.append(size)
            await pilot.resize_terminal(*size)
            app.show(size[0], size[0] + 2)
            await pilot.pause()
            app.show(size[0] + 1, size[0] + 3)
            await pilot.pause()
    return session


@pytest.mark.parametrize("theme", ["ansi-dark", "textual-dark"])
def test_a_recorded_session_leaves_the_same_cells_and_attributes(monkeypatch: pytest.MonkeyPatch, theme: str) -> None:
    session = asyncio.run(record(monkeypatch, theme))
    assert sum(isinstance(piece, str) for piece in session) > 15
    pair = Pair()
    for number, piece in enumerate(session):
        if isinstance(piece, tuple):
            pair.resize(*piece)
            continue
        pair.feed(piece)
        # Until Textual has taken in the new size, the old layout runs off the edge in no agreed way.
        if not any(isinstance(before, tuple) for before in session[max(0, number - 2) : number]):
            pair.assert_equal()
    pair.assert_equal()
    assert pair.sent < sum(len(piece.encode()) for piece in session if isinstance(piece, str)) / 2


PENS = ["0", "1", "31", "38;5;200", "38;2;1;2;3;48;5;17", "7;42", "2;3;4", "97;100"]


@st.composite
def streams(draw: st.DrawFn) -> list[str]:
    """Frames of whole rows of any width in any pen, then a cursor; rows come again elsewhere, as scrolled ones do."""
    characters = st.sampled_from([*"ab  xyz漢字🚀ｆé─", "👍🏽", FAMILY])
    words = st.lists(characters, max_size=10).map("".join)
    library = draw(st.lists(st.lists(st.tuples(st.sampled_from(PENS), words), max_size=3), min_size=12, max_size=12))
    frames = []
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, 11))
        top = draw(st.integers(0, 3))
        rows = []
        for y in range(top, 12):
            spans = library[(start + y) % 12]
            text = "".join(f"\x1b[{pen}m{word}\x1b[0m" for pen, word in spans)
            used = sum(len(cells_of(word, PLAIN)) for _, word in spans)
            rows.append(f"\x1b[{y + 1};1H{text}{' ' * (50 - used)}")
        frames.append(
            "\n".join(rows) + draw(st.sampled_from(["\x1b[?25l", "\x1b[?25h\x1b[9;7H", "\x1b[?25h\x1b[9;9H"]))
        )
    return frames


@given(streams())
@settings(max_examples=40, deadline=None)
def test_any_frames_leave_the_same_cells_and_attributes(frames: list[str]) -> None:
    pair = Pair(50, 12)
    for frame in frames:
        pair.feed(frame)
        pair.assert_equal()
        pair.assert_equal_cursor()


def test_the_same_frame_again_sends_nothing() -> None:
    pair = Pair()
    frame = "\x1b[3;1H\x1b[31m漢字\x1b[0m and text" + " " * 60
    assert pair.feed(frame)
    assert pair.feed(frame) == ""


def test_scrolled_rows_are_moved_and_not_sent_again() -> None:
    pair = Pair(80, 24)

    def frame(first: int) -> str:
        return "".join(f"\x1b[{y};1H{f'{chr(97 + (first + y) % 26) * 40}':<80}" for y in range(3, 20))

    pair.feed(frame(0))
    down = pair.feed(frame(1))
    pair.assert_equal()
    assert "\x1b[3;19r" in down
    assert len(down) < 90
    up = pair.feed(frame(-2))
    pair.assert_equal()
    assert len(up) < 180


def test_half_of_a_wide_character_can_be_overwritten() -> None:
    shadow = Shadow(10, 1)
    ours = Emulator(10, 1)
    ours.feed(shadow.feed("\x1b[?1049h\x1b[1;1H漢字漢字漢"))
    ours.feed(shadow.feed("\x1b[1;2Hab"))
    # Both characters that were hit are gone, as on a real terminal.
    assert ours.lines == [" ab 漢字漢"]


def test_other_sequences_pass_in_order_between_the_cells() -> None:
    shadow = Shadow(20, 2)
    shadow.feed("\x1b[?1049h")
    out = shadow.feed("\x1b[1;1Hone\x1b[?1000h\x1b[?2004h\x1b]52;c;aGk=\x07\x1b[2;1Htwo\x1b[?1004h\x07")
    order = [
        out.index(part) for part in ("one", "\x1b[?1000h", "\x1b[?2004h", "\x1b]52;c;aGk=\x07", "two", "\x1b[?1004h")
    ]
    assert order == sorted(order)
    assert out.endswith("\x07")


def test_stray_control_characters_never_reach_the_terminal() -> None:
    shadow = Shadow(20, 2)
    out = shadow.feed("\x1b[1;1Ha\x00b\x08c\x9bd\x7fe")
    assert "abcde" in out
    assert not set(out) & {"\x00", "\x08", "\x9b", "\x7f"}


def test_a_visible_cursor_stands_where_textual_put_it() -> None:
    pair = Pair(40, 5)
    pair.feed("\x1b[?25l\x1b[1;1Hfirst\x1b[1;3H")
    pair.feed("\x1b[?25h")
    assert (pair.ours.cursor, pair.ours.cursor_hidden) == ((0, 2), False)
    for text in ("a", "ab", "c漢"):
        pair.feed(f"\x1b[5;1H> {text}\x1b[5;{3 + len(cells_of(text, PLAIN))}H")
        assert pair.ours.cursor == pair.stock.cursor
    assert pair.feed("\x1b[5;1H> c漢d\x1b[5;7H") == "d"


def test_a_long_frame_is_held_together_and_a_short_one_is_not() -> None:
    shadow = Shadow(80, 24)
    shadow.feed("\x1b[?1049h")
    for data, held in (
        (f"\x1b[1;1H{'x' * 80}\n" + "".join(f"\x1b[{y};1H{'y' * 80}" for y in range(2, 9)), True),
        ("\x1b[1;1Hz", False),
    ):
        assert shadow.feed("\x1b[?2026h") == ""
        assert shadow.feed(data) == ""
        out = shadow.feed("\x1b[?2026l")
        assert out.startswith("\x1b[?2026h") == out.endswith("\x1b[?2026l") == held


def test_after_a_suspension_the_whole_screen_is_drawn_again() -> None:
    pair = Pair(30, 4)
    pair.feed("\x1b[2;3H\x1b[32mkept\x1b[0m")
    assert pair.shadow.feed("\x1b[?1049l").endswith("\x1b[?1049l")
    again = pair.shadow.feed("\x1b[?1049h")
    fresh = Emulator(30, 4)
    fresh.feed(again)
    assert fresh.cells() == pair.stock.cells()


def test_a_joined_emoji_is_one_cell_and_the_cursor_is_not_placed_into_it() -> None:
    """Many terminals make it twice as wide: a cursor set after it would take its end away there."""
    assert [cell.text for cell in cells_of(FAMILY + "x", PLAIN)] == [FAMILY, "", "x"]
    shadow = Shadow(20, 1)
    shadow.feed("\x1b[?1049h")
    assert f"a {FAMILY}xy" in shadow.feed(f"\x1b[1;1Ha {FAMILY}xy")
    assert FAMILY not in shadow.feed("\x1b[1;1Hb")
    assert f"{FAMILY}xz" in shadow.feed("\x1b[1;6Hz")
    assert "cdef" + " " * 14 in shadow.feed("\x1b[1;3Hcdef")


def test_text_after_a_joined_emoji_is_not_sent_to_move_the_cursor() -> None:
    pair = Pair(20, 1)
    pair.feed(f"\x1b[?25h\x1b[1;1H{FAMILY} word")
    for column in (5, 6, 7):
        pair.feed(f"\x1b[1;{column}H")
        pair.assert_equal()


def test_a_mark_that_begins_a_span_sits_on_the_character_before_it() -> None:
    shadow = Shadow(20, 1)
    shadow.feed("\x1b[?1049h")
    out = shadow.feed("\x1b[1;1H\x1b[31me\x1b[0m\x1b[32m\u0301x\x1b[0m")
    assert "e\u0301" in out


@pytest.mark.parametrize("old", PENS)
@pytest.mark.parametrize("new", PENS)
def test_changing_the_pen_gives_exactly_the_new_pen(old: str, new: str) -> None:
    before, after = changed_by(PLAIN, old), changed_by(PLAIN, new)
    sequence = pen_change(before, after)
    pen: Pen = before
    for parameters in filter(None, sequence.removeprefix("\x1b[").removesuffix("m").split("m\x1b[")):
        pen = changed_by(pen, parameters)
    if sequence == "\x1b[m":
        pen = PLAIN
    assert pen == after


def test_links_are_opened_and_closed() -> None:
    shadow = Shadow(20, 1)
    shadow.feed("\x1b[?1049h")
    out = shadow.feed("\x1b[1;1H\x1b]8;id=1;https://example.org\x1b\\here\x1b]8;;\x1b\\ there")
    assert out.index("\x1b]8;id=1;https://example.org\x1b\\") < out.index("here") < out.index("\x1b]8;;\x1b\\")


def test_the_plain_driver_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: Any = chosen_driver()
    assert chosen is ChangedCellsDriver
    monkeypatch.setenv("KGRADE_DRIVER", "plain")
    assert chosen_driver() is None


def test_the_cursor_stands_where_it_was_before_when_the_terminal_is_given_back() -> None:
    """It is kept at the first sequence and taken again at the last: nothing moves it outside of these."""
    shadow = Shadow(20, 2)
    assert shadow.feed("\x1b[?1049h").startswith("\x1b[?1049h")
    shadow.feed("\x1b[?25l\x1b[2;5Hshown")
    left = shadow.feed("\x1b[?1049l\x1b[?25h\x1b[?1004l")
    assert left.partition("\x1b[?1049l")[2] == "\x1b[?25h\x1b[?1004l"
    assert shadow.feed("\x1b[?1049h").startswith("\x1b[?1049h")
    assert shadow.feed("\x1b[1;3H") != ""
