"""Blind grading: nothing that others said reaches an evaluator before their own word is in."""

from __future__ import annotations

import json

import pytest

from kgrade.cli import run
from kgrade.records.slugs import ItemId
from tests.desk.test_desk import fill

S01 = ItemId("softmax", "s01")


def test_a_blind_queue_hides_what_others_said_in_the_history_and_the_list_too(ada, open_desk, capsys):
    ada.commit({"kgrade.yaml": "blind: true\ngraders_per_item: 2\n"})
    bob = open_desk(ada, evaluator="bob")
    fill(sitting := bob.sit(S01), level=2, verdict="reject")
    bob.save(sitting)
    sitting.close()
    desk = open_desk(ada)
    assert not any("grade:" in entry.what for entry in desk.history(S01))
    assert run(["list", "--json", "--queue", str(ada.path)]) == 0
    shown = next(row for row in json.loads(capsys.readouterr().out) if row["id"] == "softmax/s01")
    assert (shown["grades"], shown["author"]) == ([], "")
    fill(sitting := desk.sit(S01))
    desk.save(sitting)
    assert sum("grade:" in entry.what for entry in desk.history(S01)) == 2
    assert run(["list", "--json", "--queue", str(ada.path)]) == 0
    shown = next(row for row in json.loads(capsys.readouterr().out) if row["id"] == "softmax/s01")
    assert {grade["evaluator"] for grade in shown["grades"]} == {"ada", "bob"}


COMMANDS = [
    ["list"],
    ["list", "--json"],
    ["next"],
    ["show", "softmax/s01"],
    ["show", "softmax/s01", "--json"],
    ["compare", "softmax/s01", "softmax/s02"],
    ["feedback", "softmax/s01"],
    ["audit"],
    ["audit", "--json"],
    ["audit", "--history"],
    ["audit", "--verify"],
    ["audit", "--html", "page.html"],
    ["export", "grades"],
    ["export", "preferences"],
    ["adjudicate"],
    ["adjudicate", "softmax/s01"],
]


@pytest.fixture
def graded_blind(ada, open_desk):
    """Bob and Zoe graded softmax/s01 in a blind queue that Lea leads; both hold softmax/s02."""
    ada.commit({"kgrade.yaml": "blind: true\ngraders_per_item: 2\nleads: [lea]\n"})
    ada.commit({"assignments.yaml": "schema: kgrade/assignments@1\nitems: {scan: {evaluators: [bob]}}\n"})
    for name in ("bob", "zoe"):
        desk = open_desk(ada, evaluator=name)
        desk.sit(ItemId("softmax", "s02"))
        fill(sitting := desk.sit(S01), level=2, verdict="reject")
        desk.save(sitting)
        sitting.close()
    return ada


def test_no_command_names_others_or_shows_their_grades(graded_blind, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        code = run([*command, "--queue", str(graded_blind.path)])
        said = "".join(capsys.readouterr())
        assert said, command
        assert not any(word in said.lower() for word in ("bob", "zoe", "reject")), command
        assert code in (0, 2), command
    assert not (tmp_path / "page.html").exists()


def test_a_lead_is_told_all_of_it(graded_blind, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    graded_blind.git("config", "user.email", "lea@example.org")
    told = {}
    for command in COMMANDS:
        run([*command, "--queue", str(graded_blind.path)])
        told[" ".join(command)] = capsys.readouterr().out
    assert "graded by bob, zoe" in told["list"]
    assert "**reject**" in told["feedback softmax/s01"]
    assert "bob" in told["audit"]
    assert "bob" in told["audit --history"]
    assert '"evaluator": "bob"' in told["export grades"]


def test_in_a_blind_queue_claims_keep_others_out_without_a_name(graded_blind, open_desk):
    desk = open_desk(graded_blind)
    whys = {str(place.row.id): place.why for place in desk.rows()}
    assert whys["softmax/s01"] == "graded by 2 others"
    assert whys["scan"] == "assigned to others"
    assert whys["softmax/s02"].count("by someone else until ") == 2
    assert "held by someone else until " in desk.sit(ItemId("softmax", "s02")).read_only


def test_a_lead_who_grades_sees_no_grade_on_the_screen_before_their_own(graded_blind, open_desk):
    lea = open_desk(graded_blind, evaluator="lea")
    assert lea.item(S01).grades == []
    assert [entry.evaluator for entry in lea.item(S01, whole=True).grades] == ["bob", "zoe"]
    assert open_desk(graded_blind).item(S01, whole=True).grades == []
