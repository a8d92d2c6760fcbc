"""The integrity stage: findings for a person to judge, and the tests that settle them."""

from __future__ import annotations

from typing import Literal

from kgrade.records.base import Part
from kgrade.records.evidence_common import StageStatus

Severity = Literal["tell", "suspect", "note"]


class Finding(Part, frozen=True, kw_only=True):
    """One sign of cheating, unfairness or fragility: a matter for a person, never a verdict.

    `path` is relative to the item's folder; `line` counts from 1; `result` is the settling test's, if it ran.
    """

    rule: str
    name: str
    severity: Severity
    path: str
    line: int
    snippet: str
    why: str
    settles: str
    result: str | None = None

    @property
    def key(self) -> str:
        """The key under which a grade records its disposition, such as `dead-kernel@solution/kernel.py:41`."""
        return f"{self.name}@{self.path}:{self.line}"


class SettlingTest(Part, frozen=True, kw_only=True):
    """One test that was run to settle findings, by name: whether it saw the sign it looks for, and what it saw.

    `settles` are the ids of the rules whose findings it settles.
    """

    name: str
    status: Literal["seen", "not-seen", "not-run"]
    said: str
    settles: list[str] = []


class Integrity(Part, frozen=True, kw_only=True):
    """The integrity stage: findings, static and dynamic, and the tests that were run for them."""

    status: StageStatus
    reason: str | None = None
    log: str | None = None
    findings: list[Finding] = []
    tests: list[SettlingTest] = []
