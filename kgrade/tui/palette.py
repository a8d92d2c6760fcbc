"""The names that content gives to its styles, and how each looks in the person's own sixteen colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rich.segment import Segment
from rich.style import Style

from kgrade.tui.lines import Span
from kgrade.tui.text import neutral_pieces

STYLES: Final[dict[str, Style]] = {
    # Colour only underlines what a sign or a word says: the screen reads the same without it.
    "": Style.null(),
    "strong": Style(bold=True),
    "dim": Style(dim=True),
    "heading": Style(bold=True, underline=True),
    "good": Style(color="green"),
    "bad": Style(color="red", bold=True),
    "warn": Style(color="yellow"),
    "note": Style(color="cyan"),
    "key": Style(bold=True),
    "focus": Style(bold=True),
    "bar": Style(reverse=True),
    "added": Style(color="green"),
    "removed": Style(color="red"),
    "changed": Style(underline=True),
    "hunk": Style(color="cyan"),
    "number": Style(dim=True),
    "place": Style(underline=True),
    "match": Style(reverse=True),
    "symbol": Style(reverse=True, color="yellow"),
    "code.keyword": Style(color="magenta"),
    "code.string": Style(color="green"),
    "code.comment": Style(dim=True, italic=True),
    "code.number": Style(color="cyan"),
    "code.name": Style(color="blue"),
    "code.decorator": Style(color="yellow"),
}


def segments(spans: Iterable[Span], base: str = "") -> list[Segment]:
    """`spans` as safe segments, neighbours of one look merged, each over the style named `base`."""
    merged: list[Segment] = []
    ground = STYLES[base]
    for text, style in _neutralised(spans):
        look = ground + STYLES[style] if style else ground
        if merged and (merged[-1].style == look or (text.isspace() and _unseen_on_blanks(merged[-1].style, look))):
            merged[-1] = Segment(merged[-1].text + text, merged[-1].style)
        else:
            merged.append(Segment(text, look))
    return merged


def _neutralised(spans: Iterable[Span]) -> Iterator[tuple[str, str]]:
    column = 0
    for span in spans:
        for text, flagged in neutral_pieces(span.text, column):
            column += len(text)
            yield text, "symbol" if flagged else span.style


def _unseen_on_blanks(*looks: Style | None) -> bool:
    """Whether blanks look the same in all of `looks`: only foreground, weight and slant differ."""
    return not any(look and (look.bgcolor or look.reverse or look.underline or look.strike) for look in looks)
