"""A lead's work by commands: assign, priority, retire, requeue; what evaluators are then offered."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.desk import Desk, EmptyQueue
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.desk.test_desk import fill

S01 = ItemId("softmax", "s01")
SETTINGS = "leads: [lea]\nevaluators:\n  ada: {name: Ada}\n  bob: {name: Bob}\n"


@pytest.fixture
def lea(make_repo: Callable[..., Repo]) -> Repo:
    """The small queue, in the clone of its lead; five items."""
    repo = make_repo("lea")
    small_queue(repo)
    repo.commit({"kgrade.yaml": f"{SETTINGS}  lea: {{name: Lea, emails: [lea@example.org]}}\n"}, "settings")
    return repo


def offered(repo: Repo, evaluator: str) -> ItemId | EmptyQueue:
    desk = Desk.open(repo.path, evaluator=evaluator)
    try:
        return desk.next()
    finally:
        desk.close()


def state(repo: Repo, evaluator: str, item: str = "softmax/s01") -> tuple[str, str]:
    desk = Desk.open(repo.path, evaluator=evaluator)
    try:
        return next((place.state, place.why) for place in desk.rows() if str(place.row.id) == item)
    finally:
        desk.close()


def grade(repo: Repo, evaluator: str, item: ItemId = S01) -> None:
    desk = Desk.open(repo.path, evaluator=evaluator)
    fill(sitting := desk.sit(item))
    desk.save(sitting)
    sitting.close()
    desk.close()


def test_an_assigned_item_is_offered_to_those_alone(lea: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--queue", str(lea.path)]
    assert run(["assign", "softmax", "softmax/s01", "--to", "bob", *at]) == 0
    assert lea.git("log", "-1", "--format=%s") == "assign: softmax, softmax/s01 to bob (lea)"
    assert lea.git("status", "--porcelain") == ""
    assert state(lea, "ada") == ("assigned", "assigned to bob")
    assert offered(lea, "ada") == ItemId("softmax", "s02")
    assert offered(lea, "bob") == ItemId("softmax")
    assert run(["assign", "softmax", "softmax/s01", "--anyone", *at]) == 0
    assert state(lea, "ada") == ("open", "")
    assert run(["assign", "softmax", "--anyone", *at]) == 2
    assert "nothing changes: softmax is so already" in capsys.readouterr().err
    assert run(["assign", "softmax", "--to", "eve", *at]) == 2
    assert "names no evaluator eve" in capsys.readouterr().err
    assert run(["check", str(lea.path)]) == 0


def test_priority_and_retirement_decide_what_comes_next(lea: Repo) -> None:
    at = ["--queue", str(lea.path)]
    assert run(["priority", "scan/s01", "--level", "7", *at]) == 0
    assert offered(lea, "ada") == ItemId("scan", "s01")
    assert run(["retire", "scan/s01", "--reason", "the reference is wrong", *at]) == 0
    assert state(lea, "ada", "scan/s01") == ("retired", "retired: the reference is wrong")
    assert offered(lea, "ada") == ItemId("softmax")
    rest = ["softmax", "softmax/s01", "softmax/s02", "scan"]
    assert run(["retire", *rest, "--reason", "enough", *at]) == 0
    empty = offered(lea, "ada")
    assert isinstance(empty, EmptyQueue)
    assert "5 retired by a lead" in empty.reasons


def test_an_item_asked_for_once_more_goes_to_who_has_not_graded_it(lea: Repo) -> None:
    at = ["--queue", str(lea.path)]
    grade(lea, "ada")
    assert state(lea, "bob")[0] == "finished"
    assert run(["retire", "softmax/s01", "--reason", "done", *at]) == 0
    assert run(["requeue", "softmax/s01", *at]) == 0
    assert (state(lea, "ada")[0], state(lea, "bob")[0]) == ("graded", "open")
    grade(lea, "bob")
    assert state(lea, "lea")[0] == "finished"


def test_no_more_is_asked_for_than_retires_an_item(lea: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    settings = lea.show("kgrade.yaml")
    lea.commit({"kgrade.yaml": f"{settings}\nretire_after: 1\ndouble_grade_percent: 100\n"})
    grade(lea, "ada")
    assert state(lea, "bob")[0] == "finished"
    assert run(["requeue", "softmax/s01", "--queue", str(lea.path)]) == 2
    assert "softmax/s01 has 1 grades, and kgrade.yaml retires items after 1" in capsys.readouterr().err


def test_asking_once_more_frees_a_claim_that_ended_and_no_live_one(lea: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk.open(lea.path, evaluator="ada")
    assert desk.sit(S01).read_only is None
    ref = "refs/kgrade/claims/softmax/s01/1"
    before = lea.git("rev-parse", ref)
    at = ["--queue", str(lea.path)]
    assert run(["priority", "softmax/s01", "--level", "1", *at]) == 0
    assert run(["requeue", "softmax/s01", *at]) == 0
    assert lea.git("rev-parse", ref) == before
    old = {"GIT_AUTHOR_DATE": "@1700000000 +0000", "GIT_COMMITTER_DATE": "@1700000000 +0000"}
    for name, value in old.items():
        monkeypatch.setitem(os.environ, name, value)
    message = lea.git("log", "-1", "--format=%B", ref)
    ended = lea.git("commit-tree", f"{ref}^{{tree}}", "-p", ref, "-m", message)
    for name in old:
        monkeypatch.delitem(os.environ, name)
    lea.git("update-ref", ref, ended)
    assert run(["retire", "softmax/s01", "--reason", "wait", *at]) == 0
    assert run(["requeue", "softmax/s01", *at]) == 0
    assert lea.git("log", "-1", "--format=%(trailers:key=State,valueonly)", ref).strip() == "released"
    desk.close()


def test_only_a_lead_decides_and_only_about_what_is_there(
    lea: Repo, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    at = ["--queue", str(lea.path)]
    head = lea.git("rev-parse", "HEAD")
    assert run(["retire", "softmax/s01", "--reason", "x", "--evaluator", "bob", *at]) == 2
    assert "only a lead can do this, and bob is none" in capsys.readouterr().err
    assert run(["retire", "softmax/s09", "--reason", "x", *at]) == 2
    assert "there is no item softmax/s09" in capsys.readouterr().err
    assert run(["retire", "softmax/s01", "--reason", " ", *at]) == 2
    assert run(["assign", "softmax/s01", *at]) == 2
    assert lea.git("rev-parse", "HEAD") == head


def test_two_leads_at_two_clones_see_each_others_decisions(make_repo: Callable[..., Repo], lea: Repo) -> None:
    hub = make_repo("hub", bare=True)
    lea.git("push", "-q", str(hub.path), "main")
    first, second = make_repo("first", clone=hub), make_repo("second", clone=hub)
    for repo in (first, second):
        repo.git("config", "user.email", "lea@example.org")
    assert run(["priority", "softmax/s01", "--level", "3", "--queue", str(first.path)]) == 0
    assert run(["retire", "softmax/s02", "--reason", "old", "--queue", str(second.path)]) == 0
    held = hub.show("assignments.yaml", "main")
    assert "softmax/s01" in held
    assert "softmax/s02" in held
