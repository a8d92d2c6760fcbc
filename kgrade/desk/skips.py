"""The items that an evaluator left for later, with the reasons, in a journal beside the drafts."""

from __future__ import annotations

import contextlib
import threading

from kgrade.records.slugs import ItemId
from kgrade.repository.drafts import Drafts

_NAME = "skips"


class Skips:
    """What was left for later. Every method may be called from any thread."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._turn = threading.Lock()
        self._left = self._read()

    def left(self) -> dict[ItemId, str]:
        """The items left, each with its reason."""
        with self._turn:
            return dict(self._left)

    def set(self, item: ItemId, reason: str | None) -> None:
        """Leave `item` for `reason`, or take it up again (None); DraftError when that cannot be kept."""
        with self._turn:
            if reason is None and item not in self._left:
                return
            journal = self._drafts.beside(_NAME)
            journal.begin({})
            journal.append({"item": str(item), "reason": reason})
            journal.close()
            self._left = self._read()

    def _read(self) -> dict[ItemId, str]:
        left: dict[ItemId, str] = {}
        for event in self._drafts.beside(_NAME).read():
            with contextlib.suppress(KeyError, ValueError):
                item = ItemId.parse(event["item"])
                left.pop(item, None)
                if event["reason"] is not None:
                    left[item] = event["reason"]
        return left
