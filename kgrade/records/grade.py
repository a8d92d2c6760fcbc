"""`grades/<evaluator>.yaml`: one evaluator's scores, comments, verdict and feedback on one item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from kgrade.records.base import Part, Record
from kgrade.records.evidence import CaseStatus
from kgrade.records.faults import Problem
from kgrade.records.rubric import Level, Verdict
from kgrade.records.slugs import ItemId, Slug
from kgrade.records.submission import is_time

Disposition = Literal["confirmed", "false-alarm", "allowed-here"]


class SheetRef(Part, frozen=True, kw_only=True):
    """The exact sheet that was scored."""

    id: Slug
    sha256: str


class About(Part, frozen=True, kw_only=True):
    """The exact bytes that were judged: tree ids, and the evidence files' blob ids by target."""

    task_tree: str
    solution_tree: str | None = None
    evidence: dict[str, str] = {}


class Score(Part, frozen=True, kw_only=True):
    """A level, or not applicable with the reason in `comment`."""

    score: Level | None = None
    na: Literal[True] | None = None
    comment: str = ""


class GateAnswer(Part, frozen=True, kw_only=True):
    """Whether the gate holds, and why."""

    confirmed: bool
    comment: str = ""


class FindingAnswer(Part, frozen=True, kw_only=True):
    """What the evaluator makes of a finding."""

    disposition: Disposition
    comment: str = ""


class LineNote(Part, frozen=True, kw_only=True):
    """A note on lines of a file, both ends included, counted from 1.

    `text_sha256` is the hash of those lines, by which the note finds its place again in a later submission.
    """

    path: str
    lines: tuple[Annotated[int, msgspec.Meta(ge=1)], Annotated[int, msgspec.Meta(ge=1)]]
    side: Literal["old", "new"] = "new"
    text_sha256: str
    criterion: Slug | None = None
    text: str


class ProbeCase(Part, frozen=True, kw_only=True):
    """A case of the evaluator's own."""

    symbols: dict[str, int]
    dtype: str
    family: str = "normal"


class Probe(Part, frozen=True, kw_only=True):
    """What a case of the evaluator's own showed, or the tests that settle the finding with the key `finding`.

    Of such tests `failed` says that the sign was seen.
    """

    case: ProbeCase
    result: CaseStatus
    summary: str
    finding: str = ""


class Times(Part, frozen=True, kw_only=True):
    """When the item was opened and saved, and the seconds in which someone worked on it."""

    opened: str
    active_s: Annotated[int, msgspec.Meta(ge=0)] = 0
    saved: str


class Grade(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/grade@1"):
    """One evaluator's word on one item. `points` stand before gates, `total` after; both are computed."""

    item: str
    evaluator: Slug
    rubric: SheetRef
    about: About
    scores: dict[Slug, Score] = {}
    gates: dict[Slug, GateAnswer] = {}
    findings: dict[str, FindingAnswer] = {}
    comments: list[LineNote] = []
    probes: list[Probe] = []
    verdict: Verdict | None = None
    flagged: str = ""
    points: float | None = None
    total: float | None = None
    feedback: str = ""
    private_note: str = ""
    times: Times

    def problems(self) -> Iterator[Problem]:
        """Ids, times and line ranges that make no sense; scores that say both or neither."""
        try:
            ItemId.parse(self.item)
        except ValueError as why:
            yield Problem(where="item", found=str(why), expected="the id of an item")
        for key in ("opened", "saved"):
            if not is_time(getattr(self.times, key)):
                found = repr(getattr(self.times, key))
                yield Problem(where=f"times.{key}", found=found, expected="a time such as 2026-11-03T09:30:00Z")
        for name, score in self.scores.items():
            if (score.score is None) == (score.na is None):
                yield Problem(where=f"scores.{name}", found="both or neither of score and na", expected="one of them")
            if score.na and not score.comment.strip():
                yield Problem(where=f"scores.{name}", found="na without a reason", expected="the reason in comment")
        for index, note in enumerate(self.comments):
            if note.lines[0] > note.lines[1]:
                yield Problem(
                    where=f"comments[{index}].lines",
                    found=str(list(note.lines)),
                    expected="first line, last line",
                )
