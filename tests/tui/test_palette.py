"""Themes that can be read on their ground, and a meaning that no colour carries alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.color import Color

from kgrade.tui.palette import SHADES, STYLES, choose_theme, looks

GROUNDS = {"dark": ((0, 0, 0), (40, 44, 52)), "light": ((255, 255, 255), (240, 238, 230))}


def luminance(rgb: tuple[int, ...]) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [value / 255 for value in rgb]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.fixture(autouse=True)
def own_colours() -> Iterator[None]:
    yield
    choose_theme("ansi")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_shade_can_be_read_on_its_ground(theme: str) -> None:
    for shade in SHADES[theme].values():  # type: ignore[index]
        for ground in GROUNDS[theme]:
            assert contrast(tuple(Color.parse(shade).get_truecolor()), ground) >= 4.5, (shade, ground)


def test_a_theme_changes_colours_and_nothing_else() -> None:
    own = looks("ansi")
    for theme in ("dark", "light"):
        for name, style in looks(theme).items():  # type: ignore[arg-type]
            assert style.without_color == own[name].without_color
            assert (style.color is None) == (own[name].color is None)
            assert style.bgcolor is None


def test_the_terminals_own_colours_are_in_force_until_a_theme_is_chosen() -> None:
    assert all(style.color is None or style.color.is_system_defined for style in STYLES.values())
    choose_theme("light")
    assert STYLES["good"].color == Color.parse(SHADES["light"]["green"])
