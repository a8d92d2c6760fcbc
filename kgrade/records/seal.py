"""`seal.yaml` on the seals branch: a lead's signed statement of where every branch stood."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from kgrade.records.base import Record
from kgrade.records.faults import Problem
from kgrade.records.slugs import Slug
from kgrade.records.submission import is_time


class Seal(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/seal@1"):
    """`refs` maps full branch names to commits, `queue` names the one that holds the settings; `before` is a commit."""

    lead: Slug
    sealed: str
    queue: str
    refs: Annotated[dict[str, str], msgspec.Meta(min_length=1)]
    before: str | None = None

    def problems(self) -> Iterator[Problem]:
        """`sealed` must be a time, and the queue's own branch must be sealed too."""
        if not is_time(self.sealed):
            yield Problem(where="sealed", found=repr(self.sealed), expected="a time such as 2026-11-03T09:30:00Z")
        if self.queue not in self.refs:
            yield Problem(where="queue", found=self.queue, expected="one of the branches under refs")
