"""Rows: found in any text at once, folded and unfolded, numbered right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename

from kgrade.tui import lines as lines_module
from kgrade.tui.highlight import LEXERS, HighlightedText, colour, file_rows, leave_plain
from kgrade.tui.lines import LazyRows, Row, Rows, SourceText, Span, message, row
from kgrade.tui.opened import Opened


def texts(opened: Opened) -> list[str]:
    return [opened[index].text for index in range(len(opened))]


@given(st.lists(st.text("ab\n\r漢", max_size=8), max_size=40).map("\n".join), st.booleans())
def test_lines_are_those_of_split(text: str, ends: bool) -> None:
    data = (text + "\n" * ends).encode()
    expected = data.decode().split("\n")
    if expected[-1] == "":
        expected.pop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "_BLOCK", 16)
        source = SourceText(data)
        assert [source[index] for index in range(len(source))] == expected


def test_a_million_lines_open_and_are_found_at_both_ends() -> None:
    source = SourceText(b"".join(b"line %d\n" % n for n in range(1_000_000)))
    assert (len(source), source[0], source[999_999], source[654_321]) == (
        1_000_000,
        "line 0",
        "line 999999",
        "line 654321",
    )
    assert [hit for hit in source.find("line 999999") if hit is not None] == [999_999]
    with pytest.raises(IndexError):
        source[1_000_000]


@given(
    st.lists(st.text("aAkK\u212a\u0130é漢 \t\r\x1b[", max_size=6), max_size=30).map("\n".join),
    st.text("aAkKiIé漢 [^x", min_size=1, max_size=3),
)
def test_a_search_finds_the_lines_that_hold_it(text: str, needle: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "_FOUND_AT_ONCE", 4)
        source = SourceText(text.encode())
        expected = [index for index in range(len(source)) if lines_module.holds(source[index], needle)]
        assert [hit for hit in source.find(needle) if hit is not None] == expected


def test_a_search_goes_on_in_what_comes_meanwhile() -> None:
    class Coming:
        block = 4
        data = b"one\nthe nee"

        def __len__(self) -> int:
            return len(self.data)

        def read(self, start: int, stop: int) -> bytes:
            return self.data[start:stop]

        @property
        def newlines(self) -> list[int]:
            return [self.data[:end].count(b"\n") for end in range(0, len(self.data) + self.block, self.block)]

    store = Coming()
    found = SourceText(store).find("needle", lambda: store.data.endswith(b"\n"))
    assert next(found) is None
    store.data = b"one\nthe needle\nand a needle\n"
    assert [hit for hit in found if hit is not None] == [1, 2]


def test_an_endless_line_is_cut_and_says_by_how_much() -> None:
    assert SourceText(b"x" * 100_010)[0].endswith("x⟨10 more characters⟩")


def test_rows_are_made_only_when_looked_at() -> None:
    made: list[int] = []

    def make(index: int) -> Row:
        made.append(index)
        return row(str(index))

    lazy = LazyRows(1_000_000, make)
    assert lazy[77].text == "77"
    assert made == [77]


def nested() -> Opened:
    inner = Rows([row("deep 0", mark="error"), row("deep 1")])
    fold = Rows([row("in 0"), Row((Span("in 1"),), fold=inner), row("in 2", mark="error")])
    return Opened(
        Rows([row("out 0", mark="hunk"), Row((Span("out 1"),), fold=fold), row("out 2"), row("out 3", mark="hunk")])
    )


def test_folds_open_in_place_and_close_with_all_that_is_in_them() -> None:
    opened = nested()
    assert not opened.toggle(0)
    assert opened.toggle(1)
    assert opened.toggle(3)
    whole = ["out 0", "out 1", "in 0", "in 1", "deep 0", "deep 1", "in 2", "out 2", "out 3"]
    assert texts(opened) == whole
    assert [hit for hit in opened.find("1") if hit is not None] == [1, 3, 5]
    assert opened.marks == [0, 4, 6, 8]
    assert (opened.next_mark(0), opened.previous_mark(8), opened.next_mark(8), opened.previous_mark(0)) == (
        4,
        6,
        None,
        None,
    )
    assert opened.toggle(1)
    assert texts(opened) == ["out 0", "out 1", "out 2", "out 3"]


def test_capitals_count_only_when_asked_with_some() -> None:
    rows = Rows([row("Numerics"), row("numerics")])
    assert list(rows.find("numerics")) == [0, 1]
    assert list(rows.find("Num")) == [0]


def test_code_is_coloured_without_a_change_to_its_text() -> None:
    data = b'"""Doc\nover lines."""\ndef f(x):  # why\n\treturn "s" + 1\n' * 300
    text = HighlightedText(data, "solution/kernel.py")
    expected = data.decode().split("\n")[:-1]
    assert ["".join(span.text for span in text[index]) for index in range(len(text))] == expected
    styles = {span.style for index in range(4, 8) for span in text[index]}
    assert {"code.string", "code.keyword", "code.comment", "code.name"} <= styles


def test_an_unknown_language_stays_plain() -> None:
    assert HighlightedText(b"def f", "notes.zzz")[0] == (Span("def f"),)


def test_file_rows_know_their_place_and_notes() -> None:
    rows = file_rows(b"a\nb\n", "solution/k.cu", note_signs={2: "m"})
    assert rows[1].place == ("solution/k.cu", 2, "new")
    assert [rows[0].sign, rows[1].sign] == ["", "m"]


def test_an_empty_state_has_no_marks() -> None:
    assert (len(message("not run", "R runs it")), message("x").marks) == (2, [])


@pytest.mark.parametrize("suffix", sorted(set(LEXERS) - {".cuh", ".hip"}))
def test_the_usual_languages_are_those_that_pygments_finds(suffix: str) -> None:
    assert type(get_lexer_by_name(LEXERS[suffix])) is type(get_lexer_for_filename(f"kernel{suffix}"))


def test_a_first_picture_is_plain_and_the_next_is_coloured() -> None:
    text = HighlightedText(b"def f():\n    return 1\n", "kernel.py")
    leave_plain()
    try:
        assert text[0] == (Span("def f():"),)
    finally:
        colour()
    assert Span("def", "code.keyword") in text[0]
    assert "".join(span.text for span in text[1]) == "    return 1"
