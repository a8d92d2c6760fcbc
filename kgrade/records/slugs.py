"""Names that are safe as a path part, a ref part and a key: `[a-z0-9][a-z0-9-]{0,63}`; and item ids made of them."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}\Z"
Slug = Annotated[str, msgspec.Meta(pattern=PATTERN)]
_SLUG = re.compile(PATTERN)
FOREIGN = "imported-"


def is_slug(text: str) -> bool:
    """Whether `text` may name a task, a submission, an evaluator or a rubric."""
    return _SLUG.match(text) is not None


def slug_of(text: str) -> str:
    """Make a slug out of any text (an e-mail address, a title); raise ValueError when nothing usable is left."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64].strip("-")
    if not slug:
        raise ValueError(f"no letter or digit in {text!r} to make a name of")
    return slug


def is_foreign(evaluator: str) -> bool:
    """Whether the grades of `evaluator` came in from another format: they count in agreement, never as grading."""
    return evaluator.startswith(FOREIGN)


class ItemId(msgspec.Struct, frozen=True, order=True):
    """What is graded: a task (`submission` is None, a task review) or one of its submissions."""

    task: str
    submission: str | None = None

    @classmethod
    def parse(cls, text: str) -> ItemId:
        """Read `softmax-rows` or `softmax-rows/s01`; raise ValueError with what was expected."""
        parts = text.split("/")
        if len(parts) > 2 or not all(is_slug(part) for part in parts):
            raise ValueError(f"{text!r} is no item; expected TASK or TASK/SUBMISSION, such as softmax-rows/s01")
        return cls(*parts)

    def __str__(self) -> str:
        return self.task if self.submission is None else f"{self.task}/{self.submission}"

    @property
    def folder(self) -> str:
        """The item's folder from the root of the repository."""
        base = f"queue/{self.task}"
        return base if self.submission is None else f"{base}/submissions/{self.submission}"

    def grade_path(self, evaluator: str) -> str:
        """Where the evaluator's grade of this item stands."""
        return f"{self.folder}/grades/{evaluator}.yaml"

    def evidence_path(self, target: str) -> str:
        """Where the evidence for `target` stands."""
        return f"{self.folder}/evidence/{target}.json"
