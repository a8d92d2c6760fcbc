"""Saving the open item and sending what waits, in threads: the screen is drawn and read meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kgrade.desk.desk import Desk
from kgrade.desk.people import Moved
from kgrade.desk.saving import Saved
from kgrade.tui.contexts import Option, PickContext
from kgrade.tui.screens.scoring import Scoring
from kgrade.tui.screens.settling import Settling
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence


class Saving:
    """Saves items of `desk` and brings them to the remote, until `leaving` is set.

    `go_on` opens the item after a saved one and returns why it is late, or nothing; `draw` draws how things stand.
    """

    def __init__(
        self,
        stage: Stage,
        desk: Desk,
        settling: Settling,
        leaving: threading.Event,
        *,
        go_on: Callable[[], str],
        draw: Callable[[], None],
    ) -> None:
        self._stage = stage
        self._desk = desk
        self._settling = settling
        self._leaving = leaving
        self._go_on = go_on
        self._draw = draw
        self._sends = False
        self.before = ""
        """How the item saved before stands, until the one after it was seen."""

    @property
    def is_on_its_way(self) -> bool:
        """Whether something is being sent that would wait for the next start if the app were left now."""
        return self._sends and self._desk.unsent() > 0

    def save(self, scoring: Scoring, *, anyway: bool = False, still_valid: bool = False) -> None:
        """Save the item and open the next one, or list what is missing; keys wait until that is done."""
        missing = scoring.sitting.result().missing
        if missing and not anyway:
            options = [Option(place, sentence) for place, sentence in missing]
            title = "not saved yet: Enter goes there, y saves what may be saved"
            PickContext(
                self._stage, title, lambda: options, scoring.go_to, anyway=lambda: self.save(scoring, anyway=True)
            )
            return
        self._stage.say("saving…")
        self._stage.dispatcher.hold(ignoring="save")
        self._stage.run_worker(lambda: self._saving(scoring, anyway, still_valid), thread=True)

    def _saving(self, scoring: Scoring, anyway: bool, still_valid: bool) -> None:
        """In a thread: commits take a moment and a push takes as long as the network does."""
        application = self._stage.application
        try:
            saved = self._desk.save(scoring.sitting, anyway=anyway, still_valid=still_valid, follow=False)
            standing = self._desk.standing(saved.item)[0]
        except Moved as moved:
            application.call_from_thread(self._moved, scoring, anyway, moved)
        except TROUBLE as why:
            application.call_from_thread(self._not_saved, sentence(why))
        else:
            application.call_from_thread(self._saved, saved, standing)

    def _saved(self, saved: Saved, standing: str) -> None:
        late = self._go_on()
        self.sync()
        self.before = f"{saved.item}: {standing}"
        self._stage.say("; ".join(filter(None, [self.before, *saved.notes, late])), "warn" if late else "good")
        self._stage.dispatcher.release()
        # A level that was typed before the item could be seen was meant for another.
        self._stage.call_after_refresh(self._seen)

    def _seen(self) -> None:
        self.before = ""

    def _moved(self, scoring: Scoring, anyway: bool, moved: Moved) -> None:
        self._stage.dispatcher.release()
        self._settling.moved(scoring.sitting, moved, lambda: self.save(scoring, anyway=anyway, still_valid=True))

    def _not_saved(self, why: str) -> None:
        self._stage.say(why, "bad")
        self._draw()
        self._stage.dispatcher.release()

    def sync(self) -> None:
        """Send what waits, in a thread; the status line says what came of it."""
        self._sends = True
        self._stage.run_worker(self._syncing, thread=True, exclusive=True, group="sync")

    def _syncing(self) -> None:
        application = self._stage.application
        try:
            self._desk.sync(self._leaving)
        except TROUBLE as why:
            application.call_from_thread(self._stage.mention, sentence(why), "bad")
        else:
            if self._desk.notes:
                application.call_from_thread(self._stage.mention, "; ".join(self._desk.notes), "warn")
        application.call_from_thread(self._synced)
        self._desk.catch_up(self._leaving)

    def _synced(self) -> None:
        self._sends = False
        self._settling.after_step()
        self._draw()
