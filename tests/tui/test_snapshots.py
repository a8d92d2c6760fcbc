"""Every screen at three sizes in both themes stands as it is kept; what changed is looked at and kept anew."""

from __future__ import annotations

import pytest

from tests.tui.snapshots import FOLDER, LEAD_SCENES, SCENES, SIZES, pictures, read, svg, text_of


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_every_screen_is_as_it_was_kept(size: tuple[int, int]) -> None:
    for name, screen in pictures(size).items():
        kept = read((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
        assert screen.rows == kept[size].rows, f"{name}: look at it, then: python -m tests.tui.snapshots --write"
        assert screen.runs == kept[size].runs, f"the styles of {name}: python -m tests.tui.snapshots --write"


def test_no_file_is_kept_of_a_screen_that_is_no_more() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{scene.name}.txt" for scene in (*SCENES, *LEAD_SCENES)}


def test_a_kept_screen_is_drawn_with_every_character_in_its_shade() -> None:
    text = (FOLDER / "diff.txt").read_text(encoding="utf-8")
    assert text_of(read(text)) == text
    picture = svg(read(text)[80, 24], "light", "diff")
    assert "#116329" in picture  # the light theme's green, of an added line
    assert "softmax-rows/s01" in picture
