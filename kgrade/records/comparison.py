"""`queue/<task>/comparisons/<evaluator>/<first>--<second>.yaml`: which of two submissions is better, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from kgrade.records.base import Part, Record
from kgrade.records.faults import Problem
from kgrade.records.slugs import Slug
from kgrade.records.submission import is_time


class Compared(Part, frozen=True, kw_only=True):
    """One of the two: its name and the bytes that were judged."""

    submission: Slug
    solution_tree: str


class Comparison(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/comparison@1"):
    """A preference between two submissions of one task; `first` comes before `second` in the order of names."""

    task: Slug
    evaluator: Slug
    task_tree: str
    first: Compared
    second: Compared
    preferred: Literal["first", "second", "neither"]
    reason: Annotated[str, msgspec.Meta(min_length=1)]
    compared: str

    @property
    def path(self) -> str:
        """Where this comparison stands."""
        pair = f"{self.first.submission}--{self.second.submission}"
        return f"queue/{self.task}/comparisons/{self.evaluator}/{pair}.yaml"

    def problems(self) -> Iterator[Problem]:
        """Two different submissions, in order, and a time."""
        if self.first.submission >= self.second.submission:
            found = f"{self.first.submission}, {self.second.submission}"
            yield Problem(
                where="second.submission", found=found, expected="two submissions in the order of their names"
            )
        if not is_time(self.compared):
            yield Problem(where="compared", found=repr(self.compared), expected="a time such as 2026-11-03T09:30:00Z")
