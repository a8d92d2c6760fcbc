"""The audit of 100,000 ratings beside a bare decode of the same grades; agreement beside the package that has it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import krippendorff
import msgspec
import numpy as np
import pytest

from kgrade.audit.cache import GradeCache
from kgrade.audit.coefficients import RESAMPLES, alpha_interval, counts_of
from kgrade.audit.lead import office_at
from kgrade.audit.overview import overview
from kgrade.audit.ratings import Graded
from kgrade.audit.reading import graded
from kgrade.records.grade import About, Grade, Score, SheetRef, Times
from kgrade.repository.objects import object_id
from tests.benchmarks.measuring import Measured, compared, interleaved, judged
from tests.large_queue import large_queue

pytestmark = pytest.mark.alone
EVALUATORS = ("ada", "bob", "cyd", "dan")
CRITERIA = 5
RATINGS = 100_000


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """A queue with so many ratings whose cache is warm, and its grades as JSON, which is YAML too."""
    folder = tmp_path_factory.mktemp("audited") / "queue"
    rng = np.random.default_rng(0)
    files: dict[str, bytes] = {}
    warm: dict[str, Graded | str] = {}
    for number in range(RATINGS // CRITERIA // len(EVALUATORS)):
        item = f"task-{number // 50:05d}/s{number % 50:04d}"
        truth = rng.integers(0, 5, CRITERIA)
        for evaluator in EVALUATORS:
            grade = _grade(item, evaluator, np.clip(truth + rng.integers(-1, 2, CRITERIA), 0, 4))
            data = msgspec.json.encode(grade)
            files[f"queue/{item.replace('/', '/submissions/')}/grades/{evaluator}.yaml"] = data
            warm[object_id("blob", data)] = graded(grade)
    large_queue(folder, len(files) // len(EVALUATORS), extra=files, checked_out=False)
    with contextlib.closing(GradeCache(folder / ".git" / "kgrade" / "grades.sqlite")) as cache:
        cache.keep(warm)
    return folder, list(files.values())


def _grade(item: str, evaluator: str, levels: np.ndarray) -> Grade:
    why = "rows of -inf come out as NaN and the reference is finite there"
    return Grade(
        item=item,
        evaluator=evaluator,
        rubric=SheetRef(id="generation", sha256="4f" * 32),
        about=About(task_tree="1" * 40, solution_tree="2" * 40, evidence={"cpu": "3" * 40}),
        scores={f"criterion-{at}": Score(score=int(level), comment=why) for at, level in enumerate(levels)},
        verdict="revise",
        points=50.0,
        total=50.0,
        feedback=f"{item}: mask the tail, and take the maximum before the exponential.",
        times=Times(opened="2026-11-03T09:30:00Z", active_s=412, saved="2026-11-03T09:37:00Z"),
    )


def test_the_whole_audit(audited: tuple[Path, list[bytes]], keep: Callable[[Measured], None]) -> None:
    folder, grades = audited
    with office_at(folder) as office:

        def whole() -> float:
            start = time.perf_counter()
            found = overview(office.reader, office.queue, office.settings)
            assert found.agreement.ratings == RATINGS
            return time.perf_counter() - start

        def bare() -> float:
            decoder = msgspec.json.Decoder(Grade)
            start = time.perf_counter()
            assert len([decoder.decode(data) for data in grades]) == len(grades)
            return time.perf_counter() - start

        keep(compared("audit of 100,000 ratings over a bare decode", interleaved(whole, bare), 5.0))


def test_the_interval_of_alpha(keep: Callable[[Measured], None]) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 400)
    ratings = np.stack([np.clip(truth + rng.integers(-1, 2, 400), 0, 4) for _ in range(3)], axis=1)
    counts = counts_of(ratings, 5)
    few, often = 100, 3  # which take about as long as each other: what disturbs one is as likely to disturb the other

    def ours() -> float:
        start = time.perf_counter()
        for _ in range(often):
            alpha_interval(counts)
        return (time.perf_counter() - start) / often

    def theirs() -> float:
        """As long as a thousand calls would take, told by a few of them."""
        start = time.perf_counter()
        for _ in range(few):
            drawn = counts[rng.integers(0, len(counts), len(counts))]
            krippendorff.alpha(value_counts=drawn, value_domain=np.arange(5), level_of_measurement="ordinal")
        return (time.perf_counter() - start) * RESAMPLES / few

    pairs = interleaved(ours, theirs)
    keep(judged("alpha with 1,000 resamples over the package's", pairs.ratios, 1 / 20, unit="times"))
