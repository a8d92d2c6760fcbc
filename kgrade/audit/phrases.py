"""Figures in words, the same in the terminal and on the page."""

from __future__ import annotations

from kgrade.audit.agreement import Figure, OfCriterion
from kgrade.audit.changes import Change
from kgrade.audit.drift import Standing


def figure(found: Figure) -> str:
    """Return the value with its interval, or why there is none."""
    if found.value is None:
        return f"n/a: {found.why}"
    interval = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.3f}{interval}"


def share(found: Figure) -> str:
    """Return a share as per cent."""
    return "n/a" if found.value is None else f"{100 * found.value:.0f} %"


def levels(value: float | None) -> str:
    """Return a difference in levels with its sign."""
    return "-" if value is None else f"{value:+.2f}"


def minutes(seconds: float | None) -> str:
    """Return a time in minutes."""
    return "-" if seconds is None else f"{seconds / 60:.1f} min"


def moves(change: Change) -> str:
    """Return what a save changed, from what to what; of what was not there before, what it is."""
    told = (f"{name} {new}" if old == "-" else f"{name} {old} to {new}" for name, (old, new) in change.moved.items())
    return ", ".join(told) or "comments only"


STANDING = ("evaluator", "grades", "shared", "severity", "last 20", "gold items", "to gold", "median time")


def standing_row(of: Standing) -> list[str]:
    """Return the figures of one evaluator in the order of `STANDING`."""
    apart = [levels(of.severity), levels(of.recent), str(of.golden), levels(of.to_gold)]
    return [of.evaluator, str(of.grades), str(of.shared), *apart, minutes(of.median_s)]


def criterion_row(of: OfCriterion) -> list[str]:
    """Return rubric, criterion, items, exact, within 1, alpha, AC2 and band of one criterion."""
    shares = [share(of.exact), share(of.within_one)]
    return [of.rubric, of.criterion, str(of.items), *shares, figure(of.alpha), figure(of.ac2), of.band or "-"]
