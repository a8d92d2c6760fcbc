"""What is asked of each item: by how many it is graded, by whom, how early. From the settings and the leads' word."""

from __future__ import annotations

import hashlib

from kgrade.records import codec
from kgrade.records.assignments import Assignment, Assignments
from kgrade.records.faults import BadRecord
from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.tree import Snapshot

ASSIGNMENTS = "assignments.yaml"
_UNSAID = Assignment()


class Plan:
    """The plan of one queue as it stood at one commit. `fault` says why the leads' part is not in it, if it is not."""

    def __init__(self, settings: Settings, assignments: Assignments | None = None, fault: str = "") -> None:
        self._settings = settings
        self._items = {ItemId.parse(key): each for key, each in assignments.items.items()} if assignments else {}
        self.fault = fault

    def graders(self, item: ItemId) -> int:
        """How many evaluators are to grade `item`: never more than the number after which this queue retires it."""
        said, most = self._at(item).graders, self._settings.retire_after
        asked = said if said is not None else self._settings.graders_per_item + self.is_doubled(item)
        return asked if most is None else min(asked, most)

    def is_doubled(self, item: ItemId) -> bool:
        """Whether `item` is among the `double_grade_percent` that one evaluator more grades.

        Its name alone decides, so that every clone agrees and an item that is added changes nothing for the others.
        """
        percent = self._settings.double_grade_percent
        place = int.from_bytes(hashlib.sha256(f"double\0{item}".encode()).digest()[:8], "big")
        return place < percent / 100 * 2**64

    def priority(self, item: ItemId) -> int:
        """How early `item` comes: higher before lower, 0 where no lead said anything."""
        return self._at(item).priority

    def is_retired(self, item: ItemId) -> bool:
        """Whether a lead took `item` out of the queue."""
        return bool(self._at(item).retired)

    def kept_from(self, item: ItemId, evaluator: str) -> str:
        """Why `evaluator` is not offered `item`, in words; empty when they are."""
        said = self._at(item)
        if said.retired:
            return f"retired: {said.retired}"
        if said.evaluators and evaluator not in said.evaluators:
            return f"assigned to {', '.join(said.evaluators)}"
        return ""

    def _at(self, item: ItemId) -> Assignment:
        return self._items.get(item, _UNSAID)


def plan_of(snapshot: Snapshot, settings: Settings) -> Plan:
    """The plan at `snapshot`; where the leads' file cannot be read, the settings alone count and `fault` says so."""
    if snapshot.entry(ASSIGNMENTS) is None:
        return Plan(settings)
    try:
        return Plan(settings, codec.decode(Assignments, snapshot.read(ASSIGNMENTS), ASSIGNMENTS))
    except BadRecord as bad:
        return Plan(settings, fault="; ".join(str(fault) for fault in bad.faults))
