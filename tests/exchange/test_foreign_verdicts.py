"""Verdicts that came from elsewhere: they count in agreement, and grade nothing here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.audit.lead import office_at
from kgrade.audit.overview import overview
from kgrade.audit.verification import verify
from kgrade.cli import run
from kgrade.desk import Desk
from kgrade.desk.people import DeskError
from kgrade.exchange.standing import read_export
from kgrade.records import codec
from kgrade.records.grade import Grade, Score, Times
from kgrade.records.slugs import ItemId
from kgrade.repository.grades import grade_branches
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.exchange.test_import import ANNOTATION, written

ITEM = ItemId("01-scale", "20260101-101112-harness-model-01-scale")


@pytest.fixture
def queue(make_repo: Callable[..., Repo], tmp_path: Path) -> Repo:
    """A queue into which one verdict came."""
    repo = make_repo("ada")
    small_queue(repo)
    folder = written(tmp_path / "in", {"one.yaml": ANNOTATION})
    assert run(["import", str(folder), "--queue", str(repo.path)]) == 0
    return repo


def graded_by_ada(queue: Repo) -> None:
    desk = Desk.open(queue.path)
    shown = desk.item(ITEM)
    grade = Grade(
        item=str(ITEM),
        evaluator=desk.evaluator,
        rubric=shown.rubric_ref,
        about=shown.about,
        scores={each.id: Score(score=2, comment="It casts to half.") for each in shown.rubric.criteria},
        verdict="reject",
        feedback="Compute in the input's dtype.",
        times=Times(opened="2026-11-03T09:30:00Z", active_s=60, saved="2026-11-03T09:31:00Z"),
    )
    desk.grade_file(ITEM, codec.encode_yaml(grade), "by hand")
    desk.close()


def test_an_item_with_a_foreign_verdict_is_still_to_be_graded(queue: Repo) -> None:
    desk = Desk.open(queue.path)
    places = {place.row.id: place for place in desk.rows()}
    desk.close()
    assert [grade.evaluator for grade in places[ITEM].row.grades] == ["imported-kernelbench-hard"]
    assert places[ITEM].state == "open"
    with office_at(queue.path) as office:
        covered = overview(office.reader, office.queue, office.settings).coverage
    assert (covered.grades, covered.graded, covered.finished, covered.by_evaluator) == (0, 0, 0, {})
    assert covered.grades_left == covered.wanted


def test_it_counts_in_agreement_beside_a_grade_given_here(queue: Repo) -> None:
    graded_by_ada(queue)
    with office_at(queue.path) as office:
        audit = overview(office.reader, office.queue, office.settings)
        exported = read_export(office.reader, office.snapshot(), grade_branches(office.queue, office.settings))
    assert audit.agreement.evaluators == ["ada", "imported-kernelbench-hard"]
    assert audit.agreement.doubly_rated == 1
    (apart,) = audit.disagreements
    assert (apart.item, sorted(apart.verdicts)) == (str(ITEM), ["reject", "revise"])
    assert (audit.coverage.grades, audit.coverage.graded) == (1, 1)
    assert [(str(item.id), item.provenance) for item in exported.items] == [(str(ITEM), "single")]


def test_it_is_neither_late_nor_rushed_nor_a_fault_of_the_history(queue: Repo) -> None:
    with office_at(queue.path) as office:
        found = verify(office.reader, office.queue, office.settings)
        assert not overview(office.reader, office.queue, office.settings).suspicions
    assert [each.kind for each in found.findings if each.kind not in ("unsealed",)] == []


def test_nobody_grades_here_under_a_foreign_name(queue: Repo) -> None:
    with pytest.raises(DeskError, match="is for verdicts that were imported"):
        Desk.open(queue.path, evaluator="imported-someone")
