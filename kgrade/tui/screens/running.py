"""Something that takes time, over the page that began it: its lines as they come, its end, and cancelling it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kgrade.desk.sitting import Sitting
from kgrade.records.grade import Probe
from kgrade.tui.keys import Context
from kgrade.tui.lines import Row, Rows, Span, row
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence


class RunningPage:
    """Runs `work` in a thread and shows what it tells. `ended` is called when one leaves after its end.

    `work` tells by `step`, which may be called from its thread, watches `cancel`, and returns what is done with its
    result, which is called where the screen may be changed; it must call `over`.
    """

    context: Context = "collecting"

    def __init__(
        self,
        stage: Stage,
        title: str,
        work: Callable[[RunningPage], Callable[[], None]],
        ended: Callable[[], None],
    ) -> None:
        self.cancel = threading.Event()
        self._stage = stage
        self._work = work
        self._ended = ended
        self._before = stage.view.position
        self._running = True
        self._rows = [Row((Span(title, "heading"),))]
        self._deeds: Deeds = {
            **reading_deeds(stage),
            "redraw": lambda key: stage.draw_afresh(),
            "help": lambda key: HelpPage(stage, self),
            "close": lambda key: self._leave(),
        }
        stage.dispatcher.open(self)
        self._show()
        stage.say("running: q cancels")
        stage.run_worker(self._run, thread=True)

    # For the work

    def step(self, text: str) -> None:
        """Show a line, from the work's thread."""
        self._stage.application.call_from_thread(self.add, text)

    def add(self, text: str, style: str = "") -> None:
        """Show a line."""
        self._rows.append(row(f"  {text}", style))
        if self._stage.dispatcher.top is self:
            self._show()

    def over(self, said: str, style: str) -> None:
        """The work is over; say what came of it."""
        self._running = False
        self.add(said, style)
        if self._stage.dispatcher.is_open(self):
            self._stage.say(f"{said}; q shows the item again")

    def keep(self, sitting: Sitting, probe: Probe, style: str) -> None:
        """The work is over; keep what it showed in the sheet."""
        try:
            sitting.edit("probes", sitting.new_key("probes"), probe)
        except TROUBLE as why:
            self.over(sentence(why), "bad")
        else:
            self.over("kept as a probe: u takes it back", style)

    # The dispatcher's side

    def why_not(self, action: str) -> str | None:
        """Everything can be done here."""
        return None

    def perform(self, action: str, key: str) -> None:
        """Read, or cancel and leave."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def _run(self) -> None:
        """In a thread."""
        done = self._work(self)
        self._stage.application.call_from_thread(done)

    def _show(self) -> None:
        self._stage.view.show(Rows(list(self._rows)))
        self._stage.view.go_to(len(self._rows) - 1)

    def _leave(self) -> None:
        if self._running:
            self.cancel.set()
            self._stage.say("cancelling…")
            return
        self._stage.dispatcher.close(self)
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._ended()
