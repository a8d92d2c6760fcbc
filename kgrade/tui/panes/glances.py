"""The few characters of a tab: the gravest state over the targets, stale evidence named as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kgrade.tui.pane import Glance
from kgrade.tui.panes.sections import SIGNS, STYLES, collected

if TYPE_CHECKING:
    from kgrade.desk.item import Item

_GRAVEST_FIRST: Final = ("failed", "error", "flagged", "passed", "not-run")


def worst_state(item: Item, stage: str) -> Glance:
    """The sign of the gravest state of `stage`: `✓`, `✗`, `!`, `—`."""
    states = {file.evidence.state(stage) for _, file in collected(item)} or {"not-run"}
    worst = min(states, key=_GRAVEST_FIRST.index)
    return aged(item, stage, Glance(SIGNS[worst], STYLES[worst]))


def aged(item: Item, stage: str, glance: Glance) -> Glance:
    """`glance` with `~` when `stage` ran, on any target, on other bytes than the item's."""
    stale = any(file.stale and file.evidence.state(stage) != "not-run" for _, file in collected(item))
    return Glance(f"{glance.text}~", "warn") if stale and glance.text else glance
