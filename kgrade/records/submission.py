"""`submission.yaml`: one answer to a task. Its bytes are identified by the git tree id of `solution/`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kgrade.records.base import Part, Record
from kgrade.records.faults import Problem
from kgrade.records.slugs import Slug


class Origin(Part, frozen=True, kw_only=True):
    """Where a submission was imported from."""

    kind: str
    ref: str


class Submission(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/submission@1"):
    """One answer. `author` is hidden when the queue is blind; `supersedes` names the answer it replaces."""

    author: str
    created: str
    origin: Origin | None = None
    notes: str = ""
    tags: list[str] = []
    supersedes: Slug | None = None

    def problems(self) -> Iterator[Problem]:
        """`created` must be a time with its offset."""
        if not is_time(self.created):
            yield Problem(where="created", found=repr(self.created), expected="a time such as 2026-11-03T09:30:00Z")


def is_time(text: str) -> bool:
    """Whether `text` is an RFC 3339 time with an offset."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
