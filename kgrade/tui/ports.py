"""What the screen asks of a desk. The screen sees records and sentences: no git, no files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from kgrade.desk.item import Item
from kgrade.desk.sheet import Field, Sheet
from kgrade.records.scoring import Result
from kgrade.records.slugs import ItemId


class Saved(Protocol):
    """A save that was done."""

    @property
    def item(self) -> ItemId:
        """What was graded."""

    @property
    def state(self) -> Literal["Committed", "Pushed"]:
        """Whether it reached the remote, if there is one."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the person."""


class Sitting(Protocol):
    """One item on the desk. Every edit is written down before `edit` returns."""

    @property
    def item(self) -> Item:
        """Everything there is to show."""

    @property
    def sheet(self) -> Sheet:
        """What has been said so far."""

    @property
    def status(self) -> Literal["Untouched", "Draft", "Committed", "Pushed"]:
        """Whether the work is safe."""

    @property
    def status_note(self) -> str:
        """Why it is not pushed, if it is not."""

    def edit(self, field: Field, key: str, value: Any) -> str:
        """Put `value` (None: nothing) in its place; return what changed, such as ``numerics 2 -> 3``."""

    def new_key(self, field: Literal["comments", "probes"]) -> str:
        """A key for a new line note or probe."""

    def undo(self) -> str | None:
        """Take the last edit back; None when there is none."""

    def redo(self) -> str | None:
        """Do it again; None when there is none."""

    def take_back(self) -> Sitting | None:
        """Undo the save before this sitting by a new commit and reopen it as a draft; None if there is none."""

    def result(self) -> Result:
        """What the sheet comes to."""

    def save(self, *, anyway: bool = False) -> Saved:
        """Commit, and push where there is a remote; raise Incomplete, Moved or DeskError."""


class Progress(Protocol):
    """How far the evaluator has come."""

    @property
    def graded(self) -> int:
        """Items graded by me."""

    @property
    def total(self) -> int:
        """Items to grade."""

    @property
    def today(self) -> int:
        """Items graded by me today."""


class EmptyQueue(Protocol):
    """Nothing is left to grade; `reasons` add up to the whole queue."""

    @property
    def reasons(self) -> Sequence[str]:
        """One sentence for each."""


class Desk(Protocol):
    """The work of one evaluator."""

    def next(self, after: ItemId | None = None) -> ItemId | EmptyQueue:
        """The next item to grade."""

    def previous(self, before: ItemId) -> ItemId | None:
        """The item before."""

    def sit(self, id: ItemId) -> Sitting:
        """Claim and open an item."""

    def progress(self) -> Progress:
        """How far I am."""

    def skip(self, id: ItemId, reason: str) -> None:
        """Leave an item out, with the reason."""
