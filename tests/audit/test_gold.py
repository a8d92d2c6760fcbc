"""Gold: kept by leads, out of every evaluator's clone, and what the audit makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.desk import Desk
from kgrade.records import codec
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.desk.test_desk import fill

S01, S02 = ItemId("softmax", "s01"), ItemId("softmax", "s02")
SETTINGS = "leads: [lea, lou]\ngraders_per_item: 3\n"


def written(repo: Repo, who: str, item: ItemId, level: int, file: Path) -> Path:
    """A grade file of `who` that was never saved."""
    desk = Desk.open(repo.path, evaluator=who)
    fill(sitting := desk.sit(item), level=level)
    grade = sitting.grade(who)
    sitting.close()
    desk.close()
    file.write_bytes(codec.encode_yaml(grade))
    return file


@pytest.fixture
def clones(make_repo: Callable[..., Repo], tmp_path: Path) -> dict[str, Repo]:
    """A bare remote, and clones of two leads and an evaluator."""
    seed = make_repo("seed")
    small_queue(seed)
    seed.commit({"kgrade.yaml": SETTINGS}, "settings")
    seed.git("clone", "-q", "--bare", str(seed.path), str(tmp_path / "hub"))
    Repo(tmp_path / "hub").git("init", "-q", "--bare", str(tmp_path / "vault"))
    found = {}
    for name in ("lea", "lou", "ada"):
        seed.git("clone", "-q", str(tmp_path / "hub"), str(tmp_path / name))
        found[name] = Repo(tmp_path / name)
        found[name].git("config", "user.name", name)
        found[name].git("config", "user.email", f"{name}@example.org")
    return found


def at(repo: Repo, *command: str) -> int:
    return run([*command, "--queue", str(repo.path)])


def test_gold_stays_with_leads_and_measures_evaluators(
    clones: dict[str, Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lea, ada = clones["lea"], clones["ada"]
    desk = Desk.open(ada.path)
    for item, level in ((S01, 2), (S02, 2)):
        fill(sitting := desk.sit(item), level=level)
        desk.save(sitting)
        sitting.close()
    desk.sync()
    desk.close()
    for item, level in ((S01, 3), (S02, 4)):
        file = written(lea, "lea", item, level, tmp_path / "gold.yaml")
        assert at(lea, "gold", str(item), "--file", str(file)) == 0
    lea.git("fetch", "-q")
    lea.git("merge", "-q", "--ff-only", "origin/main")
    assert at(lea, "sync") == 0
    capsys.readouterr()
    assert at(lea, "audit", "--json") == 0
    (standing,) = json.loads(capsys.readouterr().out)["standings"]
    assert (standing["evaluator"], standing["golden"], standing["to_gold"]) == ("ada", 2, -1.5)
    assert at(lea, "audit", "--html", str(tmp_path / "page.html")) == 0
    assert "to gold" in (tmp_path / "page.html").read_text()
    assert at(lea, "gold") == 0
    assert "softmax/s01  lea" in capsys.readouterr().out

    ada.git("fetch", "-q")
    assert at(ada, "sync") == 0
    assert ada.git("for-each-ref", "refs/kgrade/gold*") == ""
    assert Repo(tmp_path / "hub").git("for-each-ref", "refs/kgrade/gold*") == ""
    capsys.readouterr()
    assert at(ada, "gold") == 2
    assert "only a lead can do this" in capsys.readouterr().err


def test_leads_share_gold_where_evaluators_do_not_read(
    clones: dict[str, Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lea, lou, vault = clones["lea"], clones["lou"], str(tmp_path / "vault")
    for repo, who, item in ((lea, "lea", S01), (lou, "lou", S02)):
        file = written(repo, who, item, 2, tmp_path / "gold.yaml")
        assert at(repo, "gold", str(item), "--file", str(file)) == 0
    assert [at(repo, "gold", "--share", vault) for repo in (lea, lou, lea)] == [0, 0, 0]
    tips = {repo.git("rev-parse", "refs/kgrade/gold") for repo in (lea, lou, Repo(tmp_path / "vault"))}
    assert len(tips) == 1
    capsys.readouterr()
    assert at(lea, "gold", "--json") == 0
    known = json.loads(capsys.readouterr().out)
    assert {(each["item"], each["lead"]) for each in known} == {("softmax/s01", "lea"), ("softmax/s02", "lou")}
    for place in ("origin", str(tmp_path / "hub")):
        assert at(lea, "gold", "--share", place) == 2
        assert f"evaluators read {place}" in capsys.readouterr().err
    assert at(lea, "gold", "--share", str(tmp_path / "nowhere")) != 0
    assert at(lea, "gold", "softmax/s01") == 2


def test_an_answer_under_another_sheet_or_anothers_is_no_gold(
    clones: dict[str, Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lea = clones["lea"]
    file = written(lea, "lea", S01, 2, tmp_path / "gold.yaml")
    assert at(lea, "gold", "softmax/s02", "--file", str(file)) == 2
    assert "grades softmax/s01, not softmax/s02" in capsys.readouterr().err
    file.write_text(file.read_text().replace("evaluator: lea", "evaluator: ada"))
    assert at(lea, "gold", "softmax/s01", "--file", str(file)) == 2
    assert at(lea, "gold", "softmax/s01", "--file", str(tmp_path / "none.yaml")) == 2
    assert lea.git("for-each-ref", "refs/kgrade/gold*") == ""
