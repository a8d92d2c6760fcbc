"""The work of one evaluator, without a screen: next, open, score, save, skip, undo, sync."""

from kgrade.desk.desk import Desk
from kgrade.desk.feedback import feedback_markdown
from kgrade.desk.item import EvidenceFile, GradeEntry, HistoryEntry, Item
from kgrade.desk.listing import Progress
from kgrade.desk.people import DeskError, Incomplete, Moved
from kgrade.desk.saving import Saved
from kgrade.desk.sheet import Sheet
from kgrade.desk.sitting import Sitting
from kgrade.desk.versions import Versions
from kgrade.repository.order import EmptyQueue, Place

__all__ = [
    "Desk",
    "DeskError",
    "EmptyQueue",
    "EvidenceFile",
    "GradeEntry",
    "HistoryEntry",
    "Incomplete",
    "Item",
    "Moved",
    "Place",
    "Progress",
    "Saved",
    "Sheet",
    "Sitting",
    "Versions",
    "feedback_markdown",
]
