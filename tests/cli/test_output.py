"""Nothing that a queue says reaches the terminal as a command."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.cli.output import columns, line, plain, say_json


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "␛[2Jgone"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("over\rwritten", "over␍written"),
        ("\x9b31m", "<U+009B>31m"),
        ("safe\u202egpj.exe", "safe<U+202E>gpj.exe"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("\x7f", "␡"),
        ("\udc80", "<U+DC80>"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("größer als 1 µs, 速い", "größer als 1 µs, 速い"),
    ],
)
def test_what_could_act_on_a_terminal_is_shown_instead(hostile: str, shown: str) -> None:
    assert plain(hostile) == shown


@given(st.text())
def test_plain_text_holds_no_control_but_newline_and_tab(text: str) -> None:
    controls = {chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))} - {"\n", "\t"}
    assert not controls & set(plain(text))
    assert "\n" not in line(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_is_printable_ascii_and_means_the_same(text: str) -> None:
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.echo", printed.append)
        say_json({"said": text})
    assert all(" " <= character <= "~" or character == "\n" for character in printed[0])
    assert json.loads(printed[0]) == {"said": text}


def test_columns_line_up_and_a_cell_stays_on_its_line() -> None:
    assert columns([["a", "b\nc"], ["long", "d"]]) == "a     b c\nlong  d"
    assert columns([]) == ""
