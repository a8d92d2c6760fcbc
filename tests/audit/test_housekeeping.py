"""Who holds what until when, and what a lead's housekeeping clears away: nothing that keeps anybody from anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.desk import Desk, EmptyQueue
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.desk.test_desk import fill

S01, S02, SCAN = ItemId("softmax", "s01"), ItemId("softmax", "s02"), ItemId("scan", "s01")
CLAIMS = "refs/kgrade/claims"
OWN = "grades_ref: refs/heads/grades/{evaluator}\n"


@pytest.fixture
def clone(make_repo: Callable[..., Repo], tmp_path: Path) -> Callable[[str], Repo]:
    """A maker of clones, by evaluator, of a bare remote whose first is set up with the settings in `SETTINGS`."""
    made: dict[str, Repo] = {}

    def make(name: str, settings: str = "") -> Repo:
        if not made:
            seed = make_repo("seed")
            small_queue(seed)
            seed.commit({"kgrade.yaml": f"leads: [lea]\n{settings}"}, "settings")
            seed.git("clone", "-q", "--bare", str(seed.path), str(tmp_path / "hub"))
        if name not in made:
            made.setdefault("", Repo(tmp_path / "hub")).git("clone", "-q", str(tmp_path / "hub"), str(tmp_path / name))
            made[name] = Repo(tmp_path / name)
            made[name].git("config", "user.name", name)
            made[name].git("config", "user.email", f"{name}@example.org")
        return made[name]

    return make


def grade(repo: Repo, *items: ItemId, hold: ItemId | None = None) -> Desk:
    """Grade `items` and send them; the desk that still sits at `hold`."""
    desk = Desk.open(repo.path)
    for item in items:
        fill(sitting := desk.sit(item))
        assert sitting.read_only is None
        desk.save(sitting)
        sitting.close()
    if hold is not None:
        desk.sit(hold).score("numerics", 2)
    desk.sync()
    return desk


def refs(tmp_path: Path) -> list[str]:
    found = Repo(tmp_path / "hub").git("for-each-ref", "--format=%(refname)", CLAIMS).split()
    return [ref.removeprefix(f"{CLAIMS}/") for ref in found]


def at(repo: Repo, *command: str) -> int:
    return run([*command, "--queue", str(repo.path)])


def test_only_what_keeps_nobody_from_anything_is_cleared(
    clone: Callable[..., Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lea = clone("lea", "graders_per_item: 2\n")
    ada = grade(clone("ada"), S01, S02, hold=SCAN)
    bob = grade(clone("bob"), S01)
    bob.sit(ItemId("scan")).close()  # left untouched: given back
    assert at(lea, "claims", "--json") == 0
    (held,) = json.loads(capsys.readouterr().out)
    assert (held["item"], held["evaluator"]) == ("scan/s01", "ada")
    assert held["until"] > held["since"]
    assert refs(tmp_path) == ["scan/_task/1", "scan/s01/1", "softmax/s01/1", "softmax/s01/2", "softmax/s02/1"]
    assert at(lea, "claims", "--clear") == 0
    assert "3 claims cleared, 1 finished ones stay" in capsys.readouterr().out
    assert refs(tmp_path) == ["scan/s01/1", "softmax/s02/1"]
    ada.close()
    bob.close()


def test_who_clears_must_lead_and_a_server_that_keeps_refs_is_told_of(
    clone: Callable[..., Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lea = clone("lea")
    grade(clone("ada"), S01).close()
    assert at(clone("ada"), "claims", "--clear") == 2
    assert "only a lead can do this" in capsys.readouterr().err
    hook = tmp_path / "hub" / "hooks" / "update"
    hook.write_text('#!/bin/sh\ncase $3 in *[!0]*) ;; *) echo "nothing is deleted here"; exit 1 ;; esac\n')
    hook.chmod(0o755)
    assert at(lea, "claims", "--clear") == 0
    assert "1 more could go, but moved meanwhile or may not be deleted there" in capsys.readouterr().out
    assert refs(tmp_path) == ["softmax/s01/1"]


def test_what_is_asked_for_once_more_after_clearing_is_given_to_one(clone: Callable[..., Repo], tmp_path: Path) -> None:
    lea = clone("lea", "graders_per_item: 2\n")
    for name in ("ada", "bob"):
        grade(clone(name), S01).close()
    assert at(lea, "claims", "--clear") == 0
    assert refs(tmp_path) == []
    assert at(lea, "requeue", "softmax/s01") == 0
    desks = [Desk.open(clone(name).path) for name in ("eve", "zoe")]
    for desk in desks:
        desk.sync()
    sittings = [desk.sit(S01) for desk in desks]  # both saw it free, before either had claimed it
    assert sorted(sitting.read_only is None for sitting in sittings) == [False, True]
    assert refs(tmp_path) == ["softmax/s01/1"]
    for desk in desks:
        desk.close()


def test_in_a_blind_queue_of_branches_done_claims_are_all_that_others_see(
    clone: Callable[..., Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lea = clone("lea", f"blind: true\n{OWN}")
    every = [ItemId("softmax"), S01, S02, ItemId("scan"), SCAN]
    grade(clone("ada"), *every).close()
    assert at(lea, "claims", "--clear") == 0
    assert "0 claims cleared, 5 finished ones stay" in capsys.readouterr().out
    bob = Desk.open(clone("bob").path)
    assert isinstance(bob.next(), EmptyQueue)
    bob.close()
    assert at(clone("bob"), "claims") == 2
