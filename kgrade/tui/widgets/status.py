"""The first line: which item this is, how far one has come, and whether the work is safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.geometry import Size

from kgrade.records.neutral import neutral
from kgrade.tui.lines import Span


@dataclass(frozen=True, slots=True)
class Status:
    """`position` of `count` items; `state` is Untouched, Draft, Committed or Pushed and is never left out.

    `worked` says how long one has worked on the item, `alarm` what is to be settled.
    """

    item: str = ""
    kind: str = ""
    language: str = ""
    targets: str = ""
    position: int = 0
    count: int = 0
    today: int = 0
    state: str = ""
    clock: str = ""
    worked: str = ""
    alarm: str = ""


def status_lines(status: Status, size: Size) -> Sequence[Sequence[Span]]:
    """One line; what matters least goes first when there is no room."""
    place = f"{status.position}/{status.count}" if status.count else ""
    today = f"today {status.today}" if status.count else ""
    about = [neutral(part) for part in (status.kind, status.language, status.targets)]
    state = f"! {status.alarm}  {status.state}" if status.alarm else status.state
    rights = [
        [place, today, status.worked, state, status.clock],
        [place, state, status.clock],
        [state],
    ]
    item = neutral(status.item)
    for right_parts in rights:
        right = "  ".join(part for part in right_parts if part)
        for kept in range(len(about), -1, -1):
            left = f"{item}  {' '.join(part for part in about[:kept] if part)}"
            gap = size.width - cell_len(left.rstrip()) - cell_len(right)
            if gap >= 2:
                return [_line(left.rstrip(), gap, right, state)]
    return [_line(item, 1, state, state)]


def _line(left: str, gap: int, right: str, state: str) -> list[Span]:
    before, found, after = right.rpartition(state) if state else (right, "", "")
    return [Span(left, "strong"), Span(" " * gap + before), Span(found, "strong"), Span(after)]
