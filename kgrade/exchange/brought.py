"""What a reader of a foreign format hands over: tasks, submissions, results and verdicts, in kgrade's own records."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kgrade.records.evidence import Build, Check, Timing
from kgrade.records.grade import LineNote
from kgrade.records.rubric import Verdict
from kgrade.records.submission import Submission
from kgrade.records.task import Task

OF_THE_QUEUE = ("submissions/", "evidence/", "grades/", "comparisons/")
"""Folders of a task that hold what was handed in and what people said: no foreign file lands there."""


class BroughtTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task; `files` are the foreign ones, by path in its folder. `hollow`: its own files did not come along."""

    place: str
    name: str
    record: Task
    prompt: str
    files: dict[str, bytes]
    hollow: bool = False


class BroughtSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """An answer; `files` are those below `solution/`. `hollow`: they did not come along."""

    place: str
    task: str
    name: str
    record: Submission
    files: dict[str, bytes]
    hollow: bool = False


class BroughtResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a foreign harness found out about a submission; `raw` is its own record of it, kept as it is."""

    place: str
    task: str
    submission: str
    source: str
    hardware: str
    collected: str
    build: Build
    check: Check
    time: Timing
    raw: bytes
    versions: dict[str, str] = {}


class BroughtGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A foreign verdict; `note` holds all of it in its own format's canonical shape, `feedback` what people read.

    `given_by` names the evaluator of the queue from which it once left, where it did.
    """

    place: str
    task: str
    submission: str
    evaluator: str
    verdict: Verdict | None
    feedback: str
    note: str
    comments: list[LineNote] = []
    saved: str
    given_by: str | None = None


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """What does not come, and why."""

    place: str
    why: str


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be known about something that comes all the same."""

    place: str
    what: str


Brought = BroughtTask | BroughtSubmission | BroughtResult | BroughtGrade | Refused | Noted
Arrivals = Iterator[Brought]
