"""How many colours are sent is settled before Textual is imported."""

from __future__ import annotations

import os

import pytest

from kgrade.tui.colours import choose_colours


@pytest.mark.parametrize(("asked", "system"), [("truecolor", "truecolor"), ("256", "256"), ("16", "standard")])
def test_the_colour_system_is_passed_on(monkeypatch: pytest.MonkeyPatch, asked: str, system: str) -> None:
    monkeypatch.setenv("TEXTUAL_COLOR_SYSTEM", "auto")
    choose_colours(asked)  # type: ignore[arg-type]
    assert os.environ["TEXTUAL_COLOR_SYSTEM"] == system


def test_none_is_said_in_the_way_that_all_programs_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    choose_colours("none")
    assert os.environ["NO_COLOR"] == "1"
