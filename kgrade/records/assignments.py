"""`assignments.yaml`, beside `kgrade.yaml`: what leads decided about the order and the reach of the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from kgrade.records.base import Part, Record
from kgrade.records.faults import Problem
from kgrade.records.slugs import ItemId, Slug


class Assignment(Part, frozen=True, kw_only=True):
    """One item: who alone is offered it (empty: everyone), how early, how often it is graded, why it is retired."""

    evaluators: list[Slug] = []
    priority: Annotated[int, msgspec.Meta(ge=-100, le=100)] = 0
    graders: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    retired: str = ""


class Assignments(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/assignments@1"):
    """The items about which leads decided anything, by id; all others go as `kgrade.yaml` says."""

    items: dict[str, Assignment] = {}

    def problems(self) -> Iterator[Problem]:
        """Every key must be the id of an item."""
        for key in self.items:
            try:
                ItemId.parse(key)
            except ValueError:
                yield Problem(where=f"items.{key}", found=repr(key), expected="TASK or TASK/SUBMISSION")
