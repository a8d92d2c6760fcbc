"""Grades as statistics see them: rows of who gave what to which item, and tables made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from kgrade.audit.coefficients import Array, Ratings


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """One grade. A criterion without a level (not applicable) is None; `words` is a hash of all comments, if any."""

    item: str
    evaluator: str
    rubric: str
    sheet: str = ""
    scores: Mapping[str, int | None] = {}
    gates: Mapping[str, bool] = {}
    verdict: str | None = None
    points: float | None = None
    total: float | None = None
    saved: str = ""
    active_s: int = 0
    words: str = ""


class Tables:
    """Every criterion and gate of a set of grades as a table of shape (items, evaluators)."""

    def __init__(self, grades: Sequence[Graded]) -> None:
        self.items = sorted({grade.item for grade in grades})
        self.evaluators = sorted({grade.evaluator for grade in grades})
        row = {item: at for at, item in enumerate(self.items)}
        column = {name: at for at, name in enumerate(self.evaluators)}
        self._rows = np.array([row[grade.item] for grade in grades], dtype=np.intp)
        self._columns = np.array([column[grade.evaluator] for grade in grades], dtype=np.intp)
        self._grades = grades

    def scores(self) -> dict[tuple[str, str], Ratings]:
        """Return the levels of each (rubric, criterion), -1 where there is none."""
        return self._filled((grade.rubric, grade.scores) for grade in self._grades)

    def gates(self) -> dict[tuple[str, str], Ratings]:
        """Return each (rubric, gate): 1 where confirmed, 0 where a grade of that rubric says nothing of it."""
        known: dict[str, dict[str, int | None]] = {}
        for grade in self._grades:
            known.setdefault(grade.rubric, {}).update(dict.fromkeys(grade.gates, 0))
        return self._filled(
            (grade.rubric, known[grade.rubric] | {name: int(held) for name, held in grade.gates.items()})
            for grade in self._grades
        )

    def totals(self) -> Array:
        """Return the totals, NaN where there is none."""
        found = np.full((len(self.items), len(self.evaluators)), np.nan)
        found[self._rows, self._columns] = [np.nan if g.total is None else g.total for g in self._grades]
        return found

    def _filled(self, entries: Iterable[tuple[str, Mapping[str, int | None]]]) -> dict[tuple[str, str], Ratings]:
        cells: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        for at, (rubric, levels) in enumerate(entries):
            for name, level in levels.items():
                if level is not None:
                    where, what = cells.setdefault((rubric, name), ([], []))
                    where.append(at)
                    what.append(level)
        return {key: self._placed(where, what) for key, (where, what) in cells.items()}

    def _placed(self, where: list[int], what: list[int]) -> Ratings:
        table: npt.NDArray[np.int64] = np.full((len(self.items), len(self.evaluators)), -1)
        table[self._rows[where], self._columns[where]] = what
        return table
