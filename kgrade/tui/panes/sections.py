"""What every pane says the same way: the state of a stage, where evidence comes from, what is missing and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

from kgrade.records.evidence import NOT_COLLECTED, Environment, Failure, StageStatus
from kgrade.tui.lines import Row, Span
from kgrade.tui.panes.layout import BLANK, fact, heading, sentence

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item

SIGNS: Final = {"passed": "✓", "failed": "✗", "flagged": "!", "error": "!", "not-run": "—"}
STYLES: Final = {"passed": "good", "failed": "bad", "flagged": "warn", "error": "warn", "not-run": "dim"}


class StageResult(Protocol):
    """The state that every stage has."""

    @property
    def status(self) -> StageStatus:
        """What became of the stage."""

    @property
    def reason(self) -> str | None:
        """Why, in one sentence."""


def state(status: str, words: str = "") -> Span:
    """A status as sign and word: `✓ passed`, `✗ failed`, `! error`, `— not run`."""
    return Span(f"{SIGNS[status]} {words or status.replace('-', ' ')}", STYLES[status])


def collected(item: Item) -> Iterator[tuple[str, EvidenceFile]]:
    """The evidence there is, the task's targets first and in their order."""
    order = [target for target in item.task.targets if target in item.evidence]
    for target in [*order, *sorted(set(item.evidence) - set(order))]:
        yield target, item.evidence[target]


def lacking(item: Item) -> list[str]:
    """Targets of the task for which there is no evidence at all."""
    return [target for target in item.task.targets if target not in item.evidence]


def target_heading(target: str, file: EvidenceFile) -> list[Row]:
    """The heading of a target's section: hardware, whether interpreted, how old; and a warning when it is stale."""
    environment = file.evidence.environment
    how = f"{environment.hardware}{', interpreter' if environment.interpreter else ''}"
    rows = [heading(target, f"{how}, collected {file.evidence.collected}")]
    if file.stale:
        about = "these figures are about other bytes than the ones on screen (tree ids differ)"
        rows += sentence(f"stale: {about}. R collects them anew.", "warn", lead="! ")
    return rows


def missing_targets(item: Item) -> list[Row]:
    """One section for the targets without evidence: what is not there and what to do."""
    targets = lacking(item)
    if not targets:
        return []
    unread = [target for target in targets if any(f"/evidence/{target}.json" in fault.path for fault in item.faults)]
    rows = []
    if unread:
        rows = [heading(", ".join(unread), "not readable", "warn")]
        rows += sentence("There is evidence that cannot be read; the task's pane says why.", "warn", lead="! ")
    targets = [target for target in targets if target not in unread]
    if not targets:
        return rows
    rows += [heading(", ".join(targets), "not run", "dim")]
    rows += sentence(f"No evidence has been collected for {' or '.join(targets)}.", lead="— ")
    return [*rows, *collect_advice(item)]


def collect_advice(item: Item) -> list[Row]:
    """What to do when something was not collected."""
    return sentence(f"R collects it here, or: kgrade collect {item.id}", "dim", indent="  ")


def not_run(stage: StageResult, item: Item, what: str) -> list[Row]:
    """An empty section: the stage did not run or broke, with its reason and what to do next."""
    reason = stage.reason or "no reason was recorded"
    if stage.status == "error":
        rows = sentence(f"{what} could not be examined: {reason}", "warn", lead="! ")
        return (
            rows
            + sentence("This is a fault of the harness or the machine, not of the submission.", indent="  ")
            + (collect_advice(item))
        )
    rows = sentence(f"{what}: not run, because {reason}", lead="— ")
    return rows + (collect_advice(item) if reason == NOT_COLLECTED else [])


def failure(found: Failure, indent: str = "  ") -> list[Row]:
    """A classified failure: class, proof, whose fault, whether to retry, advice."""
    again = ", worth another try" if found.retry else ""
    rows = sentence(f"{found.kind} (fault of the {found.fault}{again})", "bad", indent=indent, lead="✗ ")
    rows += sentence(found.line, "strong", indent=indent + "  ", lead="| ")
    return rows + sentence(found.advice, indent=indent + "  ", lead="> ")


def provenance(environment: Environment, method: str | None) -> list[Row]:
    """How the figures were obtained, and on what."""
    rows = fact("method", method) if method else []
    machine = [environment.hardware]
    machine += [f"driver {environment.driver}"] if environment.driver else []
    machine += [f"toolkit {environment.toolkit}"] if environment.toolkit else []
    machine += [f"{name} {version}" for name, version in environment.versions.items()]
    rows += fact("machine", ", ".join(machine))
    rows += fact("clocks", environment.clocks) if environment.clocks else []
    rows += fact("sandbox", environment.sandbox)
    rows += fact("not walled", "; ".join(environment.lacks), "warn") if environment.lacks else []
    return rows


def spaced(sections: Iterable[list[Row]]) -> list[Row]:
    """Sections with a blank row between, empty ones left out."""
    rows: list[Row] = []
    for section in sections:
        if section:
            rows += [BLANK, *section] if rows else section
    return rows
