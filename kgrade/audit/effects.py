"""What a decision changed: for each grader, how far the final word is from theirs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kgrade.audit.adjudication import Case
from kgrade.records.adjudication import Adjudication


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One grader's grade and the decision: verdicts and totals as (theirs, final), levels only where they differ."""

    grader: str
    verdict: tuple[str, str]
    total: tuple[float | None, float]
    levels: dict[str, tuple[int | None, int]]

    @property
    def sentence(self) -> str:
        """The effect in words, such as `bob: revise > accept, 61.5 > 75 (+13.5), numerics 1 > 3`."""
        return f"{self.grader}: {', '.join(self._parts()) or 'nothing changed'}"

    def _parts(self) -> Iterator[str]:
        theirs, final = self.verdict
        if theirs != final:
            yield f"{theirs} > {final}"
        before, after = self.total
        if before is None:
            yield f"total - > {after:g}"
        elif before != after:
            yield f"{before:g} > {after:g} ({after - before:+g})"
        for name, (old, new) in self.levels.items():
            yield f"{name} {'-' if old is None else old} > {new}"


def effects(case: Case, decision: Adjudication) -> list[Effect]:
    """Return what `decision` changed of each grade of `case`, by the names that the case gives its graders."""
    found = []
    for grader, grade in zip(case.graders, case.grades, strict=True):
        given = {name: score.score if (score := grade.scores.get(name)) else None for name in decision.scores}
        found.append(
            Effect(
                grader=grader,
                verdict=(grade.verdict or "-", decision.verdict),
                total=(grade.total, decision.total),
                levels={name: (given[name], new) for name, new in decision.scores.items() if given[name] != new},
            )
        )
    return found
