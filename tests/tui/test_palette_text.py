"""Spans on the screen: what stands for something else is flagged, and markup is text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgrade.records.neutral import decoded
from kgrade.tui.lines import Span
from kgrade.tui.palette import segments

anything = st.text(st.characters()) | st.binary().map(decoded)


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
