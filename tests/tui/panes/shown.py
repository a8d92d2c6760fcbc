"""A pane as text, drawn by the view's own strips at a given width."""

from __future__ import annotations

from kgrade.tui.lines import Lines
from kgrade.tui.widgets.row_strips import Layout, row_strips


def shown(lines: Lines, width: int = 80, *, folds: bool = False) -> list[str]:
    """Every row as it stands on the screen; with `folds`, everything behind a fold below its row."""
    rows = []
    for index in range(len(lines)):
        row = lines[index]
        rows += ["".join(segment.text for segment in strip).rstrip() for strip in row_strips(row, Layout(width))]
        if folds and row.fold is not None:
            rows += shown(row.fold, width, folds=True)
    return rows


def text(lines: Lines, width: int = 80, *, folds: bool = False) -> str:
    return "\n".join(shown(lines, width, folds=folds))
