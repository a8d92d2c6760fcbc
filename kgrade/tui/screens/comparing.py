"""Two submissions of a task side by side: code, every evidence table, grades; and which is better, with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kgrade.audit.comparing import Pair, blinded, earlier, open_pair, prefer
from kgrade.audit.lead import Office
from kgrade.desk.desk import Desk
from kgrade.desk.item import Item
from kgrade.desk.sheet import Sheet
from kgrade.records.comparison import Comparison
from kgrade.records.slugs import ItemId
from kgrade.tui.contexts import TextContext
from kgrade.tui.keys import Context
from kgrade.tui.lines import message
from kgrade.tui.pair_view import Preferred, pair_makers, preference
from kgrade.tui.pane import TABS, Pane, Tab
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.looking import looking_deeds
from kgrade.tui.screens.office import OfficeWork, Told
from kgrade.tui.screens.panes import PaneMaker, PaneSet
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.widgets.status import Status

_BOTH: Final = Tab("grades", "both", "both")
_HIDDEN: Final = Pane(message("This queue is blind: who did what to these items is not shown."))


@dataclass(frozen=True)
class _Opened:
    """Both items as they stand, and what the evaluator said of them before."""

    pair: Pair
    first: Item
    second: Item
    said: Comparison | None


class ComparePage:
    """Over the page that opened it; `closed` draws that again."""

    context: Context = "comparing"

    def __init__(
        self,
        stage: Stage,
        desk: Desk,
        makers: Mapping[str, PaneMaker],
        pair: tuple[ItemId, ItemId],
        closed: Callable[[], None],
    ) -> None:
        self._stage = stage
        self._desk = desk
        hidden: dict[str, PaneMaker] = {"history": lambda item, sheet: _HIDDEN} if desk.settings.blind else {}
        self._makers = {**makers, **hidden}
        self._closed = closed
        self._before = stage.view.position
        self._office = OfficeWork(stage, desk.root)
        self._names = sorted(pair)
        self._opened: _Opened | None = None
        self._panes = PaneSet(stage, {}, "grades", (_BOTH, *TABS))
        self._set_deeds()
        stage.dispatcher.open(self)
        stage.set_parts(rubric=False, tabs=True)
        stage.view.show(message("reading both", "q gives up"))
        self._draw()
        self._read("")

    # The dispatcher's side

    def why_not(self, action: str) -> str | None:
        """Why `action` cannot be done now."""
        if self._opened is None and action not in ("close", "help", "redraw", "mouse"):
            return "the submissions are not read yet"
        return None

    def perform(self, action: str, key: str) -> None:
        """Do it."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here."""

    def _set_deeds(self) -> None:
        stage = self._stage
        self._deeds: Deeds = {
            **reading_deeds(stage),
            **looking_deeds(stage, self._panes, self._draw),
            "prefer.first": lambda key: self._ask_why("first"),
            "prefer.second": lambda key: self._ask_why("second"),
            "prefer.neither": lambda key: self._ask_why("neither"),
            "mouse": lambda key: stage.toggle_mouse(),
            "redraw": lambda key: stage.draw_afresh(),
            "help": lambda key: HelpPage(stage, self),
            "close": lambda key: self._leave(),
        }

    # Reading and drawing

    def _read(self, said: str) -> None:
        one, other = self._names

        def job(office: Office, told: Told) -> _Opened:
            pair = open_pair(office, one, other)
            told(f"reading {one} and {other}")
            first, second = self._desk.item(one), self._desk.item(other)
            shown = blinded(pair, self._desk.evaluator) if self._desk.settings.blind else pair
            return _Opened(shown, first, second, earlier(office, pair, self._desk.evaluator))

        def done(found: _Opened) -> None:
            self._show(found)
            self._stage.say(said, "good")

        self._office.ask(f"reading {one} and {other}", job, done)

    def _show(self, found: _Opened) -> None:
        self._opened = found
        pane = self._panes.open
        makers = pair_makers(self._makers, found.pair, found.first, found.said)
        self._panes = PaneSet(self._stage, makers, pane, (_BOTH, *TABS))
        self._set_deeds()
        self._panes.set_item(found.second, Sheet())
        self._draw()

    def _draw(self) -> None:
        self._stage.tabs.show(self._panes.tabs(self._stage.dispatcher.table))
        one, other = self._names
        said = self._opened.said if self._opened else None
        state = {
            "first": f"{one.submission} preferred",
            "second": f"{other.submission} preferred",
            "neither": "Neither",
        }
        self._stage.status.show(
            Status(
                item=f"{one} | {other.submission}",
                kind="comparison",
                state=state[said.preferred] if said else "No preference",
            )
        )

    # Preferring

    def _ask_why(self, preferred: Preferred) -> None:
        one, other = self._names
        better = {
            "first": f"{one.submission} is better",
            "second": f"{other.submission} is better",
            "neither": "neither is",
        }
        TextContext(
            self._stage, TextEntry(f"why {better[preferred]}"), lambda why: self._prefer(preferred, why.strip())
        )

    def _prefer(self, preferred: Preferred, reason: str) -> None:
        if not reason:
            self._stage.say("a preference needs its reason; nothing was changed", "warn")
            return
        opened, who = self._opened, self._desk.evaluator
        if opened is None:
            return

        def job(office: Office, told: Told) -> str:
            pair = open_pair(office, *self._names)
            if (pair.first.solution_tree, pair.second.solution_tree) != opened_trees:
                return ""
            saved, made = prefer(office, pair, office.signature_of(who), who, preferred, reason)
            return "; ".join([f"{preference(made)}, {saved.commit[:9]}: {made.path}", *saved.notes])

        opened_trees = opened.pair.first.solution_tree, opened.pair.second.solution_tree

        def done(said: str) -> None:
            self._read(said or "a submission changed while this was open; look again, then say it again")

        self._office.ask("saving the preference", job, done, writes=True)

    # Leaving

    def _leave(self) -> None:
        if self._stage.view.needle:
            self._stage.view.search("")
            self._stage.say("")
        elif self._office.writing:
            self._stage.say(f"still {self._office.writing}…")
        elif self._office.give_up() and self._opened is not None:
            self._stage.say("given up", "warn")
        else:
            self.close()

    def close(self) -> None:
        """Show again what was there before."""
        self._office.close()
        self._stage.set_parts(rubric=True)
        self._stage.dispatcher.close(self)
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._closed()
