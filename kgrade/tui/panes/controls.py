"""What a task's check is worth: which known-wrong kernels it would pass, and the tolerance its reference bears out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgrade.records.evidence import Control, Proposal, ToleranceUsed
from kgrade.records.task import Task
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes import figures
from kgrade.tui.panes.layout import Column, Entry, heading, sentence, table
from kgrade.tui.panes.sections import collected

if TYPE_CHECKING:
    from kgrade.desk.item import Item


def worth(item: Item) -> list[Row]:
    """Rows on the controls and the proposed tolerance of a task under review; none where neither was collected."""
    rows: list[Row] = []
    for _, file in collected(item):
        check = file.evidence.stages.check
        if file.stale and (check.controls or check.proposals):
            rows += sentence("stale: the controls below ran on other bytes than those on screen", "warn", lead="! ")
        rows += _controls(check.controls) if check.controls else []
        rows += _proposals(check.proposals, item.task) if check.proposals else []
    return rows


def _controls(controls: list[Control]) -> list[Row]:
    missed = [control for control in controls if control.undetected]
    said = f"{len(missed)} would pass the check" if missed else "the check fails every one"
    columns = [Column("known-wrong kernel"), Column("tried in", right=True), Column("passes in", right=True),
               Column("verdict", most=60)]  # fmt: skip
    entries = [
        Entry([each.name, figures.count(each.tried, "case"), f"{len(each.passes)}", _verdict(each)])
        for each in sorted(controls, key=lambda each: (not each.undetected, not each.passes))
    ]
    return [heading("wrong kernels", said, "warn" if missed else "dim"), *table(columns, entries)]


def _verdict(control: Control) -> Span:
    if control.undetected:
        dtypes = ", ".join(figures.dtype(name) for name in control.undetected)
        return Span(f"! would pass in {dtypes}", "warn")
    if control.passes:
        return Span(f"✓ fails, though not at {control.passes[0]}", "good")
    return Span("✓ fails wherever it is wrong", "good")


def _proposals(proposals: list[Proposal], task: Task) -> list[Row]:
    rows = [heading("a tolerance that the reference bears out", "beside the task's own")]
    for each in proposals:
        proposed = figures.tolerance(ToleranceUsed(atol=each.atol, rtol=each.rtol))
        own = task.tolerance.get(each.dtype)  # type: ignore[call-overload]
        beside = figures.tolerance(own) if own else "no row"
        rows.append(Row(spans=(Span(f"  {figures.dtype(each.dtype)}  ", "strong"), Span(proposed))))
        rows += sentence(f"the task says {beside}", "dim", indent="    ")
        rows += sentence(each.derivation, "dim", indent="    ")
        if each.passes:
            rows += sentence(f"it would still pass: {', '.join(each.passes)}", "warn", indent="    ", lead="! ")
    return rows
