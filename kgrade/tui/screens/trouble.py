"""What can go wrong at the desk, and how it is said in one line."""

from __future__ import annotations

from typing import Final

from kgrade.desk.people import DeskError
from kgrade.records.faults import BadRecord
from kgrade.repository.drafts import DraftError

TROUBLE: Final = (DeskError, DraftError, BadRecord)


def sentence(why: Exception) -> str:
    """The trouble in one line; of many faults the first, and how many more there are."""
    if isinstance(why, BadRecord):
        more = len(why.faults) - 1
        return f"{why.faults[0]}" + (f" (and {more} more)" if more else "")
    return str(why)
