"""The names that content gives to its styles, and how each looks: in the person's own colours, or in a theme's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from rich.segment import Segment
from rich.style import Style

from kgrade.records.neutral import neutral_pieces
from kgrade.tui.lines import Span

Theme = Literal["ansi", "dark", "light"]

_LOOKS: Final[Mapping[str, str]] = {
    # Colour only underlines what a sign or a word says: the screen reads the same without it.
    "": "",
    "strong": "bold",
    "dim": "dim",
    "heading": "bold underline",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "note": "cyan",
    "key": "bold",
    "focus": "bold",
    "bar": "reverse",
    "added": "green",
    "removed": "red",
    "changed": "underline",
    "hunk": "cyan",
    "number": "dim",
    "place": "underline",
    "match": "reverse",
    "symbol": "reverse yellow",
    "code.keyword": "magenta",
    "code.string": "green",
    "code.comment": "dim italic",
    "code.number": "cyan",
    "code.name": "blue",
    "code.decorator": "yellow",
}

SHADES: Final[Mapping[Theme, Mapping[str, str]]] = {
    # Of the terminal's own sixteen; then shades that can be read on a dark and on a light ground (tested: 4.5 to 1).
    "ansi": {},
    "dark": {
        "red": "#ff7b72",
        "green": "#7ee787",
        "yellow": "#e3b341",
        "blue": "#79c0ff",
        "magenta": "#d2a8ff",
        "cyan": "#76e3ea",
    },
    "light": {
        "red": "#b3202b",
        "green": "#116329",
        "yellow": "#7d4e00",
        "blue": "#0550ae",
        "magenta": "#6639ba",
        "cyan": "#0b5f66",
    },
}


def looks(theme: Theme) -> dict[str, Style]:
    """How every style looks in `theme`."""
    shades = SHADES[theme]
    return {
        name: Style.parse(" ".join(shades.get(word, word) for word in look.split()) or "none")
        for name, look in _LOOKS.items()
    }


STYLES: Final = looks("ansi")
"""The styles in force; no ground is ever coloured, so that the terminal's own stays."""


def choose_theme(theme: Theme) -> None:
    """Put the styles of `theme` in force; what is on the screen is not drawn again."""
    STYLES.update(looks(theme))


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
