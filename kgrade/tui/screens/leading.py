"""A lead's pages, over the page that opens them: the audit, and from it the items to adjudicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kgrade.desk.desk import Desk
from kgrade.records.slugs import ItemId
from kgrade.tui.screens.adjudicating import AdjudicationPage
from kgrade.tui.screens.audit import AuditPage
from kgrade.tui.screens.panes import PaneMaker
from kgrade.tui.screens.stage import Stage


class Leading:
    """Opens pages; `closed` draws the page below when the last of them was left."""

    def __init__(self, stage: Stage, desk: Desk, makers: Mapping[str, PaneMaker], closed: Callable[[], None]) -> None:
        self._stage = stage
        self._desk = desk
        self._makers = makers
        self._closed = closed

    def audit(self) -> AuditPage:
        """Open the audit; Enter on an item on which grades differ adjudicates it."""

        def adjudicate(items: Sequence[ItemId], first: ItemId) -> None:
            AdjudicationPage(self._stage, self._desk, self._makers, items, first, page.resume)

        page = AuditPage(self._stage, self._desk, adjudicate, self._closed)
        return page
