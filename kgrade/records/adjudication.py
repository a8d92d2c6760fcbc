"""`adjudication.yaml`: the lead's final word where grades differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from kgrade.records.base import Record
from kgrade.records.faults import Problem
from kgrade.records.grade import SheetRef
from kgrade.records.rubric import Level, Verdict
from kgrade.records.slugs import Slug
from kgrade.records.submission import is_time

Cause = Literal["unclear-rubric", "unclear-task", "slip", "edge-case"]


class Adjudication(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/adjudication@1"):
    """The decision: `grades` names the blobs it weighed by evaluator, `scores` the criteria it settled."""

    item: str
    lead: Slug
    decided: str
    rubric: SheetRef
    grades: Annotated[dict[Slug, str], msgspec.Meta(min_length=1)]
    verdict: Verdict
    total: Annotated[float, msgspec.Meta(ge=0, le=100)]
    cause: Cause
    reason: Annotated[str, msgspec.Meta(min_length=1)]
    scores: dict[Slug, Level] = {}

    def problems(self) -> Iterator[Problem]:
        """`decided` must be a time with its offset."""
        if not is_time(self.decided):
            yield Problem(where="decided", found=repr(self.decided), expected="a time such as 2026-11-03T09:30:00Z")
