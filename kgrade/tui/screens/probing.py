"""What a person has run on the open item: a case of one's own, or the tests that settle a finding. Kept as probes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kgrade.desk.sitting import Sitting
from kgrade.records.evidence import Finding
from kgrade.tui.contexts import TextContext
from kgrade.tui.screens.running import RunningPage
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry

if TYPE_CHECKING:
    from kgrade.records.evidence import CaseCheck, SettlingTest
    from kgrade.records.grade import Probe

_STYLES: Final = {"passed": "good", "failed": "bad"}
_SEEN: Final = {
    "seen": ("! seen:", "bad"),
    "not-seen": ("✓ not seen:", "good"),
    "not-run": ("— not run, because", "dim"),
}
INTERPRETED: Final = "cpu"


def ask_for_case(stage: Stage, sitting: Sitting, queue: Path, ended: Callable[[], None], text: str = "") -> None:
    """Let the person write a case, beginning with the task's first one, then run it."""
    task = sitting.item.task
    cases = task.check_cases()
    first = cases[0].name if cases else ""
    label = "case (sizes, dtype, family, layout, atol= rtol= ulp=, on TARGET)"

    def done(said: str) -> None:
        text = said.strip()
        if text:
            RunningPage(stage, f"{sitting.item.id}: {text}", lambda page: _run_case(page, sitting, queue, text), ended)

    TextContext(stage, TextEntry(label, text or first), done)


def settle(stage: Stage, sitting: Sitting, queue: Path, finding: Finding, ended: Callable[[], None]) -> None:
    """Run the tests that settle `finding`, interpreted on this machine."""
    title = f"{sitting.item.id}: what settles {finding.rule} {finding.name} at {finding.path}:{finding.line}"
    RunningPage(stage, title, lambda page: _run_tests(page, sitting, queue, finding), ended)


def _run_case(page: RunningPage, sitting: Sitting, queue: Path, text: str) -> Callable[[], None]:
    """In a thread: the harness takes seconds, and the code under test as long as its limit allows."""
    from kgrade.collection import CollectionError, probe_item
    from kgrade.harness.channel import Cancelled

    try:
        kept, found = probe_item(queue, sitting.item.id, text, lambda at: page.step(at.text), page.cancel)
    except Cancelled:
        return lambda: page.over("cancelled; nothing was kept", "warn")
    except (CollectionError, OSError, MemoryError) as error:
        why = str(error) or "there is not enough memory for this case"
        return lambda: page.over(why, "bad")
    return lambda: _show_case(page, sitting, kept, found)


def _show_case(page: RunningPage, sitting: Sitting, kept: Probe, found: CaseCheck) -> None:
    style = _STYLES.get(found.status, "warn")
    page.add(f"{found.status}: {kept.summary}", style)
    for output in found.outputs:
        for worst in output.worst[:5]:
            page.add(f"{output.name}{worst.index}: got {worst.got}, expected {worst.expected}, {worst.ulp} ULP")
    if found.failure is not None:
        page.add(found.failure.advice)
    page.keep(sitting, kept, style)


def _run_tests(page: RunningPage, sitting: Sitting, queue: Path, finding: Finding) -> Callable[[], None]:
    """In a thread, as a case of one's own is run."""
    from kgrade.collection import CollectionError, settle_finding
    from kgrade.harness.channel import Cancelled

    try:
        kept, tests = settle_finding(
            queue, sitting.item.id, finding, INTERPRETED, lambda at: page.step(at.text), page.cancel
        )
    except Cancelled:
        return lambda: page.over("cancelled; nothing was kept", "warn")
    except (CollectionError, OSError, MemoryError) as error:
        why = str(error) or "there is not enough memory for these tests"
        return lambda: page.over(why, "bad")
    return lambda: _show_tests(page, sitting, kept, tests)


def _show_tests(page: RunningPage, sitting: Sitting, kept: Probe, tests: list[SettlingTest]) -> None:
    for test in tests:
        words, style = _SEEN[test.status]
        page.add(f"{test.name}: {words} {test.said}", style)
    page.keep(sitting, kept, _STYLES.get(kept.result, "warn"))
