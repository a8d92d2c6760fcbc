"""`rubrics/<id>.yaml`: the scoring sheet. Criteria with levels and weights, gates with effects, snippets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from kgrade.records.base import Part, Record
from kgrade.records.faults import Problem
from kgrade.records.slugs import Slug

Verdict = Literal["accept", "revise", "reject", "hold"]
Suggestion = Literal[
    "build.failed", "check.failed", "check.race", "integrity.tell", "integrity.tampering", "integrity.substitution",
    "time.flagged", "time.not-run", "artifacts.missing", "task.reference-wrong", "task.passes-zeros",
]  # fmt: skip
Level = Annotated[int, msgspec.Meta(ge=0, le=9)]


class Criterion(Part, frozen=True, kw_only=True):
    """One line of the sheet. `id` is stable: statistics pool over it."""

    id: Slug
    title: str
    weight: Annotated[float, msgspec.Meta(gt=0)]
    levels: dict[Level, str]
    comment_required_at: list[Level] = []


class Effect(Part, frozen=True, kw_only=True):
    """What a confirmed gate does; exactly one key is given.

    `fail` total 0 · `hold` to a lead · `cap` total at most · `set` levels in the total · `limit` levels at most ·
    `na` criteria leave the total · `also` another gate fires.
    """

    fail: Literal[True] | None = None
    hold: Literal[True] | None = None
    cap: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    set: dict[Slug, Level] | None = None
    limit: dict[Slug, Level] | None = None
    na: list[Slug] | None = None
    also: Slug | None = None

    @property
    def kinds(self) -> list[str]:
        """The keys that are given."""
        return [name for name in self.__struct_fields__ if getattr(self, name) is not None]


class Gate(Part, frozen=True, kw_only=True):
    """A condition that decides apart from the points. `suggests` names the evidence that pre-fills it."""

    id: Slug
    title: str
    effects: Annotated[list[Effect], msgspec.Meta(min_length=1)]
    suggests: Suggestion | None = None


class Snippet(Part, frozen=True, kw_only=True):
    """A sentence that is often needed."""

    criterion: Slug
    text: str


class Rubric(Record, frozen=True, kw_only=True, tag_field="schema", tag="kgrade/rubric@1"):
    """A scoring sheet."""

    title: str
    scale: Annotated[int, msgspec.Meta(ge=1, le=9)] = 4
    criteria: Annotated[list[Criterion], msgspec.Meta(min_length=1)]
    gates: list[Gate] = []
    snippets: list[Snippet] = []
    verdicts: Annotated[list[Verdict], msgspec.Meta(min_length=1)]

    def criterion(self, name: str) -> Criterion | None:
        """The criterion with the id `name`."""
        return next((criterion for criterion in self.criteria if criterion.id == name), None)

    def gate(self, name: str) -> Gate | None:
        """The gate with the id `name`."""
        return next((gate for gate in self.gates if gate.id == name), None)

    def problems(self) -> Iterator[Problem]:
        """Ids given twice, levels missing, effects that name nothing."""
        criteria = [criterion.id for criterion in self.criteria]
        gates = [gate.id for gate in self.gates]
        yield from _twice("criteria", criteria)
        yield from _twice("gates", gates)
        whole = set(range(self.scale + 1))
        for index, criterion in enumerate(self.criteria):
            if set(criterion.levels) != whole:
                levels = ", ".join(map(str, sorted(criterion.levels)))
                yield Problem(
                    where=f"criteria[{index}].levels",
                    found=f"levels {levels}",
                    expected=f"every level 0 to {self.scale}",
                )
        for index, gate in enumerate(self.gates):
            for position, effect in enumerate(gate.effects):
                yield from _effect_problems(f"gates[{index}].effects[{position}]", effect, criteria, gates)
        for index, snippet in enumerate(self.snippets):
            if snippet.criterion not in criteria:
                yield _unknown(f"snippets[{index}].criterion", snippet.criterion, criteria)


def sheet_sha256(data: bytes) -> str:
    """The id by which a grade names the exact sheet: the SHA-256 of the rubric file's bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def _effect_problems(where: str, effect: Effect, criteria: list[str], gates: list[str]) -> Iterator[Problem]:
    if len(effect.kinds) != 1:
        yield Problem(
            where=where,
            found=f"{', '.join(effect.kinds) or 'nothing'}",
            expected="exactly one effect an entry",
        )
    for name in [*(effect.set or ()), *(effect.limit or ()), *(effect.na or ())]:
        if name not in criteria:
            yield _unknown(where, name, criteria)
    if effect.also is not None and effect.also not in gates:
        yield _unknown(f"{where}.also", effect.also, gates)


def _twice(where: str, ids: list[str]) -> Iterator[Problem]:
    for index, name in enumerate(ids):
        if name in ids[:index]:
            yield Problem(where=f"{where}[{index}].id", found=f"the id {name} a second time", expected="each id once")


def _unknown(where: str, name: str, known: list[str]) -> Problem:
    return Problem(where=where, found=repr(name), expected=f"one of {', '.join(known)}")
