"""Blind grading: nothing that others said reaches an evaluator before their own word is in."""

from __future__ import annotations

import json

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
