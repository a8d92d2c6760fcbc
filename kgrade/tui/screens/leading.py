"""A lead's pages, over the page that opens them: the audit, items to adjudicate, submissions side by side.

Each is imported when it is opened: their statistics take long to import, and most sittings open none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kgrade.desk.desk import Desk
from kgrade.records.slugs import ItemId
from kgrade.tui.contexts import Option, PickContext
from kgrade.tui.screens.panes import PaneMaker
from kgrade.tui.screens.stage import Stage


class Leading:
    """Opens pages; `closed` draws the page below when the last of them was left."""

    def __init__(self, stage: Stage, desk: Desk, makers: Mapping[str, PaneMaker], closed: Callable[[], None]) -> None:
        self._stage = stage
        self._desk = desk
        self._makers = makers
        self._closed = closed

    def audit(self) -> None:
        """Open the audit; Enter on an item on which grades differ adjudicates it."""
        from kgrade.tui.screens.audit import AuditPage

        def adjudicate(items: Sequence[ItemId], first: ItemId) -> None:
            self._adjudicate(items, first, page.resume)

        page = AuditPage(self._stage, self._desk, adjudicate, self._closed)

    def adjudicate(self, item: ItemId) -> None:
        """Open one item to adjudicate."""
        self._adjudicate([item], item, self._closed)

    def compare(self, one: ItemId, other: ItemId) -> None:
        """Open two submissions of a task side by side."""
        self._compare((one, other), self._closed)

    def choose(self, item: ItemId, closed: Callable[[], None]) -> None:
        """Ask for another submission of the task of `item` and open both; the only other one is not asked for."""
        rows = [place.row.id for place in self._desk.rows() if place.row.id.task == item.task]
        others = [each for each in rows if each.submission is not None and each != item]
        if item.submission is None or not others:
            self._stage.say("there is no other submission of this task" if item.submission else "a task stands alone")
        elif len(others) == 1:
            self._compare((item, others[0]), closed)
        else:
            options = [Option(str(each), str(each)) for each in others]
            title = f"compare {item} with"
            PickContext(
                self._stage, title, lambda: options, lambda name: self._compare((item, ItemId.parse(name)), closed)
            )

    def _adjudicate(self, items: Sequence[ItemId], first: ItemId, closed: Callable[[], None]) -> None:
        from kgrade.tui.screens.adjudicating import AdjudicationPage

        AdjudicationPage(self._stage, self._desk, self._makers, items, first, self.choose, closed)

    def _compare(self, pair: tuple[ItemId, ItemId], closed: Callable[[], None]) -> None:
        from kgrade.tui.screens.comparing import ComparePage

        ComparePage(self._stage, self._desk, self._makers, pair, closed)
