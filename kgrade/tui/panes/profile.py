"""What profilers and sanitizers saw, or why they saw nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgrade.records.evidence import Profiling, Stage
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes.glances import worst_state
from kgrade.tui.panes.layout import BLANK, Joined, heading, sentence
from kgrade.tui.panes.logs import log_section
from kgrade.tui.panes.sections import collected, missing_targets, not_run, state, target_heading

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item
    from kgrade.desk.sheet import Sheet


def pane(item: Item, sheet: Sheet) -> Pane:
    """Profile and sanitizers on every target of `item`."""
    parts: list[Lines] = []
    for target, file in collected(item):
        parts.append(Rows([*([BLANK] if parts else []), *target_heading(target, file)]))
        parts += _stage(file, file.evidence.stages.profile, "profile", "A profile", item)
        parts += _stage(file, file.evidence.stages.sanitize, "sanitizers", "The sanitizers", item)
    rest = missing_targets(item)
    parts.append(Rows([BLANK, *rest] if parts and rest else rest))
    return Pane(Joined(parts), glance(item))


def glance(item: Item) -> Glance:
    """A sanitizer's word if it is a bad one, else the profile's state."""
    sanitizers = worst_state(item, "sanitize")
    return sanitizers if sanitizers.text[:1] in ("✗", "!") else worst_state(item, "profile")


def _stage(file: EvidenceFile, stage: Stage | Profiling, title: str, what: str, item: Item) -> list[Lines]:
    if stage.status in ("not-run", "error"):
        rows = not_run(stage, item, what)
    else:
        rows = [Row(spans=(state(stage.status), Span(f"  {stage.reason or ''}".rstrip())))]
    rows += [row for text in stage.facts for row in sentence(text, lead="- ")]
    return [Rows([heading(title), *rows]), *log_section(file, stage.log)]
