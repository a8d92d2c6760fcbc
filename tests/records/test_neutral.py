"""Hostile text: nothing that steers a terminal or hides from the eye gets through."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgrade.records.neutral import decoded, neutral, neutral_lines, neutral_pieces

anything = st.text(st.characters()) | st.binary().map(decoded)


@given(anything)
def test_no_control_format_or_lone_character_gets_through(text: str) -> None:
    shown = neutral(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    shown.encode()


@given(anything)
def test_every_cell_is_accounted_for(text: str) -> None:
    shown = neutral(text)
    assert cell_len(shown) == sum(cell_len(character) for character in shown)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_plain_text_is_left_alone(text: str) -> None:
    assert neutral(text) == text
    assert not any(flagged for _, flagged in neutral_pieces(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("a\tb\tc", "a   b   c"),
        ("漢\tb", "漢  b"),
        ("if x:\r", "if x:␍"),
        ("\x9b31m", "⟨9B⟩31m"),
        ("user\u202egnp.exe", "user⟨RLO⟩gnp.exe"),
        ("ze\u200bro", "ze⟨200B⟩ro"),
        ("\ufeffbom", "⟨BOM⟩bom"),
        ("no\u00a0break", "no␣break"),
        ("soft\u00adhyphen", "soft⟨AD⟩hyphen"),
        ("tag\U000e0041", "tag⟨E0041⟩"),
        ("\u3164filler", "⟨3164⟩filler"),
        ("[bold]not markup[/]", "[bold]not markup[/]"),
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 3, "e\u0301\u0301⟨301⟩"),
        ("\u0301x", "⟨301⟩x"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert neutral(text) == shown


def test_bytes_that_are_no_utf8_are_shown_each() -> None:
    assert neutral(decoded(b"ok \xff\xfe\xc3")) == "ok ⟨xFF⟩⟨xFE⟩⟨xC3⟩"


@given(anything)
def test_what_was_made_neutral_is_left_alone(text: str) -> None:
    assert neutral(neutral(text)) == neutral(text)


@given(st.lists(anything, max_size=4))
def test_lines_stay_lines_and_each_is_neutral(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert neutral_lines(text).split("\n") == [neutral(line) for line in text.split("\n")]


@given(anything, st.integers(0, 9))
def test_pieces_are_the_text_in_order(text: str, column: int) -> None:
    pieces = list(neutral_pieces(text, column))
    assert all(piece for piece, _ in pieces)
    left = "".join(piece for piece, flagged in pieces if not flagged and not piece.isspace())
    wanted = iter(text)
    assert all(character in wanted for character in left), "unflagged pieces are the text's own characters"
