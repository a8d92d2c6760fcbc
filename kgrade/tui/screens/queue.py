"""The queue, and one's own grades: lists over the page that opened them; Enter opens an item there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kgrade.desk import Desk
from kgrade.records.slugs import ItemId
from kgrade.tui.contexts import TextContext
from kgrade.tui.keys import Context
from kgrade.tui.lines import message
from kgrade.tui.queue_view import SORTS, Listing, QueueTexts, my_grades_listing, progress_text
from kgrade.tui.screens.help import HelpPage
from kgrade.tui.screens.reading import Deeds, reading_deeds
from kgrade.tui.screens.stage import Stage
from kgrade.tui.screens.trouble import TROUBLE, sentence
from kgrade.tui.text_entry import TextEntry
from kgrade.tui.widgets.status import Status

Kind = Literal["queue", "my grades"]


class QueuePage:
    """A list of items. `chosen` opens one and says whether it could; `closed` draws what was there before."""

    context: Context = "queue"

    def __init__(
        self, stage: Stage, desk: Desk, kind: Kind, chosen: Callable[[ItemId], bool], closed: Callable[[], None]
    ) -> None:
        self._stage = stage
        self._desk = desk
        self._kind: Kind = kind
        self._chosen = chosen
        self._closed = closed
        self._before = stage.view.position
        self._wanted = ""
        self._sort = 0
        self._texts: QueueTexts | None = None
        """The queue as it was when the page was opened or put in order last; a filter goes on in that."""
        self._listing = Listing(message("reading the queue"), [None])
        self._deeds: Deeds = {
            **reading_deeds(stage),
            "search": lambda key: self._filter(),
            "open": lambda key: self._open(),
            "fold": lambda key: self._fold(),
            "sort": lambda key: self._sort_next(),
            "queue": lambda key: self._switch("queue"),
            "my-grades": lambda key: self._switch("my grades"),
            "mouse": lambda key: stage.toggle_mouse(),
            "redraw": lambda key: stage.draw_afresh(),
            "help": lambda key: HelpPage(stage, self),
            "close": lambda key: self.close(),
        }
        stage.set_parts(rubric=False)
        stage.dispatcher.open(self)
        self._show()

    def why_not(self, action: str) -> str | None:
        """Why `action` cannot be done now."""
        if action in ("sort", "fold") and self._kind == "my grades":
            return "grades stand in the order in which they were saved"
        return None if action in self._deeds else "not in this version yet"

    def perform(self, action: str, key: str) -> None:
        """Do it."""
        self._deeds[action](key)

    def typed(self, text: str) -> None:
        """Nothing is typed here; the filter is a context of its own."""

    def close(self) -> None:
        """Show again what was there before."""
        self._stage.set_parts(rubric=True)
        self._stage.dispatcher.close(self)
        self._stage.view.resume(self._before)
        self._stage.say("")
        self._closed()

    def _show(self) -> None:
        """Bring everything in line with the desk, the filter and the order."""
        before = self._texts
        if not self._show_rows():
            return
        texts = self._texts
        if texts is not None and texts is not before:
            self._stage.run_worker(lambda: texts.get_ready(lambda: self._texts is texts), thread=True)
        progress = self._desk.progress()
        who = self._desk.evaluator
        self._stage.status.show(Status(item=self._kind, kind=who, position=progress.graded, count=progress.total))
        self._stage.say(progress_text(progress, self._listing.shown, SORTS[self._sort], self._wanted))

    def _show_rows(self) -> bool:
        """Show the rows that hold what is wanted; False, with a sentence said, where the desk cannot tell."""
        try:
            self._listing = self._found()
        except TROUBLE as why:
            self._stage.say(sentence(why), "bad")
            return False
        self._stage.view.show(self._listing.lines)
        return True

    def _found(self) -> Listing:
        if self._kind == "queue":
            if self._texts is None:
                self._texts = QueueTexts(self._desk.rows(), self._desk.evaluator)
            return self._texts.listing(self._wanted, SORTS[self._sort])
        return my_grades_listing(self._desk.my_grades(), self._standing, self._wanted)

    def _standing(self, item: ItemId) -> str:
        return self._desk.standing(item)[0]

    def _item_here(self) -> ItemId | None:
        """The item under the cursor; a fold's rows belong to the item above them."""
        position = self._stage.view.position
        number = position.opened.origin(position.cursor)
        return self._listing.items[number] if number < len(self._listing.items) else None

    def _open(self) -> None:
        item = self._item_here()
        if item is None:
            self._stage.say("no item stands here")
            return
        self._stage.dispatcher.close(self)
        if self._chosen(item):
            self._stage.set_parts(rubric=True)
        else:
            self._stage.dispatcher.open(self)

    def _fold(self) -> None:
        if not self._stage.view.toggle_fold():
            self._stage.say("this item has no faults to show")

    def _sort_next(self) -> None:
        self._sort, self._texts = (self._sort + 1) % len(SORTS), None
        self._show()

    def _switch(self, kind: Kind) -> None:
        self._kind, self._wanted, self._texts = kind, "", None
        self._show()

    def _filter(self) -> None:
        before = self._wanted
        TextContext(
            self._stage,
            TextEntry("show items with", before),
            self._filtered,
            changed=self._filtering,
            cancelled=lambda: self._filtered(before),
        )

    def _filtering(self, wanted: str) -> None:
        self._wanted = wanted.strip()
        self._show_rows()

    def _filtered(self, wanted: str) -> None:
        self._wanted = wanted.strip()
        self._show()
