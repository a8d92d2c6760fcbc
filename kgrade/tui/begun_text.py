"""Texts being typed are kept in the draft while they are typed: a line that breaks costs no sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kgrade.desk.sitting import Sitting
from kgrade.tui.contexts import TextContext
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.timers import after

_AT_MOST_S: Final = 0.2
"""Seconds that a typed character waits before it is in the journal."""


class BegunTexts:
    """Asks for the texts of one sitting; each is kept under its label until it is done or given up."""

    def __init__(self, stage: Stage, sitting: Sitting) -> None:
        self._stage = stage
        self._sitting = sitting
        self._typed: tuple[str, str] | None = None
        self._refused: dict[str, str] = {}

    def ask(self, entry: TextEntry, done: Callable[[str], bool]) -> None:
        """Have a text typed, from where it was left; `done` gets it and tells whether it is kept elsewhere now."""
        label = entry.label
        begun = self._refused.pop(label, None) or self._sitting.begun_texts.get(label)
        if begun is not None:
            entry = TextEntry(label, begun)

        def accepted(said: str) -> None:
            self._typed = None
            if done(said):
                self._forget(label)
            else:
                self._refused[label] = said

        def cancelled() -> None:
            self._typed = None
            self._forget(label)

        TextContext(self._stage, entry, accepted, cancelled=cancelled, changed=lambda text: self._changed(label, text))

    def keep(self) -> None:
        """Write down what was typed since the last time."""
        typed, self._typed = self._typed, None
        if typed is not None:
            try:
                self._sitting.begin_text(*typed)
            except TROUBLE as why:
                self._stage.say(sentence(why), "bad")

    def _changed(self, label: str, text: str) -> None:
        waiting, self._typed = self._typed is not None, (label, text)
        if not waiting:
            after(_AT_MOST_S, self._stage, self.keep)

    def _forget(self, label: str) -> None:
        try:
            self._sitting.end_text(label)
        except TROUBLE as why:
            self._stage.say(sentence(why), "bad")
