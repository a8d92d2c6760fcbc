"""The application: one stage, one dispatcher that gets every key, and a desk."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Mapping

from textual import events
from textual.app import App
from textual.screen import Screen

from kgrade.desk.desk import Desk
from kgrade.tui.driver import TerminalLost, chosen_driver
from kgrade.tui.ending import Ending
from kgrade.tui.keys import KeyTable, notation
from kgrade.tui.screens.grading import GradingPage
from kgrade.tui.screens.panes import PaneMaker
from kgrade.tui.screens.stage import Stage
from kgrade.tui.widgets.lines import LineView

_PERSONS_OWN_COLOURS = "ansi-dark"
"""Textual's theme of the terminal's default and its sixteen colours: nothing is fixed, so dark says nothing."""


class KgradeApp(App[int]):
    """Grade items of `desk`; `makers` make the panes, by their ids. Its return value is the exit status.

    `begin` opens what is seen first, by default the next item.
    """

    CSS_PATH = "styles/stage.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = []

    def __init__(
        self,
        desk: Desk,
        makers: Mapping[str, PaneMaker],
        *,
        table: KeyTable | None = None,
        begin: Callable[[GradingPage], None] = GradingPage.open_next,
    ) -> None:
        super().__init__(driver_class=chosen_driver(), ansi_color=True)
        self.animation_level = "none"
        self.theme = _PERSONS_OWN_COLOURS
        self.stage = Stage(self, table or KeyTable())
        self.page: GradingPage | None = None
        self._desk = desk
        self._makers = makers
        self._begin = begin
        self._early: list[events.Key | events.Paste] = []
        """What was typed before there was a page to give it to."""
        self._ending = Ending(self, self._put_away)

    def get_default_screen(self) -> Screen[None]:
        """The stage is the only screen there is."""
        return self.stage

    def on_mount(self) -> None:
        """Signals belong to whoever has the terminal."""
        if not self.is_headless:
            self._ending.on_signals()

    def on_terminal_lost(self, event: TerminalLost) -> None:
        """Without a terminal there is nothing to stay for."""
        self._ending.end(128 + signal.SIGHUP, "")

    def on_ready(self) -> None:
        """Open the next item when there is a screen to show it on."""
        page = self.page = GradingPage(self.stage, self._desk, self._makers)
        self._begin(page)
        for event in self._early:
            self._give(event)
        self.call_after_refresh(self._painted, page)
        self.set_interval(60, self._draw_clock)

    def _draw_clock(self) -> None:
        if self.page:
            self.page.draw()

    def _put_away(self) -> str:
        return self.page.put_away() if self.page else ""

    def _painted(self, page: GradingPage) -> None:
        """The first picture is there: what could wait for it comes now."""
        gc.freeze()
        gc.enable()
        page.sync()

    async def on_event(self, event: events.Event) -> None:
        """Give keys and pasted text to the dispatcher, one after the other, and nothing of them to Textual."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self.page is None:
            self._early.append(event)
        else:
            self._give(event)

    def _give(self, event: events.Key | events.Paste) -> None:
        if isinstance(event, events.Key):
            self.stage.dispatcher.key(notation(event.key, event.character), event.character)
        else:
            self.stage.dispatcher.paste(event.text)

    def on_line_view_searched(self, event: LineView.Searched) -> None:
        """Say how far a search is."""
        self.stage.say(event.text)
