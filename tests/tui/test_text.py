"""Hostile text: nothing that steers a terminal or hides from the eye gets through."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgrade.tui.lines import Span
from kgrade.tui.palette import segments
from kgrade.tui.text import decoded, neutral, neutral_pieces

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


def test_what_stands_for_something_else_is_flagged() -> None:
    drawn = segments([Span("a\x1bb\u202ec")])
    assert [(segment.text, bool(segment.style and segment.style.reverse)) for segment in drawn] == [
        ("a", False),
        ("␛", True),
        ("b", False),
        ("⟨RLO⟩", True),
        ("c", False),
    ]


def test_markup_in_a_span_is_text() -> None:
    assert (
        "".join(s.text for s in segments([Span("[red]x[/red] [@click=app.quit]y[/]")]))
        == "[red]x[/red] [@click=app.quit]y[/]"
    )


@given(st.lists(st.tuples(anything, st.sampled_from(["", "dim", "added", "code.keyword"])), max_size=5))
def test_styles_change_no_text(spans: list[tuple[str, str]]) -> None:
    styled = "".join(segment.text for segment in segments([Span(*span) for span in spans]))
    plain = "".join(segment.text for segment in segments([Span(text) for text, _ in spans]))
    assert styled == plain
