"""Nothing that a queue says reaches the terminal as a command."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrade.cli.output import columns, line, say, say_json
from kgrade.records.neutral import neutral


def said(text: str) -> str:
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.echo", lambda text, err: printed.append(text))
        say(text)
    return printed[0]


@given(st.text())
def test_what_is_said_is_neutral_line_by_line(text: str) -> None:
    assert said(text).split("\n") == [neutral(each) for each in text.split("\n")]
    assert line(text) == neutral(text.replace("\n", " "))


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
