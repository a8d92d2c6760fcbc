"""Evidence collected while one watches: `kgrade collect` on the open item, its lines as they come, cancel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kgrade.records.slugs import ItemId
from kgrade.tui.keys import Context
from kgrade.tui.lines import Row, Rows, Span, row
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage

_MOST_LINES: Final = 2000
"""Lines that are kept of what the command says; it says a few for each item and target."""

_ENDINGS: Final = {0: "done", 1: "done; some items could not be read", 130: "cancelled; what was collected is kept"}


def collect_command(item: ItemId, queue: Path, stages: Sequence[str] = ()) -> list[str]:
    """The arguments of `kgrade` that collect evidence for `item` anew, of all stages or of some."""
    chosen = [argument for stage in stages for argument in ("--stage", stage)]
    return ["collect", str(item), "--queue", str(queue), "--again", *chosen]


class CollectingPage:
    """The command's lines over the page that began it. `ended` is called when one leaves after it ended."""

    context: Context = "collecting"

    def __init__(
        self, stage: Stage, item: ItemId, queue: Path, stages: Sequence[str], ended: Callable[[], None]
    ) -> None:
        self._stage = stage
        self._ended = ended
        self._before = stage.view.position
        arguments = collect_command(item, queue, stages)
        self._rows = [Row((Span(f"kgrade {' '.join(arguments)}", "heading"),))]
        self._process: subprocess.Popen[str] | None = None
        self._deeds: Deeds = {
            **reading_deeds(stage),
            "redraw": lambda key: stage.draw_afresh(),
            "help": lambda key: HelpPage(stage, self),
            "close": lambda key: self._leave(),
        }
        stage.dispatcher.open(self)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kgrade", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="surrogateescape",
                # Its own session: a Ctrl-C of the terminal is not its to take, and nothing of it reaches the screen.
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        except OSError as why:
            self._add(f"it could not be started: {why}", "bad")
            return
        self._show()
        stage.say("collecting: q cancels")
        stage.run_worker(self._follow, thread=True)

    def why_not(self, action: str) -> str | None:
        """Everything can be done here."""
        return None

    def perform(self, action: str, key: str) -> None:
        """Read, or cancel and leave."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def _follow(self) -> None:
        """In a thread: hand each line over as it comes, then the end."""
        process, application = self._process, self._stage.application
        if process is None or process.stdout is None:
            return
        for line in process.stdout:
            application.call_from_thread(self._add, line.rstrip("\n"))
        application.call_from_thread(self._finished, process.wait())

    def _finished(self, status: int) -> None:
        self._process = None
        said = _ENDINGS.get(status, f"it ended with status {status}")
        self._add(said, "good" if status == 0 else "warn")
        if self._stage.dispatcher.is_open(self):
            self._stage.say(f"{said}: q shows the item again")

    def _add(self, text: str, style: str = "") -> None:
        if len(self._rows) < _MOST_LINES:
            self._rows.append(row(f"  {text}", style))
        if self._stage.dispatcher.top is self:
            self._show()

    def _show(self) -> None:
        self._stage.view.show(Rows(list(self._rows)))
        self._stage.view.go_to(len(self._rows) - 1)

    def _leave(self) -> None:
        if self._process is not None:
            # The command takes the first interrupt for a request to stop after what it is at.
            os.kill(self._process.pid, signal.SIGINT)
            self._stage.say("cancelling…")
            return
        self._stage.dispatcher.close(self)
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._ended()
