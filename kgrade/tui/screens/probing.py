"""A case of one's own: asked for in one line, run while one watches, kept in the sheet as a probe."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kgrade.desk.sitting import Sitting
from kgrade.tui.contexts import TextContext
from kgrade.tui.keys import Context
from kgrade.tui.lines import Row, Rows, Span, row
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence
from kgrade.tui.text_entry import TextEntry

if TYPE_CHECKING:
    from kgrade.harness.progress import Step
    from kgrade.records.evidence import CaseCheck
    from kgrade.records.grade import Probe

_STYLES = {"passed": "good", "failed": "bad"}


def ask_for_case(stage: Stage, sitting: Sitting, queue: Path, ended: Callable[[], None], text: str = "") -> None:
    """Let the person write a case, beginning with the task's first one, then run it."""
    task = sitting.item.task
    cases = task.check_cases()
    first = cases[0].name if cases else ""
    label = "case (sizes, dtype, family, layout, atol= rtol= ulp=, on TARGET)"

    def done(said: str) -> None:
        if said.strip():
            ProbingPage(stage, sitting, queue, said.strip(), ended)

    TextContext(stage, TextEntry(label, text or first), done)


class ProbingPage:
    """What the case shows, over the page that began it; `ended` is called when one leaves."""

    context: Context = "collecting"

    def __init__(self, stage: Stage, sitting: Sitting, queue: Path, text: str, ended: Callable[[], None]) -> None:
        self._stage = stage
        self._sitting = sitting
        self._ended = ended
        self._before = stage.view.position
        self._cancel = threading.Event()
        self._running = True
        self._rows = [Row((Span(f"{sitting.item.id}: {text}", "heading"),))]
        self._deeds: Deeds = {
            **reading_deeds(stage),
            "redraw": lambda key: stage.draw_afresh(),
            "help": lambda key: HelpPage(stage, self),
            "close": lambda key: self._leave(),
        }
        stage.dispatcher.open(self)
        self._show()
        stage.say("running: q cancels")
        stage.run_worker(lambda: self._run(queue, text), thread=True)

    def why_not(self, action: str) -> str | None:
        """Everything can be done here."""
        return None

    def perform(self, action: str, key: str) -> None:
        """Read, or cancel and leave."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def _run(self, queue: Path, text: str) -> None:
        """In a thread: the harness takes seconds, and the code under test as long as its limit allows."""
        from kgrade.collection import CollectionError, probe_item
        from kgrade.harness.channel import Cancelled

        application = self._stage.application

        def step(at: Step) -> None:
            application.call_from_thread(self._add, at.text)

        try:
            kept, found = probe_item(queue, self._sitting.item.id, text, step, self._cancel)
        except Cancelled:
            application.call_from_thread(self._over, "cancelled; nothing was kept", "warn")
        except (CollectionError, OSError, MemoryError) as why:
            application.call_from_thread(self._over, str(why) or "there is not enough memory for this case", "bad")
        else:
            application.call_from_thread(self._found, kept, found)

    def _found(self, kept: Probe, found: CaseCheck) -> None:
        style = _STYLES.get(found.status, "warn")
        self._add(f"{found.status}: {kept.summary}", style)
        for output in found.outputs:
            for worst in output.worst[:5]:
                self._add(f"{output.name}{worst.index}: got {worst.got}, expected {worst.expected}, {worst.ulp} ULP")
        if found.failure is not None:
            self._add(found.failure.advice)
        try:
            self._sitting.edit("probes", self._sitting.new_key("probes"), kept)
        except TROUBLE as why:
            self._over(sentence(why), "bad")
        else:
            self._over("kept as a probe: u takes it back", style)

    def _over(self, said: str, style: str) -> None:
        self._running = False
        self._add(said, style)
        if self._stage.dispatcher.is_open(self):
            self._stage.say(f"{said}; q shows the item again")

    def _add(self, text: str, style: str = "") -> None:
        self._rows.append(row(f"  {text}", style))
        if self._stage.dispatcher.top is self:
            self._show()

    def _show(self) -> None:
        self._stage.view.show(Rows(list(self._rows)))
        self._stage.view.go_to(len(self._rows) - 1)

    def _leave(self) -> None:
        if self._running:
            self._cancel.set()
            self._stage.say("cancelling…")
            return
        self._stage.dispatcher.close(self)
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._ended()
